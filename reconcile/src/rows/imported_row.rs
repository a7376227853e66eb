//! Rows of messages that were imported as such.

use message_trace::Message;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::optional_time::OptionalTime;
use crate::rows::row::{CommonClock, MessageRow, MessageSlot, RowKey};

/// An imported message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct ImportedRow {
    pub(crate) row: MessageRow,
    /// `send_ts` and `recv_ts` of the import; none if the host's own time is to be converted to the
    /// common clock.
    pub(crate) common: [OptionalTime; 2],
    /// Position of the message's call id among the `CallIds`; 0 if it has no call id.
    pub(crate) call: u64,
}

impl ImportedRow {
    /// The sort key of the row. `slot` is the row's slot.
    pub(crate) fn row_key(&self, slot: &MessageSlot, common: &CommonClock) -> RowKey {
        let (time, rest) = self.row.row_key(slot, common);
        match self.common.map(OptionalTime::get) {
            [None, None] => (time, rest),
            // A missing time is the host's own, and precedes the known time of the other end.
            [None, _] if self.row.times[0].is_some() => (time, rest),
            [None, Some(received)] => (received, rest),
            [Some(sent), _] => (sent, rest),
        }
    }

    /// Orders rows of equal keys.
    pub(crate) fn tie_breaker(&self) -> impl Ord + use<> {
        let MessageRow { times, bytes, nodes, tids, parts_and_flags, .. } = self.row;
        (times, self.common, bytes, nodes, tids, parts_and_flags)
    }

    /// Converts the row to a message. `slot` is the row's slot.
    pub(crate) fn to_message(&self, slot: &MessageSlot, common: &CommonClock) -> Message {
        let message = self.row.to_message(slot, None, common);
        let [sent, received] = self.common.map(OptionalTime::get);
        Message {
            send_ts: sent.or(message.send_ts),
            recv_ts: received.or(message.recv_ts),
            ..message
        }
    }
}
