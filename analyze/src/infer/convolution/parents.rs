//! From the graph to links between messages. Possible causes of a message that an edge selected are
//! the messages of the edge before that were received within the edge's delays. A cause is the
//! likelier the higher the correlation at the delay between the two is above its mean: that share
//! of the messages has the delay not by chance.
//!
//! A message that the paths do not explain begins somewhere between the others at random: being
//! spontaneous is as likely, in a quantum, as a message of its kind that no edge has is found
//! there. Half a message is added to the latter, so that nothing is certain.

use super::graph::PathGraph;
use super::indicator::TimeQuanta;
use super::select::for_each_effect;
use super::sites::SiteMessages;
use crate::links::Links;
use crate::tuning::convolution::{MAX_PARENTS, NEGLIGIBLE};

/// A possible parent of a message and its weight: how likely it would have the effect in that
/// quantum.
#[derive(Clone, Copy)]
struct CandidateCause {
    child: u32,
    parent: u32,
    weight: f64,
}

/// Links of a trace of `messages` messages.
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
                // With a v beyond the spike there are delays that are not above the mean: possible,
                // not likely.
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
    // The edge that explains a message best counts, of those that lead to it from one other.
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

/// For each message how likely one of its kind is in a quantum without a cause.
fn spontaneous_rates(
    messages: usize,
    sites: &SiteMessages,
    candidates: &[CandidateCause],
    quanta: &TimeQuanta,
) -> Vec<f64> {
    let mut explained = vec![false; messages];
    candidates.iter().for_each(|candidate| explained[candidate.child as usize] = true);
    let mut weights = vec![0.0; messages];
    for group in &sites.groups {
        let left = group.sent.iter().filter(|event| !explained[event.message as usize]).count();
        let weight = (left as f64 + 0.5) / quanta.count() as f64;
        group.sent.iter().for_each(|event| weights[event.message as usize] = weight);
    }
    weights
}

/// Sets the parents of the message that `candidates`, at least one, are for.
fn set_parents(links: &mut Links, candidates: &mut [CandidateCause], spontaneous: &[f64]) {
    // The likeliest first; of equal ones the later.
    candidates.sort_by(|one, other| {
        other.weight.total_cmp(&one.weight).then(other.parent.cmp(&one.parent))
    });
    let Some(best) = candidates.first().copied() else { return };
    let none = spontaneous[best.child as usize];
    let kept = candidates.iter().take(MAX_PARENTS);
    let kept = kept.take_while(|candidate| candidate.weight >= NEGLIGIBLE * best.weight);
    let mut parents: Vec<(u32, f64)> =
        kept.map(|candidate| (candidate.parent, candidate.weight)).collect();
    // The parents that stay share what is left out.
    let all: f64 = candidates.iter().map(|candidate| candidate.weight).sum();
    let total: f64 = parents.iter().map(|(_, weight)| weight).sum();
    let caused = all / (none + all);
    parents.iter_mut().for_each(|(_, weight)| *weight *= caused / total);
    links.set_parents(best.child as usize, &parents, 1.0 - caused);
}
