//! Difference of two clocks, and the vote of a candidate for it.

use super::candidates::{CandidateEdge, HalfFlowField};

/// Known difference of two hosts' clocks, as a line over the time of the lower-numbered host's
/// clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClockDifference {
    /// A time on the lower-numbered host's clock, in nanoseconds.
    pub(super) at: i64,
    /// The higher-numbered host's clock minus the other at the time `at`, in nanoseconds.
    pub(super) offset: f64,
    /// Nanoseconds by which the difference grows per nanosecond.
    pub(super) skew: f64,
    /// Uncertainty of the line at the time `at`, in nanoseconds.
    pub(super) uncertainty: f64,
    /// Uncertainty of `skew`: the line is less certain the farther a time is from `at`.
    pub(super) skew_uncertainty: f64,
    /// Probability that the line is right.
    pub(super) trust: f64,
    /// Usual width of a true pair's window, in nanoseconds.
    pub(super) scale: f64,
    /// Number of agreeing pairs.
    pub(super) support: u32,
}

/// A candidate's vote: bounds on the difference of the two hosts' clocks at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct DifferenceVote {
    /// Time on the lower-numbered host's clock, in nanoseconds.
    pub(super) time: i64,
    /// Lower bound of the difference, in nanoseconds.
    pub(super) low: f64,
    /// Upper bound of the difference, in nanoseconds.
    pub(super) high: f64,
    /// How much the vote counts, up to 1.
    pub(super) weight: f64,
    pub(super) connecting: u32,
    pub(super) accepting: u32,
    /// Evidence of what the two ends share, in nats.
    pub(super) information: f64,
    /// Whether the client's port is the same at both ends.
    pub(super) kept_port: bool,
}

impl ClockDifference {
    /// The difference at a time, in nanoseconds.
    pub(super) fn offset_at(&self, time: i64) -> f64 {
        self.offset + self.skew * (time - self.at) as f64
    }

    /// Uncertainty of the line at a time, in nanoseconds.
    pub(super) fn uncertainty_at(&self, time: i64) -> f64 {
        self.uncertainty + self.skew_uncertainty * time.abs_diff(self.at) as f64
    }

    /// Whether the line is within the bounds of a vote, give or take `slack` nanoseconds.
    pub(super) fn agrees_with(&self, vote: &DifferenceVote, slack: f64) -> bool {
        let line = self.offset_at(vote.time);
        vote.low - slack <= line && line <= vote.high + slack
    }

    /// This difference from the other host's side.
    pub(super) fn to_reversed(&self) -> ClockDifference {
        ClockDifference {
            at: self.at + self.offset as i64,
            offset: -self.offset,
            skew: -self.skew,
            ..*self
        }
    }

    /// Chains this difference with another one that starts at its second host.
    pub(super) fn chain_with(&self, next: &ClockDifference) -> ClockDifference {
        let at = self.at + self.offset as i64;
        ClockDifference {
            at: self.at,
            offset: self.offset + next.offset_at(at),
            skew: self.skew + next.skew,
            uncertainty: self.uncertainty + next.uncertainty_at(at),
            skew_uncertainty: self.skew_uncertainty + next.skew_uncertainty,
            trust: self.trust * next.trust,
            scale: self.scale.max(next.scale),
            support: self.support.min(next.support),
        }
    }
}

/// The key of two hosts: the lower number first.
pub(super) fn ordered_hosts(one: u32, other: u32) -> (u32, u32) {
    (one.min(other), one.max(other))
}

/// The key of the hosts of an edge's two ends.
pub(super) fn hosts_of_edge(field: &HalfFlowField, edge: &CandidateEdge) -> (u32, u32) {
    ordered_hosts(
        field.halves.half_at(edge.connecting).host,
        field.halves.half_at(edge.accepting).host,
    )
}

/// The vote of an edge for the difference of the two hosts' clocks: the higher-numbered host's
/// minus the other's.
pub(super) fn vote_of_edge(field: &HalfFlowField, edge: &CandidateEdge) -> DifferenceVote {
    let (one, other) =
        (field.halves.half_at(edge.connecting), field.halves.half_at(edge.accepting));
    let (low, high) = (edge.window.low as f64, edge.window.high as f64);
    let (time, low, high) =
        if one.host <= other.host { (one.made, low, high) } else { (other.made, -high, -low) };
    let alike = field.count_alike(edge);
    let information = edge.likeness.information + edge.pauses;
    let kept_port = one.local.port() == other.peer.port();
    let rare = 1.0 / (1.0 + f64::from(alike[0].max(alike[1])));
    let weight = rare * (information / 8.0).clamp(0.1, 1.0);
    let (connecting, accepting) = (edge.connecting, edge.accepting);
    DifferenceVote { time, low, high, weight, connecting, accepting, information, kept_port }
}
