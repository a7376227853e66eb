//! Hop: a part of a request's path, either a step's own work or the network before and after it.

use serde::Serialize;

use super::period_sample::PeriodSample;

/// What a hop spends its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HopKind {
    /// The node itself, while it waits for none of its calls.
    Own,
    /// Transfer of the call to the node and of its response back.
    Network,
}

/// A hop of the requests of a category: its time on the critical path in both periods.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CategoryHop {
    /// The place, a step of the category's structure, to which the hop belongs.
    pub place: u32,
    /// What the time is spent on.
    pub kind: HopKind,
    /// Samples of the hop in both periods.
    pub samples: [PeriodSample; 2],
}

impl CategoryHop {
    /// The increase of the hop's mean in the second period, in nanoseconds.
    pub fn change(&self) -> f64 {
        self.samples[1].moments.mean - self.samples[0].moments.mean
    }
}
