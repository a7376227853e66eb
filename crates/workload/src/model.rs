//! Model of a workload: representatives, and how often each occurs (Magpie, section 5).
//!
//! All structs here stand for themselves: names are texts, for JSON and for whoever shows them.

use serde::Serialize;

use crate::canonical::ElementAct;
use crate::demands::{Demands, WaitTimes};
use crate::unusual::UnusualRequest;

mod build_model;
mod model_error;
mod prediction;
mod purity;
mod workload;

pub use model_error::{DemandErrors, ModelError};
pub use purity::{ClusterPurity, LabelledCluster};
pub use workload::Workload;

/// The model of a workload.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WorkloadModel {
    /// Number of requests.
    pub requests: u64,
    /// Everything that they demanded, as parsed.
    pub demands: Demands,
    /// Clusters, the largest one first. Their sizes are the proportions of the model.
    pub clusters: Vec<RequestCluster>,
    /// How far the model's demands are from those of the requests.
    pub error: ModelError,
    /// Mean over all requests of the distance from the centre of their cluster.
    pub mean_distance: f64,
    /// Mean distance of the centres of two clusters; of the largest ones, where there are many.
    pub mean_separation: f64,
    /// Requests that are alone, or of a small cluster far from all others: the farthest first.
    pub unusual: Vec<UnusualRequest>,
    /// Number of requests whose clusters were given up, as there were too many clusters.
    pub given_up: u64,
    /// Each request with its cluster, by number. The list ends where there are more than are kept.
    #[serde(skip)]
    pub members: Vec<ClusterMember>,
}

/// A request as a member of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClusterMember {
    /// Number of the request.
    pub request: u64,
    /// Place of its cluster in [`WorkloadModel::clusters`].
    pub cluster: u32,
    /// Distance from the centre of the cluster; where clusters grow, as that was when it came.
    pub distance: f32,
}

/// A cluster of a model.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RequestCluster {
    /// Number of its requests.
    pub requests: u64,
    /// Their share of all requests, from 0 to 1.
    pub share: f64,
    /// Their names, the most frequent one first.
    pub names: Vec<NameCount>,
    /// Number of the request that stands for it: the member whose demands differ least from the
    /// means.
    pub representative: u64,
    /// What the representative does, with the mean demands of the members that do the same.
    pub elements: Vec<ClusterElement>,
    /// Mean demands of its requests, as parsed.
    pub demands: Demands,
    /// Mean times in which their threads could not go on.
    pub waits: WaitTimes,
    /// Mean duration in nanoseconds.
    pub duration_ns: i64,
    /// Shortest and longest duration in nanoseconds.
    pub durations_ns: (i64, i64),
    /// Duration of the representative on endless processors, in nanoseconds, if nothing but
    /// processor time and synchronisation took time.
    pub endless_ns: i64,
    /// Begin of its first request, in nanoseconds since the Unix epoch.
    pub begin: i64,
    /// End of its last request.
    pub end: i64,
    /// Mean distance of its requests from its centre: the paper's diameter.
    pub mean_distance: f64,
    /// Longest distance of one of its requests from its centre.
    pub farthest: f64,
    /// Distance from the centre of the nearest other cluster, where there is one.
    pub separation: Option<f64>,
    /// Place of that cluster in [`WorkloadModel::clusters`].
    pub nearest: Option<usize>,
}

/// A name, and the number of requests that have it. The name is empty for those that have yet
/// other names than are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NameCount {
    /// The name.
    pub name: String,
    /// Number of requests.
    pub requests: u64,
}

/// An element of a representative ([`CanonicalElement`](crate::canonical::CanonicalElement)).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClusterElement {
    /// What happens.
    pub act: ElementAct,
    /// Who does it; for a signal, who is signalled.
    pub role: String,
    /// Mean demands.
    pub demands: Demands,
    /// When it begins on endless processors, in nanoseconds from the begin of the request.
    pub begin: i64,
    /// When it ends there.
    pub end: i64,
}
