//! Who goes with whom: the likeliest first, each half flow once.
//!
//! Flows that nobody can tell apart - of the same two processes, with the same bytes, under way at the same time - are as
//! good as each other: such a pair is as sure as it is that its end is with one of them, and they go in order.

use rustc_hash::FxHashMap;

use super::Pair;
use super::candidates::{Edge, Field};
use super::confidence::Judged;

/// The pairs whose confidence is at least `least`, in the order of their connecting ends.
pub(super) fn assign(field: &Field, edges: &[Edge], judged: &[Judged], least: f64) -> Vec<Pair> {
    let confidence = among_equals(field, edges, judged);
    let mut order: Vec<u32> = (0..edges.len() as u32).collect();
    order.retain(|place| confidence[*place as usize] >= least);
    let key = |place: &u32| {
        let edge = &edges[*place as usize];
        (field.half(edge.connecting).made, edge.connecting, field.half(edge.accepting).made, edge.accepting)
    };
    order.sort_unstable_by(|one, other| {
        let odds = |place: &u32| judged[*place as usize].odds;
        let belief = |place: &u32| (judged[*place as usize].belief * 64.0) as i64;
        belief(other)
            .cmp(&belief(one))
            .then(odds(other).total_cmp(&odds(one)))
            .then_with(|| key(one).cmp(&key(other)))
    });
    let mut taken = vec![false; field.halves.len()];
    let mut pairs = Vec::new();
    for place in order {
        let edge = &edges[place as usize];
        let (one, other) = (edge.connecting as usize, edge.accepting as usize);
        if taken[one] || taken[other] {
            continue;
        }
        (taken[one], taken[other]) = (true, true);
        pairs.push(Pair {
            connecting: edge.connecting,
            accepting: edge.accepting,
            confidence: confidence[place as usize],
            evidence: judged[place as usize].evidence,
        });
    }
    pairs.sort_unstable_by_key(|pair| (pair.connecting, pair.accepting));
    pairs
}

/// How sure each candidate is, counting as right what could as well be taken for it.
fn among_equals(field: &Field, edges: &[Edge], judged: &[Judged]) -> Vec<f64> {
    type Group = (u32, u32, std::net::SocketAddr);
    let mut sums: [FxHashMap<Group, f64>; 2] = [FxHashMap::default(), FxHashMap::default()];
    let groups = |edge: &Edge| {
        let (one, other) = (field.half(edge.connecting), field.half(edge.accepting));
        [(edge.connecting, other.process, other.local), (edge.accepting, one.process, one.peer)]
    };
    for (edge, judged) in edges.iter().zip(judged) {
        for (sums, group) in sums.iter_mut().zip(groups(edge)) {
            *sums.entry(group).or_insert(0.0) += judged.belief;
        }
    }
    edges
        .iter()
        .map(|edge| {
            let [one, other] = groups(edge);
            let sum = |side: usize, group: &Group| sums[side].get(group).copied().unwrap_or(0.0);
            sum(0, &one).min(sum(1, &other)).min(1.0)
        })
        .collect()
}
