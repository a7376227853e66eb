//! The map of the system: nodes, and between them who calls whom, how often in a second, and how
//! long that takes.

use std::io;

use message_trace::Protocol;

use super::graph::{begin, shape, text};
use crate::map::{Between, MapEdge, SystemMap};
use message_trace::units::{count, duration, plural};

/// Draws the `most` busiest edges of `map`.
///
/// # Errors
/// When `out` cannot be written.
pub fn system(map: &SystemMap, most: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let mut busiest: Vec<u64> = map.edges.values().map(|edge| edge.calls).collect();
    busiest.sort_unstable_by(|one, other| other.cmp(one));
    let least = busiest.get(most.wrapping_sub(1)).copied().unwrap_or_default();
    let edges: Vec<(&Between, &MapEdge)> =
        map.edges.iter().filter(|(_, edge)| most > 0 && edge.calls >= least).take(most).collect();
    let mut names: Vec<&str> =
        edges.iter().flat_map(|(b, _)| [b.caller.as_str(), b.callee.as_str()]).collect();
    names.sort_unstable();
    names.dedup();
    let all: u64 = map.edges.values().map(|edge| edge.calls).sum();
    begin(out, &format!("{} in {}", plural(all, "call", "calls"), duration(map.span as f64)))?;
    writeln!(out, "  rankdir=LR;")?;
    for (place, name) in names.iter().enumerate() {
        let traced = map.nodes.get(*name).copied().unwrap_or_default();
        writeln!(out, "  n{place} [label={}, shape={}];", text(&[name]), shape(traced))?;
    }
    let place = |name: &str| names.binary_search(&name).unwrap_or_default();
    for (between, edge) in edges {
        let protocol =
            if between.protocol == Protocol::Other.name() { "" } else { between.protocol };
        let port = format!("{protocol} {}", between.port);
        let seconds = map.span as f64 / 1e9;
        let rate = if seconds > 0.0 { edge.calls as f64 / seconds } else { 0.0 };
        let rate = format!("{}, {rate:.1}/s", plural(edge.calls, "call", "calls"));
        let time =
            edge.mean_time().map_or(String::new(), |time| format!("{} each", duration(time)));
        let network = edge
            .mean_network()
            .map_or(String::new(), |network| format!("{} on the way", duration(network)));
        let silent = edge.calls - edge.answered;
        let silent =
            if silent > 0 { format!("{} not answered", count(silent)) } else { String::new() };
        let label = text(&[port.trim(), &rate, &time, &network, &silent]);
        writeln!(
            out,
            "  n{} -> n{} [label={label}];",
            place(&between.caller),
            place(&between.callee)
        )?;
    }
    writeln!(out, "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::tests::map;
    use crate::testing::HOSTILE;
    use test_support::assert_golden;

    fn drawn(map: &SystemMap, most: usize) -> String {
        let mut out = Vec::new();
        system(map, most, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_map_of_a_small_trace() {
        assert_golden!("map.dot", &drawn(&map(HOSTILE), 100));
    }

    #[test]
    fn only_the_busiest_edges_are_drawn() {
        let map = map("web");
        for (most, edges) in [(0, 0), (1, 1), (2, 2), (9, 4)] {
            let text = drawn(&map, most);
            assert_eq!(text.lines().filter(|line| line.contains(" -> ")).count(), edges, "{text}");
        }
        assert!(drawn(&map, 1).contains("tcp 5432"));
    }
}
