//! The pipeline: the passes of reconciliation in order. Each pass is a file and returns a struct of
//! its own to the next.

mod connect;
mod datagram_flows;
mod datagrams;
mod finish;
mod join_imports;
mod matching;
mod number;
mod operations;
mod partition;
mod read;
mod resources;
mod run;
mod sample_pool;
mod streams;
mod words;

use message_trace::{DataDir, Progress};
use tracing::info;

use self::connect::connect_sockets;
use self::datagram_flows::make_flows;
use self::datagrams::match_datagrams;
use self::finish::{TraceResults, write_results};
use self::join_imports::{HostClocks, join_imports};
use self::matching::MatchingContext;
use self::number::number_entities;
use self::operations::{operation_sorter, write_operations};
use self::partition::{call_budget, partition_calls};
use self::read::{PipelineInputs, read_inputs};
use self::resources::write_resources;
use self::run::PipelineRun;
use self::streams::match_streams;
use self::words::{span_sorter, write_words};
use crate::error::Error;
use crate::options::Options;
use crate::partitioning::partition_pass::CallStores;
use crate::reconciliation::Reconciliation;
use crate::write::timeline::MessageSorters;

/// Reads all logs and imports of `data`, and writes `messages.parquet`, `nodes.parquet`,
/// `clocks.json` and `reconciliation.json`; if logs have resources, `events/sockcap.parquet` and
/// `handoffs.parquet`; if they have operations, `operations.parquet`; if they have rare words,
/// `words.parquet`. Equal logs and imports give equal files.
///
/// # Errors
/// Fails if there is neither a readable log nor an import, or a file cannot be written. Damaged
/// logs are no error: their undamaged parts are used, and the damage is counted.
pub fn reconcile(
    data: &DataDir,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Reconciliation, Error> {
    let run = PipelineRun::new(data, options, progress);
    let mut outcome =
        Reconciliation { settings: Some(options.into()), ..Reconciliation::default() };

    // Tables: a row for each flow, socket, name or connection.
    let PipelineInputs { capture, imports } = read_inputs(&run, &mut outcome)?;
    info!(
        logs = outcome.logs,
        damaged = outcome.damaged.len(),
        processes = capture.processes.len(),
        imports = imports.len(),
        "logs are read"
    );
    let connected = connect_sockets(&run, capture, &mut outcome)?;
    info!(
        connections = connected.connections.len(),
        partitions = connected.partitions.ranges.len(),
        translations = outcome.translations.len(),
        duplicates = outcome.seen_twice.values().sum::<u64>(),
        "connections are found"
    );

    // Calls and messages, in addition to these tables.
    let budget = call_budget(&run);
    let CallStores { transfers, datagrams } = partition_calls(&run, &connected, &budget)?;
    let mut matching = MatchingContext::new(&run, &connected, &budget);
    let used = match_streams(&mut matching, &transfers, &mut outcome)?;
    info!(
        connections = used.iter().filter(|used| **used).count(),
        unmatched = outcome.unmatched_streams.values().sum::<u64>(),
        unplaced = outcome.unplaced_streams.values().sum::<u64>(),
        "streams are matched"
    );
    let matched = match_datagrams(&matching, &datagrams, &mut outcome)?;
    let flows = make_flows(&mut matching, matched, &mut outcome)?;

    // Results: numbers, times on one clock, and sorting by time.
    let MatchingContext { samples, mut rows, .. } = matching;
    let mut output = number_entities(&connected, &used, flows, &mut rows, &mut outcome)?;
    info!(
        messages = outcome.messages.values().sum::<u64>(),
        both_ends = outcome.both_ends,
        "messages of the logs are numbered"
    );
    let mut hosts = HostClocks::from_capture(&connected.capture, samples.merge_samples());
    let calls = join_imports(&run, &imports, &mut hosts, &mut output, &mut rows, &mut outcome)?;
    outcome.flows = output.flows.saturating_sub(outcome.internal_in_trace().flows);
    let results = TraceResults { rows, output, calls };
    let mut sorters = MessageSorters {
        begun: operation_sorter(&run, &connected, &budget),
        spans: span_sorter(&run, &connected, &budget),
    };
    let clocks = write_results(&run, &connected.capture, hosts, results, &mut sorters, &outcome)?;
    info!(messages = outcome.messages.values().sum::<u64>(), "messages are written");
    write_resources(&run, &connected, &clocks)?;
    let MessageSorters { begun, spans } = sorters;
    write_operations(&run, &connected, &used, begun, &budget, &mut outcome)?;
    write_words(&run, &connected, &used, spans, &budget)?;
    Ok(outcome)
}
