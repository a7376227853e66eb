//! Links between messages from the graph. Possible causes of a message that an edge selected are
//! the messages of the preceding edge that were received within the edge's delays. A cause is the
//! likelier the higher the correlation at the delay between the two is above its mean: that share
//! of the messages has the delay not by chance.
//!
//! A message that the paths do not explain occurs at a random time: the probability that a message
//! is spontaneous equals the rate, per quantum, of messages of its kind that no edge selected. Half
//! a message is added to their number, so that nothing is certain.

use super::graph::PathGraph;
use super::indicator::TimeQuanta;
use super::select::for_each_effect;
use super::sites::SiteMessages;
use crate::links::Links;
use crate::tuning::convolution::{MAX_PARENTS, NEGLIGIBLE};
use message_trace::MessageId;

/// A possible parent of a message with its weight: how likely it would have the effect in that
/// quantum.
#[derive(Clone, Copy)]
struct CandidateCause {
    child: MessageId,
    parent: MessageId,
    weight: f64,
}

/// Builds the links of a trace of `messages` messages.
pub(super) fn build_links(
    messages: usize,
    sites: &SiteMessages,
    graph: &PathGraph,
    quanta: &TimeQuanta,
) -> Links {
    let mut candidates = Vec::new();
    for number in 0..graph.edges().len() {
        let edge = &graph.edges()[number];
        let site = sites.groups[edge.group as usize].from;
        let Some(above) = graph.parent_edge(number) else { continue };
        let received = sites.arrivals_at(&graph.edges()[above].messages, site);
        let each = 1.0 / received.len().max(1) as f64;
        for_each_effect(&received, &edge.messages, quanta, edge.shifts, |event, causes| {
            let sent = quanta.quantum_at(event.time);
            for cause in causes.iter().filter(|cause| cause.message != event.message) {
                let shift = sent
                    .saturating_sub(quanta.quantum_at(cause.time))
                    .saturating_sub(edge.shifts.0);
                // If v is wider than the spike, some delays are not above the mean: these are
                // possible but not likely.
                let excess = edge.excess.get(shift).copied().unwrap_or(0.0).max(0.01);
                let weight = excess * each;
                candidates.push(CandidateCause {
                    child: event.message,
                    parent: cause.message,
                    weight,
                });
            }
        });
    }
    // Among the edges that link the same two messages, the one with the highest weight counts.
    candidates.sort_unstable_by(|one, other| {
        let pair = (one.child, one.parent).cmp(&(other.child, other.parent));
        pair.then(other.weight.total_cmp(&one.weight))
    });
    candidates.dedup_by_key(|candidate| (candidate.child, candidate.parent));
    let spontaneous = spontaneous_rates(messages, sites, &candidates, quanta);
    let mut links = Links::spontaneous_only(messages);
    for candidates in candidates.chunk_by_mut(|one, other| one.child == other.child) {
        set_parents(&mut links, candidates, &spontaneous);
    }
    links
}

/// For each message the rate of messages of its kind without a cause, per quantum.
fn spontaneous_rates(
    messages: usize,
    sites: &SiteMessages,
    candidates: &[CandidateCause],
    quanta: &TimeQuanta,
) -> Vec<f64> {
    let mut explained = vec![false; messages];
    candidates.iter().for_each(|candidate| explained[candidate.child.index()] = true);
    let mut weights = vec![0.0; messages];
    for group in &sites.groups {
        let left = group.sent.iter().filter(|event| !explained[event.message.index()]).count();
        let weight = (left as f64 + 0.5) / quanta.count() as f64;
        group.sent.iter().for_each(|event| weights[event.message.index()] = weight);
    }
    weights
}

/// Sets the parents of the message of `candidates`, which are not empty.
fn set_parents(links: &mut Links, candidates: &mut [CandidateCause], spontaneous: &[f64]) {
    // The likeliest first; among equal ones the later.
    candidates.sort_by(|one, other| {
        other.weight.total_cmp(&one.weight).then(other.parent.cmp(&one.parent))
    });
    let Some(best) = candidates.first().copied() else { return };
    let none = spontaneous[best.child.index()];
    let kept = candidates.iter().take(MAX_PARENTS);
    let kept = kept.take_while(|candidate| candidate.weight >= NEGLIGIBLE * best.weight);
    let mut parents: Vec<(MessageId, f64)> =
        kept.map(|candidate| (candidate.parent, candidate.weight)).collect();
    // The remaining parents share the weight of those left out.
    let all: f64 = candidates.iter().map(|candidate| candidate.weight).sum();
    let total: f64 = parents.iter().map(|(_, weight)| weight).sum();
    let caused = all / (none + all);
    parents.iter_mut().for_each(|(_, weight)| *weight *= caused / total);
    links.set_parents(best.child, &parents, 1.0 - caused);
}
