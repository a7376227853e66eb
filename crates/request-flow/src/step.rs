//! Step: one execution of an operation at a node.

use serde::{Deserialize, Serialize};

use crate::step_threads::StepThreads;
use crate::tuning::{FINE_GRAIN_NS, SKEW_DIVISOR, TIME_GRAINS_NS};
use crate::waits::WaitTimes;
use out_of_core::{NameId, NameInterner};

/// One execution of an operation at a node, as part of a [`Request`](crate::Request). Times are
/// nanoseconds since the Unix epoch on the common clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The step that called this one, as an index into [`Request::steps`](crate::Request::steps);
    /// `None` for the root.
    pub parent: Option<u32>,
    /// The node: a program, service or component.
    pub node: NameId,
    /// The host of the node; [`NameInterner::UNKNOWN`] if unknown.
    pub host: NameId,
    /// The operation that was called.
    pub operation: NameId,
    /// When the node began with the step: it had received the call. `None` if that was not seen.
    pub begin: Option<i64>,
    /// When the node ended the step: it sent the response. `None` if that was not seen, and if
    /// there was no response.
    pub end: Option<i64>,
    /// When the caller sent the call or, if it connected for the call, began to connect; `None` if
    /// that was not seen.
    pub caller_begin: Option<i64>,
    /// When the caller had received the response, if that was seen. A step that ended later was not
    /// waited for: then it is when the caller had finished with it.
    pub caller_end: Option<i64>,
    /// Whether the step failed.
    pub failed: bool,
    /// Probability that the step belongs to the request, from 0 to 1.
    pub probability: f64,
    /// Size of the call in bytes.
    pub bytes_in: Option<i64>,
    /// Size of the response in bytes.
    pub bytes_out: Option<i64>,
    /// Processor time in nanoseconds of the threads that worked for the step, without its calls.
    pub processor_ns: Option<i64>,
    /// Waits of the threads that worked for the step, outside of waits for its calls.
    pub waits: Option<WaitTimes>,
    /// Bytes read from and written to disks.
    pub disk_bytes: Option<i64>,
    /// The threads that received and sent the step's messages.
    pub threads: StepThreads,
}

impl Step {
    /// Creates a step of `operation` at `node` that is certain, without further facts.
    pub fn new(node: NameId, operation: NameId) -> Step {
        Step { node, operation, probability: 1.0, host: NameInterner::UNKNOWN, ..Step::default() }
    }

    /// Returns the step's first known time: at the node or, if that was not seen, at the caller.
    pub fn first_time(&self) -> Option<i64> {
        self.begin.or(self.caller_begin)
    }

    /// Returns the step's last known time: at the node or, if that was not seen, at the caller.
    pub fn last_time(&self) -> Option<i64> {
        self.end.or(self.caller_end)
    }

    /// Returns the nanoseconds from begin to end at the node or, if the node was not seen, at the
    /// caller. This is the response time of trace-context profiling (section 2.1).
    pub fn response_time(&self) -> Option<i64> {
        let at = |begin: Option<i64>, end: Option<i64>| Some(end?.saturating_sub(begin?));
        at(self.begin, self.end).or_else(|| at(self.caller_begin, self.caller_end))
    }

    /// Returns whether the step took longer than its caller waited for it.
    pub(crate) fn outlasts_caller(&self) -> bool {
        outlasts_wait([self.begin, self.end], [self.caller_begin, self.caller_end])
    }

    /// Returns the time in nanoseconds in which the step waited for its calls: its duration minus
    /// processor time and waits. `None` if these are not known.
    pub fn children_ns(&self) -> Option<i64> {
        let took = self.end?.saturating_sub(self.begin?);
        Some(took - self.processor_ns? - self.waits?.sum())
    }

    /// Returns the times from which and until which the caller is occupied with the step: the times
    /// at the caller if they were seen, else the times at the node.
    pub fn span_at_caller(&self) -> (Option<i64>, Option<i64>) {
        (self.caller_begin.or(self.begin), self.caller_end.or(self.end))
    }
}

/// Returns whether work between the times `own`, on any clock, took longer than its caller waited,
/// by more than the precision of times. No difference between two clocks explains that: the caller
/// did not wait for the end.
pub(crate) fn outlasts_wait(own: [Option<i64>; 2], caller: [Option<i64>; 2]) -> bool {
    let ([Some(begin), Some(end)], [Some(sent), Some(received)]) = (own, caller) else {
        return false;
    };
    let lasted = end.saturating_sub(begin);
    let waited = received.saturating_sub(sent).max(0);
    // Times that are all in whole milliseconds, for example, are exact to a millisecond.
    let all = [begin, end, sent, received];
    let grain = TIME_GRAINS_NS.into_iter().find(|grain| all.iter().all(|time| time % grain == 0));
    let inexact = 2 * grain.unwrap_or(FINE_GRAIN_NS) + lasted.max(0) / SKEW_DIVISOR;
    lasted.saturating_sub(waited) > inexact
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_longer_than_its_caller_waits_is_not_waited_for() {
        let lasts = |own: i64, caller: i64, unit: i64| {
            outlasts_wait([Some(7 * unit), Some((7 + own) * unit)], [Some(0), Some(caller * unit)])
        };
        assert!(lasts(40_000, 500, 1_000));
        assert!(!lasts(500, 40_000, 1_000));
        // Explained by rounding: times in milliseconds, and in microseconds.
        assert!(!lasts(5, 3, 1_000_000) && lasts(6, 3, 1_000_000));
        assert!(!lasts(5, 3, 1_000) && lasts(5_000, 3, 1_000));
        // Explained by clocks with different rates: an hour, and three seconds more.
        assert!(!lasts(3_603_000_000, 3_600_000_000, 1_000));
        assert!(!outlasts_wait([Some(0), None], [Some(0), Some(1)]));
    }

    #[test]
    fn children_time_is_the_duration_minus_resources() {
        let waits = WaitTimes { lock_ns: 20, unknown_ns: 3, ..WaitTimes::default() };
        let step = Step {
            begin: Some(100),
            end: Some(200),
            ..Step::new(NameId::from_index(1), NameId::from_index(2))
        };
        assert_eq!(step.children_ns(), None);
        let step = Step { processor_ns: Some(30), waits: Some(waits), ..step };
        assert_eq!(step.children_ns(), Some(100 - 30 - 20 - 3));
        assert_eq!(Step { end: None, ..step }.children_ns(), None);
    }

    #[test]
    fn times_not_seen_at_the_node_are_taken_from_the_caller() {
        let seen = Step {
            caller_begin: Some(1),
            caller_end: Some(9),
            ..Step::new(NameId::from_index(1), NameId::from_index(2))
        };
        assert_eq!(
            (seen.first_time(), seen.last_time(), seen.response_time()),
            (Some(1), Some(9), Some(8))
        );
        let both = Step { begin: Some(3), end: Some(7), ..seen };
        assert_eq!((both.response_time(), both.span_at_caller()), (Some(4), (Some(1), Some(9))));
        // A begin at one end and an end at the other are on no common path: nothing is assumed.
        let half = Step {
            begin: Some(3),
            caller_end: Some(9),
            ..Step::new(NameId::from_index(1), NameId::from_index(2))
        };
        assert_eq!(
            (half.first_time(), half.last_time(), half.response_time()),
            (Some(3), Some(9), None)
        );
    }
}
