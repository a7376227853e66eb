//! When a message of a path was received, for delays: with its last byte, unless its receiver acted
//! on it before that came. Who reads the end of a request after it has answered (the record that
//! closes a FastCGI request), or passes on a body while it comes, was not waiting for the network.
//! Then the message was received with its first byte, so that the node's time is not negative and
//! the network's is not what the receiver took.
//!
//! What the receiver did first because of a message is below it in its path, so the answer need not
//! be looked for there. Of a call by itself the answer tells.

use message_trace::MessageTrace;

/// The receipt of a message: nanoseconds on the common clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageReceipt {
    /// When its first byte was received; `None` where that was not seen.
    pub(crate) first: Option<i64>,
    /// When it was received, as far as is known by now: with its last byte or, where its receiver
    /// acted earlier, its first.
    pub(crate) at: Option<i64>,
}

impl MessageReceipt {
    /// The receipt of the message of that row, as long as its receiver has not acted on it.
    pub(crate) fn from_row(trace: &MessageTrace, row: usize) -> MessageReceipt {
        MessageReceipt::new(trace.arrival_time(row), trace.recv_ts(row))
    }

    /// The receipt of a message whose first and last byte were received then.
    pub(crate) fn new(first: Option<i64>, last: Option<i64>) -> MessageReceipt {
        MessageReceipt { first, at: last }
    }

    /// Its receiver has sent because of it, if it is known when.
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
