//! The map's nodes and edges, with what is known of each.

use std::collections::BTreeMap;

/// The map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemMap {
    /// The nodes, by name.
    pub nodes: BTreeMap<String, MapNode>,
    /// The edges.
    pub edges: BTreeMap<Between, MapEdge>,
    /// The time from the first event of the calls to the last, in nanoseconds; 0 where patterns
    /// were added up.
    pub span: i64,
}

/// A node, and what it does in all patterns together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MapNode {
    /// Whether it was traced.
    pub traced: bool,
    /// Its node latencies. Calls do not tell them.
    pub work: Sum,
}

/// The two nodes of an edge, and what the calls go over. Requests and responses between two nodes
/// over one port are one edge.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Between {
    /// The name of the node that calls.
    pub caller: String,
    /// The name of the node that is called.
    pub callee: String,
    /// The callee's port or other endpoint. It is empty where calls go to no server's, and `*` for
    /// an ephemeral port in patterns.
    pub port: String,
    /// The protocol's name.
    pub protocol: &'static str,
}

/// What is known of the calls of one node to another. Each counts as often as it is expected to be
/// real: a call that was counted itself, once. All times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MapEdge {
    /// The number of requests.
    pub requests: f64,
    /// The number of responses.
    pub responses: f64,
    /// The time that calls take, as the caller saw it or, where that was not traced, the callee.
    /// Patterns do not tell it.
    pub time: Sum,
    /// The network latency: of requests where calls were counted, of messages in both directions
    /// where patterns were added up.
    pub network: Sum,
    /// The time of an untraced node together with that of the network on both ways to it. Calls do
    /// not tell it.
    pub untraced: Sum,
    /// The time for which the caller waits for connections. Calls do not tell it.
    pub connecting: f64,
    /// The payloads in both directions, in bytes.
    pub bytes: f64,
}

/// A sum of times, each as often as it is expected to be real.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// The number of times.
    pub expected: f64,
    /// Their sum, in nanoseconds.
    pub time: f64,
}

impl Sum {
    /// A time that is known once, or not at all.
    pub(super) fn once(time: Option<f64>) -> Sum {
        time.map_or_else(Sum::default, |time| Sum { expected: 1.0, time })
    }

    /// Adds a time that is expected that often.
    pub(super) fn add(&mut self, expected: f64, mean: f64) {
        self.expected += expected;
        self.time += expected * mean;
    }

    fn add_all(&mut self, other: Sum) {
        self.expected += other.expected;
        self.time += other.time;
    }

    /// The mean time, in nanoseconds; none where no time is known.
    pub fn mean(self) -> Option<f64> {
        (self.expected > 0.0).then(|| self.time / self.expected)
    }
}

impl MapEdge {
    /// Adds the calls of `other`.
    pub(super) fn add(&mut self, other: &MapEdge) {
        self.requests += other.requests;
        self.responses += other.responses;
        self.time.add_all(other.time);
        self.network.add_all(other.network);
        self.untraced.add_all(other.untraced);
        self.connecting += other.connecting;
        self.bytes += other.bytes;
    }
}
