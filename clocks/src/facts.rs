//! What is known of a host beside its messages.

use crate::lines::pieces::{Pieces, StepTime};

/// What is known of a host beside its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// What hosts with the same clock have in common: a number of their kernel, 0 if unknown. It is
    /// believed where the messages do not contradict.
    pub machine: u128,
    /// What its clock showed when its first log began or its first message came, in nanoseconds,
    pub first: i64,
    /// and when the last did.
    pub last: i64,
    /// When its clock was set, as its logs tell, in order of time.
    pub set: Vec<ClockSet>,
}

/// A clock was set, as the host itself saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSet {
    /// What it would have shown when that was seen, in nanoseconds.
    pub at: i64,
    /// It was set then, or up to so many nanoseconds before.
    pub before_ns: i64,
    /// By how much it was set forward, in nanoseconds.
    pub offset_ns: i64,
}

/// The steps that a host's logs tell of.
pub(crate) fn known(host: &HostFacts) -> Pieces {
    let mut shift = 0_i64;
    let steps = host.set.iter().map(|set| {
        let at = set.at.saturating_sub(shift);
        shift = shift.saturating_add(set.offset_ns);
        StepTime {
            between: [at.saturating_sub(set.before_ns), at.saturating_add(1)],
            jump: set.offset_ns,
        }
    });
    Pieces::new([host.first, host.last], steps.collect())
}
