//! Pass 4: the calls of streams become messages, partition by partition.

use out_of_core::{PartitionStore, workers};

use crate::calls::StreamCall;
use crate::error::Error;
use crate::pipeline::matching::MatchingContext;
use crate::reconciliation::Reconciliation;
use crate::streams::call_streams::ConnectionLookup;
use crate::streams::stream_flows::{MatchedStreams, StreamMatcher};

/// Matches the streams. Returns for each connection whether it has a message.
pub(crate) fn match_streams(
    matching: &mut MatchingContext,
    calls: &PartitionStore<StreamCall>,
    outcome: &mut Reconciliation,
) -> Result<Vec<bool>, Error> {
    let MatchingContext { run, connected, budget, samples, rows } = matching;
    let partitions = &connected.partitions;
    let count = partitions.ranges.len();
    run.progress.begin_step("matching streams", count as u64);
    rows.add_partitions(count);
    let mut taken = Vec::with_capacity(count);
    let matcher = StreamMatcher {
        capture: &connected.capture,
        sockets: &connected.sockets.all,
        connection_lookup: ConnectionLookup {
            connections: &connected.connections,
            connection_of: &partitions.connection_of,
        },
        options: run.options,
        has_operations: !connected.recorded_operations.is_empty(),
        budget,
        directory: run.data.path(),
    };
    let mut used: Vec<bool> = Vec::with_capacity(connected.connections.len());
    let work = |piece: usize| {
        let range = partitions.ranges[piece].clone();
        let mut sink = rows.row_sink(piece);
        let calls = calls.take_each_block(piece);
        let matched = samples
            .with_samples(|samples| matcher.match_partition(range, calls, samples, &mut sink))?;
        Ok((matched, sink.finish()?))
    };
    workers::run_in_order(run.threads, count, work, |_, (matched, rows): (MatchedStreams, _)| {
        run.progress.advance_step(1);
        used.extend(matched.used);
        outcome.absorb(matched.counts);
        taken.push(rows);
        Ok::<_, Error>(())
    })?;
    rows.add_stored(0, taken);
    Ok(used)
}
