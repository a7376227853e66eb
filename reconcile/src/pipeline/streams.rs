//! Pass 4: the calls of streams become messages, partition by partition.

use out_of_core::{PartitionStore, workers};

use crate::calls::StreamCall;
use crate::error::Error;
use crate::pipeline::matching::Matching;
use crate::reconciliation::Reconciliation;
use crate::streams::stream_flows::{MatchedStreams, StreamMatcher};
use crate::streams::ways::Owners;

/// Matches the streams. Returns for each connection whether it has a message.
pub(crate) fn match_streams(
    matching: &mut Matching,
    calls: &PartitionStore<StreamCall>,
    outcome: &mut Reconciliation,
) -> Result<Vec<bool>, Error> {
    let Matching { run, connected, budget, samples, rows } = matching;
    let partitions = &connected.partitions;
    let count = partitions.ranges.len();
    run.progress.step("matching streams", count as u64);
    rows.grow(count);
    let mut taken = Vec::with_capacity(count);
    let matcher = StreamMatcher {
        capture: &connected.capture,
        sockets: &connected.sockets.all,
        owners: Owners {
            connections: &connected.connections,
            connection_of: &partitions.connection_of,
        },
        options: run.options,
        has_operations: !connected.told.is_empty(),
        budget,
        directory: run.data.path(),
    };
    let mut used: Vec<bool> = Vec::with_capacity(connected.connections.len());
    let work = |piece: usize| {
        let range = partitions.ranges[piece].clone();
        let mut sink = rows.sink(piece);
        let calls = calls.blocks(piece);
        let matched =
            samples.with(|samples| matcher.partition(range, calls, samples, &mut sink))?;
        Ok((matched, sink.finish()?))
    };
    workers::in_order(run.threads, count, work, |_, (matched, rows): (MatchedStreams, _)| {
        run.progress.advance(1);
        used.extend(matched.used);
        outcome.absorb(matched.counts);
        taken.push(rows);
        Ok::<_, Error>(())
    })?;
    rows.add(0, taken);
    Ok(used)
}
