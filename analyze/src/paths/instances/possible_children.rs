//! The inversion of WAP5's Figure 8: from the possible parents of each message to its possible
//! children, since trees are built from the root down. The probabilities stay as they are.

use std::ops::Range;

use message_trace::MessageId;

use super::decision::LinkDecision;
use crate::links::{Links, ParentMessage};
use crate::options::Options;

/// A possible child of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PossibleChild {
    /// The message.
    pub(crate) message: MessageId,
    /// Decision about the link to it.
    pub(crate) decision: LinkDecision,
    /// Probability of the link.
    pub(crate) probability: f64,
}

/// The possible children of every message, in the order in which they were sent, and the messages
/// that are roots.
///
/// Links arrive batch by batch. Those of a batch are inverted once, and stay separate from those of
/// the others.
#[derive(Default)]
pub(crate) struct PossibleChildren {
    batches: Vec<BatchChildren>,
    messages: usize,
}

/// The links to the messages of a batch, by parent.
struct BatchChildren {
    /// Number of the first message of the batch.
    first: u32,
    /// Number of the parent with the first entry in `bounds`; negative if it was removed since.
    parents_from: i64,
    /// Index of the first link of each parent, and the end of the last link.
    bounds: Vec<u32>,
    /// The child of each link, counted from the first message of the batch.
    child: Vec<u32>,
    probability: Vec<f64>,
    decision: Vec<LinkDecision>,
    /// The messages from which instances are built, counted from the first one, and the probability
    /// that each is spontaneous.
    roots: Vec<(u32, f64)>,
}

impl PossibleChildren {
    /// Inverts `links`, which are the links of all messages.
    #[cfg(test)]
    pub(crate) fn from_links(links: &Links, options: &Options) -> PossibleChildren {
        let mut children = PossibleChildren::default();
        children.append_links(links, 0..links.message_count(), 0, links.message_count(), options);
        children
    }

    /// Appends the messages `own` of a batch with their `links`. A message that has the number n
    /// here has the number n + `shift` in `links`. Parents other than the first `messages` messages
    /// here are ignored.
    pub(crate) fn append_links(
        &mut self,
        links: &Links,
        own: Range<usize>,
        shift: i64,
        messages: usize,
        options: &Options,
    ) {
        let first = self.messages as u32;
        self.messages += own.len();
        self.batches.push(BatchChildren::invert_links(
            links,
            own,
            first,
            |parent| {
                let here = usize::try_from(parent.here()?.index() as i64 - shift).ok()?;
                (here < messages).then_some(here as u32)
            },
            options,
        ));
    }

    /// Removes the first messages, which are whole batches.
    pub(crate) fn remove_first(&mut self, messages: usize) {
        let gone = messages as u32;
        self.batches.retain(|part| part.first >= gone);
        for part in &mut self.batches {
            part.first -= gone;
            part.parents_from -= i64::from(gone);
        }
        self.messages -= messages.min(self.messages);
    }

    /// Returns the number of messages.
    pub(crate) fn message_count(&self) -> usize {
        self.messages
    }

    /// Returns the roots among these messages, each with the probability that it is spontaneous.
    pub(crate) fn roots(&self, of: Range<usize>) -> impl Iterator<Item = (MessageId, f64)> + '_ {
        let (begin, end) = (of.start as u32, of.end as u32);
        self.batches.iter().flat_map(move |part| {
            let before =
                |bound: u32| part.roots.partition_point(|(root, _)| part.first + root < bound);
            let roots = before(begin)..before(end).max(before(begin));
            let id = |root: u32| MessageId::from_index((part.first + root) as usize);
            part.roots[roots].iter().map(move |(root, spontaneous)| (id(*root), *spontaneous))
        })
    }

    /// Returns the possible children of `parent`.
    pub(crate) fn of_parent(&self, parent: MessageId) -> impl Iterator<Item = PossibleChild> + '_ {
        self.batches.iter().flat_map(move |part| part.of_parent(parent))
    }
}

impl BatchChildren {
    /// Inverts the links of the messages `own`; the first of them gets the number `first`. `here`
    /// returns the number that a parent gets. Messages are numbered by time, so visiting them in
    /// order sorts the children of each parent.
    fn invert_links(
        links: &Links,
        own: Range<usize>,
        first: u32,
        here: impl Fn(ParentMessage) -> Option<u32>,
        options: &Options,
    ) -> BatchChildren {
        let parents = || {
            MessageId::of_rows(own.clone())
                .flat_map(|child| links.parents(child))
                .filter_map(|(parent, _)| here(parent))
        };
        let lowest = parents().min().unwrap_or(0);
        let highest = parents().max().unwrap_or(0);
        let mut bounds = vec![0u32; (highest - lowest) as usize + 2];
        parents().for_each(|parent| bounds[(parent - lowest) as usize + 1] += 1);
        for parent in 1..bounds.len() {
            bounds[parent] += bounds[parent - 1];
        }
        let mut next = bounds.clone();
        let count = bounds.last().map_or(0, |count| *count as usize);
        let mut part = BatchChildren {
            first,
            parents_from: i64::from(lowest),
            bounds,
            child: vec![0; count],
            probability: vec![0.0; count],
            decision: vec![LinkDecision::False; count],
            roots: Vec::new(),
        };
        for (number, message) in (0..).zip(MessageId::of_rows(own.clone())) {
            let likely = links.most_likely(message);
            let spontaneous = links.spontaneous_probability(message);
            if LinkDecision::from_probability(spontaneous, likely.is_none(), options.try_both)
                != LinkDecision::False
            {
                part.roots.push((number, spontaneous));
            }
            for (place, (parent, probability)) in links.parents(message).enumerate() {
                let Some(parent) = here(parent) else { continue };
                let next = &mut next[(parent - lowest) as usize];
                let link = *next as usize;
                part.child[link] = number;
                part.probability[link] = probability;
                part.decision[link] = LinkDecision::from_probability(
                    probability,
                    likely == Some(place),
                    options.try_both,
                );
                *next += 1;
            }
        }
        part
    }

    #[inline]
    fn of_parent(&self, parent: MessageId) -> impl Iterator<Item = PossibleChild> + '_ {
        let parent = usize::try_from(parent.index() as i64 - self.parents_from).ok();
        let bounds = parent
            .and_then(|parent| Some((*self.bounds.get(parent)?, *self.bounds.get(parent + 1)?)));
        let (begin, end) = bounds.unwrap_or((0, 0));
        (begin as usize..end as usize).map(|link| PossibleChild {
            message: MessageId::from_index((self.first + self.child[link]) as usize),
            decision: self.decision[link],
            probability: self.probability[link],
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paths::instances::tree::tests::some_links;

    /// Figures 7 and 8: X, Y and Z (0, 1, 2) are possible parents of B -> C and B -> D (3, 4).
    #[test]
    fn figure_8_the_children_have_the_probabilities_of_their_parents() {
        let mut links = Links::spontaneous_only(5);
        links.set_parent_rows(3, &[(2, 0.64), (1, 0.24), (0, 0.09)], 0.03);
        links.set_parent_rows(4, &[(2, 0.61), (1, 0.22), (0, 0.08)], 0.08);
        let children = PossibleChildren::from_links(&links, &Options::default());
        let of = |parent| -> Vec<(usize, f64)> {
            let found = children.of_parent(MessageId::from_index(parent));
            found.map(|child| (child.message.index(), child.probability)).collect()
        };
        assert_eq!(of(2), [(3, 0.64), (4, 0.61)]);
        assert_eq!(of(1), [(3, 0.24), (4, 0.22)]);
        assert_eq!(of(0), [(3, 0.09), (4, 0.08)]);
        assert!(of(3).is_empty() && of(4).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn batches_have_the_children_of_the_whole(links in some_links(), length in 1usize..5, kept in 1usize..4) {
            let options = Options::default();
            let (messages, whole) = (links.message_count(), PossibleChildren::from_links(&links, &options));
            let (mut children, mut gone, mut end) = (PossibleChildren::default(), 0, 0);
            while end < messages {
                let own = end..(end + length).min(messages);
                end = own.end;
                // A batch is seen with some messages before it and one after it.
                let begin = gone / 2;
                let mut seen = Links::spontaneous_only((end + 1).min(messages) - begin);
                for child in seen.ids() {
                    let of = child.add_rows(begin);
                    let number = |parent: MessageId| parent.subtract_rows(begin).map_or(ParentMessage::Elsewhere, ParentMessage::Here);
                    let parents = links.parents_here(of).map(|(parent, p)| (number(parent), p));
                    seen.set_possible_parents(child, parents, links.spontaneous_probability(of));
                }
                let own = own.start - begin..own.end - begin;
                children.append_links(&seen, own, gone as i64 - begin as i64, messages - gone, &options);
                prop_assert_eq!(children.message_count(), end - gone);
                for parent in MessageId::of_rows(gone..end) {
                    let expected: Vec<PossibleChild> =
                        whole.of_parent(parent).filter(|child| child.message.index() < end).collect();
                    let found = children.of_parent(parent.subtract_rows(gone).unwrap());
                    let found = found.map(|child| PossibleChild { message: child.message.add_rows(gone), ..child });
                    prop_assert_eq!(found.collect::<Vec<_>>(), expected);
                }
                for roots in [gone..end, gone..gone + 1, end - 1..end, gone..gone] {
                    let found = children.roots(roots.start - gone..roots.end - gone);
                    let found: Vec<_> = found.map(|(root, p)| (root.add_rows(gone), p)).collect();
                    prop_assert_eq!(found, whole.roots(roots).collect::<Vec<_>>());
                }
                if end - gone > kept * length {
                    children.remove_first(length);
                    gone += length;
                }
            }
        }
    }
}
