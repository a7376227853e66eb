//! Map: the nodes and the calls between them in both periods, with what changed.

use std::collections::BTreeMap;

use request_flow::NameId;
use serde::Serialize;

use crate::comparison::Comparison;
use crate::suspects::{ChangeDirection, EvidenceKind};

/// A node in both periods.
#[derive(Clone, Debug, Serialize)]
pub struct MapNode {
    /// Name of the node.
    pub node: String,
    /// Executions per request, in both periods.
    pub executions: [f64; 2],
    /// The node's own time per request, in nanoseconds.
    pub own_ns: [f64; 2],
    /// Direction of a change: `worse`, `better` or `other`; `None` if nothing changed.
    pub changed: Option<&'static str>,
}

/// Calls of one node by another in both periods.
#[derive(Clone, Debug, Serialize)]
pub struct MapEdge {
    /// The calling node; empty if it is not known.
    pub caller: String,
    /// The called node.
    pub node: String,
    /// Calls per request, in both periods.
    pub calls: [f64; 2],
    /// Mean transfer time of a call and its response, in nanoseconds; `None` if it was not seen.
    pub network_ns: [Option<f64>; 2],
    /// Direction of a change of the transfer time: `worse` or `better`; or `other` if the number of
    /// calls changed.
    pub changed: Option<&'static str>,
}

/// The whole map.
#[derive(Clone, Debug, Serialize)]
pub struct CallMap {
    /// Nodes by name.
    pub nodes: Vec<MapNode>,
    /// Edges by the names of their ends.
    pub edges: Vec<MapEdge>,
}

/// Sums over call sites, by period: executions, times in nanoseconds, and weight of the times.
#[derive(Default)]
struct MapSums {
    executions: [f64; 2],
    total: [f64; 2],
    seen: [f64; 2],
}

impl CallMap {
    /// The map of a comparison.
    pub(super) fn from_comparison(comparison: &Comparison) -> CallMap {
        let Comparison { names, sites, totals, evidence, .. } = comparison;
        let requests = totals.map(|totals| totals.expected.max(f64::MIN_POSITIVE));
        let mut nodes: BTreeMap<&str, MapSums> = BTreeMap::new();
        let mut edges: BTreeMap<[&str; 2], MapSums> = BTreeMap::new();
        let mut keys: Vec<_> = sites.iter().collect();
        keys.sort_unstable_by_key(|(key, _)| **key);
        for (key, site) in keys {
            let node = nodes.entry(names.name_of(key.node)).or_default();
            let edge = [names.name_of(key.caller), names.name_of(key.node)];
            let edge = key.is_between_nodes().then(|| edges.entry(edge).or_default());
            let both = [Some((node, &site.own)), edge.map(|edge| (edge, &site.network))];
            for (sums, histogram) in both.into_iter().flatten() {
                for side in 0..2 {
                    sums.executions[side] += site.all.period_sum(side);
                    sums.seen[side] += histogram.weight(side);
                    sums.total[side] += histogram.weight(side) * histogram.mean(side);
                }
            }
        }
        let word = |direction: ChangeDirection| match direction {
            ChangeDirection::Worse => "worse",
            ChangeDirection::Better => "better",
            ChangeDirection::Other => "other",
        };
        // A worsening takes precedence over an improvement.
        let changed = |is: &dyn Fn(&crate::suspects::SiteEvidence) -> bool| {
            let all =
                evidence.iter().filter(|of| of.is_sure && is(of)).map(|of| word(of.direction()));
            all.max_by_key(|word| ["better", "other", "worse"].iter().position(|of| of == word))
        };
        let is_named = |name: NameId, text: &str| names.name_of(name) == text;
        let nodes = nodes.into_iter().map(|(node, sums)| MapNode {
            node: node.to_owned(),
            executions: [0, 1].map(|side| sums.executions[side] / requests[side]),
            own_ns: [0, 1].map(|side| sums.total[side] / requests[side]),
            changed: changed(&|of| {
                is_named(of.site.node, node) && !matches!(of.kind, EvidenceKind::Network)
            }),
        });
        let edges = edges.into_iter().map(|([caller, node], sums)| MapEdge {
            caller: caller.to_owned(),
            node: node.to_owned(),
            calls: [0, 1].map(|side| sums.executions[side] / requests[side]),
            network_ns: [0, 1]
                .map(|side| (sums.seen[side] > 0.0).then(|| sums.total[side] / sums.seen[side])),
            changed: changed(&|of| match &of.kind {
                EvidenceKind::Network => {
                    is_named(of.site.node, node) && is_named(of.site.caller, caller)
                }
                EvidenceKind::Calls(changes) => {
                    let mut calls = changes.iter();
                    is_named(of.site.node, caller) && calls.any(|call| is_named(call.node, node))
                }
                EvidenceKind::Own | EvidenceKind::Failures => false,
            }),
        });
        CallMap { nodes: nodes.collect(), edges: edges.collect() }
    }
}
