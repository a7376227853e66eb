//! Options of the nesting algorithm (Project 5 section 5.1).

use serde::{Deserialize, Serialize};

/// The constants of the nesting algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NestingOptions {
    /// The skew window, in nanoseconds: time by which a call may seem to begin before its parent,
    /// or to end after it (Project 5 section 7.5.6).
    pub skew_window: i64,
    /// Standard deviation of the normal curve that smooths the scoreboard, in bins of 5% of a
    /// delay; 0 does not smooth (section 5.1.1.2).
    pub smoothing: f64,
    /// The exponents x, y and z of the penalties for children that overlap, children of the same
    /// destination, and any children (section 5.1.1.3).
    pub penalties: [f64; 3],
    /// Window of the scoreboard by which a parent is chosen, in nanoseconds: the calls that return
    /// within it count (section 8). `None`: the whole trace.
    pub scoreboard_window: Option<i64>,
}
