//! The document of the patterns with their hops.

use analyze::paths::{Hop, PathPattern};
use serde::Serialize;

use super::connects::JsonConnects;
use super::operations::JsonOperation;
use super::trace::JsonTrace;
use crate::hop_endpoints::HopEndpoints;
use crate::options::Options;
use crate::summary::{Report, share_of_whole};

/// The document of patterns.
#[derive(Serialize)]
pub(super) struct PatternDocument<'a> {
    #[serde(flatten)]
    trace: JsonTrace<'a>,
    expected_paths: f64,
    sort: &'static str,
    /// The number of all patterns; `patterns` may be some of them.
    pattern_count: u64,
    total_time: f64,
    /// The operations of the patterns; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operations: Vec<JsonOperation<'a>>,
    patterns: Vec<JsonPattern<'a>>,
}

#[derive(Serialize)]
struct JsonPattern<'a> {
    pattern: i64,
    /// The number of the lead of the pattern's family.
    family: i64,
    count: i64,
    expected: f64,
    expected_per_count: f64,
    expected_per_root_count: f64,
    max_probability: f64,
    duration_mean: f64,
    duration_p50: f64,
    duration_p99: f64,
    total_time: f64,
    share: f64,
    hops: Vec<JsonHop<'a>>,
}

#[derive(Serialize)]
struct JsonHop<'a> {
    hop: usize,
    parent: Option<usize>,
    depth: usize,
    #[serde(flatten)]
    ends: HopEndpoints<'a>,
    bytes: f64,
    node_mean: Option<f64>,
    node_p50: Option<f64>,
    node_p99: Option<f64>,
    network_mean: Option<f64>,
    network_p50: Option<f64>,
    network_p99: Option<f64>,
    untraced_mean: Option<f64>,
    untraced_p50: Option<f64>,
    untraced_p99: Option<f64>,
    #[serde(flatten)]
    connect: Option<JsonConnects>,
    #[serde(flatten)]
    outcomes: Option<JsonOutcomes>,
}

/// The outcomes of the calls that a hop is the response of.
#[derive(Serialize)]
struct JsonOutcomes {
    answer_count: i64,
    error_count: i64,
    error_share: f64,
}

impl<'a> PatternDocument<'a> {
    /// The patterns of `report` in the order of `options`, up to its limit.
    pub(super) fn from_report(report: &'a Report<'a>, options: &Options) -> PatternDocument<'a> {
        let total_time = report.total_time();
        PatternDocument {
            trace: JsonTrace::from_meta(&report.meta),
            expected_paths: report.meta.expected_paths,
            sort: options.sort.name(),
            pattern_count: report.pattern_count(),
            total_time,
            operations: JsonOperation::from_operations(&report.operations),
            patterns: report
                .ranked_patterns(options)
                .into_iter()
                .map(|pattern| {
                    JsonPattern::from_pattern(
                        pattern,
                        report.families.lead_of_pattern(pattern),
                        total_time,
                    )
                })
                .collect(),
        }
    }
}

impl<'a> JsonPattern<'a> {
    fn from_pattern(pattern: &'a PathPattern, family: i64, total_time: f64) -> JsonPattern<'a> {
        JsonPattern {
            pattern: pattern.id,
            family,
            count: pattern.count,
            expected: pattern.expected,
            expected_per_count: pattern.expected_per_count(),
            expected_per_root_count: pattern.expected_per_root_count(),
            max_probability: pattern.max_probability,
            duration_mean: pattern.duration.mean,
            duration_p50: pattern.duration.p50,
            duration_p99: pattern.duration.p99,
            total_time: pattern.total_time,
            share: share_of_whole(pattern.total_time, total_time),
            hops: pattern
                .hops
                .iter()
                .enumerate()
                .map(|(index, hop)| JsonHop::from_hop(index, hop))
                .collect(),
        }
    }
}

impl<'a> JsonHop<'a> {
    fn from_hop(index: usize, hop: &'a Hop) -> JsonHop<'a> {
        JsonHop {
            hop: index,
            parent: hop.parent,
            depth: hop.depth,
            ends: hop.into(),
            bytes: hop.bytes,
            node_mean: hop.node.map(|delay| delay.mean),
            node_p50: hop.node.map(|delay| delay.p50),
            node_p99: hop.node.map(|delay| delay.p99),
            network_mean: hop.network.map(|delay| delay.mean),
            network_p50: hop.network.map(|delay| delay.p50),
            network_p99: hop.network.map(|delay| delay.p99),
            untraced_mean: hop.untraced.map(|delay| delay.mean),
            untraced_p50: hop.untraced.map(|delay| delay.p50),
            untraced_p99: hop.untraced.map(|delay| delay.p99),
            connect: hop.connect.map(JsonConnects::from_connects),
            outcomes: hop.outcomes.map(|of| JsonOutcomes {
                answer_count: of.answers,
                error_count: of.errors,
                error_share: of.error_share,
            }),
        }
    }
}
