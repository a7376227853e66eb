//! TLS records in one direction of a connection, and the origin of their plain text: the transfer
//! in which the record began, and the bytes of the record that were already returned to the
//! program.
//!
//! Nothing here reads the clock, the log or another flow, so it is tested on bytes alone.

use socket_log::encode::Direction;

use super::direction::TransferPosition;
use crate::tuning::MAX_RECORDS_AHEAD;

/// Length of a record header, in bytes.
const HEAD: usize = 5;

/// Number of bytes that a TLS 1.3 record has in addition to its plain text, with its header.
const OVERHEAD: u32 = HEAD as u32 + 17;

/// Call that moved bytes, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallTime {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// Record with plain text that was not returned yet: where the record began, and its length.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct OpenRecord {
    moment: CallTime,
    /// Offset of the record in the bytes of its call.
    at: u32,
    /// Length of the record with its header, in bytes; 0 if unknown.
    length: u32,
}

/// Records of one direction. All fields may be zeros.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct TlsRecords {
    /// Records that have begun, in order. The next plain text is in the first one. If there are too
    /// many, the additional ones are treated as part of the last one.
    begun: [OpenRecord; MAX_RECORDS_AHEAD],
    count: u32,
    /// Number of remaining bytes of the latest record.
    left: u32,
    /// Number of bytes of plain text of the first record that were returned.
    given: u32,
    /// Whether the first record's header arrived alone, and the call that brought the bytes after
    /// it.
    is_head_alone: bool,
    has_body_call: bool,
    body_call: CallTime,
}

impl TlsRecords {
    /// No records.
    pub(super) const NOTHING: TlsRecords = TlsRecords {
        begun: [OpenRecord { moment: CallTime { begin: 0, end: 0 }, at: 0, length: 0 };
            MAX_RECORDS_AHEAD],
        count: 0,
        left: 0,
        given: 0,
        is_head_alone: false,
        has_body_call: false,
        body_call: CallTime { begin: 0, end: 0 },
    };

    /// Notes `bytes` that were received by a call of that `moment`. A library receives after it has
    /// returned all complete records.
    pub(super) fn note_received(&mut self, moment: CallTime, bytes: &[u8]) {
        if self.left == 0 {
            self.forget();
        } else if self.count > 1 {
            let last = self.begun.get(self.count as usize - 1).copied();
            let left = self.left;
            self.forget();
            self.left = left;
            last.into_iter().for_each(|last| self.push_record(last));
        }
        let mut at = (self.left as usize).min(bytes.len());
        self.left -= at as u32;
        if at > 0 && self.is_head_alone && !self.has_body_call {
            (self.body_call, self.has_body_call) = (moment, true);
        }
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            // Bytes that are not a record may be followed by more of them: then the end is not
            // known.
            let known = record_length(rest);
            let length = known.unwrap_or(rest.len());
            let available = length.min(rest.len());
            self.left = (length - available) as u32;
            if self.count == 0 {
                self.is_head_alone = bytes.len() == HEAD;
            }
            self.push_record(OpenRecord {
                moment,
                at: at as u32,
                length: known.unwrap_or(0) as u32,
            });
            at += available;
        }
    }

    /// Notes a send by a call of that `moment`: the first one after plain text was passed begins
    /// its record.
    pub(super) fn note_sent(&mut self, moment: CallTime) {
        if self.count == 0 {
            self.push_record(OpenRecord { moment, at: 0, length: 0 });
        }
    }

    fn push_record(&mut self, begun: OpenRecord) {
        if let Some(place) = self.begun.get_mut(self.count as usize) {
            *place = begun;
            self.count += 1;
        }
    }

    /// Accounts for `bytes` bytes of plain text, returned to a caller that asked for at most
    /// `most`. Returns their origin; `None` if it is not known.
    pub(super) fn take_plaintext(&mut self, bytes: usize, most: usize) -> Option<PlaintextOrigin> {
        let begun = self.begun.first().filter(|_| self.count > 0)?;
        let (has_body_call, given) = (self.has_body_call, self.given);
        let origin = PlaintextOrigin {
            begun: *begun,
            body_call: has_body_call.then_some(self.body_call),
            given,
        };
        self.given = given.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        // A library returns the rest of one record, and only then continues with the next one.
        let is_all = bytes < most || begun.length > 0 && self.given + OVERHEAD >= begun.length;
        if bytes > 0 && is_all && self.count > 1 {
            self.begun.copy_within(1.., 0);
            self.count -= 1;
            (self.given, self.is_head_alone, self.has_body_call) = (0, false, false);
        }
        Some(origin)
    }

    /// Removes all records.
    pub(super) fn forget(&mut self) {
        (self.count, self.left, self.given) = (0, 0, 0);
        (self.is_head_alone, self.has_body_call) = (false, false);
    }
}

/// Length of the record at the beginning of `bytes`, with its header; `None` if it is not a record,
/// or its header is incomplete.
fn record_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [20..=24, 3, 0..=4, high, low, ..] => {
            Some(HEAD + usize::from(u16::from_be_bytes([*high, *low])))
        }
        _ => None,
    }
}

/// Origin of plain text that was returned by one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaintextOrigin {
    begun: OpenRecord,
    body_call: Option<CallTime>,
    given: u32,
}

impl PlaintextOrigin {
    /// Call that the text is attributed to.
    pub(super) fn call_time(&self) -> CallTime {
        self.begun.moment
    }

    /// Position of the byte at `offset` of the text: its call, and an offset in the bytes of the
    /// call, which is no larger than the offset of its encrypted form, and larger than the offset
    /// of any byte before. Both ends of a connection find the same byte of the stream: a record's
    /// first byte is at the record's beginning, and others follow its header as if they were not
    /// encrypted.
    pub(super) fn position_of(&self, offset: usize) -> (CallTime, u32) {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX).saturating_add(self.given);
        match (offset, self.body_call) {
            (0, _) => (self.begun.moment, self.begun.at),
            (_, Some(body_call)) => (body_call, offset),
            (_, None) => {
                let at = self.begun.at.saturating_add(HEAD as u32);
                (self.begun.moment, at.saturating_add(offset))
            }
        }
    }

    /// Returns the position in the form of snippets: by the begin of the call if sent, by its end
    /// if received.
    pub(super) fn transfer_position(
        &self,
        direction: Direction,
        offset: usize,
    ) -> TransferPosition {
        let (CallTime { begin, end }, offset) = self.position_of(offset);
        let ticks = if direction == Direction::Send { begin } else { end };
        TransferPosition { ticks, offset }
    }
}
