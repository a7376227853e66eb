//! The map of the system: nodes, and edges from each caller to each callee with the rate of calls
//! and the time that they take.

use std::io;

use analyze::system_map::{EdgeEnds, MapEdge, SystemMap};
use message_trace::TransportProtocol;
use message_trace::units::{count_noun, format_count, format_duration};

use super::text::{node_shape, quote_lines, write_preamble};
/// Draws the `limit` busiest edges of `map`.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn draw_map(map: &SystemMap, limit: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let mut busiest: Vec<f64> = map.edges.values().map(|edge| edge.requests).collect();
    busiest.sort_unstable_by(|one, other| other.total_cmp(one));
    let least = busiest.get(limit.wrapping_sub(1)).copied().unwrap_or_default();
    let edges: Vec<(&EdgeEnds, &MapEdge)> = map
        .edges
        .iter()
        .filter(|(_, edge)| limit > 0 && edge.requests >= least)
        .take(limit)
        .collect();
    let mut names: Vec<&str> =
        edges.iter().flat_map(|(b, _)| [b.caller.as_str(), b.callee.as_str()]).collect();
    names.sort_unstable();
    names.dedup();
    let all = map.edges.values().map(|edge| edge.requests).sum::<f64>() as u64;
    write_preamble(
        out,
        &format!("{} in {}", count_noun(all, "call", "calls"), format_duration(map.span as f64)),
    )?;
    writeln!(out, "  rankdir=LR;")?;
    for (place, name) in names.iter().enumerate() {
        let traced = map.nodes.get(*name).is_some_and(|node| node.traced);
        writeln!(
            out,
            "  n{place} [label={}, shape={}];",
            quote_lines(&[name]),
            node_shape(traced)
        )?;
    }
    let place = |name: &str| names.binary_search(&name).unwrap_or_default();
    for (between, edge) in edges {
        let protocol =
            if between.protocol == TransportProtocol::Other.name() { "" } else { between.protocol };
        let port = format!("{protocol} {}", between.port);
        let seconds = map.span as f64 / 1e9;
        let rate = if seconds > 0.0 { edge.requests / seconds } else { 0.0 };
        let rate = format!("{}, {rate:.1}/s", count_noun(edge.requests as u64, "call", "calls"));
        let time = edge
            .time
            .mean()
            .map_or(String::new(), |time| format!("{} each", format_duration(time)));
        let network = edge.network.mean().map_or(String::new(), |network| {
            format!("{} on the network", format_duration(network))
        });
        let unanswered = (edge.requests - edge.responses) as u64;
        let unanswered = if unanswered > 0 {
            format!("{} not answered", format_count(unanswered))
        } else {
            String::new()
        };
        let label = quote_lines(&[port.trim(), &rate, &time, &network, &unanswered]);
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
    use crate::traces::testing::{HOSTILE, calls, parties};
    use analyze::system_map::CallMapBuilder;
    use test_support::assert_golden;

    fn map(web: &str) -> SystemMap {
        let mut map = CallMapBuilder::default();
        calls().iter().for_each(|call| map.add_call(call));
        map.add_parties(&parties(web));
        map.finish()
    }

    fn drawn(map: &SystemMap, limit: usize) -> String {
        let mut out = Vec::new();
        draw_map(map, limit, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_map_of_a_small_trace() {
        assert_golden!("map.dot", &drawn(&map(HOSTILE), 100));
    }

    #[test]
    fn only_the_busiest_edges_are_drawn() {
        let map = map("web");
        for (limit, edges) in [(0, 0), (1, 1), (2, 2), (9, 4)] {
            let text = drawn(&map, limit);
            assert_eq!(text.lines().filter(|line| line.contains(" -> ")).count(), edges, "{text}");
        }
        assert!(drawn(&map, 1).contains("tcp 5432"));
    }
}
