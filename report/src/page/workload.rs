//! Costs of requests: clusters of requests to compare, unusual requests, and an example request of
//! each with its steps by resources, and its threads. Only pages of recordings with resources have
//! them.

mod example;
mod spent;
#[cfg(test)]
mod tests;

use message_trace::units::to_printable;
use rustc_hash::FxHashSet;
use serde::Serialize;
use workload::analysis::WorkloadReport;
use workload::model::{DemandErrors, RequestCluster, WorkloadModel};

use super::number::ShortNumber;
use crate::tuning::{MAX_CLUSTER_NAMES, MAX_CLUSTERS, MAX_EXAMPLE_REQUESTS, MAX_UNUSUAL};
pub use example::ExampleRequest;

/// Costs of requests in their JSON form. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub struct PageWorkload {
    requests: u64,
    /// Processor time of the processes that served requests, and the share charged to requests.
    processor: Option<i64>,
    charged: Option<ShortNumber>,
    error: PageErrors,
    clusters: Vec<PageCluster>,
    /// Numbers of omitted clusters, and of their requests.
    left: [u64; 2],
    unusual: Vec<PageUnusual>,
    /// Number of omitted unusual requests.
    unusual_left: usize,
    examples: Vec<ExampleRequest>,
    /// The command that shows all costs.
    command: String,
}

/// The error of the model: shares, null if there was no demand.
#[derive(Debug, Serialize)]
struct PageErrors {
    processor: Option<ShortNumber>,
    disk: Option<ShortNumber>,
    network: Option<ShortNumber>,
}

#[derive(Debug, Serialize)]
struct PageCluster {
    requests: u64,
    share: ShortNumber,
    /// The most frequent names of the cluster's requests, each with its number of requests.
    names: Vec<(String, u64)>,
    /// The number of further names.
    more_names: usize,
    /// Mean, shortest and longest duration, in nanoseconds.
    time: i64,
    range: [i64; 2],
    /// Mean times by resource, in nanoseconds.
    spent: [i64; 7],
    /// Mean bytes read from and written to files, sent, and received.
    bytes: [i64; 3],
    /// The number of the representative request.
    representative: u64,
    /// The distance to the nearest other cluster, relative to the distance between equal requests.
    separation: Option<ShortNumber>,
}

#[derive(Debug, Serialize)]
struct PageUnusual {
    request: u64,
    name: String,
    /// The request's differences from the nearest usual cluster, in words.
    what: String,
}

impl PageWorkload {
    /// The numbers of the requests that a page shows as examples: the representatives of the
    /// largest clusters, and the most unusual ones.
    pub fn wanted_requests(model: &WorkloadModel) -> FxHashSet<u64> {
        let clusters = model.clusters.iter().take(MAX_CLUSTERS).map(|of| of.representative);
        let unusual = model.unusual.iter().take(MAX_UNUSUAL).map(|of| of.request);
        // Half of the limit for each.
        let half = MAX_EXAMPLE_REQUESTS / 2;
        clusters.take(half).chain(unusual.take(half)).collect()
    }

    /// The costs in `answer`, with these requests as examples. `command` shows all costs.
    pub fn from_report(
        answer: &WorkloadReport,
        examples: Vec<ExampleRequest>,
        command: String,
    ) -> PageWorkload {
        let model = &answer.model;
        let left = model.clusters.get(MAX_CLUSTERS..).unwrap_or_default();
        PageWorkload {
            requests: model.requests,
            processor: answer.processor.map(|time| time.relevant_ns),
            charged: answer.charged_share.map(ShortNumber::from_value),
            error: PageErrors::from_errors(&model.error.representative),
            clusters: model
                .clusters
                .iter()
                .take(MAX_CLUSTERS)
                .map(PageCluster::from_cluster)
                .collect(),
            left: [left.len() as u64, left.iter().map(|of| of.requests).sum()],
            unusual: model
                .unusual
                .iter()
                .take(MAX_UNUSUAL)
                .map(PageUnusual::from_unusual)
                .collect(),
            unusual_left: model.unusual.len().saturating_sub(MAX_UNUSUAL),
            examples,
            command,
        }
    }
}

impl PageErrors {
    fn from_errors(errors: &DemandErrors) -> PageErrors {
        PageErrors {
            processor: errors.processor.map(ShortNumber::from_value),
            disk: errors.disk.map(ShortNumber::from_value),
            network: errors.network.map(ShortNumber::from_value),
        }
    }
}

impl PageCluster {
    fn from_cluster(cluster: &RequestCluster) -> PageCluster {
        let names = cluster.names.iter().take(MAX_CLUSTER_NAMES);
        let demands = &cluster.demands;
        PageCluster {
            requests: cluster.requests,
            share: ShortNumber::from_value(cluster.share),
            names: names.map(|of| (to_printable(&of.name), of.requests)).collect(),
            more_names: cluster.names.len().saturating_sub(MAX_CLUSTER_NAMES),
            time: cluster.duration_ns,
            range: [cluster.durations_ns.0, cluster.durations_ns.1],
            spent: spent::times_by_resource(demands.processor_ns, &cluster.waits),
            bytes: [
                demands.disk_read_bytes + demands.disk_written_bytes,
                demands.sent_bytes,
                demands.received_bytes,
            ],
            representative: cluster.representative,
            separation: cluster.separation.map(ShortNumber::from_value),
        }
    }
}

impl PageUnusual {
    fn from_unusual(unusual: &workload::unusual::UnusualRequest) -> PageUnusual {
        PageUnusual {
            request: unusual.request,
            name: to_printable(&unusual.name),
            what: to_printable(&unusual.what),
        }
    }
}
