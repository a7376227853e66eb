//! Records of a log in the order of time, although each chunk belongs to one thread.
//!
//! Chunks come in the order in which they were begun, so no record of a later chunk is older than
//! the beginning of the present one. Records after the beginning of the present chunk wait, and
//! only these are in memory: about a chunk for each thread. A snippet that was captured in parts
//! may be older than the beginning of its chunk and come late; no other record of the same flow and
//! direction comes in between.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use socket_log::{LogEntry, SocketLog};

/// Record that waits for earlier records.
struct WaitingRecord {
    /// Ticks of the record and its index among all records: records of one thread and of equal
    /// times keep the order of writing.
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

/// Calls `each` with the `wanted` records of `log`, in the order of time.
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
