//! Records of TLS in one direction of a connection, and where the plain text in them came from: the
//! transfer that began its record, and the bytes of it that were given out so far.
//!
//! Nothing here reads the clock, the log or another flow, so it is tested on bytes alone.

/// Number of bytes of a record's head.
const HEAD: usize = 5;

/// Call that moved bytes, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// Records of one direction. All of it may be zeros.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Records {
    /// Call in which the record began that the next plain text is in.
    first: Moment,
    /// Call that brought what is behind the record's head, where that came alone.
    behind: Moment,
    /// Offset of the record in its call's bytes.
    at: u32,
    /// Number of bytes of the latest record that are still to come.
    left: u32,
    /// Number of bytes of plain text that were given out since the call.
    given: u32,
    /// Whether there was such a call.
    is_known: bool,
    /// Whether the record's head came alone, and whether what is behind it has come.
    is_head_alone: bool,
    is_behind: bool,
}

impl Records {
    /// Nothing yet.
    pub(super) const NOTHING: Records = Records {
        first: Moment { begin: 0, end: 0 },
        behind: Moment { begin: 0, end: 0 },
        at: 0,
        left: 0,
        given: 0,
        is_known: false,
        is_head_alone: false,
        is_behind: false,
    };

    /// Notes `bytes` that were received by a call of that `moment`.
    pub(super) fn received(&mut self, moment: Moment, bytes: &[u8]) {
        let mut at = (self.left as usize).min(bytes.len());
        self.left -= at as u32;
        if at > 0 && self.is_head_alone && !self.is_behind {
            (self.behind, self.is_behind) = (moment, true);
        }
        let mut begins = true;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if begins {
                *self =
                    Records { first: moment, at: at as u32, is_known: true, ..Records::NOTHING };
                self.is_head_alone = at == 0 && rest.len() == HEAD;
                begins = false;
            }
            // What is no record may go on as one: then its end is not known.
            let length = record(rest).unwrap_or(rest.len());
            let there = length.min(rest.len());
            self.left = (length - there) as u32;
            at += there;
        }
    }

    /// Notes a send by a call of that `moment`: the first one since plain text was given begins
    /// its record.
    pub(super) fn sent(&mut self, moment: Moment) {
        if !self.is_known {
            *self = Records { first: moment, is_known: true, ..Records::NOTHING };
        }
    }

    /// Gives out `bytes` bytes of plain text. Returns where they came from; `None` where that is
    /// not known.
    pub(super) fn give(&mut self, bytes: usize) -> Option<Origin> {
        let origin = self.is_known.then_some(Origin(*self));
        self.given = self.given.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        origin
    }

    /// Forgets the call.
    pub(super) fn forget(&mut self) {
        *self = Records::NOTHING;
    }
}

/// Length of the record that begins with `bytes`, with its head; `None` where it is none, or its
/// head is not whole.
fn record(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [20..=24, 3, 0..=4, high, low, ..] => {
            Some(HEAD + usize::from(u16::from_be_bytes([*high, *low])))
        }
        _ => None,
    }
}

/// Origin of plain text that was given out in one go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin(Records);

impl Origin {
    /// Call that the text is said to be of.
    pub(super) fn moment(&self) -> Moment {
        self.0.first
    }

    /// Place of the byte at `offset` of the text: its call, and an offset in that, which is no
    /// larger than that of its encrypted form, and larger than that of any byte before.
    pub(super) fn place(&self, offset: usize) -> (Moment, u32) {
        let records = &self.0;
        let offset = u32::try_from(offset).unwrap_or(u32::MAX).saturating_add(records.given);
        match (offset, records.is_behind) {
            // The message begins with its record's head.
            (1.., true) => (records.behind, offset),
            _ => (records.first, records.at.saturating_add(offset)),
        }
    }
}
