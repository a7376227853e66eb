//! A message of a call, as it was seen.

use message_trace::{MessageId, MessageTrace};

/// A message of a call. Times are nanoseconds since the Unix epoch on the common clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallMessage {
    /// Number of the message in the whole trace.
    pub number: u64,
    /// When the message was sent, if that was seen.
    pub sent: Option<i64>,
    /// When the message was received: with its last byte or, if it is a request that was answered
    /// before that, with its first.
    pub received: Option<i64>,
    /// Size of the payload, in bytes.
    pub bytes: i64,
}

impl CallMessage {
    /// Returns a message of `trace`, in which the first message has the number `first`.
    pub(super) fn from_row(trace: &MessageTrace, first: u64, row: MessageId) -> CallMessage {
        CallMessage {
            number: first + row.index() as u64,
            sent: trace.send_ts(row),
            received: trace.recv_ts(row),
            bytes: trace.bytes(row),
        }
    }
}
