//! Paths from requests: spans of tracers become messages, links, paths and patterns, so that every
//! view of those also shows spans.
//!
//! ```text
//! imports/NAME/requests.parquet, steps.parquet
//!    |  merge_imports      all imports become one
//!    v
//! requests.parquet, steps.parquet
//!    |  RequestConverter   a call and its response for each step, and the cause of each
//!    |  MessageSorter      by time; causes get the numbers of messages
//!    v
//! messages.parquet, nodes.parquet, causes.parquet
//!    |  analyze, which infers nothing: causes are known
//!    v
//! links.parquet, paths.parquet, patterns.parquet
//! ```
//!
//! A step is a message from the caller to the step's node and, if there was a response, one back. A
//! call was caused by the latest response that its caller had before, else by the call that the
//! caller serves; a response has its cause by the same rule, at the node of the step. All tables
//! are in the data directory of spans, `DataDir::spans_dir`.

mod call_parameters;
mod end_interner;
mod import_merge;
mod message_record;
mod message_sorter;
mod request_messages;

use analyze::infer::KnownCauses;
use analyze::{Algorithm, AnalysisSummary, Options, analyze_by};
use message_trace::{DataDir, PathError, Progress};
use out_of_core::{MemoryBudget, MemoryPool, workers};

use crate::from_paths::WrittenCounts;
use crate::tables::{ColumnSelection, RequestTables};
use crate::tuning::PATH_MESSAGES;
use end_interner::EndInterner;
use message_sorter::MessageSorter;
use request_messages::RequestConverter;

pub use import_merge::merge_imports;

/// Makes messages of the requests of `data`, with the causes of each: `DataDir::messages_path`,
/// [`DataDir::nodes_path`] and [`DataDir::causes_path`]. More than `memory` bytes are moved to
/// temporary files.
///
/// # Errors
/// If a table cannot be read, or a file cannot be written.
pub fn messages_of_requests(
    data: &DataDir,
    memory: u64,
    progress: &dyn Progress,
) -> Result<WrittenCounts, PathError> {
    let tables =
        RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::ALL)?;
    let (requests, steps) = tables.counts();
    progress.begin_step("making messages", steps);
    let budget = MemoryBudget::new(memory / 2);
    let mut messages = MessageSorter::new(&budget, data.path());
    let mut ends = EndInterner::default();
    let work = |group: usize| {
        let (names, requests) = tables.read_group(group)?;
        let mut converter = RequestConverter::new(names);
        requests.iter().for_each(|request| converter.add_request(request));
        Ok(converter.finish())
    };
    workers::run_in_order(
        workers::thread_count(),
        tables.group_count(),
        work,
        |_, mut made: request_messages::GroupMessages| {
            let numbers = ends.add_group(&made.ends);
            progress.advance_step(made.steps);
            made.records.iter_mut().for_each(|record| ends.renumber_ends(record, &numbers));
            messages.push_group(made.records, made.steps)
        },
    )?;
    progress.begin_step("writing messages", messages.len());
    let pool = MemoryPool::new(memory / 2, data.path());
    messages.write_tables(data, ends.endpoint_texts(), &pool)?;
    ends.into_nodes().write(data.nodes_path())?;
    Ok(WrittenCounts { requests, steps })
}

/// Makes paths and patterns of the messages of `data`, which have known causes. Only the `options`
/// of nodes, names and resources apply.
///
/// # Errors
/// If a table cannot be read, or a file cannot be written.
pub fn paths_of_messages(
    data: &DataDir,
    options: &Options,
    progress: &dyn Progress,
) -> Result<AnalysisSummary, PathError> {
    let pool = MemoryPool::new(options.resources.memory / 4, data.path());
    let mut causes = KnownCauses::read(data.causes_path(), &pool)?;
    let options = options_of_spans(options.clone());
    analyze_by(&mut causes, data, &options, progress)
}

/// Returns `options` for paths with known causes.
#[must_use]
pub fn options_of_spans(options: Options) -> Options {
    Options { algorithm: Algorithm::SPANS, path_limit: PATH_MESSAGES, ..options }
}

#[cfg(test)]
mod tests;
