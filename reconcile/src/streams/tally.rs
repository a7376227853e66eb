//! A tally of the calls of one side of a stream, made before any of them is matched. Matching hands
//! on message by message, and cannot take one back when it turns out that nobody knows where in the
//! stream the calls were.

use crate::calls::StreamTransfer;

/// What has to be known of the calls of one side before any of them is matched. Their order does
/// not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallTally {
    /// Whether the log has forgotten calls, or calls between others were not seen.
    pub(crate) forgotten: bool,
    /// Whether bytes went before the first call.
    pub(crate) began_before: bool,
    /// Whether there are calls that it has not.
    pub(crate) calls: bool,
    /// Whether a new message came elsewhere between some of them, or several threads made them.
    pub(crate) elsewhere: bool,
    /// Whether operations begin in some of them.
    pub(crate) operations: bool,
    /// How many bytes its largest call moved.
    pub(crate) largest: u64,
    /// The thread of the first call.
    tid: i32,
    /// Whether nobody knows how many bytes were forgotten.
    unknown: bool,
    /// The process of the first call.
    process: u32,
    /// Whether others made calls as well.
    several: bool,
    /// Whether calls are missing that the log has forgotten. Of others the kernel says where.
    pub(crate) by_log: bool,
}

impl CallTally {
    /// Takes note of a call, or of forgotten ones.
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
        if !self.calls {
            (self.calls, self.process, self.tid) = (true, call.process, call.tid);
        }
        self.operations |= call.begins;
        self.largest = self.largest.max(call.bytes);
        self.several |= call.process != self.process;
        self.elsewhere |= call.elsewhere || call.tid != self.tid;
    }

    /// Whether it is known where in the stream the calls are. Where several processes made them and
    /// one's log has forgotten some, nobody knows before which calls of the others those were; and
    /// sometimes it is not known how many were forgotten.
    pub(crate) fn is_placed(&self) -> bool {
        !(self.unknown || self.by_log && self.several)
    }
}
