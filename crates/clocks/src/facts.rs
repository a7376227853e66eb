//! Facts about a host besides its messages.

use crate::lines::pieces::{ClockPieces, StepTime};

/// Facts about a host besides its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Name of the host.
    pub name: String,
    /// Identifies hosts with the same clock: a number of their kernel, 0 if unknown. It is trusted
    /// unless the messages contradict it.
    pub machine: u128,
    /// Whether the machine is presumed: nothing is known of its kernel, and its clock is assumed to
    /// be that of all others as long as messages do not contradict. Then only the hosts that
    /// messages contradict have clocks of their own; otherwise all of the machine's hosts have.
    pub is_presumed: bool,
    /// Time on the host's clock when its first log began or its first message came, in nanoseconds.
    pub first: i64,
    /// Time on the host's clock when its last log ended or its last message came, in nanoseconds.
    pub last: i64,
    /// Settings of the host's clock that its logs record, in the order of time.
    pub set: Vec<ClockSet>,
}

/// One setting of a clock, as the logs of its host record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSet {
    /// Time that the clock would have shown when the setting was seen, in nanoseconds.
    pub at: i64,
    /// Longest time before `at` by which the clock may have been set already, in nanoseconds.
    pub before_ns: i64,
    /// Amount by which the clock was set forward, in nanoseconds.
    pub offset_ns: i64,
}

/// Returns the pieces of a host's clock between the steps that its logs record.
pub(crate) fn known_pieces(host: &HostFacts) -> ClockPieces {
    let mut shift = 0_i64;
    let steps = host.set.iter().map(|set| {
        let at = set.at.saturating_sub(shift);
        shift = shift.saturating_add(set.offset_ns);
        StepTime {
            between: [at.saturating_sub(set.before_ns), at.saturating_add(1)],
            jump: set.offset_ns,
        }
    });
    ClockPieces::new([host.first, host.last], steps.collect())
}
