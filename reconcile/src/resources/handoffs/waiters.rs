//! Objects with signals that wake waiting threads: conditions, futexes and semaphores.
//!
//! A signal goes to the thread that has waited longest. That is the kernel's order, but not always
//! libc's: if a wait ends without a signal, it gets the signal of a wait that continues, because
//! the signal must have been for it. So every wait that could have been woken gets a signal if any
//! assignment allows it.

use std::collections::VecDeque;

use super::{HandoffOutcome, HandoffSignal, HandoffWait};
use crate::tuning::MAX_STORED_SIGNALS;

/// The undecided waits and signals of an object. Waits come in the order in which they begin,
/// signals in the order of their calls, both merged by these times.
#[derive(Debug)]
pub(crate) struct WaiterMatcher {
    /// Whether a signal without a waiting thread is stored for the next wait.
    stores_signals: bool,
    /// Waits in progress, in the order in which they began, and their signals.
    waiting: Vec<(HandoffWait, Option<AssignedSignal>)>,
    /// Signals that can still reach a wait.
    pending: VecDeque<PendingSignal>,
}

/// A signal assigned to a wait.
#[derive(Clone, Copy, Debug)]
struct AssignedSignal {
    signal: HandoffSignal,
    /// Whether the signal wakes all waiting threads, so that it is not taken from one wait for
    /// another.
    is_broadcast: bool,
}

/// A signal that can still reach a wait: it is stored, or its call has not returned.
#[derive(Clone, Copy, Debug)]
struct PendingSignal {
    signal: HandoffSignal,
    /// Number of waits that the signal can still reach; `u64::MAX` for all.
    more: u64,
    /// Whether the signal reached any wait.
    is_received: bool,
}

impl PendingSignal {
    /// Assigns the signal to one more wait, if its number allows.
    fn assign_once(&mut self) -> Option<AssignedSignal> {
        let is_broadcast = self.more == u64::MAX;
        self.more = self.more.checked_sub(u64::from(!is_broadcast))?;
        self.is_received = true;
        Some(AssignedSignal { signal: self.signal, is_broadcast })
    }

    /// Ends the signal, which can reach no further wait.
    fn end_signal(self, each: &mut impl FnMut(HandoffOutcome)) {
        if !self.is_received {
            each(HandoffOutcome::Unreceived(self.signal));
        }
    }
}

impl WaiterMatcher {
    /// Matcher of a condition or a futex (`stores_signals` is false), or of a semaphore (true).
    pub(crate) fn new(stores_signals: bool) -> WaiterMatcher {
        WaiterMatcher { stores_signals, waiting: Vec::new(), pending: VecDeque::new() }
    }

    /// Adds the next signal. An amount of `u64::MAX` wakes all waiting threads.
    pub(crate) fn add_signal(
        &mut self,
        signal: HandoffSignal,
        each: &mut impl FnMut(HandoffOutcome),
    ) {
        self.commit_before(signal.time, each);
        let mut left = PendingSignal { signal, more: signal.amount, is_received: false };
        let free = self.waiting.iter_mut().filter(|(wait, given)| !wait.gave_up && given.is_none());
        for (_, given) in free {
            *given = left.assign_once();
            if given.is_none() {
                break;
            }
        }
        self.pending.push_back(left);
        if self.pending.len() > MAX_STORED_SIGNALS {
            self.pending.pop_front().into_iter().for_each(|first| first.end_signal(each));
        }
    }

    /// Adds the next wait.
    pub(crate) fn add_wait(&mut self, wait: HandoffWait, each: &mut impl FnMut(HandoffOutcome)) {
        self.commit_before(wait.begin, each);
        let stores_signals = self.stores_signals;
        let reaches = |left: &&mut PendingSignal| stores_signals || left.signal.end >= wait.begin;
        let given = match wait.gave_up {
            true => None,
            false => self.pending.iter_mut().filter(reaches).find_map(PendingSignal::assign_once),
        };
        self.waiting.push((wait, given));
    }

    /// Ends the matching.
    pub(crate) fn finish_matching(mut self, each: &mut impl FnMut(HandoffOutcome)) {
        self.commit_before(i64::MAX, each);
    }

    /// Reports the waits that ended before `now`, and the signals that can reach no wait from then
    /// on.
    fn commit_before(&mut self, now: i64, each: &mut impl FnMut(HandoffOutcome)) {
        loop {
            let over = self.waiting.iter().enumerate().filter(|(_, (wait, _))| wait.end < now);
            let Some((place, _)) = over.min_by_key(|(place, (wait, _))| (wait.end, *place)) else {
                break;
            };
            let (wait, given) = self.waiting.remove(place);
            let given = match given {
                None if !wait.gave_up => self.reassign_signal(&wait),
                given => given,
            };
            if let Some(given) = given {
                each(HandoffOutcome::HandOff(given.signal, wait));
            }
            each(HandoffOutcome::Woken(wait, given.map(|given| given.signal)));
        }
        let is_over =
            |left: &&PendingSignal| left.more == 0 || !self.stores_signals && left.signal.end < now;
        while let Some(first) = self.pending.front().filter(is_over) {
            first.end_signal(each);
            self.pending.pop_front();
        }
        if now == i64::MAX {
            self.pending.drain(..).for_each(|left| left.end_signal(each));
        }
    }

    /// Takes a signal that was given during `wait` from another wait, which continues. Of several
    /// other waits, the one that began last gives up its signal.
    fn reassign_signal(&mut self, wait: &HandoffWait) -> Option<AssignedSignal> {
        let reaches = |given: &AssignedSignal| {
            !given.is_broadcast && given.signal.end >= wait.begin && given.signal.time <= wait.end
        };
        let mut others = self.waiting.iter_mut().rev();
        let (_, given) = others.find(|(_, given)| given.as_ref().is_some_and(reaches))?;
        given.take()
    }
}
