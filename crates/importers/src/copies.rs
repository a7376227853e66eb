//! Copies: messages that several files of an import contain, such as messages that two sniffers
//! saw.
//!
//! Single messages look alike, so files are compared by their messages of each connection and
//! direction: equal numbers and sizes, over the same time apart from the difference of the files'
//! clocks. That is sufficient if endpoints identify the connection, or call ids are equal; between
//! two nodes alone, several threads may do the same at the same time.
//!
//! ```text
//! web.csv   web>db   10 B  200 B  10 B     at 5, 8, 9 s         the same messages: one of each is
//! db.csv    web>db   10 B  200 B  10 B     at 7, 10, 11 s       kept, with the times of both
//! more.csv  web>db   10 B  300 B           at 60, 61 s          others
//! ```

use std::hash::{Hash, Hasher};

use message_trace::{Endpoint, Message};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::conversations::{ConversationEnd, ConversationKey, ConversationScope};
use crate::tuning::{COPIES_APART_NS, COPIES_JITTER_NS, MAX_RUNS, MIN_COPIES};

/// Connection and sending side, in all files.
pub(crate) type ConversationDirection = (ConversationKey, u8);

/// Messages of each connection and direction by file.
#[derive(Debug, Default)]
pub(crate) struct DirectionRuns {
    /// For each connection and direction: the files with messages of it.
    runs: FxHashMap<ConversationDirection, Vec<(u32, DirectionRun)>>,
    /// Number of all runs.
    count: usize,
}

/// Messages of one file for a connection and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DirectionRun {
    /// Sum of all times, in nanoseconds.
    times: i128,
    /// Earliest and latest time, in nanoseconds.
    first: i64,
    last: i64,
    /// Number of messages.
    messages: u64,
    /// Hash of the sizes, independent of their order.
    content: u64,
    /// Hash of the call ids; 0 without any.
    calls: u64,
}

/// Files that repeat messages of other files.
#[derive(Debug, Default)]
pub(crate) struct FileCopies {
    /// For a connection and direction: the files that are left out, and the one that is kept.
    left_out: FxHashMap<ConversationDirection, (FxHashSet<u32>, u32)>,
    /// Number of messages that are left out.
    pub(crate) messages: u64,
    /// Number of messages that may be copies and are kept, as only sizes and times match.
    pub(crate) ambiguous: u64,
}

/// Connection and direction of a message.
pub(crate) fn direction_of_message(
    message: &Message,
    endpoints: [&Endpoint; 2],
) -> ConversationDirection {
    let (from, to) = (
        ConversationEnd::new(message.src, endpoints[0]),
        ConversationEnd::new(message.dst, endpoints[1]),
    );
    let (key, side) =
        ConversationKey::from_ends(ConversationScope::Between(message.protocol), from, to);
    (key, side as u8)
}

/// Time of a message by which files are compared: the first that is known.
pub(crate) fn time_of(message: &Message) -> Option<i64> {
    let sent = message.send_ts.or(message.send_first);
    sent.or(message.recv_ts).or(message.recv_first)
}

impl DirectionRuns {
    /// Adds a message of a file to its direction's messages.
    pub(crate) fn add_message(
        &mut self,
        direction: ConversationDirection,
        file: u32,
        message: &Message,
        call_id: Option<&str>,
    ) {
        let Some(time) = time_of(message).filter(|_| self.count < MAX_RUNS) else { return };
        let content = message_trace::mix_bits(message.bytes as u64);
        let times = i128::from(time);
        let calls = call_id.map_or(0, |text| {
            let mut hasher = FxHasher::default();
            text.hash(&mut hasher);
            message_trace::mix_bits(hasher.finish() | 1)
        });
        let new = DirectionRun { times, first: time, last: time, messages: 1, content, calls };
        let file_runs = self.runs.entry(direction).or_default();
        match file_runs.iter_mut().find(|(known, _)| *known == file) {
            Some((_, run)) => run.add_run(&new),
            None => {
                file_runs.push((file, new));
                self.count += 1;
            }
        }
    }

    /// Finds the files that are copies. There are none if files have more messages than can be
    /// compared.
    pub(crate) fn find_copies(&self) -> FileCopies {
        let mut copies = FileCopies::default();
        if self.count >= MAX_RUNS {
            return copies;
        }
        // For two files: the number of equal messages, and of messages on connections that both
        // have.
        let mut pairs: FxHashMap<[u32; 2], [u64; 2]> = FxHashMap::default();
        let several = || self.runs.iter().filter(|(_, file_runs)| file_runs.len() > 1);
        for (_, file_runs) in several() {
            for (place, (one, run)) in file_runs.iter().enumerate() {
                for (other, other_run) in &file_runs[place + 1..] {
                    let both = pairs.entry([*one.min(other), *one.max(other)]).or_default();
                    let messages = run.messages.min(other_run.messages);
                    both[0] += if run.is_copy_of(other_run) { messages } else { 0 };
                    both[1] += messages;
                }
            }
        }
        let are_copies = |one: u32, other: u32| {
            let both = pairs.get(&[one.min(other), one.max(other)]).copied();
            both.is_some_and(|[same, all]| same >= MIN_COPIES && 10 * same >= 9 * all)
        };
        // The messages of one file are kept for both requests and responses, as call ids may be
        // specific to the file; the numbers of messages decide which file.
        let totals = self.sum_by_file();
        for (direction, file_runs) in several() {
            let mut file_runs = file_runs.clone();
            file_runs.sort_by_key(|(file, _)| (totals.get(file), *file));
            let mut kept: Vec<(u32, DirectionRun)> = Vec::new();
            for (file, run) in file_runs {
                let is_copy = |(other, of): &&(u32, DirectionRun)| {
                    are_copies(*other, file) && run.is_copy_of(of)
                };
                match kept.iter().find(is_copy) {
                    Some((_, of)) if !direction.0.has_endpoints() && !run.has_calls_of(of) => {
                        copies.ambiguous += run.messages;
                        kept.push((file, run));
                    }
                    Some((original, _)) => {
                        copies.messages += run.messages;
                        let left_out = copies.left_out.entry(*direction).or_default();
                        left_out.0.insert(file);
                        left_out.1 = *original;
                    }
                    None => kept.push((file, run)),
                }
            }
        }
        copies
    }
}

impl DirectionRuns {
    /// Sums the messages of each file.
    fn sum_by_file(&self) -> FxHashMap<u32, DirectionRun> {
        let mut totals: FxHashMap<u32, DirectionRun> = FxHashMap::default();
        for (file, run) in self.runs.values().flatten() {
            totals.entry(*file).and_modify(|all| all.add_run(run)).or_insert(*run);
        }
        totals
    }
}

impl DirectionRun {
    fn add_run(&mut self, other: &DirectionRun) {
        self.times += other.times;
        (self.first, self.last) = (self.first.min(other.first), self.last.max(other.last));
        self.messages += other.messages;
        self.content = self.content.wrapping_add(other.content);
        self.calls = self.calls.wrapping_add(other.calls);
    }

    /// Whether another file has the same messages.
    fn is_copy_of(&self, other: &DirectionRun) -> bool {
        if (self.messages, self.content) != (other.messages, other.content) {
            return false;
        }
        let mean = |run: &DirectionRun| (run.times / i128::from(run.messages.max(1))) as i64;
        let apart = [
            other.first.saturating_sub(self.first),
            other.last.saturating_sub(self.last),
            mean(other).saturating_sub(mean(self)),
        ];
        let [least, most] = [apart.iter().min(), apart.iter().max()].map(|it| *it.unwrap_or(&0));
        let overlap = other.first <= self.last && self.first <= other.last;
        let are_near = most.saturating_sub(least) <= COPIES_JITTER_NS;
        are_near && (overlap || least.saturating_abs() <= COPIES_APART_NS)
    }
}

impl DirectionRun {
    /// Whether another file has the same call ids.
    fn has_calls_of(&self, other: &DirectionRun) -> bool {
        self.calls != 0 && self.calls == other.calls
    }
}

impl FileCopies {
    /// Whether there are no copies.
    pub(crate) fn is_empty(&self) -> bool {
        self.left_out.is_empty()
    }

    /// Whether the messages of that connection, direction and file are left out (`Some(true)`), or
    /// are kept in place of copies in other files (`Some(false)`); `None` if they have no copies.
    pub(crate) fn is_left_out(&self, direction: &ConversationDirection, file: u32) -> Option<bool> {
        let (left_out, kept) = self.left_out.get(direction)?;
        match left_out.contains(&file) {
            true => Some(true),
            false => (*kept == file).then_some(false),
        }
    }
}
