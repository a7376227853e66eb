//! Connect time: how long the sender of a message waited for the connection that begins with the
//! message. The connect time is part of the time since the receipt of the message's cause, but not
//! of the node's own time: the node latency excludes it.
//!
//! Only the request that sends first on a connection can have waited for it, and only if `connect`
//! was called while its cause was served. A connection that was made before the cause came, for
//! another request or for a pool, caused no waiting.

use message_trace::MessageId;

use super::messages::PathMessages;
use crate::naming::Naming;
use crate::receipt::MessageReceipt;

/// A tree of messages under examination.
pub(crate) struct MessageTree<'a> {
    /// The messages, with their depths.
    pub(crate) messages: &'a [(MessageId, u32)],
    /// The index of each message's cause.
    pub(crate) causes: &'a [Option<u32>],
    /// When each message was received.
    pub(crate) receipts: &'a [MessageReceipt],
}

impl MessageTree<'_> {
    /// Returns the time for which the sender of the message at `place` waited for its connection,
    /// in nanoseconds; `None` if it did not.
    #[inline]
    pub(crate) fn connect_time(
        &self,
        place: usize,
        all: &PathMessages,
        naming: &Naming,
    ) -> Option<i64> {
        let message = self.messages[place].0;
        let connect = all.connect_call(message)?;
        let cause = self.causes[place]? as usize;
        if !self.is_served_at(connect.begin, cause, naming) {
            return None;
        }
        let begin = self.receipts[cause].at?.max(connect.begin);
        let end = all.send_ts(message)?.min(connect.end);
        Some(end.saturating_sub(begin)).filter(|time| *time > 0)
    }

    /// Returns whether the receiver of the message at `cause` already served its request at `time`.
    /// The message is this request, or the response to an earlier call that was made for it.
    fn is_served_at(&self, time: i64, mut cause: usize, naming: &Naming) -> bool {
        loop {
            let Some(received) = self.receipts[cause].first else { return false };
            if received <= time {
                return true;
            }
            let above = |place: usize| self.causes[place].map(|cause| cause as usize);
            let ends = |place: usize| {
                let message = self.messages[place].0;
                [naming.src(message), naming.dst(message)]
            };
            let [from, to] = ends(cause);
            let call = std::iter::successors(above(cause), |place| above(*place))
                .find(|place| ends(*place) == [to, from]);
            match call.and_then(above) {
                Some(earlier) => cause = earlier,
                None => return false,
            }
        }
    }
}

#[cfg(test)]
#[path = "connecting_tests.rs"]
mod tests;
