//! Blame: ranks nodes by the evidence against them.

use std::cmp::Ordering;

use request_flow::{NameId, NameInterner};
use rustc_hash::FxHashMap;

use super::evidence::{ChangeDirection, EvidenceKind, SiteEvidence};
use crate::options::Ablation;
use crate::sites::{CallSites, SiteKey};
use crate::tuning::EDGE_POWER;

/// A node that caused a change.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspectNode {
    /// The suspected node.
    pub node: NameId,
    /// Total weight of the evidence against the node.
    pub weight: f64,
    /// The evidence against the node, the heaviest first: indices in the comparison's evidence, and
    /// weights.
    pub evidence: Vec<(usize, f64)>,
}

/// A calling node, and the called node.
type NodeEdge = [NameId; 2];

/// The nodes that the evidence incriminates, the heaviest first. With `worse`, evidence of slower
/// or failing operations counts, otherwise evidence of faster operations; evidence of changed
/// behaviour counts in both cases.
pub fn rank_suspects(
    evidence: &[SiteEvidence],
    sites: &CallSites,
    names: &NameInterner,
    worse: bool,
    without: Ablation,
) -> Vec<SuspectNode> {
    let direction = if worse { ChangeDirection::Worse } else { ChangeDirection::Better };
    let counts = |of: &SiteEvidence| [ChangeDirection::Other, direction].contains(&of.direction());
    let edges = EdgeChanges::from_evidence(evidence, sites, &counts);
    let mut nodes: FxHashMap<NameId, SuspectNode> = FxHashMap::default();
    let mut blame = |node: NameId, place: usize, weight: f64| {
        if weight > 0.0 && node != NameInterner::UNKNOWN {
            let empty = SuspectNode { node, weight: 0.0, evidence: Vec::new() };
            let suspect = nodes.entry(node).or_insert(empty);
            suspect.weight += weight;
            suspect.evidence.push((place, weight));
        }
    };
    for (place, of) in evidence.iter().enumerate().filter(|(_, of)| counts(of)) {
        let edge = edge_of(&of.site);
        // Possible chance reduces the weight.
        let likely = of.weight * (1.0 - of.adjusted).max(0.0);
        if without.blame {
            let is_time = matches!(of.kind, EvidenceKind::Own | EvidenceKind::Network);
            blame(of.site.node, place, if is_time { of.of_mean.abs() } else { of.weight });
        } else if is_explained(of, evidence) {
            // The caller is to blame, and has evidence of its own.
        } else if matches!(of.kind, EvidenceKind::Network) && of.site.is_between_nodes() {
            let shares = edges.edge_shares(edge);
            blame(edge[0], place, likely * shares[0]);
            blame(edge[1], place, likely * shares[1]);
        } else {
            blame(of.site.node, place, likely);
        }
    }
    let mut suspects: Vec<SuspectNode> = nodes.into_values().collect();
    let heavier = |one: f64, other: f64| other.partial_cmp(&one).unwrap_or(Ordering::Equal);
    for suspect in &mut suspects {
        suspect.evidence.sort_by(|one, other| heavier(one.1, other.1).then(one.0.cmp(&other.0)));
    }
    suspects.sort_by(|one, other| {
        let by_name = || names.name_of(one.node).cmp(names.name_of(other.node));
        heavier(one.weight, other.weight).then_with(by_name)
    });
    suspects
}

/// Whether the evidence is a change of an operation's calls that the operation's caller explains:
/// it calls the operation more or less often, so that the operation receives other requests.
fn is_explained(of: &SiteEvidence, evidence: &[SiteEvidence]) -> bool {
    let is_called = |caller: &SiteEvidence| match &caller.kind {
        EvidenceKind::Calls(changes) => {
            (caller.site.node, caller.site.operation) == (of.site.caller, of.site.calling)
                && changes.iter().any(|change| {
                    (change.node, change.operation) == (of.site.node, of.site.operation)
                })
        }
        _ => false,
    };
    matches!(of.kind, EvidenceKind::Calls(_)) && evidence.iter().any(is_called)
}

fn edge_of(site: &SiteKey) -> NodeEdge {
    [site.caller, site.node]
}

/// All edges between nodes, with the change of the time on each.
struct EdgeChanges {
    /// The greatest change of each edge, as a logarithm; 0 if none was found.
    changes: FxHashMap<NodeEdge, f64>,
    /// The edges of each node.
    of_node: FxHashMap<NameId, Vec<NodeEdge>>,
}

impl EdgeChanges {
    fn from_evidence(
        evidence: &[SiteEvidence],
        sites: &CallSites,
        counts: &dyn Fn(&SiteEvidence) -> bool,
    ) -> EdgeChanges {
        let mut changes: FxHashMap<NodeEdge, f64> = FxHashMap::default();
        for (key, site) in sites {
            let has_network = site.network.count(0) + site.network.count(1) > 0;
            if key.is_between_nodes() && has_network {
                changes.entry(edge_of(key)).or_default();
            }
        }
        for of in evidence.iter().filter(|of| counts(of)) {
            if matches!(of.kind, EvidenceKind::Network)
                && let Some(change) = changes.get_mut(&edge_of(&of.site))
            {
                *change = change.max(of.ln_ratio().abs());
            }
        }
        let mut of_node: FxHashMap<NameId, Vec<NodeEdge>> = FxHashMap::default();
        let mut all: Vec<NodeEdge> = changes.keys().copied().collect();
        all.sort_unstable();
        for edge in all {
            edge.iter().for_each(|node| of_node.entry(*node).or_default().push(edge));
        }
        EdgeChanges { changes, of_node }
    }

    /// The division of an edge's change among its ends: by how many of each end's edges changed as
    /// much. A node that sends and receives slowly is slow on all of its edges.
    fn edge_shares(&self, edge: NodeEdge) -> [f64; 2] {
        let change = |edge: &NodeEdge| self.changes.get(edge).copied().unwrap_or(0.0);
        let here = change(&edge);
        let alike = edge.map(|node| {
            if node == NameInterner::UNKNOWN {
                return 0.0;
            }
            let edges = self.of_node.get(&node).map(Vec::as_slice).unwrap_or_default();
            let sum: f64 = edges.iter().map(|other| (change(other) / here).min(1.0)).sum();
            (sum / edges.len().max(1) as f64).powi(EDGE_POWER)
        });
        let both = alike[0] + alike[1];
        if both > 0.0 { alike.map(|of| of / both) } else { [0.0; 2] }
    }
}
