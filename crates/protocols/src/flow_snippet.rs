//! Flow snippet: the part of a message that the preloaded library captured, as a conversation
//! receives it. A turn is what one side sends until the other side sends.

/// Sender of a message on a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowSpeaker {
    /// The side that connected or sent the first datagram.
    Client,
    /// The accepting side of the flow.
    Server,
}

impl FlowSpeaker {
    /// Returns the other side.
    pub fn opposite_side(self) -> FlowSpeaker {
        match self {
            FlowSpeaker::Client => FlowSpeaker::Server,
            FlowSpeaker::Server => FlowSpeaker::Client,
        }
    }
}

/// Rule by which the library chose the bytes to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SnippetRule {
    /// HTTP/1 heads: the first line, a few chosen headers, and the empty line.
    Http1,
    /// HTTP/2 frames without bodies. A DATA frame that ends a stream is kept as its header of 9
    /// bytes.
    Http2,
    /// Other protocols: at most the first 256 bytes of a turn, or of a datagram. For Redis, the
    /// type and the first text of each message, as a snippet that does not continue.
    Other,
}

/// Position of bytes in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    /// Time of the call that moved the bytes, in the log's ticks.
    pub ticks: u64,
    /// Number of bytes of the call before the bytes of the snippet.
    pub at: u32,
}

/// Bytes that one side sent, as far as they were captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSnippet<'a> {
    /// Sender of the bytes.
    pub speaker: FlowSpeaker,
    /// Rule by which the library chose the bytes.
    pub class: SnippetRule,
    /// The captured bytes of the snippet.
    pub bytes: &'a [u8],
    /// Whether the bytes follow the previous snippet of the same sender without a gap. In HTTP, a
    /// snippet that does not continue begins a new head or frame, and bytes left out by the rule
    /// are no gap. In other protocols, the first snippet of a turn need not be marked as
    /// continuing: it continues if the previous turn was kept with less than 256 bytes and was not
    /// cut.
    pub continues: bool,
    /// Whether the snippet has the first bytes that this side sent after the other side did.
    pub begins_turn: bool,
    /// Whether further bytes of the same head or turn were left out after the snippet.
    pub cut: bool,
    /// Whether the bytes are a whole datagram.
    pub datagram: bool,
    /// Log position of the first byte.
    pub place: LogPosition,
}
