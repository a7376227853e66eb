//! Why an end of a message is missing: what the counts of the unmatched are named by.

/// A cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UnmatchedCause {
    /// Nothing is missing.
    Nothing,
    /// The process at the other end was not traced.
    Untraced,
    /// The other end's host was traced, and listened there, but nobody was seen to accept.
    NotAccepted,
    /// The socket's names are not known.
    NoNames,
    /// The socket is connected to itself.
    Itself,
    /// The receiver did not read them.
    Unread,
    /// No call was seen to send them.
    Unsent,
    /// The other end's log has forgotten some of what was there.
    Forgotten,
    /// It went at a time when the other end was not recorded.
    NotRecorded,
    /// Sent to a socket that was there, and never received.
    Lost,
    /// Sent to a socket that had been closed, or was not open yet.
    Closed,
    /// The import has a time of one end only.
    NotImported,
}

/// The name in the counts of what is missing because the process at the other end was not recorded.
pub const NOT_RECORDED: &str = "peer not traced";

/// Whether a cause, by its name in the counts, is something that the recorded system did. It is no
/// hole of the recording.
pub fn is_of_the_system(cause: &str) -> bool {
    [UnmatchedCause::Itself, UnmatchedCause::Unread, UnmatchedCause::Lost, UnmatchedCause::Closed]
        .iter()
        .any(|of_system| of_system.name() == cause)
}

impl UnmatchedCause {
    /// Its name in the counts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            UnmatchedCause::Nothing => "",
            UnmatchedCause::Untraced => NOT_RECORDED,
            UnmatchedCause::NotAccepted => "not accepted",
            UnmatchedCause::NoNames => "names not known",
            UnmatchedCause::Itself => "connected to itself",
            UnmatchedCause::Unread => "not read by the receiver",
            UnmatchedCause::Unsent => "sending not seen",
            UnmatchedCause::Forgotten => "forgotten by the other end's log",
            UnmatchedCause::NotRecorded => "the other end was not recorded then",
            UnmatchedCause::Lost => "lost",
            UnmatchedCause::Closed => "receiver closed",
            UnmatchedCause::NotImported => "the import has no time of the other end",
        }
    }
}
