//! Sole waiter: the only thread that ever waits at an object. A signal without a waiting thread is
//! meant for that thread: before it waits, it checks whether what it would wait for has happened
//! already.

use crate::resources::handoffs::{HandoffEvent, HandoffSignal, RecordedThread};
use crate::tuning::{MAX_UNRECEIVED_SIGNALS, MIN_ONLY_WAITS};

/// Facts about the threads that wait at an object.
#[derive(Debug, Default)]
pub(crate) struct OnlyWaiter {
    waiter: SoleWaiter,
    waits: usize,
    /// Signals without a waiting thread.
    unreceived: Vec<HandoffSignal>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SoleWaiter {
    #[default]
    NoThread,
    Only(RecordedThread),
    Several,
}

impl OnlyWaiter {
    /// Records a signal or wait at the object.
    pub(crate) fn add_event(&mut self, handoff_event: HandoffEvent) {
        let HandoffEvent::Wait(wait) = handoff_event else { return };
        self.waits += 1;
        self.waiter = match self.waiter {
            SoleWaiter::NoThread => SoleWaiter::Only(wait.of),
            SoleWaiter::Only(waiter) if waiter == wait.of => return,
            _ => SoleWaiter::Several,
        };
        if self.waiter == SoleWaiter::Several {
            self.unreceived = Vec::new();
        }
    }

    /// Records a signal that woke no thread.
    pub(crate) fn add_unreceived(&mut self, signal: HandoffSignal) {
        if self.waiter != SoleWaiter::Several && self.unreceived.len() < MAX_UNRECEIVED_SIGNALS {
            self.unreceived.push(signal);
        }
    }

    /// The signals that woke no thread, each with its intended receiver: the sole waiter, if it is
    /// another thread of the same process.
    pub(crate) fn assign_unreceived(self) -> impl Iterator<Item = (HandoffSignal, RecordedThread)> {
        let only = match self.waiter {
            SoleWaiter::Only(waiter) if self.waits >= MIN_ONLY_WAITS => Some(waiter),
            _ => None,
        };
        let signals = self.unreceived.into_iter();
        let with = signals.filter_map(move |signal| only.map(|waiter| (signal, waiter)));
        with.filter(|(signal, waiter)| signal.by.process == waiter.process && signal.by != *waiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indices::ProcessIndex;
    use crate::resources::handoffs::HandoffWait;

    fn recorded_thread(thread: i32) -> RecordedThread {
        RecordedThread { process: ProcessIndex::from_index(1), thread }
    }

    fn signal(time: i64, thread: i32) -> HandoffSignal {
        HandoffSignal { time, end: time + 1, by: recorded_thread(thread), amount: 1 }
    }

    /// Intended receivers of signals of thread 7 at these times, given the threads that wait.
    fn receivers_of_signals(unreceived: &[i64], waits: &[i32]) -> Vec<(i64, i32)> {
        let mut only = OnlyWaiter::default();
        for time in unreceived {
            only.add_unreceived(signal(*time, 7));
        }
        for thread in waits {
            only.add_event(HandoffEvent::Wait(HandoffWait {
                of: recorded_thread(*thread),
                ..HandoffWait::default()
            }));
        }
        only.add_unreceived(signal(99, 7));
        only.assign_unreceived().map(|(signal, waiter)| (signal.time, waiter.thread)).collect()
    }

    #[test]
    fn unreceived_signals_are_for_the_sole_waiter() {
        assert_eq!(receivers_of_signals(&[5, 6], &[3, 3, 3]), [(5, 3), (6, 3), (99, 3)]);
        assert_eq!(receivers_of_signals(&[5], &[3, 3, 3, 4, 3]), []);
        assert_eq!(receivers_of_signals(&[5], &[]), []);
        // It may be chance that all waits are of one thread.
        assert_eq!(receivers_of_signals(&[5], &[3, 3]), []);
        // A thread's signal to itself is for no other thread.
        assert_eq!(receivers_of_signals(&[5], &[7, 7, 7]), []);
    }

    #[test]
    fn signals_to_another_process_have_no_receiver() {
        let mut only = OnlyWaiter::default();
        let other = RecordedThread { process: ProcessIndex::from_index(2), thread: 3 };
        for _ in 0..MIN_ONLY_WAITS {
            only.add_event(HandoffEvent::Wait(HandoffWait { of: other, ..HandoffWait::default() }));
        }
        only.add_unreceived(signal(1, 7));
        assert_eq!(only.assign_unreceived().count(), 0);
    }
}
