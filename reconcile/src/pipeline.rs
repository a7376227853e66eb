//! The passes of reconciliation, one after the other. Each pass is a file; what one gives to the
//! next is a struct of its own.

mod connect;
mod datagram_flows;
mod datagrams;
mod deal;
mod finish;
mod join_imports;
mod matching;
mod number;
mod operations;
mod read;
mod resources;
mod run;
mod sample_pool;
mod streams;

use message_trace::{DataDir, Progress};
use tracing::info;

use self::connect::connect;
use self::datagram_flows::make_flows;
use self::datagrams::match_datagrams;
use self::deal::{budget, deal};
use self::finish::{Results, finish};
use self::join_imports::{Hosts, join_imports};
use self::matching::Matching;
use self::number::number;
use self::operations::{operations, sorter};
use self::read::{Inputs, read};
use self::resources::resources;
use self::run::Run;
use self::streams::match_streams;
use crate::dealing::deal::Stores;
use crate::error::Error;
use crate::options::Options;
use crate::reconciliation::Reconciliation;

/// Reads all logs and imports of `data`, and writes `messages.parquet`, `nodes.parquet`,
/// `clocks.json` and `reconciliation.json`; where logs have resources, `events/sockcap.parquet` and
/// `handoffs.parquet`; where they tell what messages do, `operations.parquet`. Equal logs and
/// imports give equal files.
///
/// # Errors
/// When there is neither a log that can be read nor an import, or a file cannot be written. Damaged
/// logs are no error: what is whole in them is used, and the rest counted.
pub fn reconcile(
    data: &DataDir,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Reconciliation, Error> {
    let run = Run::new(data, options, progress);
    let mut outcome =
        Reconciliation { settings: Some(options.into()), ..Reconciliation::default() };

    // Tables: a row for each flow, socket, name or connection.
    let Inputs { capture, imports } = read(&run, &mut outcome)?;
    info!(
        logs = outcome.logs,
        damaged = outcome.damaged.len(),
        processes = capture.processes.len(),
        imports = imports.len(),
        "logs are read"
    );
    let connected = connect(&run, capture, &mut outcome)?;
    info!(
        connections = connected.connections.len(),
        partitions = connected.partitions.ranges.len(),
        translations = outcome.translations.len(),
        duplicates = outcome.seen_twice.values().sum::<u64>(),
        "connections are found"
    );

    // Calls and messages, beside these tables.
    let budget = budget(&run);
    let Stores { transfers, datagrams } = deal(&run, &connected, &budget)?;
    let mut matching = Matching::new(&run, &connected, &budget);
    let used = match_streams(&mut matching, &transfers, &mut outcome)?;
    info!(
        connections = used.iter().filter(|used| **used).count(),
        unmatched = outcome.unmatched_streams.values().sum::<u64>(),
        unplaced = outcome.unplaced_streams.values().sum::<u64>(),
        "streams are matched"
    );
    let matched = match_datagrams(&matching, &datagrams, &mut outcome)?;
    let flows = make_flows(&mut matching, matched, &mut outcome)?;

    // Results: numbers, times on one clock, and the order of time.
    let Matching { samples, mut rows, .. } = matching;
    let mut output = number(&connected, &used, flows, &mut rows, &mut outcome)?;
    info!(
        messages = outcome.messages.values().sum::<u64>(),
        both_ends = outcome.both_ends,
        "messages of the logs have numbers"
    );
    let mut hosts = Hosts::of(&connected.capture, samples.merged());
    let calls = join_imports(&run, &imports, &mut hosts, &mut output, &mut rows, &mut outcome)?;
    outcome.flows = output.flows.saturating_sub(outcome.internal_in_trace().flows);
    let results = Results { rows, output, calls };
    let mut begun = sorter(&run, &connected, &budget);
    let clocks = finish(&run, &connected.capture, hosts, results, begun.as_mut(), &outcome)?;
    info!(messages = outcome.messages.values().sum::<u64>(), "messages are written");
    resources(&run, &connected, &clocks)?;
    operations(&run, &connected, &used, begun, &budget, &mut outcome)?;
    Ok(outcome)
}
