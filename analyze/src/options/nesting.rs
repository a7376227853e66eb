//! What the user can choose of the nesting algorithm (Project 5 section 5.1).

use serde::{Deserialize, Serialize};

/// The constants of the nesting algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NestingOptions {
    /// The skew window, in nanoseconds: a call may seem to begin before its parent, or to end after
    /// it, by so much (Project 5 section 7.5.6).
    pub skew_window: i64,
    /// The standard deviation of the normal curve by which the scoreboard is smoothed, in bins,
    /// each of which is 5% of a delay; 0 does not smooth (section 5.1.1.2).
    pub smoothing: f64,
    /// The exponents x, y and z of the penalties for children that overlap, children of the same
    /// destination, and any children (section 5.1.1.3).
    pub penalties: [f64; 3],
    /// The scoreboard by which a parent is chosen is of the calls that return within a window of so
    /// many nanoseconds around (section 8); none: of the whole trace.
    pub scoreboard_window: Option<i64>,
}

impl Default for NestingOptions {
    fn default() -> NestingOptions {
        NestingOptions {
            skew_window: 0,
            smoothing: 0.0,
            penalties: [2.0, 0.0, 0.0],
            scoreboard_window: None,
        }
    }
}
