//! The whole profile.

use serde::{Deserialize, Serialize};

use super::classes::ClassProfile;
use super::contexts::OperationProfile;
use super::per_level::PerLevel;
use crate::identity::OperationIdentity;

/// The profile of all requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What identifies an operation.
    pub by: OperationIdentity,
    /// Totals of requests, steps and contexts.
    pub totals: ProfileTotals,
    /// Average standard deviation of the response times of an operation, weighted by how often each
    /// is called, in nanoseconds.
    pub deviation: f64,
    /// The share of the standard deviation that each kind of context explains (section 5.2).
    pub decrease: PerLevel<f64>,
    /// The operations, in descending order of what context explains.
    pub operations: Vec<OperationProfile>,
    /// The classes of traces, the most frequent first: the index in this list is a class's number.
    /// If there are too many, the rarest are left out.
    pub classes: Vec<ClassProfile>,
}

/// Totals of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileTotals {
    /// Number of requests.
    pub requests: u64,
    /// Number of torn requests: their roots were lost.
    pub torn: u64,
    /// Number of classes of traces.
    pub classes: u64,
    /// Number of steps: executions of operations.
    pub steps: u64,
    /// Sum of the probabilities of the steps' requests.
    pub expected: f64,
    /// Number of steps that have a response time.
    pub timed: u64,
    /// Number of steps that continued after their caller had ended.
    pub outliving: u64,
    /// Number of operations.
    pub operations: u64,
    /// Number of contexts.
    pub contexts: PerLevel<u64>,
    /// Bytes of response times that were spilled to a temporary file.
    pub spilled: u64,
}
