//! Answer: the model of a workload, and how much of the processor time it accounts for.

use out_of_core::{Names, PathError};
use serde::Serialize;

use crate::analysis::processor_time::ProcessorTime;
use crate::analysis::source::{Outcome, Source};
use crate::join::{Beginning, JoinCounts};
use crate::model::{Model, Workload};

/// The model of a workload, and how it came about.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// What became of events; `None` where requests were not joined from events.
    pub join: Option<JoinCounts>,
    /// What came of the events that could begin a request; `None` likewise.
    pub beginning: Option<Beginning>,
    /// Processor time; `None` where it is not known.
    pub processor: Option<ProcessorTime>,
    /// Share of the relevant processor time that requests were charged with.
    pub charged_share: Option<f64>,
    /// The model.
    #[serde(flatten)]
    pub model: Model,
}

impl Answer {
    /// The answer of requests that were read with that outcome.
    pub fn of(outcome: Outcome, model: Model) -> Answer {
        Answer {
            join: outcome.join,
            beginning: outcome.beginning,
            processor: outcome.processor,
            charged_share: outcome.processor.and_then(|time| time.share()),
            model,
        }
    }
}

/// Reads all requests of `source` and makes their model with `workload`. `progress` is told the
/// number of requests so far.
///
/// # Errors
/// Those of the source.
pub fn analyze(
    source: &dyn Source,
    mut workload: Workload,
    names: &mut Names,
    progress: &dyn Fn(u64),
) -> Result<Answer, PathError> {
    let mut requests = 0;
    let outcome = source.for_each(names, &mut |found, _| {
        workload.push(&found.canonical, &found.facts);
        requests += 1;
        progress(requests);
        Ok(true)
    })?;
    Ok(Answer::of(outcome, workload.finish(names)))
}
