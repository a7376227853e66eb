//! Objects that store amounts in order: the bytes of a pipe, the sum of an event counter. The
//! thread that takes the n-th byte gets it from the one that gave the n-th byte.

use std::collections::VecDeque;

use super::{HandoffOutcome, HandoffSignal, HandoffWait};
use crate::tuning::{BLOCKED_NS, MAX_STORED_SIGNALS};

/// Stored amounts of an object. Signals come in the order of their calls, waits in the order of
/// their returns, both merged by these times.
#[derive(Debug)]
pub(crate) struct AmountMatcher {
    /// Whether a wait takes everything, as for an event counter.
    takes_all: bool,
    stored: VecDeque<StoredAmount>,
    /// Whether everything that the object stores is known. It is not known if a wait took an amount
    /// without a recorded signal.
    is_known: bool,
}

#[derive(Clone, Copy, Debug)]
struct StoredAmount {
    signal: HandoffSignal,
    /// The part of the signal's amount that no wait has taken yet.
    left: u64,
}

impl AmountMatcher {
    /// Matcher of a pipe (`takes_all` is false), or of an event counter (true).
    pub(crate) fn new(takes_all: bool) -> AmountMatcher {
        AmountMatcher { takes_all, stored: VecDeque::new(), is_known: true }
    }

    /// Adds the next signal.
    pub(crate) fn add_signal(
        &mut self,
        signal: HandoffSignal,
        each: &mut impl FnMut(HandoffOutcome),
    ) {
        if signal.amount == 0 {
            return each(HandoffOutcome::Unreceived(signal));
        }
        if self.stored.len() >= MAX_STORED_SIGNALS {
            // The thread that takes it is not attributed.
            self.emit_unreceived(each);
            self.is_known = false;
        }
        self.stored.push_back(StoredAmount { signal, left: signal.amount });
    }

    /// Reports the signals that no wait has taken anything of, and drops all stored amounts.
    fn emit_unreceived(&mut self, each: &mut impl FnMut(HandoffOutcome)) {
        let untouched = self.stored.drain(..).filter(|stored| stored.left == stored.signal.amount);
        untouched.for_each(|stored| each(HandoffOutcome::Unreceived(stored.signal)));
    }

    /// Adds the next wait.
    pub(crate) fn add_wait(&mut self, wait: HandoffWait, each: &mut impl FnMut(HandoffOutcome)) {
        if wait.gave_up || wait.amount == 0 {
            return each(HandoffOutcome::Woken(wait, None));
        }
        // A thread that waited long found nothing there: the amount was given meanwhile.
        let waited = wait.end.saturating_sub(wait.begin) >= BLOCKED_NS;
        let first = self.stored.front().map(|stored| stored.signal);
        if waited && first.is_none_or(|first| first.end >= wait.begin) {
            self.is_known = true;
        }
        let sum = self.stored.iter().fold(0u64, |sum, stored| sum.saturating_add(stored.left));
        if !self.is_known || !self.takes_all && wait.amount > sum {
            self.is_known = false;
            self.emit_unreceived(each);
            return each(HandoffOutcome::Woken(wait, None));
        }
        let (mut left, mut by) = (wait.amount, None);
        while left > 0
            && let Some(stored) = self.stored.front_mut()
        {
            let taken = left.min(stored.left);
            (left, stored.left) = (left - taken, stored.left - taken);
            by.get_or_insert(stored.signal);
            each(HandoffOutcome::HandOff(stored.signal, wait));
            if stored.left == 0 {
                self.stored.pop_front();
            }
        }
        each(HandoffOutcome::Woken(wait, by));
    }

    /// Ends the matching.
    pub(crate) fn finish_matching(mut self, each: &mut impl FnMut(HandoffOutcome)) {
        self.emit_unreceived(each);
    }
}
