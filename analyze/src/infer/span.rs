//! A call as one of its two nodes sees it: from its first event there to its last, by the node's
//! own clock. The node that was called receives the request and sends the response; the one that
//! calls sends the request and receives the response.

/// A request or a call, from its first event at the node to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeSpan {
    /// The request was received, or the call was made: nanoseconds, the node's own clock.
    pub(super) begin: i64,
    /// The response was sent, or received; [`OPEN`] where none was seen.
    pub(super) end: i64,
    /// The kind: who asked whom, and at which port. Requests and calls of one kind are taken to be
    /// alike.
    pub(super) kind: u32,
}

/// The end of a span without one.
pub(super) const OPEN: i64 = i64::MAX;
