//! Single columns of a trace, for passes that read few of them.

use super::{MessageTrace, NIL, NO_CALL};
use crate::flow::FlowId;
#[cfg(doc)]
use crate::message::Message;
use crate::message::{ConnectSpan, MessageId, arrival_of_times};

impl MessageTrace {
    /// [`Message::send_ts`] of this message alone, for passes over one column.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_ts(&self, id: MessageId) -> Option<i64> {
        Some(self.times[4][id.index()]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_ts`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_ts(&self, id: MessageId) -> Option<i64> {
        Some(self.times[5][id.index()]).filter(|time| *time != NIL)
    }

    /// [`Message::send_first`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_first(&self, id: MessageId) -> Option<i64> {
        Some(self.times[0][id.index()]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_first`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_first(&self, id: MessageId) -> Option<i64> {
        Some(self.times[2][id.index()]).filter(|time| *time != NIL)
    }

    /// [`Message::arrival_time`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn arrival_time(&self, id: MessageId) -> Option<i64> {
        arrival_of_times(self.recv_ts(id), self.recv_first(id), self.recv_last(id))
    }

    /// [`Message::send_last`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_last(&self, id: MessageId) -> Option<i64> {
        Some(self.times[1][id.index()]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_last`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_last(&self, id: MessageId) -> Option<i64> {
        Some(self.times[3][id.index()]).filter(|time| *time != NIL)
    }

    /// [`Message::flow`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn flow(&self, id: MessageId) -> FlowId {
        self.flow[id.index()]
    }

    /// [`Message::direction`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn direction(&self, id: MessageId) -> i8 {
        self.direction[id.index()]
    }

    /// [`Message::bytes`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn bytes(&self, id: MessageId) -> i64 {
        self.bytes[id.index()]
    }

    /// [`Message::is_connect`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn is_connect(&self, id: MessageId) -> bool {
        self.parts[id.index()] == 0
    }

    /// [`Message::connect_span`] of this message alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn connect_span(&self, id: MessageId) -> Option<ConnectSpan> {
        self.connects.get(id).and_then(|_| self.message(id).connect_span())
    }

    /// The number of the message's call id in this trace, for passes that only compare ids.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn call_number(&self, id: MessageId) -> Option<u32> {
        Some(self.call[id.index()]).filter(|call| *call != NO_CALL)
    }
}
