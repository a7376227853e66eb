//! Pairs of messages that announce work and the work that they announce.

use std::collections::VecDeque;

use crate::tuning::auto::queues::early::{
    AT_LAST_FACTOR, AT_ONCE_FACTOR, EARLY_PER_EXCEPTION, MESSAGES_PER_EXCEPTION, MIN_EARLY,
};
/// A message that announces work.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkAnnouncement {
    /// Time at which the message arrived, in nanoseconds.
    pub(super) begin: i64,
    /// Time at which the sender of the message had received its own request, in nanoseconds: the
    /// work cannot start before that.
    pub(super) since: i64,
}

/// Median time from the last message before a piece of work to the work, in nanoseconds; `None` if
/// no work follows a message. `work` has the times at which work began.
pub(super) fn usual_delay(announcements: &[WorkAnnouncement], work: &[i64]) -> Option<i64> {
    let last = |time: i64| {
        announcements.partition_point(|announcement| announcement.begin <= time).checked_sub(1)
    };
    let waits = work.iter().filter_map(|time| Some(time - announcements.get(last(*time)?)?.begin));
    let mut waits: Vec<i64> = waits.collect();
    let middle = waits.len() / 2;
    (!waits.is_empty()).then(|| *waits.select_nth_unstable(middle).1)
}

/// Pairs of messages and the work that is started for them.
#[derive(Debug, Default)]
pub(super) struct WorkPairs {
    /// Pairs of a message and a piece of work that started after it, by their places.
    pub(super) after_message: Vec<(usize, usize)>,
    /// Pairs of a message and a piece of work that started before it, by their places.
    pub(super) early: Vec<(usize, usize)>,
    /// Usual time from a message to its work, in nanoseconds.
    pub(super) usual: i64,
    /// Number of messages and pieces of work without a counterpart.
    pub(super) alone: usize,
}

impl WorkPairs {
    /// Pairs each piece of work with the message that has waited longest for work. If no message
    /// waits, the work belongs to the next message whose sender had already received its own
    /// request.
    pub(super) fn from_announcements(
        announcements: &[WorkAnnouncement],
        work: &[i64],
        usual: i64,
    ) -> WorkPairs {
        let mut pairs = WorkPairs { usual, ..WorkPairs::default() };
        let mut waiting: VecDeque<usize> = VecDeque::new();
        let mut ahead: Vec<usize> = Vec::new();
        let mut pieces = work.iter().enumerate().peekable();
        let mut messages = announcements.iter().enumerate().peekable();
        loop {
            let next = pieces.peek().map_or(i64::MAX, |(_, time)| **time);
            if let Some((message, announcement)) =
                messages.next_if(|(_, announcement)| announcement.begin <= next)
            {
                match ahead.iter().position(|place| work[*place] >= announcement.since) {
                    Some(at) => pairs.early.push((message, ahead.remove(at))),
                    None => waiting.push_back(message),
                }
                continue;
            }
            let Some((place, time)) = pieces.next() else { break };
            let latest = |message: usize| {
                announcements[message].begin.saturating_add(usual.saturating_mul(AT_LAST_FACTOR))
            };
            while waiting.front().is_some_and(|message| latest(*message) < *time) {
                waiting.pop_front();
                pairs.alone += 1;
            }
            match waiting.pop_front() {
                Some(message) => pairs.after_message.push((message, place)),
                None => ahead.push(place),
            }
        }
        pairs.alone += waiting.len() + ahead.len();
        pairs
    }

    /// Returns whether the early pairs are credible: a message whose work started before it causes
    /// no further work when it arrives. If many do, the earlier work was caused by other messages.
    pub(super) fn are_credible(&self, announcements: &[WorkAnnouncement], work: &[i64]) -> bool {
        // Whether work started soon after the message, and before the next one.
        let brings = |message: usize| {
            let begin = announcements[message].begin;
            let until = begin.saturating_add(self.usual.saturating_mul(AT_ONCE_FACTOR));
            let next = announcements.get(message + 1).map_or(i64::MAX, |next| next.begin);
            let first = work.get(work.partition_point(|time| *time < begin));
            first.is_some_and(|time| *time <= until && *time < next)
        };
        let again = self.early.iter().filter(|(message, _)| brings(*message)).count();
        self.early.len() >= MIN_EARLY
            && EARLY_PER_EXCEPTION * again <= self.early.len()
            && MESSAGES_PER_EXCEPTION * self.alone <= announcements.len()
    }
}
