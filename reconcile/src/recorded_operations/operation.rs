//! Recorded operation of a log.

use out_of_core::NameId;
use protocols::{MessageRole, TraceContext};
use socket_log::encode::Direction;

/// An operation, with the place in its log where its message begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedOperation {
    /// The flow's number in the log.
    pub(crate) flow: u32,
    pub(crate) direction: Direction,
    /// Time of the call that moved the message's first byte, in the log's ticks.
    pub(crate) ticks: u64,
    /// Number of bytes in the call before the message.
    pub(crate) at: u32,
    pub(crate) role: MessageRole,
    pub(crate) is_error: bool,
    /// Texts, by their numbers among the names of the log, and then of all logs.
    pub(crate) protocol: NameId,
    pub(crate) name: NameId,
    pub(crate) detail: NameId,
    pub(crate) status: NameId,
    /// The number that pairs a request with its response on one connection.
    pub(crate) call: Option<u64>,
    pub(crate) trace: Option<TraceContext>,
}

impl RecordedOperation {
    /// Whether the receiver's log recorded the operation.
    pub(crate) fn is_received(&self) -> bool {
        self.direction == Direction::Receive
    }

    /// The key by which the operations of one log are sorted.
    pub(crate) fn sort_key(&self) -> (u32, bool, u64, u32) {
        (self.flow, self.is_received(), self.ticks, self.at)
    }
}

#[cfg(test)]
impl RecordedOperation {
    /// A request without names at a place.
    pub(crate) fn from_place(
        flow: u32,
        direction: Direction,
        ticks: u64,
        at: u32,
    ) -> RecordedOperation {
        RecordedOperation {
            flow,
            direction,
            ticks,
            at,
            role: MessageRole::Request,
            is_error: false,
            protocol: NameId::default(),
            name: NameId::default(),
            detail: NameId::default(),
            status: NameId::default(),
            call: None,
            trace: None,
        }
    }
}
