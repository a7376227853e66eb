//! Requests from sockcap's own paths: every path instance is a request, and each of its calls a
//! step at the node that was called. A message without a response is a step without an end.
//!
//! ```text
//! paths, patterns, messages, nodes
//!    |  requests_of_group   by row groups of paths.parquet, on all processors
//!    v
//! requests nearly in order
//!    |  RequestSorter       by begin, in memory within a budget
//!    v
//! requests.parquet, steps.parquet
//! ```
//!
//! A request is torn, that is without its real beginning, if the sender of its first message serves
//! requests itself: then the request for which it sent the message is unknown.

mod request_sorter;
mod step_builder;

use analyze::AnalysisSummary;
use analyze::paths::CalledInstances;
use message_trace::{DataDir, DataPath, PathError, Progress};
use out_of_core::{MemoryBudget, workers};

use crate::request::{Request, RequestBuilder};
use crate::tables::RequestWriter;
use out_of_core::{NameId, NameInterner};
use request_sorter::{RequestBatch, RequestSorter};
use step_builder::StepNames;

/// How many requests and steps were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenCounts {
    /// Number of requests.
    pub requests: u64,
    /// Number of steps of all requests.
    pub steps: u64,
}

/// Makes a request of every path instance of `data`, and writes `DataDir::requests_path` and
/// [`DataDir::steps_path`]. More than `memory` bytes of requests are moved to a temporary file.
///
/// # Errors
/// If a table cannot be read, or a file cannot be written.
pub fn from_paths(
    data: &DataDir,
    memory: u64,
    progress: &dyn Progress,
) -> Result<WrittenCounts, PathError> {
    from_paths_to(data, [&data.requests_path(), &data.steps_path()], memory, progress)
}

/// As [`from_paths`], but writes the tables of requests and of steps to the paths `requests` and
/// `steps`.
///
/// # Errors
/// As for [`from_paths`].
pub fn from_paths_to(
    data: &DataDir,
    [requests, steps]: [&DataPath; 2],
    memory: u64,
    progress: &dyn Progress,
) -> Result<WrittenCounts, PathError> {
    let options = AnalysisSummary::read(data.analysis_path())?.options;
    let instances = CalledInstances::open(data, &options)?;
    let budget = MemoryBudget::new(memory);
    let mut sorted = RequestSorter::new(&budget, data.path());
    progress.begin_step("making requests", instances.group_count() as u64);
    let work = |group: usize| requests_of_group(&instances, group);
    let mut names = NameInterner::default();
    workers::run_in_order(
        workers::thread_count(),
        instances.group_count(),
        work,
        |_, group: BatchRequests| {
            let numbers: Vec<NameId> = group.names.iter().map(|text| names.intern(text)).collect();
            progress.advance_step(1);
            sorted.push_batch(group.requests, numbers)
        },
    )?;
    progress.begin_step("writing requests", 0);
    write_requests(sorted, &names, requests, steps)
}

/// Requests of a row group, with names of their own.
struct BatchRequests {
    names: NameInterner,
    requests: RequestBatch,
}

fn requests_of_group(
    instances: &CalledInstances,
    group: usize,
) -> Result<BatchRequests, PathError> {
    let mut names = StepNames::default();
    let mut requests = RequestBatch::default();
    let (mut builder, mut request) = (RequestBuilder::default(), Request::default());
    instances.read_group(group, |instance| {
        names.build_request(instance, &mut builder, &mut request);
        requests.push_request(&request);
        Ok(())
    })?;
    Ok(BatchRequests { names: names.into_names(), requests })
}

fn write_requests(
    sorted: RequestSorter<'_>,
    names: &NameInterner,
    requests: &DataPath,
    steps: &DataPath,
) -> Result<WrittenCounts, PathError> {
    let mut writer = RequestWriter::create(requests, steps)?;
    sorted.for_each(|request| writer.push_request(request, names))?;
    let (requests, steps) = writer.written_counts();
    writer.finish(names)?;
    Ok(WrittenCounts { requests, steps })
}

#[cfg(test)]
mod tests;
