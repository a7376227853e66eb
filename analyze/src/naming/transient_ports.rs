//! Transient ports, at which a program accepts for a short time only. Some servers announce over
//! one connection the port at which they wait for another one (FTP's files, calls back). The kernel
//! chooses the port, or it is the next of a range. It is open for a moment, and the next one has
//! another number. All connections to transient ports are of one kind, whatever the ports are.
//!
//! The trace shows a program that accepts at many ports, few connections at nearly all of them,
//! each for a short time. Services of one program name on one host, each at a port of its own, are
//! called again and again.

use message_trace::{Endpoint, EndpointId, FROM_CONNECTING, FlowId, Message, MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::host_endpoint::{HostEndpoint, intern_texts};
use crate::tuning::naming::{MAX_CONNECTIONS, MAX_TIME_SHARE, MIN_PORTS, PASSING_SHARE};

/// The connections that were accepted at an endpoint: each with the times of its first and its last
/// message. At most [`MAX_CONNECTIONS`] and one more are stored, which shows that there were more.
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
        !self.0.is_empty() && self.0.len() <= MAX_CONNECTIONS && self.0.iter().all(short)
    }
}

/// Programs that accept at many ports on one host, and the use of these ports. Only such programs
/// may have transient ports, so the times of all messages need not be known for most traces.
pub(super) struct PortUses {
    /// By node: the number of its host.
    hosts: Vec<u32>,
    /// By accepting endpoint: the accepting node, the number of its program, and the connections.
    ports: FxHashMap<HostEndpoint, (NodeId, usize, AcceptedConnections)>,
    /// By program: the number of its ports.
    port_counts: Vec<usize>,
    /// Times of the first and the last message of the trace.
    span: Option<(i64, i64)>,
}

impl PortUses {
    /// Finds the programs in a trace or its outline; `None` if there are none.
    pub(super) fn from_outline(outline: &MessageTrace) -> Option<PortUses> {
        let hosts = intern_texts(outline.nodes.0.iter().map(|node| node.host.as_str()));
        let mut by_program: FxHashMap<(u32, &str), FxHashMap<EndpointId, NodeId>> =
            FxHashMap::default();
        for message in outline.messages().filter(|message| message.protocol.has_connections()) {
            let (node, endpoint) = accepting_end(&message);
            let program = outline.nodes.get(node).filter(|node| node.traced);
            if let (Some(program), Some(host)) = (program, hosts.get(node.index()))
                && let Some(Endpoint::Inet(_)) = outline.endpoint(endpoint)
            {
                let ports = by_program.entry((*host, &program.command)).or_default();
                ports.entry(endpoint).or_insert(node);
            }
        }
        by_program.retain(|_, ports| ports.len() >= MIN_PORTS);
        let (mut ports, mut port_counts) = (FxHashMap::default(), Vec::new());
        let mut shared: FxHashSet<HostEndpoint> = FxHashSet::default();
        for ((host, _), of_program) in by_program {
            let program = port_counts.len();
            port_counts.push(of_program.len());
            for (endpoint, node) in of_program {
                // A port that several programs accept at, one after the other, is not transient.
                let port = (node, program, AcceptedConnections::default());
                if ports.insert((host, endpoint), port).is_some() {
                    shared.insert((host, endpoint));
                }
            }
        }
        ports.retain(|port, _| !shared.contains(port));
        let span = None;
        (!ports.is_empty()).then_some(PortUses { hosts, ports, port_counts, span })
    }

    /// Adds the messages of a part of the trace, which have times. `outline` is the trace that the
    /// programs were found in.
    pub(super) fn add_messages(&mut self, part: &MessageTrace, outline: &MessageTrace) {
        let in_outline: Vec<Option<EndpointId>> =
            part.endpoints().iter().map(|endpoint| outline.endpoint_id(endpoint)).collect();
        for message in part.messages() {
            let Some(time) = message.send_ts.or(message.recv_ts) else { continue };
            let (first, last) = self.span.unwrap_or((time, time));
            self.span = Some((time.min(first), time.max(last)));
            let (node, endpoint) = accepting_end(&message);
            let endpoint = in_outline.get(endpoint.index()).copied().flatten();
            if let (Some(host), Some(endpoint)) = (self.hosts.get(node.index()), endpoint)
                && message.protocol.has_connections()
                && let Some((_, _, accepted)) = self.ports.get_mut(&(*host, endpoint))
            {
                accepted.add_message(message.flow, time);
            }
        }
    }

    /// Returns the transient ports, each with a node that accepts there.
    pub(super) fn into_transient_ports(self) -> FxHashSet<(NodeId, EndpointId)> {
        let (first, last) = self.span.unwrap_or_default();
        let short = last.saturating_sub(first) as f64 * MAX_TIME_SHARE;
        let mut transient = vec![Vec::new(); self.port_counts.len()];
        for ((_, endpoint), (node, program, accepted)) in self.ports {
            if accepted.is_transient(short) {
                transient[program].push((node, endpoint));
            }
        }
        let is_chosen = |(ports, count): &(Vec<_>, usize)| {
            ports.len() >= MIN_PORTS && ports.len() as f64 >= PASSING_SHARE * *count as f64
        };
        let programs = transient.into_iter().zip(self.port_counts);
        programs.filter(is_chosen).flat_map(|(ports, _)| ports).collect()
    }
}

/// Returns the node and the endpoint that accepted the connection of the message.
fn accepting_end(message: &Message) -> (NodeId, EndpointId) {
    match message.direction {
        FROM_CONNECTING => (message.dst, message.dst_endpoint),
        _ => (message.src, message.src_endpoint),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::naming::outline::TraceOutline;

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
        TraceOutline::from_trace(trace.trace()).transient_ports().count()
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
