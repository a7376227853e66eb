//! A map of the system: who calls whom, over what, how often, and how long it takes. It is counted
//! from the calls themselves, window by window, so that it has all of them and no more in memory
//! than there are pairs of nodes.

use std::collections::BTreeMap;

use analyze::calls::windows::{CallWindow, Party, TracedCall};
use analyze::naming::CLIENT;
use message_trace::Protocol;
use rustc_hash::{FxHashMap, FxHashSet};

/// Calls from one node to an endpoint of another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapEdge {
    /// How many.
    pub calls: u64,
    /// How many of them were answered.
    pub answered: u64,
    /// The sum of the times that they took, as the caller saw it or, where it was not traced, the
    /// callee: nanoseconds.
    pub time: f64,
    /// How many such times are known.
    pub timed: u64,
    /// The sum of the times of their requests on the way: nanoseconds.
    pub network: f64,
    /// How many such times are known.
    pub on_the_way: u64,
    /// The payloads of requests and responses.
    pub bytes: i64,
}

impl MapEdge {
    /// The mean time that a call takes, in nanoseconds.
    pub fn mean_time(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.time / self.timed as f64)
    }

    /// The mean time of a request on its way, in nanoseconds.
    pub fn mean_network(&self) -> Option<f64> {
        (self.on_the_way > 0).then(|| self.network / self.on_the_way as f64)
    }

    fn add(&mut self, other: &MapEdge) {
        self.calls += other.calls;
        self.answered += other.answered;
        self.time += other.time;
        self.timed += other.timed;
        self.network += other.network;
        self.on_the_way += other.on_the_way;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Between whom an edge is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Between {
    /// Who calls.
    pub caller: String,
    /// Who is called.
    pub callee: String,
    /// The callee's port or other endpoint; empty where it is none of a server.
    pub port: String,
    /// Over what: the protocol's name.
    pub protocol: &'static str,
}

/// The map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemMap {
    /// The nodes and whether they were traced, by name.
    pub nodes: BTreeMap<String, bool>,
    /// The edges.
    pub edges: BTreeMap<Between, MapEdge>,
    /// From the first event to the last, in nanoseconds.
    pub span: i64,
}

/// A map in the making.
#[derive(Debug, Default)]
pub struct MapBuilder {
    edges: FxHashMap<(usize, usize, String, Protocol), MapEdge>,
    called: FxHashSet<usize>,
    parties: Vec<Party>,
    span: Option<(i64, i64)>,
}

impl MapBuilder {
    /// Adds the calls of a window.
    pub fn window(&mut self, window: &CallWindow<'_>) {
        window.calls().for_each(|call| self.call(&call));
        let known = self.parties.len();
        self.parties.extend(window.parties.iter().skip(known).cloned());
    }

    fn call(&mut self, call: &TracedCall<'_>) {
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
        let of_caller = between(response.and_then(|r| r.received), request.and_then(|r| r.sent));
        let of_callee = between(response.and_then(|r| r.sent), request.and_then(|r| r.received));
        let time = of_caller.or(of_callee);
        let network = between(request.and_then(|r| r.received), request.and_then(|r| r.sent));
        let edge = MapEdge {
            calls: 1,
            answered: u64::from(response.is_some()),
            time: time.unwrap_or_default(),
            timed: u64::from(time.is_some()),
            network: network.unwrap_or_default(),
            on_the_way: u64::from(network.is_some()),
            bytes: request
                .into_iter()
                .chain(response)
                .fold(0, |sum, seen| seen.bytes.saturating_add(sum)),
        };
        let key = (call.caller, call.callee, port(call), call.protocol);
        self.edges.entry(key).or_default().add(&edge);
    }

    /// The map of all that was added. Peers that were not traced and only call are one, as in
    /// patterns.
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
        // Sums of floating point numbers depend on their order.
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
                *map.nodes.entry(name(place)).or_default() |= traced;
            }
            let (caller, callee) = (name(*caller), name(*callee));
            let key = Between { caller, callee, port: port.clone(), protocol: protocol.name() };
            map.edges.entry(key).or_default().add(edge);
        }
        map
    }
}

/// The server's port or other endpoint.
fn port(call: &TracedCall<'_>) -> String {
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
pub(super) mod tests {
    use super::*;
    use crate::testing;

    pub(crate) fn map(web: &str) -> SystemMap {
        let mut builder = MapBuilder { parties: testing::parties(web), ..MapBuilder::default() };
        testing::calls().iter().for_each(|call| builder.call(call));
        builder.finish()
    }

    #[test]
    fn calls_are_counted_by_who_and_where() {
        let map = map("web");
        assert_eq!(map.span, 23_000);
        let nodes: Vec<(&str, bool)> =
            map.nodes.iter().map(|(name, traced)| (name.as_str(), *traced)).collect();
        assert_eq!(
            nodes,
            [("10.0.0.2:53", false), ("CLIENT", false), ("db", true), ("log", true), ("web", true)]
        );
        let edge = |caller: &str, callee: &str| {
            let (between, edge) =
                map.edges.iter().find(|(b, _)| b.caller == caller && b.callee == callee).unwrap();
            (between.port.as_str(), edge.clone())
        };
        let (port, edge_to_db) = edge("web", "db");
        assert_eq!(
            (port, edge_to_db.calls, edge_to_db.answered, edge_to_db.bytes),
            ("5432", 2, 2, 60)
        );
        assert_eq!(
            (edge_to_db.mean_time(), edge_to_db.mean_network()),
            (Some(3500.0), Some(1000.0))
        );
        let (port, client) = edge("CLIENT", "web");
        assert_eq!((port, client.mean_time(), client.mean_network()), ("80", Some(8000.0), None));
        assert_eq!(edge("web", "log").1.mean_time(), None);
        assert_eq!(map.edges.len(), 4);
    }

    #[test]
    fn a_node_of_which_any_was_traced_is_traced_and_only_servers_have_ports() {
        let mut builder = MapBuilder { parties: testing::parties("web"), ..MapBuilder::default() };
        let untraced = Party { traced: false, ..builder.parties[1].clone() };
        builder.parties.push(untraced);
        let [_, to_db, ..] = testing::calls()[..] else { panic!("there are calls") };
        let to_other = TracedCall { callee: 5, ..to_db };
        let calls = [
            to_db,
            TracedCall { from_connecting: false, ..to_other },
            TracedCall { dst_endpoint: Some("unix:#7"), ..to_other },
            TracedCall { dst_endpoint: Some("unix:/run/web"), ..to_other },
        ];
        calls.iter().for_each(|call| builder.call(call));
        let map = builder.finish();
        assert_eq!(map.nodes.get("web"), Some(&true));
        let edges: Vec<(&str, u64)> =
            map.edges.iter().map(|(between, edge)| (between.port.as_str(), edge.calls)).collect();
        assert_eq!(edges, [("5432", 1), ("", 2), ("unix:/run/web", 1)]);
    }
}
