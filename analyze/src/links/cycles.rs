//! Cycles: messages that are each other's likely causes. If clocks are off or coarse, several
//! messages may each seem to be caused by another of them; then none of them is a root or below a
//! root, and no path would contain them. So the message of each cycle that is first in the trace
//! loses its cause within the cycle; the cause's probability is added to the spontaneous one.

use std::ops::Range;

use crate::links::Links;

/// State of a message in the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageVisit {
    New,
    OnWalk,
    Done,
}

impl Links {
    /// Breaks the cycles of likely causes, and returns how many of them were broken at one of
    /// `own`. Then the chain of most likely parents leads from every message to a root.
    pub(crate) fn break_cycles(&mut self, own: &Range<usize>) -> u64 {
        let mut marks = vec![MessageVisit::New; self.message_count()];
        let mut walk: Vec<u32> = Vec::new();
        let mut broken = 0;
        for begin in 0..self.message_count() as u32 {
            let mut at = Some(begin);
            while let Some(message) = at {
                match marks[message as usize] {
                    MessageVisit::Done => break,
                    MessageVisit::OnWalk => {
                        // The cycle is the end of the walk. Messages after its first member are
                        // visited again, from there.
                        let Some(place) = walk.iter().rposition(|on| *on == message) else { break };
                        let cycle = walk.split_off(place);
                        let Some(first) = cycle.iter().copied().min() else { break };
                        cycle.iter().for_each(|on| marks[*on as usize] = MessageVisit::New);
                        self.drop_likeliest_parent(first as usize);
                        broken += u64::from(own.contains(&(first as usize)));
                        at = Some(message);
                    }
                    MessageVisit::New => {
                        marks[message as usize] = MessageVisit::OnWalk;
                        walk.push(message);
                        at = self.likely_parent(message as usize);
                    }
                }
            }
            walk.drain(..).for_each(|on| marks[on as usize] = MessageVisit::Done);
        }
        broken
    }

    /// Returns the most likely parent of `child`; links read from a table may refer to messages
    /// that do not exist.
    fn likely_parent(&self, child: usize) -> Option<u32> {
        let (parent, _) = self.parents(child).nth(self.most_likely(child)?)?;
        Some(parent).filter(|parent| (*parent as usize) < self.message_count())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_message_of_a_cycle_loses_its_cause() {
        let mut links = Links::spontaneous_only(6);
        links.set_parents(0, &[(5, 0.7)], 0.3);
        links.set_parents(1, &[(3, 0.6), (0, 0.3)], 0.1);
        links.set_parents(2, &[(1, 1.0)], 0.0);
        links.set_parents(3, &[(2, 0.9)], 0.1);
        links.set_parents(4, &[(3, 0.5)], 0.5);
        assert_eq!(links.break_cycles(&(0..links.message_count())), 1);
        assert_eq!(links.parents(1).collect::<Vec<_>>(), [(0, 0.3)]);
        assert!(
            (links.spontaneous_probability(1) - 0.7).abs() < 1e-12
                && links.is_likely_spontaneous(1)
        );
        // The others keep their links.
        assert_eq!(links.parents(3).collect::<Vec<_>>(), [(2, 0.9)]);
        assert_eq!(links.parents(0).collect::<Vec<_>>(), [(5, 0.7)]);
        assert_eq!(links.len(), 5);
    }

    #[test]
    fn a_message_with_another_cause_may_be_in_another_cycle() {
        let mut links = Links::spontaneous_only(3);
        links.set_parents(0, &[(1, 0.6), (2, 0.4)], 0.0);
        links.set_parents(1, &[(0, 1.0)], 0.0);
        links.set_parents(2, &[(0, 1.0)], 0.0);
        // Losing its first cause makes it spontaneous: that is then likelier than the rest.
        assert_eq!(links.break_cycles(&(0..links.message_count())), 1);
        assert_eq!(links.parents(0).collect::<Vec<_>>(), [(2, 0.4)]);
        let mut itself = Links::spontaneous_only(1);
        itself.set_parents(0, &[(0, 1.0)], 0.0);
        assert_eq!(
            (itself.break_cycles(&(0..itself.message_count())), itself.spontaneous_probability(0)),
            (1, 1.0)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_chain_of_likely_parents_ends(
            all in prop::collection::vec(prop::collection::btree_map(0..24u32, 0.01..1.0f64, 0..4), 24),
        ) {
            let mut links = Links::spontaneous_only(all.len());
            for (child, parents) in all.iter().enumerate() {
                let sum: f64 = parents.values().sum::<f64>() + 0.1;
                let parents: Vec<_> = parents.iter().map(|(parent, weight)| (*parent, weight / sum)).collect();
                links.set_parents(child, &parents, 0.1 / sum);
            }
            links.break_cycles(&(0..links.message_count()));
            for child in 0..all.len() {
                let ancestors = std::iter::successors(Some(child as u32), |at| links.likely_parent(*at as usize));
                prop_assert!(ancestors.take(all.len() + 1).count() <= all.len());
                let sum: f64 = links.parents(child).map(|(_, probability)| probability).sum();
                prop_assert!((sum + links.spontaneous_probability(child) - 1.0).abs() < 1e-9);
            }
            prop_assert_eq!(links.break_cycles(&(0..links.message_count())), 0);
        }
    }
}
