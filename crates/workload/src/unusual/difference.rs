//! Description of an unusual request: its differences from usual ones.

use serde::Serialize;

use crate::canonical::ElementAct;
use crate::clusters::DemandedResource;

/// Requests of one small cluster that are far from all others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UnusualRequest {
    /// Number of the request, or of the representative of several requests.
    pub request: u64,
    /// Numbers of all requests of the cluster; some may be missing if not all are kept.
    pub requests: Vec<u64>,
    /// Name of the request.
    pub name: String,
    /// Index of the requests' cluster in
    /// [`WorkloadModel::clusters`](crate::model::WorkloadModel::clusters).
    pub cluster: usize,
    /// Index of the nearest usual cluster in the same list, if there is one.
    pub nearest: Option<usize>,
    /// Distance from the nearest usual cluster.
    pub distance: f64,
    /// Differences from the nearest usual cluster, the greatest first.
    pub differences: Vec<RequestDifference>,
    /// The request and its differences in words.
    pub what: String,
}

/// A difference of a request from the usual ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestDifference {
    /// Kind of the difference.
    pub kind: DifferenceKind,
    /// The role that performs the act, or the signalled role.
    pub role: String,
    /// The act of the element.
    pub act: ElementAct,
    /// Index of the element in the request, or in the cluster's representative if only that has the
    /// element.
    pub element: usize,
    /// The resource, if demands differ.
    pub resource: Option<DemandedResource>,
    /// Demand of the request, in nanoseconds, calls or bytes.
    pub demand: i64,
    /// The usual demand, in the same unit.
    pub usual: i64,
    /// Distance of the two demands.
    pub distance: f64,
    /// The difference in words.
    pub what: String,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// The request demands more or less of a resource.
    Demand,
    /// The request has an additional element.
    More,
    /// The request lacks an element.
    Less,
}
