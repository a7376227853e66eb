//! Siblings: the order of the steps of one parent, which of them are concurrent, and what each
//! waits for.
//!
//! Steps of one parent that overlap in time, by the caller's clock if it was seen, are concurrent.
//! Other steps of one parent follow each other. A step waits for the latest sibling that had ended
//! before it began: that is where branches join. A parent's end waits for the last of its children
//! that ended before it.
//!
//! ```text
//! parent  |----------------------------------|
//! a          |-----|                            groups: {a, b}, {c}, {d}
//! b            |--------|                       c waits for b, d waits for c
//! c                        |---|
//! d                               |----- - -    d outlasts its parent: nothing waits for it
//! ```

use std::collections::BTreeSet;

use crate::step::Step;

/// Returns the sort key of siblings: the source's order if it has one, else the time of the
/// caller's call. A step without any time comes first.
pub fn sibling_order(step: &Step, order: Option<i64>) -> (i64, i64) {
    (order.unwrap_or(0), step.span_at_caller().0.unwrap_or(i64::MIN))
}

/// The children of one step, with their concurrency and waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiblingSteps {
    /// Number of the group of each child. Children of one group are connected by overlaps in time;
    /// groups follow each other.
    pub groups: Vec<u32>,
    /// The sibling that each child waits for, as an index into the children; `None` if it waits
    /// only for its parent's begin.
    pub waits_for: Vec<Option<u32>>,
    /// The child that the parent waits for before it ends; `None` if it waits for no child.
    pub last: Option<u32>,
}

/// Finds the children of one step that are concurrent with earlier ones, child by child.
#[derive(Clone, Copy, Debug, Default)]
pub struct OverlapTracker {
    /// The latest end of the children of the current group, in nanoseconds.
    busy_until: Option<i64>,
}

impl OverlapTracker {
    /// Returns whether the next child, in their order, is in the same group as the previous one.
    pub fn joins_previous(&mut self, child: &Step) -> bool {
        let (begin, until) = child.span_at_caller();
        let overlaps =
            matches!((begin, self.busy_until), (Some(begin), Some(busy)) if begin < busy);
        // A child with an unknown end is not waited for.
        self.busy_until = if overlaps { self.busy_until.max(until) } else { until };
        overlaps
    }
}

impl SiblingSteps {
    /// Analyzes the children of a step that ended at `end`, in their order.
    pub fn from_children<'a>(
        children: impl IntoIterator<Item = &'a Step>,
        end: Option<i64>,
    ) -> SiblingSteps {
        let mut siblings = SiblingSteps::default();
        // The ends so far, to find the latest one before a begin.
        let mut ended: BTreeSet<(i64, u32)> = BTreeSet::new();
        // Of several siblings with the same end the last one in their order is waited for.
        let latest = |ended: &BTreeSet<(i64, u32)>, time: Option<i64>| {
            ended.range(..=(time?, u32::MAX)).next_back().map(|(_, place)| *place)
        };
        let (mut group, mut overlaps) = (0, OverlapTracker::default());
        for (place, child) in (0..).zip(children) {
            let (begin, until) = child.span_at_caller();
            if !overlaps.joins_previous(child) && place > 0 {
                group += 1;
            }
            siblings.groups.push(group);
            siblings.waits_for.push(latest(&ended, begin));
            ended.extend(until.map(|until| (until, place)));
        }
        siblings.last = latest(&ended, end);
        siblings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NameId;

    fn step(begin: i64, end: i64) -> Step {
        Step {
            begin: Some(begin),
            end: Some(end),
            ..Step::new(NameId::from_index(1), NameId::from_index(1))
        }
    }

    #[test]
    fn the_diagram_of_the_module() {
        let children = [step(3, 9), step(5, 14), step(17, 21), step(24, 99)];
        let siblings = SiblingSteps::from_children(&children, Some(28));
        assert_eq!(siblings.groups, [0, 0, 1, 2]);
        assert_eq!(siblings.waits_for, [None, None, Some(1), Some(2)]);
        assert_eq!(siblings.last, Some(2));
    }

    #[test]
    fn a_step_within_a_long_one_does_not_end_the_group() {
        let children = [step(0, 100), step(10, 20), step(30, 40), step(100, 110)];
        let siblings = SiblingSteps::from_children(&children, Some(120));
        assert_eq!(siblings.groups, [0, 0, 0, 1]);
        // The third began after the second had ended, and may have waited for it.
        assert_eq!(siblings.waits_for, [None, None, Some(1), Some(0)]);
    }

    #[test]
    fn a_step_without_an_end_is_not_waited_for() {
        let open = Step { end: None, ..step(0, 0) };
        let siblings = SiblingSteps::from_children(&[open, step(5, 6)], None);
        assert_eq!((siblings.groups, siblings.waits_for), (vec![0, 1], vec![None, None]));
        assert_eq!(siblings.last, None);
    }
}
