//! Options of a comparison.

use crate::category::ZoomLevel;

/// Steps that are switched off, to measure what they are worth: a field that is true switches its
/// step off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ablation {
    /// Each test has its own level: the rate of false discoveries is not controlled.
    pub control: bool,
    /// Hops count with all their time, whether or not the request waits for it.
    pub critical_path: bool,
    /// The time of an edge is attributed to its callee, and the ratio of a change does not matter.
    pub blame: bool,
}

/// Thresholds for a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which steps are distinguished.
    pub zoom: ZoomLevel,
    /// The false discovery rate: the accepted share of false reports.
    pub false_discoveries: f64,
    /// Smallest relative change of a time that matters.
    pub least_relative: f64,
    /// Smallest change of a time that matters, in nanoseconds.
    pub least_ns: f64,
    /// Smallest change of a hop's time that matters, as a share of the mean response time of all
    /// requests.
    pub least_of_response: f64,
    /// Smallest change of a category's share of its kind that matters, from 0 to 1.
    pub least_share: f64,
    /// Whether an originator must have lost at least as many requests as its mutation gained: the
    /// paper's assumption that one originator has several mutations, and each mutation one
    /// originator.
    pub one_to_many: bool,
    /// Whether the rules of the Spectroscope paper replace ours: times rounded to a millisecond, a
    /// fixed level for each test, and a threshold of requests for structural mutations.
    pub paper: bool,
    /// Steps that are switched off.
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
