//! A call from the view of one of its two nodes: from its first event there to its last, on the
//! node's own clock. The called node receives the request and sends the response; the calling node
//! sends the request and receives the response.

/// A request or a call, from its first event at the node to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeSpan {
    /// The request was received, or the call was made: nanoseconds, the node's own clock.
    pub(super) begin: i64,
    /// The response was sent, or received; [`OPEN`] if none was seen.
    pub(super) end: i64,
    /// The kind: caller, callee, and port. Requests and calls of one kind are treated as alike.
    pub(super) kind: u32,
}

/// The end of a span that has no known end.
pub(super) const OPEN: i64 = i64::MAX;
