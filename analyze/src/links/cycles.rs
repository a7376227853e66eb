//! Cycles: messages that are each other's likely causes. If clocks are off or coarse, several
//! messages may each seem to be caused by another of them; then none of them is a root or below a
//! root, and no path would contain them. So the message of each cycle that is first in the trace
//! loses its cause within the cycle; the cause's probability is added to the spontaneous one.

use std::ops::Range;

use message_trace::MessageId;

use crate::links::Links;

/// State of a message in the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageVisit {
    New,
    OnWalk,
    Done,
}

impl Links {
    /// Breaks the cycles of likely causes, so that the chain of most likely parents leads from
    /// every message to a root. Returns how many cycles were broken at a message in the rows `own`.
    pub(crate) fn break_cycles(&mut self, own: &Range<usize>) -> u64 {
        let mut marks = vec![MessageVisit::New; self.message_count()];
        let mut walk: Vec<MessageId> = Vec::new();
        let mut broken = 0;
        for begin in self.ids() {
            let mut at = Some(begin);
            while let Some(message) = at {
                match marks[message.index()] {
                    MessageVisit::Done => break,
                    MessageVisit::OnWalk => {
                        // The cycle is the end of the walk. Messages after its first member are
                        // visited again, from there.
                        let Some(place) = walk.iter().rposition(|on| *on == message) else { break };
                        let cycle = walk.split_off(place);
                        let Some(first) = cycle.iter().copied().min() else { break };
                        cycle.iter().for_each(|on| marks[on.index()] = MessageVisit::New);
                        self.drop_likeliest_parent(first);
                        broken += u64::from(own.contains(&first.index()));
                        at = Some(message);
                    }
                    MessageVisit::New => {
                        marks[message.index()] = MessageVisit::OnWalk;
                        walk.push(message);
                        at = self.likely_parent(message);
                    }
                }
            }
            walk.drain(..).for_each(|on| marks[on.index()] = MessageVisit::Done);
        }
        broken
    }

    /// Returns the most likely parent of `child`; links read from a table may refer to messages
    /// that do not exist.
    fn likely_parent(&self, child: MessageId) -> Option<MessageId> {
        let (parent, _) = self.likeliest_parent(child)?;
        parent.here().filter(|parent| self.has_message(*parent))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_message_of_a_cycle_loses_its_cause() {
        let mut links = Links::spontaneous_only(6);
        links.set_parent_rows(0, &[(5, 0.7)], 0.3);
        links.set_parent_rows(1, &[(3, 0.6), (0, 0.3)], 0.1);
        links.set_parent_rows(2, &[(1, 1.0)], 0.0);
        links.set_parent_rows(3, &[(2, 0.9)], 0.1);
        links.set_parent_rows(4, &[(3, 0.5)], 0.5);
        assert_eq!(links.break_cycles(&(0..links.message_count())), 1);
        assert_eq!(links.parent_rows(1), [(0, 0.3)]);
        assert!(
            (links.spontaneous_probability(MessageId::from_index(1)) - 0.7).abs() < 1e-12
                && links.is_likely_spontaneous(MessageId::from_index(1))
        );
        // The others keep their links.
        assert_eq!(links.parent_rows(3), [(2, 0.9)]);
        assert_eq!(links.parent_rows(0), [(5, 0.7)]);
        assert_eq!(links.len(), 5);
    }

    #[test]
    fn a_message_with_another_cause_may_be_in_another_cycle() {
        let mut links = Links::spontaneous_only(3);
        links.set_parent_rows(0, &[(1, 0.6), (2, 0.4)], 0.0);
        links.set_parent_rows(1, &[(0, 1.0)], 0.0);
        links.set_parent_rows(2, &[(0, 1.0)], 0.0);
        // Losing its first cause makes it spontaneous: that is then likelier than the rest.
        assert_eq!(links.break_cycles(&(0..links.message_count())), 1);
        assert_eq!(links.parent_rows(0), [(2, 0.4)]);
        let mut itself = Links::spontaneous_only(1);
        itself.set_parent_rows(0, &[(0, 1.0)], 0.0);
        assert_eq!(
            (
                itself.break_cycles(&(0..itself.message_count())),
                itself.spontaneous_probability(MessageId::from_index(0))
            ),
            (1, 1.0)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_chain_of_likely_parents_ends(
            all in prop::collection::vec(prop::collection::btree_map(0..24usize, 0.01..1.0f64, 0..4), 24),
        ) {
            let mut links = Links::spontaneous_only(all.len());
            for (child, parents) in all.iter().enumerate() {
                let sum: f64 = parents.values().sum::<f64>() + 0.1;
                let parents: Vec<_> = parents.iter().map(|(parent, weight)| (*parent, weight / sum)).collect();
                links.set_parent_rows(child, &parents, 0.1 / sum);
            }
            links.break_cycles(&(0..links.message_count()));
            for child in links.ids() {
                let ancestors = std::iter::successors(Some(child), |at| links.likely_parent(*at));
                prop_assert!(ancestors.take(all.len() + 1).count() <= all.len());
                let sum: f64 = links.parents(child).map(|(_, probability)| probability).sum();
                prop_assert!((sum + links.spontaneous_probability(child) - 1.0).abs() < 1e-9);
            }
            prop_assert_eq!(links.break_cycles(&(0..links.message_count())), 0);
        }
    }
}
