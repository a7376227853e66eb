//! What is told of an unusual request: its differences from usual ones.

use serde::Serialize;

use crate::canonical::ElementAct;
use crate::clusters::DemandedResource;

/// Requests of one small cluster that are far from all others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UnusualRequest {
    /// Number of the request, or of the one that stands for them.
    pub request: u64,
    /// Numbers of all of them; some may be missing where not all are kept.
    pub requests: Vec<u64>,
    /// Name of the request.
    pub name: String,
    /// Place of their cluster in
    /// [`WorkloadModel::clusters`](crate::model::WorkloadModel::clusters).
    pub cluster: usize,
    /// Place of the nearest usual cluster there, where there is one.
    pub nearest: Option<usize>,
    /// Distance from it.
    pub distance: f64,
    /// What differs from it, the greatest difference first.
    pub differences: Vec<RequestDifference>,
    /// What is unusual, in words.
    pub what: String,
}

/// A difference of a request from the usual ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestDifference {
    /// What kind it is.
    pub kind: DifferenceKind,
    /// Who does it, or who is signalled.
    pub role: String,
    /// What happens in the element.
    pub act: ElementAct,
    /// Place of the element in the request, or in the cluster's where only that has it.
    pub element: usize,
    /// What it demands, where demands differ.
    pub resource: Option<DemandedResource>,
    /// Its demand, in nanoseconds, calls or bytes.
    pub demand: i64,
    /// The usual demand.
    pub usual: i64,
    /// How far apart both are.
    pub distance: f64,
    /// The difference in words.
    pub what: String,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// It demands more or less of something.
    Demand,
    /// It does what usual ones do not.
    More,
    /// It does not do what usual ones do.
    Less,
}
