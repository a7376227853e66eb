//! Requests of request flows: sockcap's own recordings, or spans.

use out_of_core::{NameInterner, PathError};
use request_flow::tables::RequestTables;
use request_flow::{Request, Step};

use crate::analysis::processor_time::ProcessorTime;
use crate::analysis::request_source::{RequestRecord, RequestSource, SourceOutcome, SourceRequest};
use crate::canonical::canonicalize_steps;
use crate::clusters::RequestFacts;
use crate::demands::{Demands, WaitTimes};

/// Tables of requests.
pub struct FlowSource {
    /// The tables, with the size columns.
    pub tables: RequestTables,
    /// Processor time and its charged share, if they are recorded.
    pub processor: Option<ProcessorTime>,
}

impl RequestSource for FlowSource {
    fn for_each(
        &self,
        names: &mut NameInterner,
        each: &mut dyn FnMut(&SourceRequest<'_>, &NameInterner) -> Result<bool, PathError>,
    ) -> Result<SourceOutcome, PathError> {
        let outcome = SourceOutcome { processor: self.processor, ..SourceOutcome::default() };
        let mut number = 0;
        for group in 0..self.tables.group_count() {
            let (own, requests) = self.tables.read_group(group)?;
            let numbers: Vec<_> = own.iter().map(|text| names.intern(text)).collect();
            for mut request in requests {
                request.map_names(|name| numbers.get(name.index()).copied().unwrap_or_default());
                let found = SourceRequest {
                    facts: facts_of_request(&request, number),
                    canonical: canonicalize_steps(
                        &request,
                        |place| request.steps.get(place).map(demands_of_step).unwrap_or_default(),
                        |step| step.operation,
                    ),
                    record: RequestRecord::Steps(&request),
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

/// A step's own demands. The step's node received the call and sent the response.
fn demands_of_step(step: &Step) -> Demands {
    Demands {
        processor_ns: step.processor_ns.unwrap_or(0),
        disk_read_bytes: step.disk_bytes.unwrap_or(0),
        sent_bytes: step.bytes_out.unwrap_or(0),
        received_bytes: step.bytes_in.unwrap_or(0),
        ..Demands::default()
    }
}

/// Facts of a request for the model.
fn facts_of_request(request: &Request, number: u64) -> RequestFacts {
    let (mut all, mut waits) = (Demands::default(), WaitTimes::default());
    for step in &request.steps {
        all += demands_of_step(step);
        waits += step.waits.unwrap_or_default();
    }
    let begin = request.begin().unwrap_or(0);
    RequestFacts {
        number,
        name: request.steps.first().map_or(NameInterner::UNKNOWN, |root| root.operation),
        begin,
        end: request.end().unwrap_or(begin),
        demands: all,
        waits,
    }
}
