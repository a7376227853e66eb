//! Top-5 trace accuracy: whether the true tree of a root is among its most probable ones. It
//! measures how much a user finds by looking at a few alternatives instead of one.
//!
//! The most probable tree is the inferred one. Another tree is made by assigning some calls to
//! other candidates. The cost of each such call is the logarithm of the ratio of the probabilities;
//! calls are assigned independently of each other. The trees of a root come in the order of their
//! cost, and assignments that make the same tree count as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use message_trace::Progress;
use out_of_core::workers;
use rustc_hash::{FxHashMap, FxHashSet};

use super::forest::find_roots;
use super::scored_calls::ScoredCalls;
use crate::tuning::{MAX_ALTERNATIVES, MAX_TRIED_ASSIGNMENTS, ROOTS_AT_ONCE};

/// The trees of all roots of the scored calls.
pub(super) struct LikelyTrees<'a> {
    scored: &'a ScoredCalls,
    truth: Vec<Option<u32>>,
    inferred: Vec<Option<u32>>,
    /// The calls of each root, in the truth and as inferred.
    calls_of_root: FxHashMap<u32, Vec<u32>>,
    /// For each call, the calls for which it is a candidate parent but not the inferred parent.
    possible_children: FxHashMap<u32, Vec<u32>>,
}

/// A call with another parent than the inferred one.
#[derive(Clone, Copy, Debug)]
struct AlternativeParent {
    /// Logarithm of the ratio of the inferred parent's probability to this parent's.
    cost: f64,
    call: u32,
    parent: Option<u32>,
}

/// Alternatives that are applied together, as indices in ascending order, with their cost.
#[derive(Debug, PartialEq)]
struct AlternativeSet {
    cost: f64,
    taken: Vec<usize>,
}

impl Eq for AlternativeSet {}

impl PartialOrd for AlternativeSet {
    fn partial_cmp(&self, other: &AlternativeSet) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AlternativeSet {
    fn cmp(&self, other: &AlternativeSet) -> std::cmp::Ordering {
        self.cost.total_cmp(&other.cost).then_with(|| self.taken.cmp(&other.taken))
    }
}

impl<'a> LikelyTrees<'a> {
    /// The trees of the roots of `scored`.
    pub(super) fn from_calls(scored: &'a ScoredCalls) -> LikelyTrees<'a> {
        let truth = scored.true_parents();
        let inferred: Vec<Option<u32>> =
            (0..scored.calls.len()).map(|call| scored.inferred_parent(call)).collect();
        let mut calls_of_root: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for parents in [&truth, &inferred] {
            for (call, root) in find_roots(parents).into_iter().enumerate() {
                if let Some(root) = root.filter(|root| *root != call as u32) {
                    calls_of_root.entry(root).or_default().push(call as u32);
                }
            }
        }
        let mut possible_children: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (call, _, _) in scored.scored_links() {
            for (parent, _) in &scored.candidates[call] {
                if let Some(parent) = parent.filter(|parent| Some(*parent) != inferred[call]) {
                    possible_children.entry(parent).or_default().push(call as u32);
                }
            }
        }
        LikelyTrees { scored, truth, inferred, calls_of_root, possible_children }
    }

    /// Counts the `roots` with a true tree among the `max_trees` most probable ones. The roots are
    /// distributed over the cores, as they are independent.
    pub(super) fn count_found(
        &self,
        roots: &[u32],
        max_trees: usize,
        progress: &dyn Progress,
    ) -> usize {
        let chunks: Vec<&[u32]> = roots.chunks(ROOTS_AT_ONCE).collect();
        let counts = workers::map_items(chunks.len(), |chunk| {
            let roots = chunks[chunk];
            progress.advance_step(roots.len() as u64);
            roots.iter().filter(|root| self.is_true_tree_likely(**root, max_trees)).count()
        });
        counts.into_iter().sum()
    }

    /// Whether the true tree of `root` is among the `max_trees` most probable ones.
    pub(super) fn is_true_tree_likely(&self, root: u32, max_trees: usize) -> bool {
        let mut near: Vec<u32> = self.calls_of_root.get(&root).cloned().unwrap_or_default();
        near.sort_unstable();
        near.dedup();
        let alternatives = self.alternative_parents(root, &near);
        near.extend(alternatives.iter().map(|alternative| alternative.call));
        near.sort_unstable();
        near.dedup();
        let wanted = tree_of_root(root, &near, |call| self.truth[call as usize]);
        let mut seen = FxHashSet::default();
        let mut waiting =
            BinaryHeap::from([Reverse(AlternativeSet { cost: 0.0, taken: Vec::new() })]);
        for _ in 0..MAX_TRIED_ASSIGNMENTS {
            let Some(Reverse(AlternativeSet { cost, taken })) = waiting.pop() else { break };
            let last = taken.last().copied();
            let next = last.map_or(0, |last| last + 1);
            let mut calls: Vec<u32> = taken.iter().map(|index| alternatives[*index].call).collect();
            calls.sort_unstable();
            calls.dedup();
            let possible = calls.len() == taken.len();
            if let Some(alternative) = alternatives.get(next) {
                if let Some(last) = last {
                    let mut taken = taken.clone();
                    taken.pop();
                    taken.push(next);
                    let cost = cost - alternatives[last].cost + alternative.cost;
                    waiting.push(Reverse(AlternativeSet { cost, taken }));
                }
                if possible {
                    let mut taken = taken.clone();
                    taken.push(next);
                    waiting.push(Reverse(AlternativeSet { cost: cost + alternative.cost, taken }));
                }
            }
            if !possible {
                continue;
            }
            let other: FxHashMap<u32, Option<u32>> = taken
                .iter()
                .map(|index| (alternatives[*index].call, alternatives[*index].parent))
                .collect();
            let made = tree_of_root(root, &near, |call| {
                other.get(&call).copied().unwrap_or_else(|| self.inferred[call as usize])
            });
            if made == wanted {
                return true;
            }
            if seen.insert(made) && seen.len() >= max_trees {
                break;
            }
        }
        false
    }

    /// The other possible parents of calls in or next to the tree of `root`, the cheapest first.
    /// `near` are the calls of the tree, in the truth and as inferred.
    fn alternative_parents(&self, root: u32, near: &[u32]) -> Vec<AlternativeParent> {
        let is_near = |call: u32| call == root || near.binary_search(&call).is_ok();
        let mut calls: Vec<u32> = near.to_vec();
        for parent in near.iter().chain([&root]) {
            calls.extend(self.possible_children.get(parent).into_iter().flatten());
        }
        calls.sort_unstable();
        calls.dedup();
        let mut alternatives = Vec::new();
        for call in calls {
            let scored = &self.scored.calls[call as usize];
            let candidates = &self.scored.candidates[call as usize];
            if scored.excluded {
                continue;
            }
            let inferred = self.inferred[call as usize];
            let of_inferred = candidates.iter().find(|(parent, _)| *parent == inferred);
            let best = of_inferred.map_or(scored.probability, |(_, probability)| *probability);
            for (parent, probability) in candidates.iter().filter(|(parent, _)| *parent != inferred)
            {
                // A call outside of the tree matters only if it would join it.
                if is_near(call) || parent.is_some_and(is_near) {
                    let cost = (best.max(f64::MIN_POSITIVE).ln() - probability.ln()).max(0.0);
                    alternatives.push(AlternativeParent { cost, call, parent: *parent });
                }
            }
        }
        alternatives
            .sort_by(|one, other| one.cost.total_cmp(&other.cost).then(one.call.cmp(&other.call)));
        alternatives.truncate(MAX_ALTERNATIVES);
        alternatives
    }
}

/// The tree of `root`: the `calls` (sorted) that lead to it by `parent`, each with its parent.
fn tree_of_root(root: u32, calls: &[u32], parent: impl Fn(u32) -> Option<u32>) -> Vec<(u32, u32)> {
    let place = |call: u32| calls.binary_search(&call).ok();
    let parents: Vec<Option<u32>> = calls.iter().map(|call| parent(*call)).collect();
    // Follows the parents of each call; a chain that leaves `calls` belongs to another tree, unless
    // it ends at the root.
    let leads = |mut call: u32| {
        for _ in 0..=calls.len() {
            if call == root {
                return true;
            }
            match place(call).and_then(|place| parents[place]) {
                Some(parent) => call = parent,
                None => return false,
            }
        }
        false
    };
    let pairs = calls.iter().zip(&parents).filter_map(|(call, parent)| Some((*call, (*parent)?)));
    pairs.filter(|(call, _)| *call != root && leads(*call)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two roots, 0 and 1, and three calls that could each belong to either; all are assigned to 1,
    /// and really belong to 0.
    fn scored() -> ScoredCalls {
        let mut scored = ScoredCalls::from_rows(&[
            ("c", "a", None, None, 1.0),
            ("c", "a", None, None, 1.0),
            ("a", "b", Some(0), Some(1), 0.6),
            ("a", "d", Some(0), Some(1), 0.7),
            ("a", "e", Some(0), Some(1), 0.8),
        ]);
        for (call, probability) in [(2, 0.6), (3, 0.7), (4, 0.8)] {
            scored.candidates[call] = vec![(Some(1), probability), (Some(0), 1.0 - probability)];
        }
        scored
    }

    #[test]
    fn trees_come_by_their_probability() {
        let scored = scored();
        let trees = LikelyTrees::from_calls(&scored);
        // The odds against assigning a call to 0 are 1.5, 2.33 and 4: by product none (1), b (1.5),
        // d (2.33), b and d (3.5), e (4), b and e (6), d and e (9.33), and last all three (14),
        // which is the true tree.
        assert!(!trees.is_true_tree_likely(0, 7));
        assert!(trees.is_true_tree_likely(0, 8));
        assert_eq!(
            (trees.count_found(&[0, 1, 0], 8, &()), trees.count_found(&[0, 1], 7, &())),
            (3, 0)
        );
        assert!(!trees.is_true_tree_likely(1, 7) && trees.is_true_tree_likely(1, 8));
    }

    #[test]
    fn the_inferred_tree_is_the_first() {
        let mut scored = scored();
        for call in &mut scored.calls[2..] {
            call.inferred = Some(0);
        }
        assert!(LikelyTrees::from_calls(&scored).is_true_tree_likely(0, 1));
    }

    #[test]
    fn a_parent_that_is_no_candidate_is_not_found() {
        let mut scored = scored();
        scored.candidates[4] = vec![(Some(1), 1.0)];
        assert!(!LikelyTrees::from_calls(&scored).is_true_tree_likely(0, 100));
    }
}
