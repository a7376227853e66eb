//! Single columns of a trace, for passes that read few of them.

use super::{MessageTrace, NIL, NO_CALL};
use crate::flow::FlowId;
#[cfg(doc)]
use crate::message::Message;
use crate::message::{ConnectSpan, arrival_of_times};

impl MessageTrace {
    /// [`Message::send_ts`] of row `row` alone, for passes over one column.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_ts(&self, row: usize) -> Option<i64> {
        Some(self.times[4][row]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_ts`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_ts(&self, row: usize) -> Option<i64> {
        Some(self.times[5][row]).filter(|time| *time != NIL)
    }

    /// [`Message::send_first`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_first(&self, row: usize) -> Option<i64> {
        Some(self.times[0][row]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_first`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_first(&self, row: usize) -> Option<i64> {
        Some(self.times[2][row]).filter(|time| *time != NIL)
    }

    /// [`Message::arrival_time`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn arrival_time(&self, row: usize) -> Option<i64> {
        arrival_of_times(self.recv_ts(row), self.recv_first(row), self.recv_last(row))
    }

    /// [`Message::send_last`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_last(&self, row: usize) -> Option<i64> {
        Some(self.times[1][row]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_last`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_last(&self, row: usize) -> Option<i64> {
        Some(self.times[3][row]).filter(|time| *time != NIL)
    }

    /// [`Message::flow`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn flow(&self, row: usize) -> FlowId {
        self.flow[row]
    }

    /// [`Message::direction`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn direction(&self, row: usize) -> i8 {
        self.direction[row]
    }

    /// [`Message::bytes`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn bytes(&self, row: usize) -> i64 {
        self.bytes[row]
    }

    /// [`Message::is_connect`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn is_connect(&self, row: usize) -> bool {
        self.parts[row] == 0
    }

    /// [`Message::connect_span`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn connect_span(&self, row: usize) -> Option<ConnectSpan> {
        self.connects.get(row).and_then(|_| self.message(row).connect_span())
    }

    /// The number of the call id of row `row` in this trace, for passes that only compare ids.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn call_number(&self, row: usize) -> Option<u32> {
        Some(self.call[row]).filter(|call| *call != NO_CALL)
    }
}
