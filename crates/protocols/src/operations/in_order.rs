//! Records of a log in the order of time, though its chunks are of one thread each.
//!
//! Chunks come in the order in which they were begun, so no record of a later chunk is older than
//! the beginning of the present one. Records behind that moment wait, and only these are in memory:
//! a chunk's worth for each thread. Heads that came in parts may be older, and come later then; of
//! their direction of a flow nothing comes in between.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use socket_log::{LogEntry, SocketLog};

/// Record that waits for those before it.
struct WaitingRecord {
    /// Its ticks, and its place among all records: of one thread and of equal times, the order is
    /// that of writing.
    key: (u64, u64),
    entry: LogEntry,
}

impl PartialEq for WaitingRecord {
    fn eq(&self, other: &WaitingRecord) -> bool {
        self.key == other.key
    }
}

impl Eq for WaitingRecord {}

impl PartialOrd for WaitingRecord {
    fn partial_cmp(&self, other: &WaitingRecord) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WaitingRecord {
    fn cmp(&self, other: &WaitingRecord) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Calls `each` with the records of `log` that are `wanted`, in the order of their times.
pub(crate) fn for_each_in_order(
    log: &SocketLog,
    wanted: impl Fn(&LogEntry) -> bool,
    mut each: impl FnMut(LogEntry),
) {
    let mut waiting = BinaryHeap::new();
    let mut number = 0;
    for chunk in log.chunks() {
        let begins = chunk.anchor.ticks;
        while waiting
            .peek()
            .is_some_and(|Reverse(first): &Reverse<WaitingRecord>| first.key.0 < begins)
        {
            let Some(Reverse(first)) = waiting.pop() else { break };
            each(first.entry);
        }
        chunk.for_each(|entry| {
            if wanted(&entry) {
                waiting.push(Reverse(WaitingRecord { key: (entry.ticks, number), entry }));
                number += 1;
            }
        });
    }
    while let Some(Reverse(first)) = waiting.pop() {
        each(first.entry);
    }
}
