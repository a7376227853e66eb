//! When, on average, each message of a pattern is sent and received, counted from the sending of
//! the root; and which delay on the way to the last event is the largest. Terminal, table and
//! timeline all show the same answer.

use analyze::paths::{Hop, PathPattern};

/// A delay of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// At the sending node.
    Node,
    /// Between the two nodes.
    Network,
    /// At an untraced sender and on both ways to it.
    Untraced,
    /// At the sending node, where it waits for a connection.
    Connect,
}

/// The delay with the largest mean among those that make the path as long as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Critical {
    /// An index of the pattern's hops.
    pub(crate) hop: usize,
    /// Which of the hop's delays.
    pub(crate) part: Part,
}

/// The mean times of a pattern, in nanoseconds since the sending of its root.
#[derive(Debug)]
pub(crate) struct Timing {
    /// By hop: when it is sent.
    pub(crate) sent: Vec<f64>,
    /// By hop: when it is received.
    pub(crate) received: Vec<f64>,
    /// By hop: the last receipt in the subtree it causes, itself included.
    pub(crate) subtree_end: Vec<f64>,
    /// By hop: the hops it causes.
    pub(crate) children: Vec<Vec<usize>>,
    /// The hops without a parent; more than one only in a malformed pattern.
    pub(crate) roots: Vec<usize>,
    /// The last receipt of all.
    pub(crate) end: f64,
    /// The delay that matters most.
    pub(crate) critical: Option<Critical>,
}

impl Timing {
    /// Adds up the mean delays of `pattern`. A delay below zero, as bad clocks can make it, takes
    /// no time here. A parent that does not come before its child is no parent.
    pub(crate) fn of(pattern: &PathPattern) -> Timing {
        let hops = &pattern.hops;
        let mut timing = Timing {
            sent: Vec::with_capacity(hops.len()),
            received: Vec::with_capacity(hops.len()),
            subtree_end: Vec::new(),
            children: vec![Vec::new(); hops.len()],
            roots: Vec::new(),
            end: 0.0,
            critical: None,
        };
        for (index, hop) in hops.iter().enumerate() {
            let parent = parent(hop, index);
            match parent {
                Some(parent) => timing.children[parent].push(index),
                None => timing.roots.push(index),
            }
            let (parent_sent, parent_received) =
                parent.map_or((0.0, 0.0), |parent| (timing.sent[parent], timing.received[parent]));
            let (sent, received) = match &hop.untraced {
                // When an untraced node sends is not known: all of its time lies before its
                // receipt.
                Some(untraced) => {
                    let received = parent_sent + untraced.mean.max(0.0);
                    (received, received)
                }
                None => {
                    let node = hop.node.map_or(0.0, |node| node.mean.max(0.0));
                    let sent = parent_received + node + connecting(hop);
                    (sent, sent + hop.network.map_or(0.0, |network| network.mean.max(0.0)))
                }
            };
            timing.sent.push(sent);
            timing.received.push(received);
        }
        timing.subtree_end = timing.received.clone();
        for index in (0..hops.len()).rev() {
            if let Some(parent) = parent(&hops[index], index) {
                timing.subtree_end[parent] =
                    timing.subtree_end[parent].max(timing.subtree_end[index]);
            }
        }
        timing.end = timing.received.iter().copied().fold(0.0, f64::max);
        timing.critical = timing.find_critical(hops);
        timing
    }

    /// The child of `hop` whose subtree ends last: the one the path waits for.
    pub(crate) fn main_child(&self, hop: usize) -> Option<usize> {
        self.last_to_end(&self.children[hop])
    }

    fn last_to_end(&self, candidates: &[usize]) -> Option<usize> {
        candidates.iter().copied().reduce(|best, other| {
            if self.subtree_end[other] > self.subtree_end[best] { other } else { best }
        })
    }

    fn find_critical(&self, hops: &[Hop]) -> Option<Critical> {
        let mut best: Option<(f64, Critical)> = None;
        let mut next = self.last_to_end(&self.roots);
        while let Some(index) = next {
            for (part, delay) in delays(&hops[index]) {
                if delay > best.map_or(0.0, |(largest, _)| largest) {
                    best = Some((delay, Critical { hop: index, part }));
                }
            }
            next = self.main_child(index);
        }
        best.map(|(_, critical)| critical)
    }
}

/// The parent of the hop at `index`, if it can be one.
pub(crate) fn parent(hop: &Hop, index: usize) -> Option<usize> {
    hop.parent.filter(|parent| *parent < index)
}

/// The mean delays that `hop` has.
pub(crate) fn delays(hop: &Hop) -> impl Iterator<Item = (Part, f64)> {
    [(Part::Node, &hop.node), (Part::Network, &hop.network), (Part::Untraced, &hop.untraced)]
        .into_iter()
        .filter_map(|(part, summary)| summary.map(|summary| (part, summary.mean)))
        .chain(hop.connect.map(|connect| (Part::Connect, connect.average())))
}

/// How long the sender waits for the connection on average, also over the instances in which it
/// does not.
pub(crate) fn connecting(hop: &Hop) -> f64 {
    hop.connect.map_or(0.0, |connect| connect.average())
}

/// Whether what `hop` waits for its connection is worth showing: at least a hundredth of the time
/// of its `pattern`.
pub(crate) fn is_noticeable(hop: &Hop, pattern: &PathPattern) -> bool {
    connecting(hop) >= 0.01 * pattern.duration.mean && connecting(hop) > 0.0
}

/// All the time that `hop` takes.
pub(crate) fn hop_time(hop: &Hop) -> f64 {
    delays(hop).map(|(_, mean)| mean.max(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, MS};

    #[test]
    fn delays_add_up_along_a_chain() {
        let pattern = samples::cached();
        let timing = Timing::of(&pattern);
        assert_eq!(timing.sent[0], 0.0);
        for (index, hop) in pattern.hops.iter().enumerate().skip(1) {
            let node = hop.node.map_or(0.0, |node| node.mean);
            assert!((timing.sent[index] - timing.received[index - 1] - node).abs() < 1e-6);
        }
        assert!((timing.end - pattern.duration.mean).abs() < 1.0);
        assert_eq!(timing.critical, Some(Critical { hop: 4, part: Part::Node }));
    }

    #[test]
    fn connecting_takes_its_share_of_the_time_before_a_message_is_sent() {
        let (plain, connecting) = (samples::cached(), samples::connecting());
        let (before, after) = (Timing::of(&plain), Timing::of(&connecting));
        // 40 ms in a quarter of the instances.
        assert!((after.sent[2] - before.sent[2] - 10.0 * MS).abs() < 1e-6);
        assert!((after.end - before.end - 10.0 * MS).abs() < 1e-6);
        assert_eq!(after.critical, Some(Critical { hop: 2, part: Part::Connect }));
        assert!(is_noticeable(&connecting.hops[2], &connecting));
        assert!(!is_noticeable(&connecting.hops[1], &connecting));
    }

    #[test]
    fn an_untraced_node_takes_the_time_of_both_ways() {
        let pattern = samples::lookup();
        let timing = Timing::of(&pattern);
        // The query is hop 2, its answer hop 3.
        assert!((timing.received[3] - timing.sent[2] - 2.2 * MS).abs() < 1e-6);
        assert_eq!(timing.critical, Some(Critical { hop: 3, part: Part::Untraced }));
    }

    #[test]
    fn a_delay_beside_the_longest_branch_is_not_critical() {
        let mut pattern = samples::forked();
        let timing = Timing::of(&pattern);
        assert_eq!(timing.critical, Some(Critical { hop: 4, part: Part::Node }));
        // The other branch gets the larger delay, but not the later end.
        let critical = timing.critical.unwrap().hop;
        assert!(pattern.hops[critical].node.unwrap().mean < 40.0 * MS);
        pattern.hops[2].node = Some(samples::delay(30.0 * MS));
        pattern.hops[3].node = Some(samples::delay(1.0 * MS));
        pattern.hops[4].node = Some(samples::delay(29.0 * MS));
        pattern.hops[5].node = Some(samples::delay(8.0 * MS));
        assert_eq!(Timing::of(&pattern).critical, Some(Critical { hop: 4, part: Part::Node }));
    }

    #[test]
    fn a_parent_that_comes_later_is_none() {
        let mut pattern = samples::cached();
        pattern.hops[1].parent = Some(5);
        pattern.hops[2].parent = Some(2);
        let timing = Timing::of(&pattern);
        assert_eq!(timing.roots, [0, 1, 2]);
    }
}
