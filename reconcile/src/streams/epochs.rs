//! Epochs of a unix stream's end: periods in which its calls are known. Each begins when one more
//! process that uses the end is first recorded. Calls before and in between are unknown.

use rustc_hash::FxHashMap;

use crate::calls::StreamTransfer;
use crate::indices::ProcessIndex;
use crate::tuning::MAX_EPOCHS;

/// Period in which the calls of one direction are known, until the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// Time when the epoch begins, in nanoseconds; `i64::MIN` if calls are known from the stream's
    /// first byte on.
    pub(crate) begin: i64,
    /// Time until which calls are certainly known: when the latest of them began or, of a receive,
    /// ended. A call in progress at the end of the recording may have moved bytes unseen, but not
    /// before that.
    pub(crate) until: i64,
}

/// The epochs of an end.
#[derive(Debug)]
pub(crate) struct Epochs {
    pub(crate) sending: Vec<Epoch>,
    pub(crate) receiving: Vec<Epoch>,
    /// Whether the end was found in use, so that its first calls are unknown.
    pub(crate) is_found: bool,
}

/// Times of the calls of one process at the end.
#[derive(Clone, Copy)]
struct EndProcessTimes {
    /// Time of the process's first send, and the first time from which on all of its receives are
    /// known, in nanoseconds.
    first: [i64; 2],
    /// Times of its latest send and of its latest receive.
    last: [i64; 2],
}

impl Epochs {
    /// The epochs of the end that made these calls, which may have been `found` in use. `None` if
    /// records of calls were overwritten, or there are very many epochs.
    pub(crate) fn from_calls(
        sends: impl Iterator<Item = StreamTransfer>,
        receives: impl Iterator<Item = StreamTransfer>,
        is_found: bool,
    ) -> Option<Epochs> {
        let mut members: FxHashMap<ProcessIndex, EndProcessTimes> = FxHashMap::default();
        let calls = sends.map(|call| (0, call)).chain(receives.map(|call| (1, call)));
        for (stream, call) in calls {
            if call.is_forgotten() || call.is_count() {
                return None;
            }
            let nothing = EndProcessTimes { first: [i64::MAX; 2], last: [i64::MIN; 2] };
            let member = members.entry(call.process()).or_insert(nothing);
            // The time of an edge, the other end in time of a call, is computed and may be inexact.
            if call.is_edge() {
                continue;
            }
            member.first[stream] = member.first[stream].min(call.time);
            member.last[stream] = member.last[stream].max(call.time);
        }
        if is_found && members.len() > MAX_EPOCHS {
            return None;
        }
        let epochs = |stream: usize| {
            let mut all: Vec<Epoch> = members
                .values()
                .filter(|member| member.first[stream] < i64::MAX)
                .map(|member| Epoch { begin: member.first[stream], until: member.last[stream] })
                .collect();
            all.sort_unstable_by_key(|epoch| (epoch.begin, epoch.until));
            all.dedup_by_key(|epoch| epoch.begin);
            let mut until = i64::MIN;
            for epoch in &mut all {
                until = until.max(epoch.until);
                epoch.until = until;
            }
            if !is_found {
                all = vec![Epoch { begin: i64::MIN, until }];
            }
            all
        };
        let (sending, receiving) = (epochs(0), epochs(1));
        Some(Epochs { sending, receiving, is_found })
    }
}
