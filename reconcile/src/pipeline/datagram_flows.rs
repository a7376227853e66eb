//! Pass 6: matched datagrams become flows and messages, partition by partition.

use out_of_core::workers;

use crate::datagrams::flows::{AllFlows, FlowMaker, MatchedFlows};
use crate::datagrams::peer_names::Views;
use crate::error::Error;
use crate::pipeline::datagrams::AllMatched;
use crate::pipeline::matching::Matching;
use crate::reconciliation::Reconciliation;

/// The flows of datagrams.
pub(crate) struct DatagramFlows {
    pub(crate) flows: AllFlows,
    /// The first partition of their rows.
    pub(crate) first: usize,
}

/// Makes flows of all datagrams, and counts the translations between their names.
pub(crate) fn make_flows(
    matching: &mut Matching,
    matched: AllMatched,
    outcome: &mut Reconciliation,
) -> Result<DatagramFlows, Error> {
    let Matching { run, connected, budget, rows, .. } = matching;
    let AllMatched { messages, seen, translated, translations } = matched;
    let views = Views {
        sockets: &connected.sockets.all,
        names: &connected.capture.names,
        fallbacks: &connected.fallbacks,
        seen,
    };
    let mut flows = AllFlows::new(&run.pool);
    let maker =
        FlowMaker { views: &views, options: run.options, budget, directory: run.data.path() };
    let first = rows.grow(messages.partitions());
    let mut taken = Vec::with_capacity(messages.partitions());
    let work = |piece: usize| {
        let mut sink = rows.sink(first + piece);
        let matched = maker.partition(messages.blocks(piece), &mut sink)?;
        Ok((matched, sink.finish()?))
    };
    let take = |_, (matched, rows): (MatchedFlows, _)| {
        run.progress.advance(1);
        outcome.absorb(matched.counts);
        flows.add(&matched.flows, &matched.slots)?;
        taken.push(rows);
        Ok::<_, Error>(())
    };
    workers::in_order(run.threads, messages.partitions(), work, take)?;
    rows.add(first, taken);
    outcome.translations.extend(translations.translations(&connected.capture, &views, &translated));
    Ok(DatagramFlows { flows, first })
}
