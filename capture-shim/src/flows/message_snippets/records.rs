//! TLS records in one direction of a connection, and the origin of their plain text: the transfer
//! in which the record began, and the bytes of the record that were already returned to the
//! program.
//!
//! Nothing here reads the clock, the log or another flow, so it is tested on bytes alone.

use socket_log::encode::Direction;

use super::direction::TransferPosition;
use crate::tuning::MAX_RECORDS_AHEAD;

/// Length of a record header, in bytes.
const HEADER_BYTES: usize = 5;

/// Number of bytes that a TLS 1.3 record has in addition to its plain text, with its header.
const RECORD_OVERHEAD: u32 = HEADER_BYTES as u32 + 17;

/// Begin and end of a call that moved bytes, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallTime {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// Record with plain text that was not returned yet: where the record began, and its length.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct OpenRecord {
    call: CallTime,
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
    open_records: [OpenRecord; MAX_RECORDS_AHEAD],
    count: u32,
    /// Number of bytes of the latest record that have not arrived yet.
    record_rest: u32,
    /// Number of bytes of the first record's plain text that were returned to the program.
    returned: u32,
    /// Whether the first record's header arrived alone, and the call that brought the bytes after
    /// it.
    is_head_alone: bool,
    has_body_call: bool,
    body_call: CallTime,
}

impl TlsRecords {
    /// No records.
    pub(super) const NOTHING: TlsRecords = TlsRecords {
        open_records: [OpenRecord { call: CallTime { begin: 0, end: 0 }, at: 0, length: 0 };
            MAX_RECORDS_AHEAD],
        count: 0,
        record_rest: 0,
        returned: 0,
        is_head_alone: false,
        has_body_call: false,
        body_call: CallTime { begin: 0, end: 0 },
    };

    /// Notes `bytes` that were received by `call`. A library receives only after it has returned
    /// the plain text of all complete records.
    pub(super) fn note_received(&mut self, call: CallTime, bytes: &[u8]) {
        if self.record_rest == 0 {
            self.forget();
        } else if self.count > 1 {
            let last = self.open_records.get(self.count as usize - 1).copied();
            let left = self.record_rest;
            self.forget();
            self.record_rest = left;
            last.into_iter().for_each(|last| self.push_record(last));
        }
        let mut at = (self.record_rest as usize).min(bytes.len());
        self.record_rest -= at as u32;
        if at > 0 && self.is_head_alone && !self.has_body_call {
            (self.body_call, self.has_body_call) = (call, true);
        }
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            // Bytes that are not a record may be followed by more of them: then the end is not
            // known.
            let known = record_length(rest);
            let length = known.unwrap_or(rest.len());
            let available = length.min(rest.len());
            self.record_rest = (length - available) as u32;
            if self.count == 0 {
                self.is_head_alone = bytes.len() == HEADER_BYTES;
            }
            self.push_record(OpenRecord { call, at: at as u32, length: known.unwrap_or(0) as u32 });
            at += available;
        }
    }

    /// Notes a send by `call`. The record of a plain text begins with the first send after the text
    /// was passed to the library.
    pub(super) fn note_sent(&mut self, call: CallTime) {
        if self.count == 0 {
            self.push_record(OpenRecord { call, at: 0, length: 0 });
        }
    }

    fn push_record(&mut self, record: OpenRecord) {
        if let Some(place) = self.open_records.get_mut(self.count as usize) {
            *place = record;
            self.count += 1;
        }
    }

    /// Accounts for `bytes` bytes of plain text, returned to a caller that asked for at most
    /// `most` bytes. Returns the origin of the text; `None` if it is not known.
    pub(super) fn take_plaintext(&mut self, bytes: usize, most: usize) -> Option<PlaintextOrigin> {
        let record = self.open_records.first().filter(|_| self.count > 0)?;
        let (has_body_call, given) = (self.has_body_call, self.returned);
        let origin = PlaintextOrigin {
            record: *record,
            body_call: has_body_call.then_some(self.body_call),
            returned: given,
        };
        self.returned = given.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        // A library returns the rest of one record, and only then continues with the next one.
        let is_record_over =
            bytes < most || record.length > 0 && self.returned + RECORD_OVERHEAD >= record.length;
        if bytes > 0 && is_record_over && self.count > 1 {
            self.open_records.copy_within(1.., 0);
            self.count -= 1;
            (self.returned, self.is_head_alone, self.has_body_call) = (0, false, false);
        }
        Some(origin)
    }

    /// Removes all records.
    pub(super) fn forget(&mut self) {
        (self.count, self.record_rest, self.returned) = (0, 0, 0);
        (self.is_head_alone, self.has_body_call) = (false, false);
    }
}

/// Length of the record at the beginning of `bytes`, with its header; `None` if it is not a record,
/// or its header is incomplete.
fn record_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [20..=24, 3, 0..=4, high, low, ..] => {
            Some(HEADER_BYTES + usize::from(u16::from_be_bytes([*high, *low])))
        }
        _ => None,
    }
}

/// Origin of plain text that was returned by one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaintextOrigin {
    record: OpenRecord,
    body_call: Option<CallTime>,
    returned: u32,
}

impl PlaintextOrigin {
    /// Call that the text is attributed to.
    pub(super) fn call_time(&self) -> CallTime {
        self.record.call
    }

    /// Position of the byte at `offset` of the text: its call, and an offset in the bytes of the
    /// call. The offset is no larger than the offset of the encrypted byte, and larger than the
    /// offset of any earlier byte of the text. Both ends of a connection find the same position in
    /// the stream: the first byte of a text is at its record's beginning, and its other bytes
    /// follow the record's header as if they were not encrypted.
    pub(super) fn position_of(&self, offset: usize) -> (CallTime, u32) {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX).saturating_add(self.returned);
        match (offset, self.body_call) {
            (0, _) => (self.record.call, self.record.at),
            (_, Some(body_call)) => (body_call, offset),
            (_, None) => {
                let at = self.record.at.saturating_add(HEADER_BYTES as u32);
                (self.record.call, at.saturating_add(offset))
            }
        }
    }

    /// The position of [`PlaintextOrigin::position_of`] as snippets state it: with the begin of the
    /// call if the text was sent, and with the call's end if it was received.
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
