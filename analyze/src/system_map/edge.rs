//! The nodes and edges of the map.

use std::collections::BTreeMap;

/// The map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemMap {
    /// The nodes, by name.
    pub nodes: BTreeMap<String, MapNode>,
    /// The edges.
    pub edges: BTreeMap<EdgeEnds, MapEdge>,
    /// The time from the first event of the calls to the last, in nanoseconds; 0 if patterns were
    /// added up.
    pub span: i64,
}

/// A node of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MapNode {
    /// Whether the node was traced.
    pub traced: bool,
    /// The node latencies in all patterns together. Only patterns contain them.
    pub work: TimeSum,
}

/// The ends of an edge. Requests and responses between two nodes over one port are one edge.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeEnds {
    /// The name of the node that calls.
    pub caller: String,
    /// The name of the node that is called.
    pub callee: String,
    /// The callee's port or other endpoint. It is empty if the callee made the connection; patterns
    /// have `*` for an ephemeral port.
    pub port: String,
    /// The protocol's name.
    pub protocol: &'static str,
}

/// The calls of one node to another. Each counts with its probability; a call that was counted
/// directly counts once. All times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MapEdge {
    /// The number of requests.
    pub requests: f64,
    /// The number of responses.
    pub responses: f64,
    /// The duration of calls, as the caller saw it or, if the caller was not traced, the callee.
    /// Only counted calls contain it.
    pub time: TimeSum,
    /// The network latency: of requests if calls were counted, of messages in both directions if
    /// patterns were added up.
    pub network: TimeSum,
    /// The time of an untraced node including the network to it and back. Only patterns contain it.
    pub untraced: TimeSum,
    /// The time for which the caller waits for connections, in nanoseconds. Only patterns contain
    /// it.
    pub connecting: f64,
    /// The payloads in both directions, in bytes.
    pub bytes: f64,
}

/// A sum of times, each weighted by its expected number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeSum {
    /// The number of times.
    pub expected: f64,
    /// Their sum, in nanoseconds.
    pub time: f64,
}

impl TimeSum {
    /// Returns the sum of one time, or of none.
    pub(super) fn from_time(time: Option<f64>) -> TimeSum {
        time.map_or_else(TimeSum::default, |time| TimeSum { expected: 1.0, time })
    }

    /// Adds `expected` times with this `mean`, in nanoseconds.
    pub(super) fn add_time(&mut self, expected: f64, mean: f64) {
        self.expected += expected;
        self.time += expected * mean;
    }

    fn add_sum(&mut self, other: TimeSum) {
        self.expected += other.expected;
        self.time += other.time;
    }

    /// Returns the mean time, in nanoseconds; `None` if no time is known.
    pub fn mean(self) -> Option<f64> {
        (self.expected > 0.0).then(|| self.time / self.expected)
    }
}

impl MapEdge {
    /// Adds the calls of `other`.
    pub(super) fn add_calls(&mut self, other: &MapEdge) {
        self.requests += other.requests;
        self.responses += other.responses;
        self.time.add_sum(other.time);
        self.network.add_sum(other.network);
        self.untraced.add_sum(other.untraced);
        self.connecting += other.connecting;
        self.bytes += other.bytes;
    }
}
