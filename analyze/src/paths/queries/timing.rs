//! The mean times at which each message of a pattern is sent and received, counted from the sending
//! of the root; and the critical delay, the largest one on the path to the last event. All outputs
//! show this same result.

use crate::paths::patterns::pattern::{Hop, PathPattern};

/// The parts of the time of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayKind {
    /// The time at the sending node.
    Node,
    /// The time on the network.
    Network,
    /// The time at an untraced sender, including the network to it and back.
    Untraced,
    /// The time for which the sending node waits for a connection.
    Connect,
}

/// The critical delay: the one with the largest mean among those that determine the duration of the
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CriticalDelay {
    /// The hop, as an index of the pattern's hops.
    pub hop: usize,
    /// The part of the time of the hop.
    pub kind: DelayKind,
}

/// The mean times of a pattern, in nanoseconds since the sending of its root.
#[derive(Debug)]
pub struct PatternTiming {
    /// By hop: the mean time of sending.
    pub sent: Vec<f64>,
    /// By hop: the mean time of receipt.
    pub received: Vec<f64>,
    /// By hop: the last receipt of all messages that it causes, itself included.
    pub subtree_end: Vec<f64>,
    /// By hop: the hops it causes.
    pub children: Vec<Vec<usize>>,
    /// The hops without a parent. Only a malformed pattern has more than one.
    pub roots: Vec<usize>,
    /// The last receipt of all.
    pub end: f64,
    /// The critical delay.
    pub critical: Option<CriticalDelay>,
}

impl PatternTiming {
    /// Adds up the mean delays of `pattern`. A negative delay, which bad clocks can cause, counts
    /// as 0. A parent that does not precede its child is ignored.
    pub fn from_pattern(pattern: &PathPattern) -> PatternTiming {
        let hops = &pattern.hops;
        let mut timing = PatternTiming {
            sent: Vec::with_capacity(hops.len()),
            received: Vec::with_capacity(hops.len()),
            subtree_end: Vec::new(),
            children: vec![Vec::new(); hops.len()],
            roots: Vec::new(),
            end: 0.0,
            critical: None,
        };
        for (index, hop) in hops.iter().enumerate() {
            let parent = parent_hop(hop, index);
            match parent {
                Some(parent) => timing.children[parent].push(index),
                None => timing.roots.push(index),
            }
            let (parent_sent, parent_received) =
                parent.map_or((0.0, 0.0), |parent| (timing.sent[parent], timing.received[parent]));
            let (sent, received) = match &hop.untraced {
                // The time at which an untraced node sends is unknown: all of its time lies before
                // its receipt.
                Some(untraced) => {
                    let received = parent_sent + untraced.mean.max(0.0);
                    (received, received)
                }
                None => {
                    let node = hop.node.map_or(0.0, |node| node.mean.max(0.0));
                    let sent = parent_received + node + mean_connect_time(hop);
                    (sent, sent + hop.network.map_or(0.0, |network| network.mean.max(0.0)))
                }
            };
            timing.sent.push(sent);
            timing.received.push(received);
        }
        timing.subtree_end = timing.received.clone();
        for index in (0..hops.len()).rev() {
            if let Some(parent) = parent_hop(&hops[index], index) {
                timing.subtree_end[parent] =
                    timing.subtree_end[parent].max(timing.subtree_end[index]);
            }
        }
        timing.end = timing.received.iter().copied().fold(0.0, f64::max);
        timing.critical = timing.find_critical(hops);
        timing
    }

    /// Returns the child of `hop` that the path waits for: the one with the latest last receipt.
    pub fn main_child(&self, hop: usize) -> Option<usize> {
        self.last_to_end(&self.children[hop])
    }

    fn last_to_end(&self, candidates: &[usize]) -> Option<usize> {
        candidates.iter().copied().reduce(|best, other| {
            if self.subtree_end[other] > self.subtree_end[best] { other } else { best }
        })
    }

    fn find_critical(&self, hops: &[Hop]) -> Option<CriticalDelay> {
        let mut best: Option<(f64, CriticalDelay)> = None;
        let mut next = self.last_to_end(&self.roots);
        while let Some(index) = next {
            for (part, delay) in mean_delays(&hops[index]) {
                if delay > best.map_or(0.0, |(largest, _)| largest) {
                    best = Some((delay, CriticalDelay { hop: index, kind: part }));
                }
            }
            next = self.main_child(index);
        }
        best.map(|(_, critical)| critical)
    }
}

/// Returns the parent of the hop at `index`; `None` if it does not precede the hop.
pub fn parent_hop(hop: &Hop, index: usize) -> Option<usize> {
    hop.parent.filter(|parent| *parent < index)
}

/// Returns the mean delays of `hop`, by part.
pub fn mean_delays(hop: &Hop) -> impl Iterator<Item = (DelayKind, f64)> {
    [
        (DelayKind::Node, &hop.node),
        (DelayKind::Network, &hop.network),
        (DelayKind::Untraced, &hop.untraced),
    ]
    .into_iter()
    .filter_map(|(part, summary)| summary.map(|summary| (part, summary.mean)))
    .chain(hop.connect.map(|connect| (DelayKind::Connect, connect.mean_over_all())))
}

/// Returns the mean time for which the sender waits for a connection, including instances in which
/// it does not wait.
pub fn mean_connect_time(hop: &Hop) -> f64 {
    hop.connect.map_or(0.0, |connect| connect.mean_over_all())
}

/// Returns whether the connect time of `hop` is worth showing: at least a hundredth of the time of
/// its `pattern`.
pub fn is_noticeable(hop: &Hop, pattern: &PathPattern) -> bool {
    mean_connect_time(hop) >= 0.01 * pattern.duration.mean && mean_connect_time(hop) > 0.0
}

/// Returns the sum of the mean delays of `hop`.
pub fn hop_time(hop: &Hop) -> f64 {
    mean_delays(hop).map(|(_, mean)| mean.max(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::ConnectTimes;
    use message_trace::TransportProtocol;
    use message_trace::stats::DelaySummary;

    /// A millisecond in nanoseconds.
    const MS: f64 = 1e6;

    fn delay(milliseconds: f64) -> Option<DelaySummary> {
        let mean = milliseconds * MS;
        Some(DelaySummary { mean, p50: mean, p99: mean })
    }

    /// A pattern of hops with these parents, node latencies and network latencies, the latter two
    /// in milliseconds.
    fn pattern(hops: &[(Option<usize>, f64, f64)]) -> PathPattern {
        let hop = |(parent, node, network): &(Option<usize>, f64, f64)| Hop {
            parent: *parent,
            depth: 0,
            src: String::new(),
            dst: String::new(),
            src_port: String::new(),
            dst_port: String::new(),
            protocol: TransportProtocol::Tcp,
            src_traced: true,
            dst_traced: true,
            bytes: 0.0,
            node: parent.and_then(|_| delay(*node)),
            network: delay(*network),
            untraced: None,
            connect: None,
            operation: None,
            outcomes: None,
        };
        PathPattern {
            id: 0,
            hops: hops.iter().map(hop).collect(),
            count: 1,
            expected: 1.0,
            max_probability: 1.0,
            duration: DelaySummary { mean: 3.252 * MS, ..DelaySummary::default() },
            total_time: 0.0,
        }
    }

    /// A request that is forwarded twice, and its responses.
    fn chain() -> PathPattern {
        pattern(&[
            (None, 0.0, 0.0),
            (Some(0), 0.112, 0.048),
            (Some(1), 0.871, 0.041),
            (Some(2), 0.062, 0.044),
            (Some(3), 1.94, 0.051),
            (Some(4), 0.083, 0.0),
        ])
    }

    #[test]
    fn delays_add_up_along_a_chain() {
        let pattern = chain();
        let timing = PatternTiming::from_pattern(&pattern);
        assert_eq!(timing.sent[0], 0.0);
        for (index, hop) in pattern.hops.iter().enumerate().skip(1) {
            let node = hop.node.map_or(0.0, |node| node.mean);
            assert!((timing.sent[index] - timing.received[index - 1] - node).abs() < 1e-6);
        }
        assert!((timing.end - 3.252 * MS).abs() < 1.0);
        assert_eq!(timing.critical, Some(CriticalDelay { hop: 4, kind: DelayKind::Node }));
    }

    #[test]
    fn connect_time_is_part_of_the_time_before_a_message_is_sent() {
        let (plain, mut connecting) = (chain(), chain());
        let delay = delay(40.0).unwrap();
        connecting.hops[2].connect =
            Some(ConnectTimes { count: 53, expected: 51.0, share: 0.25, delay });
        let (before, after) =
            (PatternTiming::from_pattern(&plain), PatternTiming::from_pattern(&connecting));
        // 40 ms in a quarter of the instances.
        assert!((after.sent[2] - before.sent[2] - 10.0 * MS).abs() < 1e-6);
        assert!((after.end - before.end - 10.0 * MS).abs() < 1e-6);
        assert_eq!(after.critical, Some(CriticalDelay { hop: 2, kind: DelayKind::Connect }));
        assert!(is_noticeable(&connecting.hops[2], &connecting));
        assert!(!is_noticeable(&connecting.hops[1], &connecting));
    }

    #[test]
    fn an_untraced_node_includes_the_network_in_both_directions() {
        let mut pattern = chain();
        // The query is hop 2, its response hop 3.
        pattern.hops[2].network = None;
        let answer = &mut pattern.hops[3];
        (answer.node, answer.network, answer.untraced) = (None, None, delay(2.2));
        let timing = PatternTiming::from_pattern(&pattern);
        assert!((timing.received[3] - timing.sent[2] - 2.2 * MS).abs() < 1e-6);
        assert_eq!(timing.critical, Some(CriticalDelay { hop: 3, kind: DelayKind::Untraced }));
    }

    #[test]
    fn a_delay_outside_the_longest_branch_is_not_critical() {
        let mut pattern = pattern(&[
            (None, 0.0, 0.0),
            (Some(0), 0.40, 0.25),
            (Some(1), 6.2, 0.22),
            (Some(0), 0.72, 0.31),
            (Some(3), 31.5, 0.28),
            (Some(4), 2.4, 0.0),
            (Some(4), 2.9, 0.19),
        ]);
        let timing = PatternTiming::from_pattern(&pattern);
        assert_eq!(timing.critical, Some(CriticalDelay { hop: 4, kind: DelayKind::Node }));
        // The other branch gets the larger delay, but not the later end.
        let critical = timing.critical.unwrap().hop;
        assert!(pattern.hops[critical].node.unwrap().mean < 40.0 * MS);
        pattern.hops[2].node = delay(30.0);
        pattern.hops[3].node = delay(1.0);
        pattern.hops[4].node = delay(29.0);
        pattern.hops[5].node = delay(8.0);
        assert_eq!(
            PatternTiming::from_pattern(&pattern).critical,
            Some(CriticalDelay { hop: 4, kind: DelayKind::Node })
        );
    }

    #[test]
    fn a_parent_that_comes_later_is_ignored() {
        let mut pattern = chain();
        pattern.hops[1].parent = Some(5);
        pattern.hops[2].parent = Some(2);
        let timing = PatternTiming::from_pattern(&pattern);
        assert_eq!(timing.roots, [0, 1, 2]);
    }
}
