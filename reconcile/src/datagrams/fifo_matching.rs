//! FIFO matching of equal datagrams, which share source, destination, size and checksum.
//!
//! Mostly there is one of each. If there are more (a query sent again, a heartbeat), the network's
//! order decides: datagrams mostly arrive in the order in which they were sent, none before it was
//! sent, and soon. This step works on one key at a time and knows nothing else.

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};

use crate::indices::OptionalIndex;

/// Sorted times, by their indices. There may be more than memory holds, so they are read from one
/// end to the other.
pub(crate) trait TimeSequence {
    fn len(&self) -> usize;

    /// The time at an index below [`TimeSequence::len`].
    fn time(&self, at: usize) -> i64;
}

/// A selection of `of`: the times at `places`.
pub(crate) struct SelectedTimes<'a, T> {
    pub(crate) of: &'a T,
    /// Indices of the selected times.
    pub(crate) places: &'a SpillableVec<u32>,
}

impl<T: TimeSequence> TimeSequence for SelectedTimes<'_, T> {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn time(&self, at: usize) -> i64 {
        self.of.time(self.places[at] as usize)
    }
}

/// Returns for each receive the index of its send; none for the receive of a second copy, or of a
/// datagram without a recorded send. Sends and receives are sorted by time.
///
/// If both are by one clock, no datagram is received before it was sent, and the pairs are those
/// with the shortest total time without crossing: after a loss and a repetition it is the later
/// send that arrived. Of two receives for one send the first one gets it. Only the remaining ones
/// may then seem to be received before they were sent, by up to `apart` nanoseconds, the difference
/// between two readings of that clock. If `apart` is `None`, the times of sends are not compared
/// with those of receives.
pub(crate) fn match_fifo(
    pool: &MemoryPool,
    sends: &impl TimeSequence,
    receives: &impl TimeSequence,
    apart: Option<i64>,
) -> Result<SpillableVec<OptionalIndex<u32>>, PathError> {
    let mut matched = match_fifo_within(pool, sends, receives, apart.map(|_| 0))?;
    if apart.is_none_or(|apart| apart == 0) || !matched.iter().any(|send| send.get().is_none()) {
        return Ok(matched);
    }
    let open = (0..).zip(matched.iter()).filter(|(_, send)| send.get().is_none());
    let late = SpillableVec::collect(pool, open.map(|(receive, _)| receive))?;
    let left = {
        // The sends that arrived are sorted as well.
        let mut arrived = matched.iter().filter_map(|send| send.get()).peekable();
        SpillableVec::collect(
            pool,
            (0..sends.len() as u32).filter(|send| arrived.next_if_eq(send).is_none()),
        )?
    };
    let [to, from] = [&left, &late];
    let again = match_fifo_within(
        pool,
        &SelectedTimes { of: sends, places: to },
        &SelectedTimes { of: receives, places: from },
        apart,
    )?;
    for (receive, send) in late.iter().zip(again.iter()) {
        let send = send.get().and_then(|send| left.get(send as usize).copied());
        matched[*receive as usize] = send.into();
    }
    Ok(matched)
}

/// Matches as [`match_fifo`] does, but any receive may seem to precede its send by up to `apart`
/// nanoseconds.
fn match_fifo_within(
    pool: &MemoryPool,
    sends: &impl TimeSequence,
    receives: &impl TimeSequence,
    apart: Option<i64>,
) -> Result<SpillableVec<OptionalIndex<u32>>, PathError> {
    let possible =
        |send: i64, receive: i64| apart.is_none_or(|apart| send <= receive.saturating_add(apart));
    // From the end: each receive takes the latest remaining send. That leaves the most to earlier
    // receives, and determines which sends arrived.
    let mut arrived: SpillableVec<u32> = SpillableVec::new(pool);
    let mut left = sends.len();
    for receive in (0..receives.len()).rev() {
        let time = receives.time(receive);
        while left > 0 && !possible(sends.time(left - 1), time) {
            left -= 1;
        }
        if left == 0 {
            break;
        }
        left -= 1;
        arrived.push(left as u32)?;
    }
    // From the beginning: each of these goes to the first possible receive; the remaining receives
    // are second copies.
    let mut arrived = arrived.iter().rev().copied().peekable();
    let got = |receive| {
        let time = receives.time(receive);
        arrived.next_if(|send| possible(sends.time(*send as usize), time)).into()
    };
    SpillableVec::collect(pool, (0..receives.len()).map(got))
}

/// Number of receives that came after a datagram that was sent later, given the times of their
/// sends in the order of receiving.
pub(crate) fn count_reordered(sent: impl IntoIterator<Item = i64>) -> u64 {
    let mut latest = i64::MIN;
    let mut count = 0;
    for time in sent {
        count += u64::from(time < latest);
        latest = latest.max(time);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl TimeSequence for Vec<i64> {
        fn len(&self) -> usize {
            self.len()
        }

        fn time(&self, at: usize) -> i64 {
            self[at]
        }
    }

    fn match_in_order(sends: &[i64], receives: &[i64], apart: Option<i64>) -> Vec<Option<u32>> {
        let [sends, receives] = [sends, receives].map(<[i64]>::to_vec);
        let matched = super::match_fifo(&MemoryPool::default(), &sends, &receives, apart).unwrap();
        matched.iter().map(|send| send.get()).collect()
    }

    #[test]
    fn by_hand() {
        // The first was lost, the repetition arrived.
        assert_eq!(match_in_order(&[0, 100], &[101], Some(0)), [Some(1)]);
        // The second was lost.
        assert_eq!(match_in_order(&[0, 100], &[50], Some(0)), [Some(0)]);
        // Arrived twice; then the next one.
        assert_eq!(match_in_order(&[0, 100], &[5, 6, 105], Some(0)), [Some(0), None, Some(1)]);
        // Two in flight.
        assert_eq!(match_in_order(&[0, 1], &[5, 6], Some(0)), [Some(0), Some(1)]);
        // The send of the first was not recorded.
        assert_eq!(match_in_order(&[10], &[5, 15], Some(0)), [None, Some(0)]);
        // Hours apart.
        assert_eq!(match_in_order(&[1_000, 2_000], &[5, 6], None), [Some(0), Some(1)]);
        assert_eq!(match_in_order(&[], &[5], Some(0)), [None]);
        // Read by two processes with readings that may be 3 ns apart.
        assert_eq!(match_in_order(&[10, 100], &[7, 102], Some(3)), [Some(0), Some(1)]);
        assert_eq!(match_in_order(&[10, 100], &[6, 102], Some(3)), [None, Some(1)]);
        // That tolerance must not replace a match that is possible without it.
        assert_eq!(match_in_order(&[10, 30], &[15], Some(20)), [Some(0)]);
    }

    #[test]
    fn overtaken_datagrams_are_counted() {
        assert_eq!(count_reordered([1, 2, 3]), 0);
        assert_eq!(count_reordered([1, 3, 2, 4, 0]), 2);
    }

    proptest! {
        /// For any losses and duplicates on a network that keeps order and is faster than the
        /// pauses between sends, every first arrival gets its own send and every second copy gets
        /// none.
        #[test]
        fn loss_and_duplication_are_distinguished(fates in prop::collection::vec(0usize..4, 0..40)) {
            let sends: Vec<i64> = (0..fates.len()).map(|at| at as i64 * 1000).collect();
            let (mut receives, mut truth) = (Vec::new(), Vec::new());
            for (at, fate) in fates.iter().enumerate() {
                for copy in 0..*fate {
                    receives.push(at as i64 * 1000 + 10 + copy as i64);
                    truth.push((copy == 0).then_some(at as u32));
                }
            }
            let matched = match_in_order(&sends, &receives, Some(0));
            // Second copies may take the place of a lost one before them, because equal datagrams
            // are indistinguishable: without losses the matching is exact, with them it has the
            // maximum size and is in order.
            if fates.iter().all(|fate| *fate > 0) || fates.iter().all(|fate| *fate < 2) {
                prop_assert_eq!(&matched, &truth);
            }
            let pairs: Vec<(u32, i64)> =
                matched.iter().zip(&receives).filter_map(|(send, time)| send.map(|send| (send, *time))).collect();
            prop_assert!(pairs.is_sorted_by(|one, next| one.0 < next.0));
            prop_assert!(pairs.iter().all(|(send, time)| sends[*send as usize] <= *time));
            prop_assert!(pairs.len() >= fates.iter().filter(|fate| **fate > 0).count());
        }
    }
}
