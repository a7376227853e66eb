//! The time of receipt of a message of a path, for delays: with its last byte, unless its receiver
//! acted on it earlier. A receiver that reads the end of a request after its response (the record
//! that closes a FastCGI request), or forwards a body while it arrives, was not waiting for the
//! network. Then the message was received with its first byte, so that the node's time is not
//! negative and the network's does not include the receiver's.
//!
//! In a path, the first action of the receiver because of a message is a child of the message, so
//! the response need not be searched. For a single call, the response shows when its receiver
//! acted.

use message_trace::{MessageId, MessageTrace};

/// The times at which a message was received: nanoseconds on the common clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageReceipt {
    /// When the first byte of the message was received; `None` if that was not seen.
    pub(crate) first: Option<i64>,
    /// When the message was received, as far as known by now: with its last byte or, if its
    /// receiver acted earlier, its first.
    pub(crate) at: Option<i64>,
}

impl MessageReceipt {
    /// Returns the receipt of a message, before any action of its receiver is known.
    pub(crate) fn from_row(trace: &MessageTrace, row: MessageId) -> MessageReceipt {
        MessageReceipt::new(trace.arrival_time(row), trace.recv_ts(row))
    }

    /// Creates a receipt from the times of the first and last byte.
    pub(crate) fn new(first: Option<i64>, last: Option<i64>) -> MessageReceipt {
        MessageReceipt { first, at: last }
    }

    /// Records that the receiver sent a message because of this one, if the time is known.
    #[inline]
    pub(crate) fn note_effect(&mut self, sent: Option<i64>) {
        if sent.zip(self.at).is_some_and(|(sent, at)| sent < at) {
            self.at = self.first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_counts_unless_the_receiver_acted_before() {
        let read_late = MessageReceipt::new(Some(10), Some(50));
        let acted = |sent: &[Option<i64>]| {
            let mut receipt = read_late;
            sent.iter().for_each(|sent| receipt.note_effect(*sent));
            receipt.at
        };
        assert_eq!(acted(&[]), Some(50));
        assert_eq!(acted(&[Some(50), None]), Some(50));
        assert_eq!(acted(&[Some(49)]), Some(10));
        assert_eq!(acted(&[Some(60), Some(20)]), Some(10));
        let mut unseen = MessageReceipt::default();
        unseen.note_effect(Some(1));
        assert_eq!(unseen.at, None);
    }
}
