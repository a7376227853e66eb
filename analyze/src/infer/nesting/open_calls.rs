//! T_opencalls (Project 5 section 5.1.1.1): the possible parents of a call. When a call that a node
//! made returns, they are the open calls to the node that began before it.
//!
//! The paper's comparisons are relaxed by the skew window (section 7.5.6), and for coarse clocks:
//! calls that begin or end at the same time may be nested, and those that also began at the same
//! time only in the order of the trace.

use super::call_pairs::NodeCallPairs;
use crate::infer::call_links::{MadeCallId, RequestId, WorkItem};
use crate::tuning::nesting::MAX_OPEN_CALLS;

/// The calls to a node that are open.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    /// Index of the first parent that has not begun yet.
    next: usize,
    /// Open parents, by the time of the call.
    open: Vec<RequestId>,
    /// No open parent ends before this time, in nanoseconds.
    first_end: i64,
    /// The possible parents of the current child.
    possible: Vec<RequestId>,
}

impl OpenCalls {
    /// The possible parents of `child`, the earliest first. Children must be requested in the order
    /// of their returns.
    pub(super) fn possible_parents(
        &mut self,
        node: &NodeCallPairs,
        child: MadeCallId,
        skew_window: i64,
    ) -> &[RequestId] {
        let (parents, call) = (&node.parents, WorkItem::request(node.child_calls[child.index()]));
        let child = node.children[child.index()];
        let latest_begin = child.begin.saturating_add(skew_window);
        let earliest_end = child.end.saturating_sub(skew_window);
        while let Some(parent) =
            parents.get(self.next).filter(|parent| parent.begin <= latest_begin)
        {
            if parent.end >= earliest_end {
                self.first_end =
                    if self.open.is_empty() { parent.end } else { self.first_end.min(parent.end) };
                if self.open.len() >= MAX_OPEN_CALLS {
                    self.open.remove(0);
                }
                self.open.push(RequestId::from_index(self.next));
            }
            self.next += 1;
        }
        if self.first_end < earliest_end {
            self.open.retain(|parent| parents[parent.index()].end >= earliest_end);
            let ends = self.open.iter().map(|parent| parents[parent.index()].end);
            self.first_end = ends.min().unwrap_or(i64::MAX);
        }
        let began =
            self.open.partition_point(|parent| parents[parent.index()].begin <= latest_begin);
        self.possible.clear();
        self.possible.extend(self.open[..began].iter().filter(|parent| {
            let (begin, of) = (parents[parent.index()].begin, node.parent_calls[parent.index()]);
            // A call is not nested in itself, and two are not nested both ways.
            of != call && (skew_window > 0 || begin < child.begin || of < call)
        }));
        &self.possible
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallId;

    /// The possible parents of each child, in the order of the returns.
    fn parents(node: &NodeCallPairs, skew_window: i64) -> Vec<Vec<usize>> {
        let mut open = OpenCalls::default();
        node.returns
            .iter()
            .map(|child| {
                let parents = open.possible_parents(node, *child, skew_window).iter();
                parents.map(|parent| parent.index()).collect()
            })
            .collect()
    }

    #[test]
    fn a_call_is_nested_in_those_that_began_before_it_and_are_open_when_it_returns() {
        // The first parent ends before the second child, the third begins after both.
        let node = NodeCallPairs::by_hand(
            &[(0, 30, 1), (10, 60, 1), (45, 90, 1)],
            &[(20, 25, 2), (40, 50, 2)],
        );
        assert_eq!(parents(&node, 0), [vec![0, 1], vec![1]]);
        // A call that returns first though it begins last, and a call that outlasts the calls
        // before it.
        let node = NodeCallPairs::by_hand(
            &[(0, 30, 1), (10, 60, 1), (20, 70, 1)],
            &[(5, 55, 2), (25, 28, 2)],
        );
        assert_eq!(parents(&node, 0), [vec![0, 1, 2], vec![]]);
    }

    #[test]
    fn the_skew_window_loosens_both_comparisons() {
        let node = NodeCallPairs::by_hand(&[(100, 200, 1)], &[(95, 150, 2), (150, 207, 2)]);
        assert_eq!(parents(&node, 0), [vec![], vec![]] as [Vec<usize>; 2]);
        assert_eq!(parents(&node, 5), [vec![0], vec![]]);
        assert_eq!(parents(&node, 7), [vec![0], vec![0]]);
    }

    #[test]
    fn at_the_same_time_the_order_of_the_trace_decides() {
        let node = NodeCallPairs::by_hand(&[(10, 20, 1)], &[(10, 20, 2)]);
        assert_eq!(parents(&node, 0), [vec![0]]);
        let mut before = NodeCallPairs::by_hand(&[(10, 20, 1)], &[(10, 20, 2)]);
        let [first, second] = [0, 1].map(CallId::from_index);
        (before.parent_calls, before.child_calls) = (vec![WorkItem::request(second)], vec![first]);
        assert_eq!(parents(&before, 0), [vec![]] as [Vec<usize>; 1]);
        // A call of the node to itself is not nested in itself.
        (before.parent_calls, before.child_calls) = (vec![WorkItem::request(first)], vec![first]);
        assert_eq!(parents(&before, 0), [vec![]] as [Vec<usize>; 1]);
        assert_eq!(parents(&before, 5), [vec![]] as [Vec<usize>; 1]);
    }

    #[test]
    fn the_earliest_of_too_many_open_calls_is_dropped() {
        let many: Vec<_> = (0..MAX_OPEN_CALLS as i64 + 3).map(|at| (at, 1_000_000, 1)).collect();
        let node = NodeCallPairs::by_hand(&many, &[(10_000, 20_000, 2)]);
        let found = &parents(&node, 0)[0];
        assert_eq!((found.len(), found[0]), (MAX_OPEN_CALLS, 3));
    }
}
