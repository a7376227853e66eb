//! Options of a comparison.

use crate::category::ZoomLevel;

/// Steps that are left out, to measure what they are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ablation {
    /// Each test has its own level: the rate of false discoveries is not controlled.
    pub control: bool,
    /// Hops count with all their time, whether or not the request waits for it.
    pub critical_path: bool,
    /// The time of an edge is its callee's fault, and by how many times it changed does not matter.
    pub blame: bool,
}

/// What counts as a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which steps are told apart.
    pub zoom: ZoomLevel,
    /// The false discovery rate: the share of reported changes that may be none.
    pub false_discoveries: f64,
    /// Smallest relative change of a time that matters.
    pub least_relative: f64,
    /// Smallest change of a time that matters, in nanoseconds.
    pub least_ns: f64,
    /// Smallest change of a hop that matters, as a share of the mean response time of all requests.
    pub least_of_response: f64,
    /// Smallest change of a category's share of its kind that matters, of 1.
    pub least_share: f64,
    /// Whether an originator must have lost at least as many requests as its mutation won: the
    /// paper's assumption that one originator has several mutations, each its own.
    pub one_to_many: bool,
    /// The paper's rule in place of ours: times rounded to a millisecond, a fixed level for each
    /// test, and a threshold of requests for structural mutations.
    pub paper: bool,
    /// Steps that are left out.
    pub without: Ablation,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            zoom: ZoomLevel::default(),
            false_discoveries: 0.05,
            least_relative: 0.1,
            least_ns: 50_000.0,
            least_of_response: 0.02,
            least_share: 0.005,
            one_to_many: true,
            paper: false,
            without: Ablation::default(),
        }
    }
}
