//! What was read, and what the reader did for each part of it, both in their order.
//!
//! A reader acts on all that it has read before it reads more. So there are as many acts between
//! two reads as the first one has brought messages, and each is for its own. Only the last message
//! of a read may be there in part; then its turn comes behind a read that brings the rest. Where
//! the numbers do not agree that way, nothing is said.

use crate::tuning::auto::workers::MAX_READS;

/// Times in order, each with a thread, a request or a call.
pub(super) type Times = Vec<(i64, u32)>;

/// Puts what was read, `items` in order, beside what `done` says was done from one time to before
/// another.
pub(super) fn pairs(
    items: &[(i64, u32)],
    done: impl Fn(i64, i64) -> Times,
) -> Vec<(u32, (i64, u32))> {
    let mut end = 0;
    // What one system call has read is a nanosecond apart.
    let reads = items.chunk_by(|one, next| next.0.saturating_sub(one.0) <= 1).map(|read| {
        end += read.len();
        let until = items.get(end).map_or(i64::MAX, |(time, _)| *time);
        (read, done(read.first().map_or(until, |(time, _)| *time), until))
    });
    let reads: Vec<(&[(i64, u32)], Times)> = reads.collect();
    let (mut pairs, mut at) = (Vec::new(), 0);
    while let Some(rest) = reads.get(at..).filter(|rest| !rest.is_empty()) {
        let count = agreeing(rest);
        let (items, acts): (Vec<_>, Vec<_>) = rest.iter().take(count).cloned().unzip();
        let items = items.into_iter().flatten().map(|(_, item)| *item);
        pairs.extend(items.zip(acts.into_iter().flatten()));
        at += count.max(1);
    }
    pairs
}

/// Number of the first reads for which together as much was done as they have brought, where each
/// but the last of them was short of one. 0 where there are none.
fn agreeing(reads: &[(&[(i64, u32)], Times)]) -> usize {
    let (mut brought, mut done) = (0, 0);
    for (count, (items, acts)) in (1..=MAX_READS).zip(reads) {
        (brought, done) = (brought + items.len(), done + acts.len());
        if brought == done {
            return count;
        }
        if brought != done + 1 {
            break;
        }
    }
    0
}

/// Part of these times from the first one on until before the other.
pub(super) fn within(times: &[(i64, u32)], first: i64, until: i64) -> &[(i64, u32)] {
    let begin = times.partition_point(|(time, _)| *time < first);
    let end = times.partition_point(|(time, _)| *time < until);
    times.get(begin..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items of 0, 1, 2, .. that are read at these times, and what was done at those.
    fn told(items: &[i64], done: &[i64]) -> Vec<[i64; 2]> {
        let numbered = |times: &[i64]| -> Times { times.iter().copied().zip(0..).collect() };
        let done = numbered(done);
        let pairs = pairs(&numbered(items), |first, until| within(&done, first, until).to_vec());
        pairs.iter().map(|(item, (time, _))| [i64::from(*item), *time]).collect()
    }

    #[test]
    fn as_many_as_were_read_have_each_their_own() {
        assert_eq!(
            told(&[10, 11, 12, 50], &[20, 21, 22, 60]),
            [[0, 20], [1, 21], [2, 22], [3, 60]]
        );
        assert_eq!(told(&[10, 11, 50], &[20, 21, 22, 60]), [[2, 60]], "one too many");
        assert_eq!(told(&[10, 11, 12, 50], &[20, 60]), [[3, 60]], "two too few");
    }

    #[test]
    fn the_last_that_was_read_in_part_has_its_turn_behind_the_next_read() {
        assert_eq!(told(&[10, 11, 50], &[20, 60, 61]), [[0, 20], [1, 60], [2, 61]]);
        // One was left out, and no later read makes it good.
        assert_eq!(told(&[10, 30, 50], &[35, 55]), [[1, 35], [2, 55]]);
    }
}
