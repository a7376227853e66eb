//! The map of the calls themselves. They are counted window by window, so memory grows only with
//! the pairs of nodes.

use message_trace::TransportProtocol;
use rustc_hash::{FxHashMap, FxHashSet};

use super::edge::{EdgeEnds, MapEdge, SystemMap, TimeSum};
use crate::calls::windows::{CallWindow, Party, TracedCall};
use crate::naming::CLIENT;

/// Builder of a map from calls.
#[derive(Debug, Default)]
pub struct CallMapBuilder {
    /// The edges by caller and callee (indices into `parties`), the callee's port, and protocol.
    edges: FxHashMap<(usize, usize, String, TransportProtocol), MapEdge>,
    /// The parties that are called.
    called: FxHashSet<usize>,
    parties: Vec<Party>,
    /// The times of the first and the last event, in nanoseconds.
    span: Option<(i64, i64)>,
}

impl CallMapBuilder {
    /// Adds the calls of a window.
    pub fn add_window(&mut self, window: &CallWindow<'_>) {
        window.calls().for_each(|call| self.add_call(&call));
        self.add_parties(window.parties);
    }

    /// Adds the names of the parties that calls refer to by their indices. `parties` begins with
    /// those that are known already.
    pub fn add_parties(&mut self, parties: &[Party]) {
        let known = self.parties.len();
        self.parties.extend(parties.iter().skip(known).cloned());
    }

    /// Adds a call to the edge between its caller and callee.
    pub fn add_call(&mut self, call: &TracedCall<'_>) {
        let (request, response) = (call.request, call.response);
        let times = request
            .into_iter()
            .chain(response)
            .flat_map(|seen| [seen.sent, seen.received])
            .flatten();
        for time in times {
            self.span = Some(
                self.span.map_or((time, time), |(first, last)| (time.min(first), time.max(last))),
            );
        }
        self.called.insert(call.callee);
        let between =
            |end: Option<i64>, start: Option<i64>| Some(end?.saturating_sub(start?).max(0) as f64);
        let by_caller = between(response.and_then(|r| r.received), request.and_then(|r| r.sent));
        let by_callee = between(response.and_then(|r| r.sent), request.and_then(|r| r.received));
        let network = between(request.and_then(|r| r.received), request.and_then(|r| r.sent));
        let edge = MapEdge {
            requests: 1.0,
            responses: f64::from(u8::from(response.is_some())),
            time: TimeSum::from_time(by_caller.or(by_callee)),
            network: TimeSum::from_time(network),
            bytes: request.into_iter().chain(response).map(|seen| seen.bytes as f64).sum(),
            ..MapEdge::default()
        };
        let key = (call.caller, call.callee, server_port(call), call.protocol);
        self.edges.entry(key).or_default().add_calls(&edge);
    }

    /// Returns the map of all calls that were added. Untraced peers that only make calls are one
    /// node, as in patterns.
    pub fn finish(self) -> SystemMap {
        let name = |place: usize| match self.parties.get(place) {
            Some(party) if !party.traced && !self.called.contains(&place) => CLIENT.to_owned(),
            Some(party) => party.name.clone(),
            None => String::new(),
        };
        let mut map = SystemMap {
            span: self.span.map_or(0, |(first, last)| last.saturating_sub(first)),
            ..SystemMap::default()
        };
        // The order is fixed, since sums of floating point numbers depend on it.
        let mut edges: Vec<_> = self.edges.iter().collect();
        edges.sort_by(|one, other| {
            one.0
                .0
                .cmp(&other.0.0)
                .then_with(|| (one.0.1, &one.0.2, one.0.3).cmp(&(other.0.1, &other.0.2, other.0.3)))
        });
        for ((caller, callee, port, protocol), edge) in edges {
            for place in [*caller, *callee] {
                let traced = self.parties.get(place).is_some_and(|party| party.traced);
                map.nodes.entry(name(place)).or_default().traced |= traced;
            }
            let (caller, callee) = (name(*caller), name(*callee));
            let key = EdgeEnds { caller, callee, port: port.clone(), protocol: protocol.name() };
            map.edges.entry(key).or_default().add_calls(edge);
        }
        map
    }
}

/// Returns the callee's port or other endpoint; empty if the callee made the connection, or accepts
/// at an unnamed unix socket.
fn server_port(call: &TracedCall<'_>) -> String {
    let Some(endpoint) = call.dst_endpoint.filter(|_| call.from_connecting) else {
        return String::new();
    };
    match endpoint.parse::<std::net::SocketAddr>() {
        Ok(address) => address.port().to_string(),
        Err(_) if endpoint.starts_with("unix:#") => String::new(),
        Err(_) => endpoint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::windows::{CallMessage, TraceRoot};

    /// An untraced client, web, db, log, and an untraced name server.
    fn parties() -> Vec<Party> {
        let party =
            |name: &str, traced| Party { name: name.to_owned(), traced, ..Party::default() };
        vec![
            party("10.0.0.9", false),
            party("web", true),
            party("db", true),
            party("log", true),
            party("10.0.0.2:53", false),
        ]
    }

    fn seen(sent: Option<i64>, received: Option<i64>, bytes: i64) -> Option<CallMessage> {
        Some(CallMessage { number: 0, sent, received, bytes })
    }

    /// A call of web to db.
    fn to_db() -> TracedCall<'static> {
        TracedCall {
            number: 0,
            parent: None,
            probability: None,
            root: TraceRoot { call: 0, time: 0 },
            caller: 1,
            callee: 2,
            threads: [None; 2],
            src_endpoint: Some("[::1]:41000"),
            dst_endpoint: Some("[::1]:5432"),
            from_connecting: true,
            protocol: TransportProtocol::Tcp,
            request: seen(Some(2_000), Some(3_000), 10),
            response: seen(Some(6_000), Some(7_000), 20),
            id: None,
        }
    }

    fn map(parties: &[Party], calls: &[TracedCall<'_>]) -> SystemMap {
        let mut map = CallMapBuilder::default();
        calls.iter().for_each(|call| map.add_call(call));
        map.add_parties(parties);
        map.finish()
    }

    #[test]
    fn calls_are_counted_by_nodes_and_port() {
        let to_db = to_db();
        let again = TracedCall {
            request: seen(Some(2_500), Some(3_500), 10),
            response: seen(Some(4_000), Some(4_500), 20),
            ..to_db
        };
        let of_client = TracedCall {
            caller: 0,
            callee: 1,
            dst_endpoint: Some("10.0.0.1:80"),
            request: seen(None, Some(1_000), 100),
            response: seen(Some(9_000), None, 2_000),
            ..to_db
        };
        let to_log = TracedCall {
            callee: 3,
            request: seen(Some(7_500), Some(7_900), 50),
            response: None,
            ..to_db
        };
        let lookup = TracedCall {
            caller: 2,
            callee: 4,
            dst_endpoint: Some("10.0.0.2:53"),
            request: seen(Some(20_000), None, 30),
            response: seen(None, Some(24_000), 40),
            ..to_db
        };
        let map = map(&parties(), &[of_client, to_db, again, to_log, lookup]);
        assert_eq!(map.span, 23_000);
        let nodes: Vec<(&str, bool)> =
            map.nodes.iter().map(|(name, node)| (name.as_str(), node.traced)).collect();
        assert_eq!(
            nodes,
            [("10.0.0.2:53", false), ("CLIENT", false), ("db", true), ("log", true), ("web", true)]
        );
        let edge = |caller: &str, callee: &str| {
            let (between, edge) =
                map.edges.iter().find(|(b, _)| b.caller == caller && b.callee == callee).unwrap();
            (between.port.as_str(), *edge)
        };
        let (port, edge_to_db) = edge("web", "db");
        assert_eq!(
            (port, edge_to_db.requests, edge_to_db.responses, edge_to_db.bytes),
            ("5432", 2.0, 2.0, 60.0)
        );
        assert_eq!(
            (edge_to_db.time.mean(), edge_to_db.network.mean()),
            (Some(3500.0), Some(1000.0))
        );
        let (port, client) = edge("CLIENT", "web");
        assert_eq!((port, client.time.mean(), client.network.mean()), ("80", Some(8000.0), None));
        assert_eq!(edge("web", "log").1.time.mean(), None);
        assert_eq!(map.edges.len(), 4);
    }

    #[test]
    fn a_node_with_a_traced_party_is_traced_and_only_servers_have_ports() {
        let mut parties = parties();
        parties.push(Party { traced: false, ..parties[1].clone() });
        let to_db = to_db();
        let to_other = TracedCall { callee: 5, ..to_db };
        let calls = [
            to_db,
            TracedCall { from_connecting: false, ..to_other },
            TracedCall { dst_endpoint: Some("unix:#7"), ..to_other },
            TracedCall { dst_endpoint: Some("unix:/run/web"), ..to_other },
        ];
        let map = map(&parties, &calls);
        assert!(map.nodes["web"].traced);
        let edges: Vec<(&str, f64)> = map
            .edges
            .iter()
            .map(|(between, edge)| (between.port.as_str(), edge.requests))
            .collect();
        assert_eq!(edges, [("5432", 1.0), ("", 2.0), ("unix:/run/web", 1.0)]);
    }
}
