//! Links: for each message of a trace its possible parents with their probabilities, and the
//! probability that it was spontaneous. Together they sum to 1 (WAP5 section 5.1). They are the
//! result of an inference, and paths are built from them. [`writer`] and [`reader`] handle their
//! table `links.parquet`.

mod cycles;
mod reader;
mod writer;

use rustc_hash::FxHashMap;

use crate::call_evidence::CallEvidence;
pub(crate) use reader::LinkReader;
pub(crate) use writer::LinkWriter;

/// The possible parents of every message of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// Index of the first pair and number of pairs of each message.
    candidates: Vec<(u32, u32)>,
    spontaneous: Vec<f64>,
    parent: Vec<u32>,
    probability: Vec<f64>,
    /// By message: the number of its parent in the whole trace, if that is known and the parent is
    /// [`Links::ELSEWHERE`].
    elsewhere: FxHashMap<u32, u64>,
    /// What decided the parents of each message, if the message is a call of a service.
    evidence: Vec<Option<CallEvidence>>,
}

impl Links {
    /// A parent outside the messages in memory, which are a part of the trace.
    pub(crate) const ELSEWHERE: u32 = u32::MAX;

    /// Links of `messages` messages that are all spontaneous.
    pub fn spontaneous_only(messages: usize) -> Links {
        Links {
            candidates: vec![(0, 0); messages],
            spontaneous: vec![1.0; messages],
            evidence: vec![None; messages],
            ..Links::default()
        }
    }

    /// Returns the number of messages.
    pub fn message_count(&self) -> usize {
        self.candidates.len()
    }

    /// Returns the number of pairs of parent and child.
    pub fn len(&self) -> usize {
        self.candidates.iter().map(|(_, count)| *count as usize).sum()
    }

    /// Returns whether every message is spontaneous.
    pub fn is_empty(&self) -> bool {
        self.candidates.iter().all(|(_, count)| *count == 0)
    }

    /// Returns the possible parents of `child`, each with its probability.
    pub fn parents(&self, child: usize) -> impl ExactSizeIterator<Item = (u32, f64)> + Clone + '_ {
        let (first, count) = self.candidates[child];
        let range = first as usize..first as usize + count as usize;
        self.parent[range.clone()].iter().copied().zip(self.probability[range].iter().copied())
    }

    /// Returns the probability that `child` was spontaneous.
    pub fn spontaneous_probability(&self, child: usize) -> f64 {
        self.spontaneous[child]
    }

    /// Returns the index of the most likely parent of `child` among its parents: the first of the
    /// best, or `None` if being spontaneous is likelier than all.
    pub(crate) fn most_likely(&self, child: usize) -> Option<usize> {
        let mut best = (None, self.spontaneous[child]);
        for (place, (_, probability)) in self.parents(child).enumerate() {
            if probability > best.1 || (best.0.is_none() && probability == best.1) {
                best = (Some(place), probability);
            }
        }
        best.0
    }

    /// Sets the possible parents of `child`, once. The probabilities and `spontaneous` should sum
    /// to 1.
    pub fn set_parents(&mut self, child: usize, parents: &[(u32, f64)], spontaneous: f64) {
        self.candidates[child] = (self.parent.len() as u32, parents.len() as u32);
        self.spontaneous[child] = spontaneous;
        self.parent.extend(parents.iter().map(|(parent, _)| *parent));
        self.probability.extend(parents.iter().map(|(_, probability)| *probability));
    }

    /// Sets the parent of `child`, once, to a message outside those in memory, by its number in the
    /// whole trace.
    pub(crate) fn set_outside_parent(&mut self, child: usize, parent: u64, probability: f64) {
        self.set_parents(child, &[(Links::ELSEWHERE, probability)], 1.0 - probability);
        self.elsewhere.insert(child as u32, parent);
    }

    /// Returns the number of the parent of `child` in the whole trace, if it is known to be outside
    /// the messages in memory.
    pub(crate) fn outside_parent(&self, child: usize) -> Option<u64> {
        self.elsewhere.get(&(child as u32)).copied()
    }

    /// Sets what decided the parents of `child`.
    pub(crate) fn set_evidence(&mut self, child: usize, evidence: Option<CallEvidence>) {
        self.evidence[child] = evidence;
    }

    /// Returns what decided the parents of `child`; `None` if it is no call of a service that
    /// served a request, or if the algorithm does not know.
    pub fn evidence(&self, child: usize) -> Option<CallEvidence> {
        self.evidence[child]
    }

    /// Removes the first messages; those that are parents become [`Links::ELSEWHERE`].
    pub(crate) fn remove_first(&mut self, messages: usize) {
        let shift = messages as u32;
        self.spontaneous.drain(..messages);
        self.evidence.drain(..messages);
        self.candidates.drain(..messages);
        // Pairs may be in any order, so earlier pairs of other messages stay.
        let pairs =
            self.candidates.iter().filter(|(_, count)| *count > 0).map(|(first, _)| *first).min();
        let pairs = pairs.unwrap_or(self.parent.len() as u32);
        self.parent.drain(..pairs as usize);
        self.probability.drain(..pairs as usize);
        for (first, _) in &mut self.candidates {
            *first = first.saturating_sub(pairs);
        }
        self.elsewhere = std::mem::take(&mut self.elsewhere)
            .into_iter()
            .filter_map(|(child, parent)| Some((child.checked_sub(shift)?, parent)))
            .collect();
        for parent in self.parent.iter_mut().filter(|parent| **parent != Links::ELSEWHERE) {
            *parent = parent.checked_sub(shift).unwrap_or(Links::ELSEWHERE);
        }
    }

    /// Removes the most likely parent of `child`, and adds its probability to the spontaneous one.
    pub(crate) fn drop_likeliest_parent(&mut self, child: usize) {
        let Some(place) = self.most_likely(child) else { return };
        let (first, count) = self.candidates[child];
        let range = first as usize..first as usize + count as usize;
        self.spontaneous[child] += self.probability[range.start + place];
        // The pair is moved to the end, past the child's range.
        self.parent[range.clone()][place..].rotate_left(1);
        self.probability[range][place..].rotate_left(1);
        self.candidates[child] = (first, count - 1);
    }

    /// Adds a message, spontaneous until its parents are set.
    pub(crate) fn add_message(&mut self) {
        self.candidates.push((0, 0));
        self.spontaneous.push(1.0);
        self.evidence.push(None);
    }

    /// Reserves space for `links` more pairs.
    pub fn reserve(&mut self, links: usize) {
        self.parent.reserve_exact(links);
        self.probability.reserve_exact(links);
    }
}

#[cfg(test)]
impl Links {
    /// Returns whether being spontaneous is likelier for `child` than any parent.
    pub(crate) fn is_likely_spontaneous(&self, child: usize) -> bool {
        self.most_likely(child).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_is_elsewhere_is_still_the_likely_one() {
        let mut part = Links::spontaneous_only(3);
        part.set_parents(1, &[(Links::ELSEWHERE, 0.7), (0, 0.2)], 0.1);
        part.set_parents(2, &[(1, 1.0)], 0.0);
        assert_eq!((part.most_likely(1), part.is_likely_spontaneous(1)), (Some(0), false));
        part.remove_first(1);
        assert_eq!(
            part.parents(0).collect::<Vec<_>>(),
            [(Links::ELSEWHERE, 0.7), (Links::ELSEWHERE, 0.2)]
        );
        assert_eq!(part.parents(1).collect::<Vec<_>>(), [(0, 1.0)]);
        assert_eq!(
            (part.message_count(), part.len(), part.spontaneous_probability(0)),
            (2, 3, 0.1)
        );
        part.remove_first(2);
        assert_eq!((part.message_count(), part.len()), (0, 0));
    }

    #[test]
    fn the_most_likely_cause_may_be_none() {
        let mut links = Links::spontaneous_only(4);
        links.set_parents(1, &[(0, 0.3), (2, 0.3)], 0.4);
        links.set_parents(2, &[(0, 0.2), (1, 0.4)], 0.4);
        links.set_parents(3, &[(0, 0.25), (1, 0.5)], 0.25);
        assert_eq!(
            [0, 1, 2, 3].map(|child| links.most_likely(child)),
            [None, None, Some(1), Some(1)]
        );
        assert_eq!(links.parents(2).collect::<Vec<_>>(), [(0, 0.2), (1, 0.4)]);
        assert!(links.is_likely_spontaneous(1) && !links.is_likely_spontaneous(2));
    }
}
