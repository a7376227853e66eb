//! Records of a log in the order of time, though its chunks are of one thread each.
//!
//! Chunks come in the order in which they were begun, so no record of a later chunk is older than
//! the beginning of the present one. Records behind that moment wait, and only these are in memory:
//! a chunk's worth for each thread. Heads that came in parts may be older, and come later then; of
//! their direction of a flow nothing comes in between.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use socket_log::{Entry, Log};

/// Record that waits for those before it.
struct Waiting {
    /// Its ticks, and its place among all records: of one thread and of equal times, the order is
    /// that of writing.
    key: (u64, u64),
    entry: Entry,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.key == other.key
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Calls `each` with the records of `log` that are `wanted`, in the order of their times.
pub(crate) fn for_each(log: &Log, wanted: impl Fn(&Entry) -> bool, mut each: impl FnMut(Entry)) {
    let mut waiting = BinaryHeap::new();
    let mut number = 0;
    for chunk in log.chunks() {
        let begins = chunk.anchor.ticks;
        while waiting.peek().is_some_and(|Reverse(first): &Reverse<Waiting>| first.key.0 < begins) {
            let Some(Reverse(first)) = waiting.pop() else { break };
            each(first.entry);
        }
        chunk.for_each(|entry| {
            if wanted(&entry) {
                waiting.push(Reverse(Waiting { key: (entry.ticks, number), entry }));
                number += 1;
            }
        });
    }
    while let Some(Reverse(first)) = waiting.pop() {
        each(first.entry);
    }
}
