//! Pass 6: matched datagrams become flows and messages, partition by partition.

use out_of_core::workers;

use crate::datagrams::flows::{AllFlows, FlowMaker, MatchedFlows};
use crate::datagrams::peer_names::PeerViews;
use crate::error::Error;
use crate::pipeline::datagrams::AllMatched;
use crate::pipeline::matching::MatchingContext;
use crate::reconciliation::Reconciliation;

/// The flows of datagrams.
pub(crate) struct DatagramFlows {
    pub(crate) flows: AllFlows,
    /// The first partition of their rows.
    pub(crate) first: usize,
}

/// Makes flows of all datagrams, and counts the translations between their names.
pub(crate) fn make_flows(
    matching: &mut MatchingContext,
    matched: AllMatched,
    outcome: &mut Reconciliation,
) -> Result<DatagramFlows, Error> {
    let MatchingContext { run, connected, budget, rows, .. } = matching;
    let AllMatched { messages, seen, translated, translations } = matched;
    let views = PeerViews {
        sockets: &connected.sockets.all,
        names: &connected.capture.names,
        fallbacks: &connected.fallbacks,
        seen,
    };
    let mut flows = AllFlows::new(&run.pool);
    let maker =
        FlowMaker { views: &views, options: run.options, budget, directory: run.data.path() };
    let first = rows.add_partitions(messages.partition_count());
    let mut taken = Vec::with_capacity(messages.partition_count());
    let work = |piece: usize| {
        let mut sink = rows.row_sink(first + piece);
        let matched = maker.build_partition(messages.take_each_block(piece), &mut sink)?;
        Ok((matched, sink.finish()?))
    };
    let take = |_, (matched, rows): (MatchedFlows, _)| {
        run.progress.advance_step(1);
        outcome.absorb(matched.counts);
        flows.add(&matched.flows, &matched.slots)?;
        taken.push(rows);
        Ok::<_, Error>(())
    };
    workers::run_in_order(run.threads, messages.partition_count(), work, take)?;
    rows.add_stored(first, taken);
    outcome.translations.extend(translations.list_translations(
        &connected.capture,
        &views,
        &translated,
    ));
    Ok(DatagramFlows { flows, first })
}
