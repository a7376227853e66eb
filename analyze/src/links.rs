//! Links: for each message of a trace its possible parents with their probabilities, and the
//! probability that it was spontaneous. Together they sum to 1 (WAP5 section 5.1). They are the
//! result of an inference, and paths are built from them. [`writer`] and [`reader`] handle their
//! table `links.parquet`.

mod cycles;
mod reader;
mod writer;

use std::iter;

use message_trace::MessageId;
use rustc_hash::FxHashMap;

use crate::call_evidence::CallEvidence;
pub(crate) use reader::LinkReader;
pub(crate) use writer::LinkWriter;

/// A possible parent of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParentMessage {
    /// A message in memory.
    Here(MessageId),
    /// A message that is not in memory, since only a part of the trace is.
    Elsewhere,
}

const _: () = assert!(size_of::<ParentMessage>() == size_of::<u32>());

impl ParentMessage {
    /// Returns the parent if it is in memory.
    pub fn here(self) -> Option<MessageId> {
        match self {
            ParentMessage::Here(id) => Some(id),
            ParentMessage::Elsewhere => None,
        }
    }
}

/// The possible parents of every message of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// By message: the index of its first possible parent in `parent`, and their number.
    candidates: Vec<(u32, u32)>,
    /// By message: the probability that it has no parent.
    spontaneous: Vec<f64>,
    /// The possible parents of all messages; those of one message follow each other.
    parent: Vec<ParentMessage>,
    /// The probability of each entry of `parent`.
    probability: Vec<f64>,
    /// By message: the number of its parent in the whole trace, if that is known and the parent is
    /// [`ParentMessage::Elsewhere`].
    elsewhere: FxHashMap<MessageId, u64>,
    /// What decided the parents of each message, if the message is a call of a service.
    evidence: Vec<Option<CallEvidence>>,
}

impl Links {
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

    /// Returns the ids of the messages, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = MessageId> + Clone + use<> {
        MessageId::of_rows(0..self.message_count())
    }

    /// Returns whether this message is one of those with links.
    pub(crate) fn has_message(&self, id: MessageId) -> bool {
        id.index() < self.message_count()
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
    pub fn parents(
        &self,
        child: MessageId,
    ) -> impl ExactSizeIterator<Item = (ParentMessage, f64)> + Clone + '_ {
        let (first, count) = self.candidates[child.index()];
        let range = first as usize..first as usize + count as usize;
        self.parent[range.clone()].iter().copied().zip(self.probability[range].iter().copied())
    }

    /// Returns the possible parents of `child` that are in memory, each with its probability.
    pub(crate) fn parents_here(
        &self,
        child: MessageId,
    ) -> impl Iterator<Item = (MessageId, f64)> + Clone + '_ {
        let parents = self.parents(child);
        parents.filter_map(|(parent, probability)| Some((parent.here()?, probability)))
    }

    /// Returns the probability that `child` was spontaneous.
    pub fn spontaneous_probability(&self, child: MessageId) -> f64 {
        self.spontaneous[child.index()]
    }

    /// Returns the index of the most likely parent of `child` among its parents, the first of
    /// equally likely ones; `None` if being spontaneous is likelier than every parent.
    pub(crate) fn most_likely(&self, child: MessageId) -> Option<usize> {
        let mut best = (None, self.spontaneous[child.index()]);
        for (place, (_, probability)) in self.parents(child).enumerate() {
            if probability > best.1 || (best.0.is_none() && probability == best.1) {
                best = (Some(place), probability);
            }
        }
        best.0
    }

    /// Returns the most likely parent of `child` with its probability; `None` as for
    /// [`Links::most_likely`].
    pub(crate) fn likeliest_parent(&self, child: MessageId) -> Option<(ParentMessage, f64)> {
        self.parents(child).nth(self.most_likely(child)?)
    }

    /// Sets the possible parents of `child`, once. The probabilities and `spontaneous` should sum
    /// to 1.
    pub fn set_parents(
        &mut self,
        child: MessageId,
        parents: &[(MessageId, f64)],
        spontaneous: f64,
    ) {
        let parents = parents.iter().map(|(id, share)| (ParentMessage::Here(*id), *share));
        self.set_possible_parents(child, parents, spontaneous);
    }

    /// As [`Links::set_parents`], with parents that may be elsewhere.
    pub(crate) fn set_possible_parents(
        &mut self,
        child: MessageId,
        parents: impl Iterator<Item = (ParentMessage, f64)>,
        spontaneous: f64,
    ) {
        let first = self.parent.len();
        for (parent, probability) in parents {
            self.parent.push(parent);
            self.probability.push(probability);
        }
        self.candidates[child.index()] = (first as u32, (self.parent.len() - first) as u32);
        self.spontaneous[child.index()] = spontaneous;
    }

    /// Sets the parent of `child`, once, to a message outside those in memory, by its number in the
    /// whole trace.
    pub(crate) fn set_outside_parent(&mut self, child: MessageId, parent: u64, probability: f64) {
        let parents = iter::once((ParentMessage::Elsewhere, probability));
        self.set_possible_parents(child, parents, 1.0 - probability);
        self.elsewhere.insert(child, parent);
    }

    /// Returns the number of the parent of `child` in the whole trace, if it is known to be outside
    /// the messages in memory.
    pub(crate) fn outside_parent(&self, child: MessageId) -> Option<u64> {
        self.elsewhere.get(&child).copied()
    }

    /// Sets what decided the parents of `child`.
    pub(crate) fn set_evidence(&mut self, child: MessageId, evidence: Option<CallEvidence>) {
        self.evidence[child.index()] = evidence;
    }

    /// Returns what decided the parents of `child`; `None` if it is no call of a service that
    /// served a request, or if the algorithm does not know.
    pub fn evidence(&self, child: MessageId) -> Option<CallEvidence> {
        self.evidence[child.index()]
    }

    /// Removes the first `messages` messages. As parents of later messages they become
    /// [`ParentMessage::Elsewhere`].
    pub(crate) fn remove_first(&mut self, messages: usize) {
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
            .filter_map(|(child, parent)| Some((child.subtract_rows(messages)?, parent)))
            .collect();
        for parent in &mut self.parent {
            let here = parent.here().and_then(|parent| parent.subtract_rows(messages));
            *parent = here.map_or(ParentMessage::Elsewhere, ParentMessage::Here);
        }
    }

    /// Removes the most likely parent of `child`, and adds its probability to the spontaneous one.
    pub(crate) fn drop_likeliest_parent(&mut self, child: MessageId) {
        let Some(place) = self.most_likely(child) else { return };
        let (first, count) = self.candidates[child.index()];
        let range = first as usize..first as usize + count as usize;
        self.spontaneous[child.index()] += self.probability[range.start + place];
        // The pair is moved to the end, past the child's range.
        self.parent[range.clone()][place..].rotate_left(1);
        self.probability[range][place..].rotate_left(1);
        self.candidates[child.index()] = (first, count - 1);
    }

    /// Adds a message, spontaneous until its parents are set, and returns its id.
    pub(crate) fn add_message(&mut self) -> MessageId {
        let id = MessageId::from_index(self.message_count());
        self.candidates.push((0, 0));
        self.spontaneous.push(1.0);
        self.evidence.push(None);
        id
    }

    /// Reserves space for `links` more pairs.
    pub fn reserve(&mut self, links: usize) {
        self.parent.reserve_exact(links);
        self.probability.reserve_exact(links);
    }
}

#[cfg(test)]
impl Links {
    /// Sets the possible parents of the message of row `child` by their rows.
    pub(crate) fn set_parent_rows(
        &mut self,
        child: usize,
        parents: &[(usize, f64)],
        spontaneous: f64,
    ) {
        let parents: Vec<(MessageId, f64)> =
            parents.iter().map(|(row, share)| (MessageId::from_index(*row), *share)).collect();
        self.set_parents(MessageId::from_index(child), &parents, spontaneous);
    }

    /// Returns the rows of the possible parents in memory of the message of row `child`.
    pub(crate) fn parent_rows(&self, child: usize) -> Vec<(usize, f64)> {
        let parents = self.parents_here(MessageId::from_index(child));
        parents.map(|(parent, share)| (parent.index(), share)).collect()
    }

    /// Returns whether being spontaneous is likelier for `child` than any parent.
    pub(crate) fn is_likely_spontaneous(&self, child: MessageId) -> bool {
        self.most_likely(child).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_is_elsewhere_is_still_the_likely_one() {
        let mut part = Links::spontaneous_only(3);
        let [first, second] = [0, 1].map(MessageId::from_index);
        let parents = [(ParentMessage::Elsewhere, 0.7), (ParentMessage::Here(first), 0.2)];
        part.set_possible_parents(second, parents.into_iter(), 0.1);
        part.set_parent_rows(2, &[(1, 1.0)], 0.0);
        assert_eq!(
            (part.most_likely(second), part.is_likely_spontaneous(second)),
            (Some(0), false)
        );
        part.remove_first(1);
        assert_eq!(
            part.parents(first).collect::<Vec<_>>(),
            [(ParentMessage::Elsewhere, 0.7), (ParentMessage::Elsewhere, 0.2)]
        );
        assert_eq!(part.parent_rows(1), [(0, 1.0)]);
        assert_eq!(
            (part.message_count(), part.len(), part.spontaneous_probability(first)),
            (2, 3, 0.1)
        );
        part.remove_first(2);
        assert_eq!((part.message_count(), part.len()), (0, 0));
    }

    #[test]
    fn the_most_likely_cause_may_be_none() {
        let mut links = Links::spontaneous_only(4);
        links.set_parent_rows(1, &[(0, 0.3), (2, 0.3)], 0.4);
        links.set_parent_rows(2, &[(0, 0.2), (1, 0.4)], 0.4);
        links.set_parent_rows(3, &[(0, 0.25), (1, 0.5)], 0.25);
        assert_eq!(
            links.ids().map(|child| links.most_likely(child)).collect::<Vec<_>>(),
            [None, None, Some(1), Some(1)]
        );
        assert_eq!(links.parent_rows(2), [(0, 0.2), (1, 0.4)]);
        let is_likely = |row| links.is_likely_spontaneous(MessageId::from_index(row));
        assert!(is_likely(1) && !is_likely(2));
    }
}
