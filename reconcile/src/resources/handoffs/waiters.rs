//! Objects whose signals wake who waits: conditions, futexes and semaphores.
//!
//! A signal goes to the one that has waited longest. That is the kernel's order, but not always
//! libc's: where a wait ends without a signal, one is taken from a wait that goes on, as then that
//! one must have been meant. So each wait that could have been woken is, if there is any way.

use std::collections::VecDeque;

use super::{HandoffOutcome, HandoffSignal, HandoffWait};
use crate::tuning::MAX_DEPOSITS;

/// The waits and signals of an object that are not settled. Waits come in the order in which they
/// begin, signals in that of their calls, both mixed by these times.
#[derive(Debug)]
pub(crate) struct WaiterMatcher {
    /// Whether a signal that nobody waits for is kept for the next.
    keeps: bool,
    /// Waits that go on, in the order in which they began, and their signals.
    waiting: Vec<(HandoffWait, Option<AssignedSignal>)>,
    /// Signals that can still reach somebody.
    left: VecDeque<PendingSignal>,
}

/// A signal that a wait has.
#[derive(Clone, Copy, Debug)]
struct AssignedSignal {
    signal: HandoffSignal,
    /// Whether others have it as well, so that it can be left to them.
    of_all: bool,
}

/// A signal that can still reach somebody: one that is kept, or whose call has not returned.
#[derive(Clone, Copy, Debug)]
struct PendingSignal {
    signal: HandoffSignal,
    /// How many it can reach; `u64::MAX` where that is all.
    more: u64,
    /// Whether it reached anybody.
    is_received: bool,
}

impl PendingSignal {
    /// Gives the signal to one more, if there is one left.
    fn assign_once(&mut self) -> Option<AssignedSignal> {
        let of_all = self.more == u64::MAX;
        self.more = self.more.checked_sub(u64::from(!of_all))?;
        self.is_received = true;
        Some(AssignedSignal { signal: self.signal, of_all })
    }

    /// It can reach nobody more.
    fn end_signal(self, each: &mut impl FnMut(HandoffOutcome)) {
        if !self.is_received {
            each(HandoffOutcome::Unreceived(self.signal));
        }
    }
}

impl WaiterMatcher {
    /// Of a condition or a futex (`keeps` is false), or of a semaphore (true).
    pub(crate) fn new(keeps: bool) -> WaiterMatcher {
        WaiterMatcher { keeps, waiting: Vec::new(), left: VecDeque::new() }
    }

    /// The next signal. An amount of `u64::MAX` wakes all.
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
        self.left.push_back(left);
        if self.left.len() > MAX_DEPOSITS {
            self.left.pop_front().into_iter().for_each(|first| first.end_signal(each));
        }
    }

    /// The next wait.
    pub(crate) fn add_wait(&mut self, wait: HandoffWait, each: &mut impl FnMut(HandoffOutcome)) {
        self.commit_before(wait.begin, each);
        let keeps = self.keeps;
        let reaches = |left: &&mut PendingSignal| keeps || left.signal.end >= wait.begin;
        let given = match wait.gave_up {
            true => None,
            false => self.left.iter_mut().filter(reaches).find_map(PendingSignal::assign_once),
        };
        self.waiting.push((wait, given));
    }

    /// Nothing more comes.
    pub(crate) fn finish_matching(mut self, each: &mut impl FnMut(HandoffOutcome)) {
        self.commit_before(i64::MAX, each);
    }

    /// Tells of everything that was over before `now`.
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
            |left: &&PendingSignal| left.more == 0 || !self.keeps && left.signal.end < now;
        while let Some(first) = self.left.front().filter(is_over) {
            first.end_signal(each);
            self.left.pop_front();
        }
        if now == i64::MAX {
            self.left.drain(..).for_each(|left| left.end_signal(each));
        }
    }

    /// A signal within this wait that another has which goes on. Of several the one that began to
    /// wait last gives its own.
    fn reassign_signal(&mut self, wait: &HandoffWait) -> Option<AssignedSignal> {
        let reaches = |given: &AssignedSignal| {
            !given.of_all && given.signal.end >= wait.begin && given.signal.time <= wait.end
        };
        let mut others = self.waiting.iter_mut().rev();
        let (_, given) = others.find(|(_, given)| given.as_ref().is_some_and(reaches))?;
        given.take()
    }
}
