//! Transient ports, at which a program accepts for a short time only. Some servers announce over
//! one connection the port at which they wait for another one (FTP's files, calls back). The kernel
//! chooses the port, or it is the next of a range. It is open for a moment, and the next one has
//! another number. All connections to transient ports are of one kind, whatever the ports are.
//!
//! The trace shows a program that accepts at many ports, few connections at nearly all of them,
//! each for a short time. Services of one program name on one host, each at a port of its own, are
//! called again and again.

use message_trace::{Endpoint, EndpointId, FROM_CONNECTING, FlowId, MessageTrace, NodeId};
use rustc_hash::FxHashMap;

use super::host_endpoint::HostEndpoint;
use crate::tuning::naming::{MAX_CONNECTIONS, MAX_TIME_SHARE, MIN_PORTS, PASSING_SHARE};

/// The connections that were accepted at an endpoint: each with the times of its first and its last
/// message. Of more than [`MAX_CONNECTIONS`] one more is kept.
#[derive(Default)]
struct AcceptedConnections(Vec<(FlowId, [i64; 2])>);

impl AcceptedConnections {
    fn add_message(&mut self, flow: FlowId, time: i64) {
        let known = self.0.iter_mut().find(|(other, _)| *other == flow);
        if let Some((_, [first, last])) = known {
            (*first, *last) = (time.min(*first), time.max(*last));
        } else if self.0.len() <= MAX_CONNECTIONS {
            self.0.push((flow, [time; 2]));
        }
    }

    /// Returns whether there are few connections, all of them used for no longer than `most`
    /// nanoseconds.
    fn is_transient(&self, most: f64) -> bool {
        let short =
            |(_, [first, last]): &(FlowId, [i64; 2])| last.saturating_sub(*first) as f64 <= most;
        self.0.len() <= MAX_CONNECTIONS && self.0.iter().all(short)
    }
}

/// Returns the transient endpoints; `host` returns the number of a node's host.
pub(super) fn find_transient_ports(
    trace: &MessageTrace,
    host: impl Fn(NodeId) -> Option<u32>,
) -> Vec<HostEndpoint> {
    let mut places: FxHashMap<HostEndpoint, AcceptedConnections> = FxHashMap::default();
    let mut programs: FxHashMap<HostEndpoint, NodeId> = FxHashMap::default();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for message in trace.messages() {
        let time = message.sort_time();
        (first, last) = (first.min(time), last.max(time));
        if !message.protocol.has_connections() {
            continue;
        }
        let (node, endpoint): (NodeId, EndpointId) = match message.direction {
            FROM_CONNECTING => (message.dst, message.dst_endpoint),
            _ => (message.src, message.src_endpoint),
        };
        let place = (host(node).unwrap_or(u32::MAX), endpoint);
        if let Some(Endpoint::Inet(_)) = trace.endpoint(endpoint) {
            places.entry(place).or_default().add_message(message.flow, time);
            programs.entry(place).or_insert(node);
        }
    }
    let short = last.saturating_sub(first) as f64 * MAX_TIME_SHARE;
    // Number of ports of each program, and its transient ports.
    let mut by_program: FxHashMap<(u32, &str), (usize, Vec<HostEndpoint>)> = FxHashMap::default();
    for (place, accepted) in &places {
        let node = programs.get(place).and_then(|node| trace.nodes.get(*node));
        let Some(node) = node.filter(|node| node.traced) else { continue };
        let (ports, passing) = by_program.entry((place.0, &node.command)).or_default();
        *ports += 1;
        if accepted.is_transient(short) {
            passing.push(*place);
        }
    }
    by_program.retain(|_, (ports, passing)| {
        passing.len() >= MIN_PORTS && passing.len() as f64 >= PASSING_SHARE * *ports as f64
    });
    by_program.into_values().flat_map(|(_, passing)| passing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// Number of transient ports of a program that is called at port 21 and then at one of `ports`,
    /// `rounds` times, for `long` each time.
    fn passing(rounds: i64, ports: i64, long: i64) -> usize {
        count_transient(rounds, ports, long, 0)
    }

    /// Number of transient ports as by [`passing`], with `others` other ports of the program, each
    /// called over one connection all the time.
    fn count_transient(rounds: i64, ports: i64, long: i64, others: i64) -> usize {
        let mut trace = Fixture::new();
        for (at, port) in
            [0, 1000 * rounds].into_iter().flat_map(|at| (0..others).map(move |port| (at, port)))
        {
            trace
                .send("client", "server", at, at + 1)
                .ports(50_000, 100 + port as u16)
                .on(2 + port);
        }
        for round in 0..rounds {
            let (at, port) = (1000 * round, 30_000 + round % ports);
            trace.send("client", "server", at, at + 1).ports(50_000, 21).on(1);
            let flow = 1000 + round;
            trace.send("client", "server", at + 5, at + 6).ports(50_000, port as u16).on(flow);
            trace
                .send("client", "server", at + long, at + long + 1)
                .ports(50_000, port as u16)
                .on(flow);
        }
        find_transient_ports(&trace.trace(), |_| Some(0)).len()
    }

    #[test]
    fn many_ports_that_are_used_for_a_moment_are_transient() {
        assert_eq!(passing(100, 100, 20), 100);
        assert_eq!(passing(100, 50, 20), 50, "a range that is reused");
        assert_eq!(passing(15, 15, 20), 0, "too few ports");
    }

    #[test]
    fn services_that_are_called_for_long_or_often_are_not_transient() {
        assert_eq!(passing(100, 100, 30_000), 0);
        assert_eq!(passing(400, 20, 20), 0);
        assert_eq!(count_transient(100, 20, 20, 1), 20);
        assert_eq!(
            count_transient(100, 20, 20, 5),
            0,
            "services of one program name, some of them quiet"
        );
    }
}
