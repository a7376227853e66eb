//! What requests cost: clusters of requests side by side, unusual requests, and a request of each
//! to look at: its steps by what they did with their time, and its threads. Only pages of
//! recordings with resources have it.

mod example;
mod spent;
#[cfg(test)]
mod tests;

use message_trace::units::printable;
use rustc_hash::FxHashSet;
use serde::Serialize;
use workload::analysis::Answer;
use workload::model::{Cluster, Errors, Model};

use super::number::Number;
use crate::tuning::{MAX_CLUSTER_NAMES, MAX_CLUSTERS, MAX_EXAMPLE_REQUESTS, MAX_UNUSUAL};
pub use example::ExampleRequest;

/// What requests cost, as JSON has it. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub struct PageWorkload {
    requests: u64,
    /// Processor time of the processes that served requests, and the share that was charged.
    processor: Option<i64>,
    charged: Option<Number>,
    error: PageErrors,
    clusters: Vec<PageCluster>,
    /// Numbers of clusters that are left out, and of their requests.
    left: [u64; 2],
    unusual: Vec<PageUnusual>,
    /// Number of unusual requests that are left out.
    unusual_left: usize,
    examples: Vec<ExampleRequest>,
    /// The command that shows all of it.
    command: String,
}

/// The error of the model: shares, null where nothing was demanded.
#[derive(Debug, Serialize)]
struct PageErrors {
    processor: Option<Number>,
    disk: Option<Number>,
    network: Option<Number>,
}

#[derive(Debug, Serialize)]
struct PageCluster {
    requests: u64,
    share: Number,
    /// The most frequent names of its requests, each with its number.
    names: Vec<(String, u64)>,
    /// How many further names there are.
    more_names: usize,
    /// Mean, shortest and longest duration.
    time: i64,
    range: [i64; 2],
    /// Mean times by what they were spent on.
    spent: [i64; 7],
    /// Mean bytes read from and written to files, sent, and received.
    bytes: [i64; 3],
    /// The number of the request that stands for it.
    representative: u64,
    /// The distance of the nearest other cluster, in those of equal requests.
    separation: Option<Number>,
}

#[derive(Debug, Serialize)]
struct PageUnusual {
    request: u64,
    name: String,
    what: String,
}

impl PageWorkload {
    /// The numbers of the requests that a page shows as examples: those that stand for the largest
    /// clusters, and the most unusual ones.
    pub fn wanted(model: &Model) -> FxHashSet<u64> {
        let clusters = model.clusters.iter().take(MAX_CLUSTERS).map(|of| of.representative);
        let unusual = model.unusual.iter().take(MAX_UNUSUAL).map(|of| of.request);
        // Of each as many as there is room for, in turn.
        let half = MAX_EXAMPLE_REQUESTS / 2;
        clusters.take(half).chain(unusual.take(half)).collect()
    }

    /// What `answer` says, with these requests as examples. `command` shows all of it.
    pub fn of(answer: &Answer, examples: Vec<ExampleRequest>, command: String) -> PageWorkload {
        let model = &answer.model;
        let left = model.clusters.get(MAX_CLUSTERS..).unwrap_or_default();
        PageWorkload {
            requests: model.requests,
            processor: answer.processor.map(|time| time.relevant_ns),
            charged: answer.charged_share.map(Number::of),
            error: PageErrors::of(&model.error.representative),
            clusters: model.clusters.iter().take(MAX_CLUSTERS).map(PageCluster::of).collect(),
            left: [left.len() as u64, left.iter().map(|of| of.requests).sum()],
            unusual: model.unusual.iter().take(MAX_UNUSUAL).map(PageUnusual::of).collect(),
            unusual_left: model.unusual.len().saturating_sub(MAX_UNUSUAL),
            examples,
            command,
        }
    }
}

impl PageErrors {
    fn of(errors: &Errors) -> PageErrors {
        PageErrors {
            processor: errors.processor.map(Number::of),
            disk: errors.disk.map(Number::of),
            network: errors.network.map(Number::of),
        }
    }
}

impl PageCluster {
    fn of(cluster: &Cluster) -> PageCluster {
        let names = cluster.names.iter().take(MAX_CLUSTER_NAMES);
        let demands = &cluster.demands;
        PageCluster {
            requests: cluster.requests,
            share: Number::of(cluster.share),
            names: names.map(|of| (printable(&of.name), of.requests)).collect(),
            more_names: cluster.names.len().saturating_sub(MAX_CLUSTER_NAMES),
            time: cluster.duration_ns,
            range: [cluster.durations_ns.0, cluster.durations_ns.1],
            spent: spent::times(demands.processor_ns, &cluster.waits),
            bytes: [
                demands.disk_read_bytes + demands.disk_written_bytes,
                demands.sent_bytes,
                demands.received_bytes,
            ],
            representative: cluster.representative,
            separation: cluster.separation.map(Number::of),
        }
    }
}

impl PageUnusual {
    fn of(unusual: &workload::unusual::Unusual) -> PageUnusual {
        PageUnusual {
            request: unusual.request,
            name: printable(&unusual.name),
            what: printable(&unusual.what),
        }
    }
}
