//! The document of the delays by node or by hop.

use serde::Serialize;

use super::connects::JsonConnects;
use super::trace::JsonTrace;
use crate::delays::{DelayReport, DelayRow, DelaySubject};
use crate::hop_endpoints::HopEndpoints;
use crate::options::Options;

/// The document of delays.
#[derive(Serialize)]
pub(super) struct DelayDocument<'a> {
    #[serde(flatten)]
    trace: JsonTrace<'a>,
    expected_paths: f64,
    instances: u64,
    sort: &'static str,
    total_time: f64,
    delays: Vec<JsonDelays<'a>>,
}

/// A row: a node with its node latency, or a hop with its network latency.
#[derive(Serialize)]
struct JsonDelays<'a> {
    #[serde(flatten)]
    of: JsonDelaysOf<'a>,
    count: u64,
    expected: f64,
    mean: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
    total_time: f64,
    share: f64,
    bytes: f64,
    #[serde(flatten)]
    connect: Option<JsonConnects>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JsonDelaysOf<'a> {
    Node { node: &'a str, traced: bool },
    Hop(HopEndpoints<'a>),
}

impl<'a> DelayDocument<'a> {
    /// The rows of `report` in the order of `options`, up to its limit.
    pub(super) fn from_report(report: &'a DelayReport<'a>, options: &Options) -> DelayDocument<'a> {
        let (instances, expected_paths, total_time) = report.instance_sums();
        DelayDocument {
            trace: JsonTrace::from_meta(&report.meta),
            expected_paths,
            instances,
            sort: options.sort.name(),
            total_time,
            delays: report.ranked_rows(options).iter().map(JsonDelays::from_row).collect(),
        }
    }
}

impl<'a> JsonDelays<'a> {
    fn from_row(row: &DelayRow<'a>) -> JsonDelays<'a> {
        let of = match row.subject {
            DelaySubject::Node(node) => {
                JsonDelaysOf::Node { node: &node.node, traced: node.traced }
            }
            DelaySubject::Hop(hop) => JsonDelaysOf::Hop(hop.into()),
        };
        let delays = row.delays;
        JsonDelays {
            of,
            count: delays.count,
            expected: delays.expected,
            mean: delays.delay.map(|delay| delay.mean),
            p50: delays.delay.map(|delay| delay.p50),
            p99: delays.delay.map(|delay| delay.p99),
            total_time: delays.total_time,
            share: row.share,
            bytes: delays.bytes,
            connect: delays.connect.map(JsonConnects::from_connects),
        }
    }
}
