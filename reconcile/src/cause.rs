//! Why an end of a message is missing: what the counts of the unmatched are named by.

/// A cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
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
    /// Sent to a socket that was there, and never received.
    Lost,
    /// Sent to a socket that had been closed, or was not open yet.
    Closed,
}

impl Cause {
    /// Its name in the counts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Cause::Nothing => "",
            Cause::Untraced => "peer not traced",
            Cause::NotAccepted => "not accepted",
            Cause::NoNames => "names not known",
            Cause::Itself => "connected to itself",
            Cause::Unread => "not read by the receiver",
            Cause::Unsent => "sending not seen",
            Cause::Forgotten => "forgotten by the other end's log",
            Cause::Lost => "lost",
            Cause::Closed => "receiver closed",
        }
    }
}
