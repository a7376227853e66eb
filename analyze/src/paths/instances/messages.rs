//! The times, size and operation of each message of a batch, by which its paths are described. All
//! other facts of a message are dropped before the next batch.

use std::ops::Range;

use message_trace::{ConnectSpan, MessageId, MessageTrace, OperationRole, SparseColumn};

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
    /// operation of a message.
    pub(crate) fn append_rows(
        &mut self,
        trace: &MessageTrace,
        rows: Range<usize>,
        mut operation: impl FnMut(MessageId, u32) -> u32,
    ) {
        let ids = MessageId::of_rows(rows.clone());
        self.send_ts.extend(ids.clone().map(|id| trace.send_ts(id).unwrap_or(NIL)));
        self.arrival.extend(ids.clone().map(|id| trace.arrival_time(id).unwrap_or(NIL)));
        self.recv_ts.extend(ids.clone().map(|id| trace.recv_ts(id).unwrap_or(NIL)));
        let own_id =
            |id: MessageId| MessageId::from_index(self.bytes.len() + id.index() - rows.start);
        for id in ids.clone().filter(|_| trace.has_connects()) {
            if let Some(connect) = trace.connect_span(id) {
                self.connects.push(own_id(id), connect);
            }
        }
        for id in ids.clone().filter(|_| trace.has_operations()) {
            let Some(facts) = trace.operations(id) else { continue };
            let name = facts.name.filter(|_| facts.role != OperationRole::Response);
            let operation = name.map(|name| operation(id, name));
            let known = PathOperation { operation, is_error: facts.response_outcome() };
            if known != PathOperation::default() {
                self.operations.push(own_id(id), known);
            }
        }
        self.bytes.extend(ids.map(|id| trace.bytes(id)));
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
    pub(crate) fn send_ts(&self, message: MessageId) -> Option<i64> {
        Some(self.send_ts[message.index()]).filter(|time| *time != NIL)
    }

    /// Returns when the first and the last byte were received.
    #[inline]
    pub(crate) fn receipt(&self, message: MessageId) -> MessageReceipt {
        let known = |time: i64| Some(time).filter(|time| *time != NIL);
        MessageReceipt::new(
            known(self.arrival[message.index()]),
            known(self.recv_ts[message.index()]),
        )
    }

    /// Returns when the connection that begins with the message was made; `None` if the message is
    /// not the first on a connection.
    #[inline]
    pub(crate) fn connect_call(&self, message: MessageId) -> Option<ConnectSpan> {
        self.connects.get(message)
    }

    /// Returns the operation of the message.
    #[inline]
    pub(crate) fn operations(&self, message: MessageId) -> PathOperation {
        self.operations.get(message).unwrap_or_default()
    }

    /// Returns the size of the payload, in bytes.
    #[inline]
    pub(crate) fn bytes(&self, message: MessageId) -> i64 {
        self.bytes[message.index()]
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
