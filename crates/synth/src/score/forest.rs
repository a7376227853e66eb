//! Calls as trees: the root of each call, and the path pattern of each tree. Two trees have the
//! same pattern if the same callers make the same calls at every position; the order of the calls
//! of one request is ignored, as parallel calls come in any order.

use rustc_hash::FxHashMap;

use super::scored_calls::ScoredCalls;
use crate::ground_truth::CallOrigin;

/// The number of a pattern.
pub(super) type PatternNumber = u32;

/// The root of each call, given the parent of each; `None` for a call in a cycle.
pub(super) fn find_roots(parents: &[Option<u32>]) -> Vec<Option<u32>> {
    #[derive(Clone, Copy)]
    enum VisitState {
        New,
        Visiting,
        Done(Option<u32>),
    }
    let mut states = vec![VisitState::New; parents.len()];
    let mut path = Vec::new();
    for call in 0..parents.len() as u32 {
        let mut at = call;
        let root = loop {
            match states[at as usize] {
                VisitState::Done(root) => break root,
                VisitState::Visiting => break None,
                VisitState::New => {}
            }
            states[at as usize] = VisitState::Visiting;
            path.push(at);
            match parents[at as usize] {
                Some(parent) => at = parent,
                None => break Some(at),
            }
        };
        for at in path.drain(..) {
            states[at as usize] = VisitState::Done(root);
        }
    }
    let root = |state: &VisitState| match state {
        VisitState::Done(root) => *root,
        _ => None,
    };
    states.iter().map(root).collect()
}

/// The patterns of several forests, with equal numbers for equal patterns.
#[derive(Debug, Default)]
pub(super) struct PatternInterner {
    /// A tree below a request, by the callee and the trees below it.
    trees: FxHashMap<(u32, Vec<u32>), u32>,
    /// A pattern, by the caller of the root and the tree.
    patterns: FxHashMap<(u32, u32), PatternNumber>,
}

/// The trees that calls form.
#[derive(Debug)]
pub(super) struct CallForest {
    /// The root of each call; `None` for a call in no tree.
    pub(super) roots: Vec<Option<u32>>,
    /// The pattern of each root.
    pub(super) patterns: FxHashMap<u32, PatternNumber>,
}

impl PatternInterner {
    /// The trees of the calls in the truth, by `parents`.
    pub(super) fn build_forest(
        &mut self,
        scored: &ScoredCalls,
        parents: &[Option<u32>],
    ) -> CallForest {
        let known = |call: usize| scored.calls[call].origin != CallOrigin::Unknown;
        let parents: Vec<Option<u32>> =
            parents.iter().map(|parent| parent.filter(|parent| known(*parent as usize))).collect();
        let mut roots = find_roots(&parents);
        for (call, root) in roots.iter_mut().enumerate() {
            *root = root.filter(|_| known(call));
        }
        let mut waiting = vec![0u32; parents.len()];
        for (call, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent.filter(|_| roots[call].is_some()) {
                waiting[parent as usize] += 1;
            }
        }
        // From the leaves up: a call is complete when all calls below it are.
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
        let mut patterns = FxHashMap::default();
        let mut ready: Vec<usize> = (0..parents.len())
            .filter(|call| roots[*call].is_some() && waiting[*call] == 0)
            .collect();
        while let Some(call) = ready.pop() {
            let mut children = std::mem::take(&mut below[call]);
            children.sort_unstable();
            let [caller, callee] = scored.calls[call].names;
            let next = self.trees.len() as u32;
            let tree = *self.trees.entry((callee, children)).or_insert(next);
            match parents[call] {
                Some(parent) => {
                    below[parent as usize].push(tree);
                    waiting[parent as usize] -= 1;
                    if waiting[parent as usize] == 0 {
                        ready.push(parent as usize);
                    }
                }
                None => {
                    let next = self.patterns.len() as PatternNumber;
                    let pattern = *self.patterns.entry((caller, tree)).or_insert(next);
                    patterns.insert(call as u32, pattern);
                }
            }
        }
        CallForest { roots, patterns }
    }
}

impl CallForest {
    /// The pattern of the tree that `call` is in.
    pub(super) fn pattern_of_call(&self, call: usize) -> Option<PatternNumber> {
        self.patterns.get(&self.roots[call]?).copied()
    }

    /// Number of instances of each pattern.
    pub(super) fn pattern_counts(&self) -> FxHashMap<PatternNumber, u64> {
        let mut counts = FxHashMap::default();
        for pattern in self.patterns.values() {
            *counts.entry(*pattern).or_default() += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_last_parent_and_cycles_have_none() {
        let parents = [None, Some(0), Some(1), Some(4), Some(3), Some(4)];
        assert_eq!(find_roots(&parents), [Some(0), Some(0), Some(0), None, None, None]);
    }

    #[test]
    fn patterns_do_not_depend_on_the_order_of_calls() {
        let scored = ScoredCalls::from_rows(&[
            ("c", "a", None, None, 1.0),
            ("a", "b", Some(0), None, 1.0),
            ("a", "d", Some(0), None, 1.0),
            ("c", "a", None, None, 1.0),
            ("a", "d", Some(3), None, 1.0),
            ("a", "b", Some(3), None, 1.0),
            ("c", "a", None, None, 1.0),
            ("a", "b", Some(6), None, 1.0),
            ("e", "a", None, None, 1.0),
            ("a", "b", Some(8), None, 1.0),
        ]);
        let forest = PatternInterner::default().build_forest(&scored, &scored.true_parents());
        let pattern = |call| forest.pattern_of_call(call).unwrap();
        assert_eq!(pattern(1), pattern(4));
        assert!(pattern(0) != pattern(6) && pattern(6) != pattern(8));
        assert_eq!(forest.pattern_counts()[&pattern(0)], 2);
    }
}
