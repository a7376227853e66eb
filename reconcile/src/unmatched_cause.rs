//! Unmatched causes: why an end of a message is missing. The counts of unmatched data are grouped
//! by cause.

/// A cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UnmatchedCause {
    /// Nothing is missing.
    Nothing,
    /// The process at the other end was not traced.
    Untraced,
    /// The other end's host was traced, and listened there, but no accept was recorded.
    NotAccepted,
    /// The socket's names are unknown.
    NoNames,
    /// The socket is connected to itself.
    Itself,
    /// The receiver did not read the bytes.
    Unread,
    /// No call was recorded that sent the bytes.
    Unsent,
    /// Some records of the other end were overwritten.
    Forgotten,
    /// The other end was not recorded at that time.
    NotRecorded,
    /// Sent to an open socket, and never received.
    Lost,
    /// Sent to a socket that had been closed, or was not open yet.
    Closed,
    /// The import has a time of one end only.
    NotImported,
}

/// The name in the counts for a process at the other end that was not recorded.
pub const PEER_NOT_TRACED: &str = "peer not traced";

/// Whether a cause, by its name in the counts, is behaviour of the recorded system and thus not a
/// gap of the recording.
pub fn is_of_the_system(cause: &str) -> bool {
    [UnmatchedCause::Itself, UnmatchedCause::Unread, UnmatchedCause::Lost, UnmatchedCause::Closed]
        .iter()
        .any(|of_system| of_system.name() == cause)
}

impl UnmatchedCause {
    /// The name of the cause in the counts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            UnmatchedCause::Nothing => "",
            UnmatchedCause::Untraced => PEER_NOT_TRACED,
            UnmatchedCause::NotAccepted => "not accepted",
            UnmatchedCause::NoNames => "names not known",
            UnmatchedCause::Itself => "connected to itself",
            UnmatchedCause::Unread => "not read by the receiver",
            UnmatchedCause::Unsent => "sending not seen",
            UnmatchedCause::Forgotten => "overwritten in the other end's log",
            UnmatchedCause::NotRecorded => "the other end was not recorded then",
            UnmatchedCause::Lost => "lost",
            UnmatchedCause::Closed => "receiver closed",
            UnmatchedCause::NotImported => "the import has no time of the other end",
        }
    }
}
