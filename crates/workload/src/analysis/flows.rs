//! Requests of request flows: what our own recordings, or spans, tell.

use out_of_core::{Names, PathError};
use request_flow::tables::RequestTables;
use request_flow::{Request, Step};

use crate::analysis::processor_time::ProcessorTime;
use crate::analysis::source::{Found, Outcome, Source, Told};
use crate::canonical::of_request;
use crate::clusters::RequestFacts;
use crate::demands::{Demands, Waits};

/// Tables of requests.
pub struct FlowSource {
    /// The tables, with sizes.
    pub tables: RequestTables,
    /// Processor time and its charged share, where the recording tells it.
    pub processor: Option<ProcessorTime>,
}

impl Source for FlowSource {
    fn for_each(
        &self,
        names: &mut Names,
        each: &mut dyn FnMut(&Found<'_>, &Names) -> Result<bool, PathError>,
    ) -> Result<Outcome, PathError> {
        let outcome = Outcome { processor: self.processor, ..Outcome::default() };
        let mut number = 0;
        for group in 0..self.tables.groups() {
            let (own, requests) = self.tables.group(group)?;
            let numbers: Vec<_> = own.iter().map(|text| names.number(text)).collect();
            for mut request in requests {
                request.rename(|name| numbers.get(name as usize).copied().unwrap_or(0));
                let found = Found {
                    facts: facts(&request, number),
                    canonical: of_request(
                        &request,
                        |place| request.steps.get(place).map(demands).unwrap_or_default(),
                        |step| step.operation,
                    ),
                    told: Told::Steps(&request),
                };
                number += 1;
                if !each(&found, names)? {
                    return Ok(outcome);
                }
            }
        }
        Ok(outcome)
    }
}

/// What a step used itself. Its node received the call and sent the answer.
fn demands(step: &Step) -> Demands {
    Demands {
        processor_ns: step.processor_ns.unwrap_or(0),
        disk_read_bytes: step.disk_bytes.unwrap_or(0),
        sent_bytes: step.bytes_out.unwrap_or(0),
        received_bytes: step.bytes_in.unwrap_or(0),
        ..Demands::default()
    }
}

/// What the model needs of a request.
fn facts(request: &Request, number: u64) -> RequestFacts {
    let (mut all, mut waits) = (Demands::default(), Waits::default());
    for step in &request.steps {
        all += demands(step);
        waits += step.waits.unwrap_or_default();
    }
    let begin = request.begin().unwrap_or(0);
    RequestFacts {
        number,
        name: request.steps.first().map_or(Names::UNKNOWN, |root| root.operation),
        begin,
        end: request.end().unwrap_or(begin),
        demands: all,
        waits,
    }
}
