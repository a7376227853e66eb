//! Report: the model of a workload, and the part of the processor time that it accounts for.

use out_of_core::{NameInterner, PathError};
use serde::Serialize;

use crate::analysis::processor_time::ProcessorTime;
use crate::analysis::request_source::{RequestSource, SourceOutcome};
use crate::join::{JoinCounts, SeedCounts};
use crate::model::{Workload, WorkloadModel};

/// The model of a workload, and the results of reading its requests.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadReport {
    /// Counts of events by outcome; `None` if requests were not joined from events.
    pub join: Option<JoinCounts>,
    /// Counts of the events that could begin a request, by outcome; `None` if requests were not
    /// joined from events.
    pub beginning: Option<SeedCounts>,
    /// Processor time; `None` if it is not known.
    pub processor: Option<ProcessorTime>,
    /// Share of the relevant processor time that was charged to requests.
    pub charged_share: Option<f64>,
    /// Model of the workload.
    #[serde(flatten)]
    pub model: WorkloadModel,
}

impl WorkloadReport {
    /// The report of requests that were read with this outcome.
    pub fn from_outcome(outcome: SourceOutcome, model: WorkloadModel) -> WorkloadReport {
        WorkloadReport {
            join: outcome.join,
            beginning: outcome.beginning,
            processor: outcome.processor,
            charged_share: outcome.processor.and_then(|time| time.charged_share()),
            model,
        }
    }
}

/// Reads all requests of `source` and makes their model with `workload`. `progress` receives the
/// number of requests so far.
///
/// # Errors
/// Those of the source.
pub fn analyze_requests(
    source: &dyn RequestSource,
    mut workload: Workload,
    names: &mut NameInterner,
    progress: &dyn Fn(u64),
) -> Result<WorkloadReport, PathError> {
    let mut requests = 0;
    let outcome = source.for_each(names, &mut |found, _| {
        workload.push(&found.canonical, &found.facts);
        requests += 1;
        progress(requests);
        Ok(true)
    })?;
    Ok(WorkloadReport::from_outcome(outcome, workload.finish(names)))
}
