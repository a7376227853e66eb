//! Same-syscall batches: messages that one system call sent or received, if operations distinguish
//! them. Their times are equal, but their bytes have an order, in which they were written and are
//! processed. So each is a nanosecond later here than the one before it: far less than any learned
//! delay, and enough to show which request waits longer.

use message_trace::{FlowId, MessageId, MessageTrace};
use rustc_hash::FxHashMap;

/// Nanoseconds by which each message counts as later than its system call, at its sender and at its
/// receiver.
#[derive(Debug, Default)]
pub(super) struct SyscallBatches(Vec<[i64; 2]>);

/// The latest message of one side of a connection, as observed at one end.
#[derive(Clone, Copy, Debug, Default)]
struct LatestMessage {
    time: Option<i64>,
    /// Nanoseconds by which it is later than its system call.
    later: i64,
}

impl SyscallBatches {
    /// Numbers the messages of `trace`, which are in the order of time and, for equal times, of
    /// their bytes.
    pub(super) fn from_trace(trace: &MessageTrace) -> SyscallBatches {
        if !trace.has_operations() {
            return SyscallBatches::default();
        }
        let mut latest: FxHashMap<(FlowId, i8), [LatestMessage; 2]> = FxHashMap::default();
        let later = trace.ids().map(|row| {
            if trace.operations(row).is_none() {
                return [0; 2];
            }
            let seen = latest.entry((trace.flow(row), trace.direction(row))).or_default();
            let times = [trace.send_ts(row), trace.arrival_time(row)];
            for (latest, time) in seen.iter_mut().zip(times) {
                let is_same = time.is_some() && latest.time == time;
                *latest = LatestMessage { time, later: if is_same { latest.later + 1 } else { 0 } };
            }
            seen.map(|latest| latest.later)
        });
        SyscallBatches(later.collect())
    }

    /// Time at which the message was sent, if its system call was at `time`.
    pub(super) fn sent_time(&self, row: MessageId, time: i64) -> i64 {
        time.saturating_add(self.0.get(row.index()).map_or(0, |[sent, _]| *sent))
    }

    /// Time at which the message was received, if its system call was at `time`.
    pub(super) fn received_time(&self, row: MessageId, time: i64) -> i64 {
        time.saturating_add(self.0.get(row.index()).map_or(0, |[_, received]| *received))
    }

    /// Returns whether the message was sent by the same system call as an earlier one.
    pub(super) fn is_sent_with_another(&self, row: MessageId) -> bool {
        self.0.get(row.index()).is_some_and(|[sent, _]| *sent > 0)
    }
}

#[cfg(test)]
#[path = "side_by_side_tests.rs"]
mod tests;
