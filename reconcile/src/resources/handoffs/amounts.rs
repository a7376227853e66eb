//! Objects that keep amounts in their order: the bytes of a pipe, the sum of an event counter.
//! Who takes the n-th byte has it from who gave the n-th byte.

use std::collections::VecDeque;

use super::{Outcome, Signal, Wait};
use crate::tuning::{BLOCKED_NS, MAX_DEPOSITS};

/// What an object holds. Signals come in the order of their calls, waits in that of their returns,
/// both mixed by these times.
#[derive(Debug)]
pub(crate) struct Amounts {
    /// Whether who takes takes everything, as of an event counter.
    takes_all: bool,
    held: VecDeque<Held>,
    /// Whether everything that it holds is known. It is not where somebody took what nobody is
    /// known to have given.
    is_known: bool,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    signal: Signal,
    left: u64,
}

impl Amounts {
    /// Of a pipe (`takes_all` is false), or of an event counter (true).
    pub(crate) fn new(takes_all: bool) -> Amounts {
        Amounts { takes_all, held: VecDeque::new(), is_known: true }
    }

    /// The next signal.
    pub(crate) fn signal(&mut self, signal: Signal, each: &mut impl FnMut(Outcome)) {
        if signal.amount == 0 {
            return each(Outcome::Unheard(signal));
        }
        if self.held.len() >= MAX_DEPOSITS {
            // Whoever takes it is not recorded.
            self.unheard(each);
            self.is_known = false;
        }
        self.held.push_back(Held { signal, left: signal.amount });
    }

    fn unheard(&mut self, each: &mut impl FnMut(Outcome)) {
        let untouched = self.held.drain(..).filter(|held| held.left == held.signal.amount);
        untouched.for_each(|held| each(Outcome::Unheard(held.signal)));
    }

    /// The next wait.
    pub(crate) fn wait(&mut self, wait: Wait, each: &mut impl FnMut(Outcome)) {
        if wait.gave_up || wait.amount == 0 {
            return each(Outcome::Woken(wait, None));
        }
        // Who had to wait for long found nothing there: what it got was given meanwhile.
        let waited = wait.end.saturating_sub(wait.begin) >= BLOCKED_NS;
        let first = self.held.front().map(|held| held.signal);
        if waited && first.is_none_or(|first| first.end >= wait.begin) {
            self.is_known = true;
        }
        let there = self.held.iter().fold(0u64, |sum, held| sum.saturating_add(held.left));
        if !self.is_known || !self.takes_all && wait.amount > there {
            self.is_known = false;
            self.unheard(each);
            return each(Outcome::Woken(wait, None));
        }
        let (mut left, mut by) = (wait.amount, None);
        while left > 0
            && let Some(held) = self.held.front_mut()
        {
            let taken = left.min(held.left);
            (left, held.left) = (left - taken, held.left - taken);
            by.get_or_insert(held.signal);
            each(Outcome::HandOff(held.signal, wait));
            if held.left == 0 {
                self.held.pop_front();
            }
        }
        each(Outcome::Woken(wait, by));
    }

    /// Nothing more comes.
    pub(crate) fn finish(mut self, each: &mut impl FnMut(Outcome)) {
        self.unheard(each);
    }
}
