//! Model of a workload: representatives, and the frequency of each (Magpie, section 5).
//!
//! All structs here are self-contained: names are texts, for JSON and for viewers.

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
    /// Total demands of all requests, as their source recorded them.
    pub demands: Demands,
    /// Clusters, the largest one first. Their sizes are the proportions of the model.
    pub clusters: Vec<RequestCluster>,
    /// Difference between the model's demands and the requests'.
    pub error: ModelError,
    /// Mean over all requests of the distance from the centre of their cluster.
    pub mean_distance: f64,
    /// Mean distance of the centres of two clusters; of the largest ones only, if there are many.
    pub mean_separation: f64,
    /// Requests that are alone, or in a small cluster far from all other clusters, in descending
    /// order of distance.
    pub unusual: Vec<UnusualRequest>,
    /// Number of requests in evicted clusters, as there were too many clusters.
    pub given_up: u64,
    /// Each request with its cluster, by number. The list is truncated at a limit.
    #[serde(skip)]
    pub members: Vec<ClusterMember>,
}

/// A request as a member of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClusterMember {
    /// Number of the request.
    pub request: u64,
    /// Index of the request's cluster in [`WorkloadModel::clusters`].
    pub cluster: u32,
    /// Distance from the centre of the cluster; for growing clusters, from the centre at the time
    /// when the request was added.
    pub distance: f32,
}

/// A cluster of a model.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RequestCluster {
    /// Number of the cluster's requests.
    pub requests: u64,
    /// The cluster's share of all requests, from 0 to 1.
    pub share: f64,
    /// Names of the requests, the most frequent one first.
    pub names: Vec<NameCount>,
    /// Number of the representative request: the member with the smallest difference of demands
    /// from the means.
    pub representative: u64,
    /// The representative's elements, with the mean demands of the members with the same elements.
    pub elements: Vec<ClusterElement>,
    /// Mean demands of the cluster's requests, as their source recorded them.
    pub demands: Demands,
    /// Mean times in which the requests' threads were blocked.
    pub waits: WaitTimes,
    /// Mean duration in nanoseconds.
    pub duration_ns: i64,
    /// Shortest and longest duration in nanoseconds.
    pub durations_ns: (i64, i64),
    /// Duration of the representative with unlimited processors, in nanoseconds, if nothing but
    /// processor time and synchronisation took time.
    pub endless_ns: i64,
    /// Begin of the cluster's first request, in nanoseconds since the Unix epoch.
    pub begin: i64,
    /// End of the cluster's last request, in nanoseconds since the Unix epoch.
    pub end: i64,
    /// Mean distance of the requests from the cluster's centre: the paper's diameter.
    pub mean_distance: f64,
    /// Longest distance of a request from the cluster's centre.
    pub farthest: f64,
    /// Distance from the centre of the nearest other cluster, if there is one.
    pub separation: Option<f64>,
    /// Index of that cluster in [`WorkloadModel::clusters`].
    pub nearest: Option<usize>,
}

/// A name, and the number of requests with it. The name is empty for requests with further names
/// that are not counted separately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NameCount {
    /// A name of requests.
    pub name: String,
    /// Number of requests with the name.
    pub requests: u64,
}

/// An element of a representative ([`CanonicalElement`](crate::canonical::CanonicalElement)).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClusterElement {
    /// Act of the element.
    pub act: ElementAct,
    /// The role that performs the element; for a signal, the signalled role.
    pub role: String,
    /// Mean demands of the element.
    pub demands: Demands,
    /// Begin of the element with unlimited processors, in nanoseconds from the begin of the
    /// request.
    pub begin: i64,
    /// End of the element with unlimited processors, in nanoseconds from the begin of the request.
    pub end: i64,
}
