//! The three penalties of Project 5 section 5.1.1.3: factors of a possible parent's score for the
//! children that it was already assigned. Each is a number of children c to a negative power: -x
//! for the children that overlap in time with the current child, -y for those of the same
//! destination, -z for all.
//!
//! The paper does not define c if the parent has no child of the kind: taken literally, a score
//! would become infinite without a child and stay unchanged with one child. Here the current child
//! is counted, too: without another child the score is unchanged, and one other child halves it
//! with an exponent of 1.

use super::call_pairs::NodeCallPairs;
use crate::infer::call_links::{MadeCallId, RequestId};
use crate::tuning::nesting::MAX_CHILDREN;

/// The factors of the three penalties, each by the number of children.
#[derive(Debug)]
pub(super) struct NestingPenalties {
    /// For children that overlap in time with the current child.
    overlapping: Vec<f64>,
    /// For children of the same destination.
    same: Vec<f64>,
    /// For all children.
    generic: Vec<f64>,
    /// Whether the number of children of the same destination matters.
    by_destination: bool,
}

/// The children that the parents of a node were assigned so far, as a linked list for each parent.
/// The last child has the latest return.
#[derive(Debug, Default)]
pub(super) struct AssignedChildren {
    /// By parent: the last child.
    last: Vec<Option<MadeCallId>>,
    /// By child: the child that its parent was assigned before it.
    previous: Vec<Option<MadeCallId>>,
    /// By parent: the number of children.
    count: Vec<u32>,
}

impl NestingPenalties {
    /// Penalties with the exponents x, y and z.
    pub(super) fn new([x, y, z]: [f64; 3]) -> NestingPenalties {
        let factors = |exponent: f64| {
            (0..=MAX_CHILDREN).map(|count| (1.0 + count as f64).powf(-exponent)).collect()
        };
        NestingPenalties {
            overlapping: factors(x),
            same: factors(y),
            generic: factors(z),
            by_destination: y != 0.0,
        }
    }

    /// Factor by which the score of `parent` for `child` is multiplied.
    pub(super) fn penalty_factor(
        &self,
        node: &NodeCallPairs,
        assigned: &AssignedChildren,
        parent: RequestId,
        child: MadeCallId,
    ) -> f64 {
        let Some(last) = assigned.last.get(parent.index()).copied().flatten() else { return 1.0 };
        let of = node.children[child.index()];
        let earlier = || {
            let next = |other: &MadeCallId| assigned.previous[other.index()];
            std::iter::successors(Some(last), next).take(MAX_CHILDREN)
        };
        // All earlier children return before this one does, the last one last; overlapping children
        // return after this one was made.
        let overlapping =
            earlier().take_while(|other| node.children[other.index()].end > of.begin).count();
        let same = match self.by_destination {
            true => earlier().filter(|other| node.children[other.index()].kind == of.kind).count(),
            false => 0,
        };
        let any = (assigned.count[parent.index()] as usize).min(MAX_CHILDREN);
        self.overlapping[overlapping] * self.same[same] * self.generic[any]
    }
}

impl AssignedChildren {
    /// Assigns `child` to `parent`.
    pub(super) fn assign_child(
        &mut self,
        node: &NodeCallPairs,
        parent: RequestId,
        child: MadeCallId,
    ) {
        if self.last.is_empty() {
            self.last = vec![None; node.parents.len()];
            self.count = vec![0; node.parents.len()];
            self.previous = vec![None; node.children.len()];
        }
        let last = &mut self.last[parent.index()];
        self.previous[child.index()] = *last;
        *last = Some(child);
        self.count[parent.index()] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parent with children 0 to 2 already, which end at 20, 30 and 40; the last one is of
    /// another kind.
    fn factor(exponents: [f64; 3], begin: i64) -> f64 {
        let node = NodeCallPairs::by_hand(
            &[(0, 100, 1), (0, 100, 1)],
            &[(10, 20, 2), (12, 30, 2), (14, 40, 3), (begin, 50, 2)],
        );
        let mut assigned = AssignedChildren::default();
        let child = node.children.iter().position(|child| child.end == 50).unwrap();
        let child = MadeCallId::from_index(child);
        let [parent, other_parent] = [0, 1].map(RequestId::from_index);
        for other in MadeCallId::ids().take(4).filter(|other| *other != child) {
            assigned.assign_child(&node, parent, other);
        }
        assert_eq!(
            NestingPenalties::new(exponents).penalty_factor(&node, &assigned, other_parent, child),
            1.0
        );
        NestingPenalties::new(exponents).penalty_factor(&node, &assigned, parent, child)
    }

    #[test]
    fn children_that_overlap_are_counted_by_their_times() {
        // With the child itself: 1, 2, 3 and 4 to the power of -2. A child that begins when another
        // ends does not overlap it.
        assert_eq!(factor([2.0, 0.0, 0.0], 45), 1.0);
        assert_eq!(factor([2.0, 0.0, 0.0], 40), 1.0);
        assert_eq!(factor([2.0, 0.0, 0.0], 39), 1.0 / 4.0);
        assert_eq!(factor([2.0, 0.0, 0.0], 29), 1.0 / 9.0);
        assert_eq!(factor([2.0, 0.0, 0.0], 15), 1.0 / 16.0);
    }

    #[test]
    fn children_of_the_same_destination_and_any_children_are_counted_always() {
        assert_eq!(factor([0.0, 1.0, 0.0], 45), 1.0 / 3.0);
        assert_eq!(factor([0.0, 0.0, 1.0], 45), 1.0 / 4.0);
        assert_eq!(factor([2.0, 1.0, 1.0], 29), 1.0 / 9.0 / 3.0 / 4.0);
        assert_eq!(factor([0.0; 3], 15), 1.0);
    }
}
