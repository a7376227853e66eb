//! What the preloaded library kept of one message, as it is given to a conversation.

/// Who said something on a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowSpeaker {
    /// The side that connected, or that sent the first datagram.
    Client,
    /// The other side.
    Server,
}

impl FlowSpeaker {
    /// The other side.
    pub fn opposite_side(self) -> FlowSpeaker {
        match self {
            FlowSpeaker::Client => FlowSpeaker::Server,
            FlowSpeaker::Server => FlowSpeaker::Client,
        }
    }
}

/// Which rule the library followed when it chose what to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SnippetRule {
    /// Heads of HTTP/1: the first line, a few chosen headers, and the empty line.
    Http1,
    /// Frames of HTTP/2 without those of bodies. A DATA frame that ends a stream is there as its
    /// head of 9 bytes.
    Http2,
    /// Anything else: at most the first 256 bytes of a turn, or of a datagram. Of Redis, the type
    /// and the first text of each message, which is a piece that does not continue.
    Other,
}

/// Where bytes are in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    /// Time of the call that moved the bytes, in the log's ticks.
    pub ticks: u64,
    /// Number of bytes of that call in front of these.
    pub at: u32,
}

/// Some bytes that one side said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSnippet<'a> {
    /// Who said them.
    pub speaker: FlowSpeaker,
    /// By which rule they were kept.
    pub class: SnippetRule,
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether they follow the piece before of the same speaker without a gap. Of HTTP, a piece
    /// that does not continue begins a new head or frame, and what is left out by rule makes no
    /// gap. Of other protocols, the first piece of a turn need not say that it continues: it does
    /// where less than 256 bytes of the turn before were kept, and none of these was cut.
    pub continues: bool,
    /// Whether they are the first that this side says after the other did.
    pub begins_turn: bool,
    /// Whether bytes behind these were left out that belong to the same head or turn.
    pub cut: bool,
    /// Whether they are a datagram of their own.
    pub datagram: bool,
    /// Where the first of them is.
    pub place: LogPosition,
}
