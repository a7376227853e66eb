//! A message before sorting, as a record that is sorted by time.

use message_trace::{EndPair, EndpointId, FlowId, Message, NodeEnd, NodeId, TransportProtocol};
use out_of_core::KeyedRecord;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Stands for an unknown time.
pub(super) const NIL: i64 = i64::MIN;
/// Stands for an unknown thread.
pub(super) const NO_THREAD: i32 = i32::MIN;
/// Cause of a message that has none.
pub(super) const NO_CAUSE: u64 = u64::MAX;

/// A message before sorting. Until messages are sorted, they are numbered in the order in which
/// they are made.
#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct MessageRecord {
    pub(super) sent: i64,
    pub(super) received: i64,
    /// Number of the message until messages are sorted.
    pub(super) made: u64,
    /// Number of the message's cause until messages are sorted.
    pub(super) cause: u64,
    /// Probability of the cause or, for a message without a cause, that it has none.
    pub(super) probability: f64,
    /// Number of the step that the message begins or ends, as its call or its response.
    pub(super) step: u64,
    pub(super) flow: FlowId,
    pub(super) bytes: i64,
    pub(super) src: i32,
    pub(super) dst: i32,
    pub(super) src_endpoint: u32,
    pub(super) dst_endpoint: u32,
    pub(super) src_tid: i32,
    pub(super) dst_tid: i32,
    pub(super) direction: i8,
    /// Transport protocol, as an index into [`TransportProtocol::ALL`].
    pub(super) protocol: u8,
    pub(super) unused: [u8; 6],
}

impl KeyedRecord for MessageRecord {
    /// The time of the message, and the order in which it was made.
    type Key = (i64, u64);

    fn key(&self) -> (i64, u64) {
        let time = if self.sent == NIL { self.received } else { self.sent };
        (time, self.made)
    }
}

impl MessageRecord {
    /// Converts the record to a message.
    pub(super) fn to_message(&self) -> Message {
        let end = |node: i32, endpoint: u32, tid: i32| NodeEnd {
            node: NodeId::from_index(node as usize),
            endpoint: EndpointId::from_index(endpoint as usize),
            tid: Some(tid).filter(|tid| *tid != NO_THREAD),
        };
        let protocol = TransportProtocol::ALL.get(usize::from(self.protocol)).copied();
        let ends = EndPair {
            src: end(self.src, self.src_endpoint, self.src_tid),
            dst: end(self.dst, self.dst_endpoint, self.dst_tid),
            protocol: protocol.unwrap_or(TransportProtocol::Other),
        };
        let known = |time: i64| Some(time).filter(|time| *time != NIL);
        Message::between_ends(ends, self.flow, self.direction)
            .with_times(known(self.sent), known(self.received))
            .with_payload(self.bytes, 1)
    }
}
