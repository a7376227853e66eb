//! Matches the messages that a reader read with its acts for each of them, both in order. A reader
//! is a thread that reads a shared connection; an act is what it does for a message, such as waking
//! or starting another thread.
//!
//! A reader mostly acts on all messages that it has read before it reads more. So there are as many
//! acts between two reads as the first one has brought messages, each for its own message. Only the
//! last message of a read may be incomplete; its act then follows the read that brings the rest of
//! the message. Other readers read everything available, several times, before they act on any
//! message. Some act on a part of the messages in between ([`ReaderBehaviour`]).
//!
//! If the numbers do not agree, or an act cannot be for its message, the largest number of acts
//! that can be for messages in their order is matched. If several alignments match as many, only
//! the pairs that all of them have are kept.

use crate::tuning::auto::workers::{MAX_ALIGNED, MAX_READS};

/// How a reader acts on the messages that it has read before it reads more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReaderBehaviour {
    /// It acts on no message, on all, or on all except the last one, which is incomplete. Some acts
    /// may have other causes, or not be known.
    ActsOnAll,
    /// It acts on the first messages, so that the other messages wait for the next read: a task of
    /// Tokio has a budget for each poll. All acts are known, and none has another cause.
    ActsOnSome,
}

/// Times in nanoseconds and in order, each with a thread (by default), a request or a call.
pub(super) type TimedIds<Id = u32> = Vec<(i64, Id)>;

/// The messages of a read, and the acts between it and the next read.
type ReadWithActs<'a, Item, Act> = (&'a [(i64, Item)], TimedIds<Act>);

/// Pairs of a message that was read and the act for it. `items` are the messages in the order in
/// which they were read, and `done` returns the acts in a half-open interval of time. `fits` states
/// whether an act can be for an item, and `reader` how acts follow reads.
pub(super) fn pairs<Item: Copy, Act: Copy>(
    reader: ReaderBehaviour,
    items: &[(i64, Item)],
    done: impl Fn(i64, i64) -> TimedIds<Act>,
    fits: impl Fn(Item, (i64, Act)) -> bool,
) -> Vec<(Item, (i64, Act))> {
    let mut end = 0;
    // Messages of one system call are a nanosecond apart.
    let reads = items.chunk_by(|one, next| next.0.saturating_sub(one.0) <= 1).map(|read| {
        end += read.len();
        let until = items.get(end).map_or(i64::MAX, |(time, _)| *time);
        (read, done(read.first().map_or(until, |(time, _)| *time), until))
    });
    let reads: Vec<ReadWithActs<'_, Item, Act>> = reads.collect();
    let (mut pairs, mut at) = (Vec::new(), 0);
    while let Some(rest) = reads.get(at..).filter(|rest| !rest.is_empty()) {
        let count = count_agreeing_reads(reader, rest);
        let (items, acts): (Vec<_>, Vec<_>) = rest.iter().take(count).cloned().unzip();
        let items = items.into_iter().flatten().map(|(_, item)| *item);
        let agreed: Vec<_> = items.zip(acts.into_iter().flatten()).collect();
        if count > 0 && agreed.iter().all(|(item, act)| fits(*item, *act)) {
            pairs.extend(agreed);
            at += count;
        } else {
            let one = rest.iter().take(1);
            pairs.extend(one.flat_map(|(items, acts)| align_acts(items, acts, &fits)));
            at += 1;
        }
    }
    pairs
}

/// The items and acts of a read that are paired in all alignments with the most pairs.
pub(super) fn align_acts<Item: Copy, Act: Copy>(
    items: &[(i64, Item)],
    acts: &[(i64, Act)],
    fits: impl Fn(Item, (i64, Act)) -> bool,
) -> Vec<(Item, (i64, Act))> {
    if items.len() * acts.len() > MAX_ALIGNED {
        return Vec::new();
    }
    let width = acts.len() + 1;
    let fit: Vec<bool> =
        items.iter().flat_map(|(_, item)| acts.iter().map(|act| fits(*item, *act))).collect();
    let fit = |item: usize, act: usize| fit[item * acts.len() + act];
    // The largest number of pairs among the first items and acts, and among the last ones.
    let mut first = vec![0_usize; (items.len() + 1) * width];
    let mut last = first.clone();
    for item in 0..items.len() {
        for act in 0..acts.len() {
            let paired = first[item * width + act] + usize::from(fit(item, act));
            let without = first[item * width + act + 1].max(first[(item + 1) * width + act]);
            first[(item + 1) * width + act + 1] = paired.max(without);
        }
    }
    for item in (0..items.len()).rev() {
        for act in (0..acts.len()).rev() {
            let paired = last[(item + 1) * width + act + 1] + usize::from(fit(item, act));
            let without = last[(item + 1) * width + act].max(last[item * width + act + 1]);
            last[item * width + act] = paired.max(without);
        }
    }
    let most = last.first().copied().unwrap_or(0);
    let mut pairs = Vec::new();
    for (item, (_, known)) in items.iter().enumerate() {
        let is_left_out = (0..width)
            .any(|act| first[item * width + act] + last[(item + 1) * width + act] == most);
        let mut paired = (0..acts.len()).filter(|act| {
            let others = first[item * width + act] + last[(item + 1) * width + act + 1];
            fit(item, *act) && others + 1 == most
        });
        if let (false, Some(act), None) = (is_left_out, paired.next(), paired.next()) {
            pairs.push((*known, acts[act]));
        }
    }
    pairs
}

/// The smallest number of first reads that together have as many acts as messages, if the acts
/// after each of these reads are as expected of the `reader`; 0 if there is no such number.
fn count_agreeing_reads<Item, Act>(
    reader: ReaderBehaviour,
    reads: &[ReadWithActs<'_, Item, Act>],
) -> usize {
    let (mut brought, mut done) = (0, 0);
    for (count, (items, acts)) in (1..=MAX_READS).zip(reads) {
        (brought, done) = (brought + items.len(), done + acts.len());
        if brought == done {
            return count;
        }
        let is_right = match reader {
            ReaderBehaviour::ActsOnAll => brought == done + 1 || acts.is_empty(),
            ReaderBehaviour::ActsOnSome => brought > done,
        };
        if !is_right {
            break;
        }
    }
    0
}

/// The part of `times` from `first` on and before `until`.
pub(super) fn times_within<Id>(times: &[(i64, Id)], first: i64, until: i64) -> &[(i64, Id)] {
    let begin = times.partition_point(|(time, _)| *time < first);
    let end = times.partition_point(|(time, _)| *time < until);
    times.get(begin..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items 0, 1, 2, ... that are read at the times `items`, and acts at the times `done`.
    fn aligned_pairs(items: &[i64], done: &[i64]) -> Vec<[i64; 2]> {
        let numbered = |times: &[i64]| -> TimedIds { times.iter().copied().zip(0..).collect() };
        let done = numbered(done);
        let pairs = pairs(
            ReaderBehaviour::ActsOnAll,
            &numbered(items),
            |first, until| times_within(&done, first, until).to_vec(),
            |_, _| true,
        );
        pairs.iter().map(|(item, (time, _))| [i64::from(*item), *time]).collect()
    }

    #[test]
    fn equally_many_acts_and_messages_are_paired() {
        assert_eq!(
            aligned_pairs(&[10, 11, 12, 50], &[20, 21, 22, 60]),
            [[0, 20], [1, 21], [2, 22], [3, 60]]
        );
        assert_eq!(aligned_pairs(&[10, 11, 50], &[20, 21, 22, 60]), [[2, 60]], "one too many");
        assert_eq!(aligned_pairs(&[10, 11, 12, 50], &[20, 60]), [[3, 60]], "two too few");
    }

    #[test]
    fn an_incomplete_message_is_paired_after_the_next_read() {
        assert_eq!(aligned_pairs(&[10, 11, 50], &[20, 60, 61]), [[0, 20], [1, 60], [2, 61]]);
        // One act is missing, and no later read compensates for it.
        assert_eq!(aligned_pairs(&[10, 30, 50], &[35, 55]), [[1, 35], [2, 55]]);
    }

    #[test]
    fn a_reader_may_act_on_some_and_read_more() {
        let numbered = |times: &[i64]| -> TimedIds { times.iter().copied().zip(0..).collect() };
        let matched = |reader: ReaderBehaviour, done: &[i64]| -> Vec<[u32; 2]> {
            let done = numbered(done);
            let done = |first, until| times_within(&done, first, until).to_vec();
            let pairs = pairs(reader, &numbered(&[10, 11, 12, 13, 50, 90]), done, |_, _| true);
            pairs.iter().map(|(item, (_, act))| [*item, *act]).collect()
        };
        // One act after four messages were read, then the others after one more.
        let all: Vec<[u32; 2]> = (0..6).map(|at| [at, at]).collect();
        assert_eq!(matched(ReaderBehaviour::ActsOnSome, &[20, 60, 61, 62, 63, 95]), all);
        assert_eq!(matched(ReaderBehaviour::ActsOnAll, &[20, 60, 61, 62, 63, 95]), [[5, 5]]);
        // No act comes before its message was read.
        assert_eq!(matched(ReaderBehaviour::ActsOnSome, &[20, 21, 22, 23, 24, 95]), [[5, 5]]);
    }

    #[test]
    fn acts_that_cannot_be_for_an_item_are_left_out() {
        let numbered = |times: &[i64]| -> TimedIds { times.iter().copied().zip(0..).collect() };
        let done = numbered(&[20, 21, 22, 23]);
        let matched = |fits: &dyn Fn(u32, (i64, u32)) -> bool| -> Vec<[u32; 2]> {
            let done = |first, until| times_within(&done, first, until).to_vec();
            let pairs = pairs(ReaderBehaviour::ActsOnAll, &numbered(&[10, 11, 12]), done, fits);
            pairs.iter().map(|(item, (_, act))| [*item, *act]).collect()
        };
        // The second act is for none of them.
        assert_eq!(matched(&|_, (_, act)| act != 1), [[0, 0], [1, 2], [2, 3]]);
        // Two acts are for none, so it is not known which of three items lacks its act.
        assert_eq!(matched(&|_, (_, act)| act > 1), [[0; 2]; 0]);
        // An act is not for the last item, so it is for the second.
        assert_eq!(matched(&|item, (_, act)| act > 1 && (item, act) != (2, 3)), [[0, 2], [1, 3]]);
        // As many acts as items, and one cannot be for its own.
        assert_eq!(matched(&|item, (_, act)| act < 3 && item != 1), [[0; 2]; 0]);
    }
}
