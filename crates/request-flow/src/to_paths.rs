//! Paths from requests: what tracers wrote down becomes messages, links, paths and patterns, so
//! that whatever shows those shows spans.
//!
//! ```text
//! imports/NAME/requests.parquet, steps.parquet
//!    |  merge        all imports are one
//!    v
//! requests.parquet, steps.parquet
//!    |  of_request   a call and its answer for each step, and what caused each
//!    |  in_order     by time; causes get the numbers of messages
//!    v
//! messages.parquet, nodes.parquet, causes.parquet
//!    |  analyze, which infers nothing: causes are known
//!    v
//! links.parquet, paths.parquet, patterns.parquet
//! ```
//!
//! A step is a message from the caller to the step's node and, where there was an answer, one back.
//! A call was caused by the latest answer that its caller had before, else by the call that the
//! caller serves; an answer likewise. All of them are the data directory of spans,
//! [`DataDir::spans`].

mod ends;
mod in_order;
mod merge;
mod of_request;
mod record;
mod told;

use analyze::infer::KnownCauses;
use analyze::{Algorithm, AnalysisSummary, Options, analyze_by};
use message_trace::{DataDir, PathError, Progress};
use out_of_core::{MemoryBudget, MemoryPool, workers};

use crate::from_paths::Written;
use crate::tables::{Columns, RequestTables};
use crate::tuning::PATH_MESSAGES;
use ends::Ends;
use in_order::InOrder;
use of_request::Converter;

pub use merge::merge_imports;

/// Makes messages of the requests of `data`, with the causes of each: [`DataDir::messages`],
/// [`DataDir::nodes`] and [`DataDir::causes`]. More than `memory` bytes go to temporary files.
///
/// # Errors
/// When a table cannot be read, or a file cannot be written.
pub fn messages_of_requests(
    data: &DataDir,
    memory: u64,
    progress: &dyn Progress,
) -> Result<Written, PathError> {
    let tables = RequestTables::open(data.requests(), data.steps(), Columns::ALL)?;
    let (requests, steps) = tables.counts();
    progress.step("making messages", steps);
    let budget = MemoryBudget::new(memory / 2);
    let mut messages = InOrder::new(&budget, data.path());
    let mut ends = Ends::default();
    let work = |group: usize| {
        let (names, requests) = tables.group(group)?;
        let mut converter = Converter::new(names);
        requests.iter().for_each(|request| converter.add(request));
        Ok(converter.finish())
    };
    workers::in_order(
        workers::threads(),
        tables.groups(),
        work,
        |_, mut made: of_request::Made| {
            let numbers = ends.add(&made.ends);
            progress.advance(made.steps);
            made.records.iter_mut().for_each(|record| ends.rename(record, &numbers));
            messages.push(made.records, made.steps)
        },
    )?;
    progress.step("writing messages", messages.len());
    let pool = MemoryPool::new(memory / 2, data.path());
    messages.write(data, ends.endpoints(), &pool)?;
    ends.into_nodes().write(data.nodes())?;
    Ok(Written { requests, steps })
}

/// Makes paths and patterns of the messages of `data`, whose causes are known. Only what `options`
/// say of nodes, names and resources counts.
///
/// # Errors
/// When a table cannot be read, or a file cannot be written.
pub fn paths_of_messages(
    data: &DataDir,
    options: &Options,
    progress: &dyn Progress,
) -> Result<AnalysisSummary, PathError> {
    let pool = MemoryPool::new(options.resources.memory / 4, data.path());
    let mut causes = KnownCauses::read(data.causes(), &pool)?;
    let options = options_of_spans(options.clone());
    analyze_by(&mut causes, data, &options, progress)
}

/// `options` as they are for paths whose causes are known.
#[must_use]
pub fn options_of_spans(options: Options) -> Options {
    Options { algorithm: Algorithm::SPANS, path_limit: PATH_MESSAGES, ..options }
}

#[cfg(test)]
mod tests;
