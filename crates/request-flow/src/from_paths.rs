//! Requests from sockcap's own paths: every path instance is a request, and each of its calls a
//! step at the node that was called. A message that nothing answers is a step without an end.
//!
//! ```text
//! paths, patterns, messages, nodes
//!    |  steps_of     piece by piece of paths.parquet, on all processors
//!    v
//! requests nearly in order
//!    |  in_order     by begin, in memory while a budget lasts
//!    v
//! requests.parquet, steps.parquet
//! ```
//!
//! A request is torn where the sender of its first message serves others: then something asked that
//! node, and what it was is not known.

mod in_order;
mod steps_of;

use analyze::AnalysisSummary;
use analyze::paths::CalledInstances;
use message_trace::{DataDir, DataPath, PathError, Progress};
use out_of_core::{MemoryBudget, workers};

use crate::request::{Request, RequestBuilder};
use crate::tables::RequestWriter;
use in_order::{InOrder, Piece};
use out_of_core::{NameId, Names};
use steps_of::StepNames;

/// Numbers of requests and of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Requests.
    pub requests: u64,
    /// Steps of all of them.
    pub steps: u64,
}

/// Makes a request of every path instance of `data`, and writes [`DataDir::requests`] and
/// [`DataDir::steps`]. More than `memory` bytes of requests go to a temporary file.
///
/// # Errors
/// When a table cannot be read, or a file cannot be written.
pub fn from_paths(
    data: &DataDir,
    memory: u64,
    progress: &dyn Progress,
) -> Result<Written, PathError> {
    from_paths_to(data, [&data.requests(), &data.steps()], memory, progress)
}

/// The same, into tables of requests and of steps at these two paths.
///
/// # Errors
/// As for [`from_paths`].
pub fn from_paths_to(
    data: &DataDir,
    [requests, steps]: [&DataPath; 2],
    memory: u64,
    progress: &dyn Progress,
) -> Result<Written, PathError> {
    let options = AnalysisSummary::read(data.analysis())?.options;
    let instances = CalledInstances::open(data, &options)?;
    let budget = MemoryBudget::new(memory);
    let mut sorted = InOrder::new(&budget, data.path());
    progress.step("making requests", instances.pieces() as u64);
    let work = |piece: usize| requests_of(&instances, piece);
    let mut names = Names::default();
    workers::in_order(workers::threads(), instances.pieces(), work, |_, piece: Named| {
        let numbers: Vec<NameId> = piece.names.iter().map(|text| names.number(text)).collect();
        progress.advance(1);
        sorted.push(piece.requests, numbers)
    })?;
    progress.step("writing requests", 0);
    write(sorted, &names, requests, steps)
}

/// Requests of a piece, with names of their own.
struct Named {
    names: Names,
    requests: Piece,
}

fn requests_of(instances: &CalledInstances, piece: usize) -> Result<Named, PathError> {
    let mut names = StepNames::default();
    let mut requests = Piece::default();
    let (mut builder, mut request) = (RequestBuilder::default(), Request::default());
    instances.read(piece, |instance| {
        names.request(instance, &mut builder, &mut request);
        requests.push(&request);
        Ok(())
    })?;
    Ok(Named { names: names.into_names(), requests })
}

fn write(
    sorted: InOrder<'_>,
    names: &Names,
    requests: &DataPath,
    steps: &DataPath,
) -> Result<Written, PathError> {
    let mut writer = RequestWriter::create(requests, steps)?;
    sorted.for_each(|request| writer.push(request, names))?;
    let (requests, steps) = writer.written();
    writer.finish(names)?;
    Ok(Written { requests, steps })
}

#[cfg(test)]
mod tests;
