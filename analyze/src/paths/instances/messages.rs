//! The times, size and operation of each message of a batch, by which its paths are described. The
//! rest of a message is dropped before the next batch.

use std::ops::Range;

use message_trace::{ConnectSpan, MessageTrace, OperationRole, SparseColumn};

use crate::receipt::MessageReceipt;

/// Value of a missing time in a column.
const NIL: i64 = i64::MIN;

/// Messages of a trace, by columns. Times are nanoseconds on the common clock.
#[derive(Debug, Default)]
pub(crate) struct PathMessages {
    send_ts: Vec<i64>,
    arrival: Vec<i64>,
    recv_ts: Vec<i64>,
    bytes: Vec<i64>,
    connects: SparseColumn<ConnectSpan>,
    operations: SparseColumn<PathOperation>,
}

/// The operation of a message of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathOperation {
    /// Number of the name of the operation; `None` for a response.
    pub(crate) operation: Option<u32>,
    /// Whether the answering side failed, for a response.
    pub(crate) is_error: Option<bool>,
}

impl PathMessages {
    /// Appends these rows of `trace`. `operation` returns the number of the label in paths for the
    /// operation of a row.
    pub(crate) fn append_rows(
        &mut self,
        trace: &MessageTrace,
        rows: Range<usize>,
        mut operation: impl FnMut(usize, u32) -> u32,
    ) {
        self.send_ts.extend(rows.clone().map(|row| trace.send_ts(row).unwrap_or(NIL)));
        self.arrival.extend(rows.clone().map(|row| trace.arrival_time(row).unwrap_or(NIL)));
        self.recv_ts.extend(rows.clone().map(|row| trace.recv_ts(row).unwrap_or(NIL)));
        for row in rows.clone().filter(|_| trace.has_connects()) {
            if let Some(connect) = trace.connect_span(row) {
                self.connects.push(self.bytes.len() + row - rows.start, connect);
            }
        }
        for row in rows.clone().filter(|_| trace.has_operations()) {
            let Some(facts) = trace.operations(row) else { continue };
            let name = facts.name.filter(|_| facts.role != OperationRole::Response);
            let operation = name.map(|name| operation(row, name));
            let known = PathOperation { operation, is_error: facts.response_outcome() };
            if known != PathOperation::default() {
                self.operations.push(self.bytes.len() + row - rows.start, known);
            }
        }
        self.bytes.extend(rows.map(|row| trace.bytes(row)));
    }

    /// Removes the first `messages`.
    pub(crate) fn remove_first(&mut self, messages: usize) {
        for column in [&mut self.send_ts, &mut self.arrival, &mut self.recv_ts, &mut self.bytes] {
            column.drain(..messages);
        }
        self.connects.remove_first(messages);
        self.operations.remove_first(messages);
    }

    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns when the first byte was sent.
    #[inline]
    pub(crate) fn send_ts(&self, message: usize) -> Option<i64> {
        Some(self.send_ts[message]).filter(|time| *time != NIL)
    }

    /// Returns when the first and the last byte were received.
    #[inline]
    pub(crate) fn receipt(&self, message: usize) -> MessageReceipt {
        let known = |time: i64| Some(time).filter(|time| *time != NIL);
        MessageReceipt::new(known(self.arrival[message]), known(self.recv_ts[message]))
    }

    /// Returns when the connection that begins with the message was made.
    #[inline]
    pub(crate) fn connect_call(&self, message: usize) -> Option<ConnectSpan> {
        self.connects.get(message)
    }

    /// Returns the operation of the message.
    #[inline]
    pub(crate) fn operations(&self, message: usize) -> PathOperation {
        self.operations.get(message).unwrap_or_default()
    }

    /// Returns the size of the payload, in bytes.
    #[inline]
    pub(crate) fn bytes(&self, message: usize) -> i64 {
        self.bytes[message]
    }
}

#[cfg(test)]
impl From<&MessageTrace> for PathMessages {
    fn from(trace: &MessageTrace) -> PathMessages {
        let mut messages = PathMessages::default();
        messages.append_rows(trace, 0..trace.len(), |_, name| name);
        messages
    }
}
