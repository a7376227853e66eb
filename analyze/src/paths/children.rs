//! The inversion of WAP5's Figure 8: from the possible parents of each message to its possible children, since
//! trees are built from the root down. The probabilities stay as they are.

use super::decision::Decision;
use crate::infer::Links;
use crate::options::Options;

/// A possible child of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Child {
    /// Which message it is.
    pub(super) message: u32,
    /// What is done about the link to it.
    pub(super) decision: Decision,
    /// How likely the link is.
    pub(super) probability: f64,
}

/// The possible children of every message, in the order in which they were sent.
pub(super) struct Children {
    bounds: Vec<u32>,
    message: Vec<u32>,
    probability: Vec<f64>,
    /// Whether the parent is the child's most likely cause.
    likely: Vec<bool>,
    try_both: [f64; 2],
}

impl Children {
    /// Inverts `links`. Messages are numbered by time, so going through them in order puts the children of each
    /// parent in order.
    pub(super) fn of(links: &Links, options: &Options) -> Children {
        let messages = links.messages();
        let mut bounds = vec![0u32; messages + 1];
        // Of a part of a trace some causes are elsewhere.
        let is_here = |parent: u32| (parent as usize) < messages;
        for (parent, _) in (0..messages).flat_map(|child| links.parents(child)) {
            if is_here(parent) {
                bounds[parent as usize + 1] += 1;
            }
        }
        for message in 0..messages {
            bounds[message + 1] += bounds[message];
        }
        let mut next = bounds.clone();
        let count = bounds[messages] as usize;
        let mut children = Children {
            bounds,
            message: vec![0; count],
            probability: vec![0.0; count],
            likely: vec![false; count],
            try_both: options.try_both,
        };
        for message in 0..messages {
            let likely = links.most_likely(message);
            let parents = links.parents(message).enumerate().filter(|(_, (parent, _))| is_here(*parent));
            for (place, (parent, probability)) in parents {
                let next = &mut next[parent as usize];
                let link = *next as usize;
                children.message[link] = message as u32;
                children.probability[link] = probability;
                children.likely[link] = likely == Some(place);
                *next += 1;
            }
        }
        children
    }

    /// How many messages there are.
    pub(super) fn messages(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The possible children of `parent`, each with the number of the link to it.
    pub(super) fn of_parent(&self, parent: u32) -> impl DoubleEndedIterator<Item = (u32, Child)> + '_ {
        let range = self.bounds[parent as usize]..self.bounds[parent as usize + 1];
        range.map(|link| {
            let (message, probability) = (self.message[link as usize], self.probability[link as usize]);
            let decision = Decision::of(probability, self.likely[link as usize], self.try_both);
            (link, Child { message, decision, probability })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures 7 and 8: X, Y and Z (0, 1, 2) are possible parents of B -> C and B -> D (3, 4).
    #[test]
    fn figure_8_the_children_have_the_probabilities_of_their_parents() {
        let mut links = Links::spontaneous_only(5);
        links.set(3, &[(2, 0.64), (1, 0.24), (0, 0.09)], 0.03);
        links.set(4, &[(2, 0.61), (1, 0.22), (0, 0.08)], 0.08);
        let children = Children::of(&links, &Options::default());
        let of = |parent| -> Vec<(u32, f64)> {
            children.of_parent(parent).map(|(_, child)| (child.message, child.probability)).collect()
        };
        assert_eq!(of(2), [(3, 0.64), (4, 0.61)]);
        assert_eq!(of(1), [(3, 0.24), (4, 0.22)]);
        assert_eq!(of(0), [(3, 0.09), (4, 0.08)]);
        assert!(of(3).is_empty() && of(4).is_empty());
    }
}
