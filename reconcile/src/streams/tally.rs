//! Tally of the calls of one side of a stream, made before any of them is matched. Matching passes
//! on message after message, and cannot take one back when the positions of the calls in the stream
//! turn out to be unknown.

use crate::calls::StreamTransfer;
use crate::indices::ProcessIndex;

/// Summary of the calls of one side before any of them is matched. Their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallTally {
    /// Whether records of calls were overwritten, or calls between others were not seen.
    pub(crate) forgotten: bool,
    /// Whether there were bytes before the first call.
    pub(crate) began_before: bool,
    /// Whether there are recorded calls.
    pub(crate) has_calls: bool,
    /// Whether a new message came elsewhere between some of them, or several threads made them.
    pub(crate) elsewhere: bool,
    /// Whether operations begin in some of them.
    pub(crate) operations: bool,
    /// Number of bytes that the largest call moved.
    pub(crate) largest: u64,
    /// The thread of the first call.
    tid: i32,
    /// Whether the number of bytes with overwritten records is unknown.
    unknown: bool,
    /// The process of the first call.
    process: ProcessIndex,
    /// Whether other processes made calls as well.
    several: bool,
    /// Whether calls with overwritten records are missing. The kernel gives the positions of other
    /// missing calls.
    pub(crate) by_log: bool,
}

impl CallTally {
    /// Adds a call, or bytes with overwritten records.
    pub(crate) fn add_call(&mut self, call: &StreamTransfer) {
        if call.is_count() || call.is_mark() {
            return;
        }
        if call.is_forgotten() {
            let (gap, before) = (StreamTransfer::COUNTED_GAP, StreamTransfer::COUNTED_BEFORE);
            self.forgotten |= call.tid != before;
            self.began_before |= call.tid == before;
            self.by_log |= call.tid != gap && call.tid != before;
            self.unknown |= call.bytes == StreamTransfer::UNKNOWN;
            return;
        }
        if !self.has_calls {
            (self.has_calls, self.process, self.tid) = (true, call.process(), call.tid);
        }
        self.operations |= call.begins;
        self.largest = self.largest.max(call.bytes);
        self.several |= call.process() != self.process;
        self.elsewhere |= call.elsewhere || call.tid != self.tid;
    }

    /// Whether the positions of the calls in the stream are known. If several processes made them
    /// and one's log has overwritten records, their order relative to the calls of the others is
    /// unknown; and sometimes the number of their bytes is.
    pub(crate) fn is_placed(&self) -> bool {
        !(self.unknown || self.by_log && self.several)
    }
}
