//! Parts of a comparison, with names in place of numbers.

use serde::Serialize;

use super::category_tree::CategoryTree;
use super::sentences;
use crate::analysis::HopKind;
use crate::collect::PeriodTotals;
use crate::comparison::Comparison;
use crate::explanation::MutationExplanation;
use crate::mutations::{KindChange, Mutation, MutationKind};
use crate::suspects::{EvidenceKind, SiteEvidence, SuspectNode};

/// A period, with its name and its totals.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedPeriod {
    /// The user's name for the period.
    pub name: String,
    /// Number of requests in the period.
    pub requests: u64,
    /// Sum of the requests' probabilities.
    pub expected: f64,
    /// Number of torn requests: their roots were lost.
    pub torn: u64,
    /// Begin of the first request, in nanoseconds since the Unix epoch.
    pub first: Option<i64>,
    /// Begin of the last request, in nanoseconds since the Unix epoch.
    pub last: Option<i64>,
}

impl DescribedPeriod {
    pub(super) fn from_totals(name: &str, totals: &PeriodTotals) -> DescribedPeriod {
        DescribedPeriod {
            name: name.to_owned(),
            requests: totals.requests,
            expected: totals.expected,
            torn: totals.torn,
            first: totals.first,
            last: totals.last,
        }
    }
}

/// Evidence against a suspect.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedEvidence {
    /// What changed: `own`, `network`, `calls` or `failures`.
    pub what: &'static str,
    /// The calling node.
    pub caller: String,
    /// The called node.
    pub node: String,
    /// The called operation.
    pub operation: String,
    /// Means in nanoseconds, or shares, in both periods.
    pub values: [f64; 2],
    /// Executions in both periods.
    pub executions: [f64; 2],
    /// The change's own contribution to the change of the mean response time, in nanoseconds.
    pub of_mean_ns: f64,
    /// Weight of the evidence against the suspect.
    pub weight: f64,
    /// p-value of the evidence, adjusted for all tests.
    pub adjusted: f64,
    /// Whether the change is more than chance explains.
    pub is_sure: bool,
    /// The evidence as a sentence.
    pub sentence: String,
}

impl DescribedEvidence {
    fn from_evidence(comparison: &Comparison, of: &SiteEvidence, weight: f64) -> DescribedEvidence {
        let names = &comparison.names;
        DescribedEvidence {
            what: match of.kind {
                EvidenceKind::Own => "own",
                EvidenceKind::Network => "network",
                EvidenceKind::Calls(_) => "calls",
                EvidenceKind::Failures => "failures",
            },
            caller: names.name_of(of.site.caller).to_owned(),
            node: names.name_of(of.site.node).to_owned(),
            operation: names.name_of(of.site.operation).to_owned(),
            values: of.values,
            executions: of.executions,
            of_mean_ns: of.of_mean,
            weight,
            adjusted: of.adjusted,
            is_sure: of.is_sure,
            sentence: sentences::evidence_sentence(names, of),
        }
    }
}

/// A suspect, with the evidence against it.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedSuspect {
    /// Name of the node.
    pub node: String,
    /// Weight of all evidence against the suspect.
    pub weight: f64,
    /// The suspect's share of the weight of all suspects.
    pub share: f64,
    /// The evidence, the heaviest first.
    pub evidence: Vec<DescribedEvidence>,
}

impl DescribedSuspect {
    pub(super) fn from_suspects(
        comparison: &Comparison,
        suspects: &[SuspectNode],
    ) -> Vec<DescribedSuspect> {
        let whole: f64 = suspects.iter().map(|suspect| suspect.weight).sum();
        let one = |suspect: &SuspectNode| DescribedSuspect {
            node: comparison.names.name_of(suspect.node).to_owned(),
            weight: suspect.weight,
            share: if whole > 0.0 { suspect.weight / whole } else { 0.0 },
            evidence: suspect
                .evidence
                .iter()
                .filter_map(|(place, weight)| {
                    let of = comparison.evidence.get(*place)?;
                    Some(DescribedEvidence::from_evidence(comparison, of, *weight))
                })
                .collect(),
        };
        suspects.iter().map(one).collect()
    }
}

/// A kind of requests that occurs in one period only.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedKind {
    /// The node that calls the root.
    pub caller: String,
    /// The node of the root.
    pub node: String,
    /// The operation of the root.
    pub operation: String,
    /// The kind's share of all requests in both periods, from 0 to 1. One of the two shares is 0.
    pub shares: [f64; 2],
    /// p-value of the change, adjusted for all tests.
    pub adjusted: f64,
}

impl DescribedKind {
    pub(super) fn from_comparison(comparison: &Comparison) -> Vec<DescribedKind> {
        let one = |change: &KindChange| {
            let names = comparison.kinds.get(change.kind)?.names;
            let [caller, node, operation] =
                names.map(|name| comparison.names.name_of(name).to_owned());
            let KindChange { shares, adjusted, .. } = *change;
            Some(DescribedKind { caller, node, operation, shares, adjusted })
        };
        comparison.new_kinds.iter().filter_map(one).collect()
    }
}

/// A hop with changed times.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedHop {
    /// Place in the category.
    pub place: u32,
    /// Kind of the hop: `own` or `network`.
    pub what: HopKind,
    /// Mean times on the critical path in both periods, in nanoseconds.
    pub mean_ns: [f64; 2],
    /// p-value of the change, adjusted for all hops of the category.
    pub adjusted: f64,
}

/// A category to which a mutation's requests may have belonged.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedOriginator {
    /// Category of the originator.
    pub tree: CategoryTree,
    /// Normalized edit distance, from 0 to 1.
    pub distance: f64,
    /// The places at which mutation and originator diverge.
    pub parting: [u32; 2],
}

/// A mutation, with its originators and hops.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedMutation {
    /// Kind of the mutation: `response_time` or `structural`.
    pub kind: &'static str,
    /// Contribution of the mutation to the change of the sum of all response times of the second
    /// period, in nanoseconds.
    pub contribution_ns: f64,
    /// p-value of the mutation, adjusted for all tests.
    pub adjusted: f64,
    /// Shares of the mutation in its kind's requests in both periods, if the mutation is
    /// structural.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<[f64; 2]>,
    /// Category of the mutation.
    pub tree: CategoryTree,
    /// The hops with changed times, in descending order of change.
    pub hops: Vec<DescribedHop>,
    /// Originators, the most similar first.
    pub originators: Vec<DescribedOriginator>,
    /// What distinguishes the mutation's requests from those of the first originator, or from its
    /// own requests in the first period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<MutationExplanation>,
}

impl DescribedMutation {
    pub(super) fn from_mutation(
        comparison: &Comparison,
        of: &Mutation,
    ) -> Option<DescribedMutation> {
        let category = comparison.categories.get(of.category)?;
        let mut described = DescribedMutation {
            kind: "response_time",
            contribution_ns: of.contribution,
            adjusted: of.adjusted,
            shares: None,
            tree: CategoryTree::from_category(comparison, category),
            hops: Vec::new(),
            originators: Vec::new(),
            explanation: None,
        };
        match &of.kind {
            MutationKind::ResponseTime { hops } => {
                let hop = |change: &crate::mutations::HopChange| {
                    let hop = category.hops.get(change.hop)?;
                    Some(DescribedHop {
                        place: hop.place,
                        what: hop.kind,
                        mean_ns: [0, 1].map(|side| hop.samples[side].moments.mean),
                        adjusted: change.adjusted,
                    })
                };
                described.hops = hops.iter().filter_map(hop).collect();
            }
            MutationKind::Structural { originators, shares } => {
                described.kind = "structural";
                described.shares = Some(*shares);
                let one = |of: &crate::mutations::Originator| {
                    Some(DescribedOriginator {
                        tree: CategoryTree::from_category(
                            comparison,
                            comparison.categories.get(of.category)?,
                        ),
                        distance: of.distance,
                        parting: of.parting,
                    })
                };
                described.originators = originators.iter().filter_map(one).collect();
            }
        }
        Some(described)
    }
}
