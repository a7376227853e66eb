//! Assignment of half flows to pairs: the most probable pairs first, each half flow once.
//!
//! Flows that are indistinguishable - of the same two processes, with the same bytes, at the same
//! time - are interchangeable: the confidence of a pair of them is the probability that the end
//! belongs to any of them, and they are assigned in order.

use std::cmp::Reverse;

use message_trace::PathError;
use out_of_core::SpillableVec;

use super::candidates::{CandidateEdge, HalfFlowField};
use super::confidence::CandidateScore;
use super::median::OrderedFloat;
use super::pair::HalfFlowPair;
use crate::indices::ProcessIndex;

/// Returns the pairs with a confidence of at least `least`, in the order of their connecting ends.
pub(super) fn assign_pairs(
    field: &HalfFlowField,
    edges: &SpillableVec<CandidateEdge>,
    scores: &SpillableVec<CandidateScore>,
    least: f64,
) -> Result<SpillableVec<HalfFlowPair>, PathError> {
    let pool = &field.halves.pool;
    let confidence = share_among_equals(field, edges, scores)?;
    // The most probable first.
    let mut order = SpillableVec::new(pool);
    let enough = (0u32..).zip(confidence.iter()).filter(|(_, confidence)| **confidence >= least);
    for (place, _) in enough {
        let (edge, scores) = (&edges[place as usize], &scores[place as usize]);
        let made = |half| field.halves.half_at(half).made;
        let belief = (scores.belief * 64.0) as i64;
        let ends = (made(edge.connecting), edge.connecting, made(edge.accepting), edge.accepting);
        order.push((belief, OrderedFloat::from_f64(scores.odds), ends, place))?;
    }
    order.sort_by_key(|(belief, odds, ends, _)| (Reverse(*belief), Reverse(*odds), *ends))?;
    let mut taken = SpillableVec::filled(pool, field.halves.len(), false)?;
    let mut pairs = SpillableVec::new(pool);
    for (.., place) in order.iter() {
        let place = *place as usize;
        let edge = &edges[place];
        let (one, other) = (edge.connecting as usize, edge.accepting as usize);
        if taken[one] || taken[other] {
            continue;
        }
        (taken[one], taken[other]) = (true, true);
        pairs.push(HalfFlowPair {
            connecting: edge.connecting,
            accepting: edge.accepting,
            confidence: confidence[place],
            evidence: scores[place].evidence,
        })?;
    }
    pairs.sort_by_key(|pair| (pair.connecting, pair.accepting))?;
    Ok(pairs)
}

/// Confidence of each candidate, in which its indistinguishable alternatives count as correct.
fn share_among_equals(
    field: &HalfFlowField,
    edges: &SpillableVec<CandidateEdge>,
    scores: &SpillableVec<CandidateScore>,
) -> Result<SpillableVec<f64>, PathError> {
    let half = |place| field.halves.half_at(place);
    // The connecting end with the process and name of the other one, and the accepting end
    // likewise.
    let by_one = sum_by_group(edges, scores, |edge| {
        let other = half(edge.accepting);
        (edge.connecting, other.process, other.local_name)
    })?;
    let by_other = sum_by_group(edges, scores, |edge| {
        let one = half(edge.connecting);
        (edge.accepting, one.process, one.peer_name)
    })?;
    let both = by_one.iter().zip(by_other.iter());
    SpillableVec::collect(&field.halves.pool, both.map(|(one, other)| one.min(*other).min(1.0)))
}

/// The sum of the beliefs of all edges of the same `group`, by edge.
fn sum_by_group(
    edges: &SpillableVec<CandidateEdge>,
    scores: &SpillableVec<CandidateScore>,
    group: impl Fn(&CandidateEdge) -> (u32, ProcessIndex, u32),
) -> Result<SpillableVec<f64>, PathError> {
    let pool = edges.pool();
    let mut grouped = SpillableVec::collect(
        pool,
        (0u32..).zip(edges.iter()).map(|(place, edge)| (group(edge), place)),
    )?;
    grouped.sort_by_key(|row| *row)?;
    let mut sums = SpillableVec::filled(pool, edges.len(), 0.0)?;
    let mut start = 0;
    while let Some((group, _)) = grouped.get(start).copied() {
        let end = grouped.end_where(start, |row| row.0 == group);
        let of_group = || grouped.range(start..end).map(|(_, place)| *place as usize);
        let sum = of_group().fold(0.0, |sum, place| sum + scores[place].belief);
        for place in of_group() {
            sums[place] = sum;
        }
        start = end;
    }
    Ok(sums)
}
