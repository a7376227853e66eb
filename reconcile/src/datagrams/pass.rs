//! Matching passes of datagrams, from the most exact to the least, and what each compares.

use crate::calls::DatagramCall;

/// How exactly the two sides must agree. Each pass works on the remainder of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchingPass {
    /// Both ports or the path, the size and the checksum.
    Exact,
    /// As `Exact`, but one side does not know the sender's port.
    UnknownSender,
    /// The sends without checksum: destination and size.
    UncheckedSend,
    /// The receives without checksum: destination and size.
    UncheckedReceive,
    /// Only a part was received, or captured, but of as many bytes as were sent.
    TruncatedAlike,
    /// Only a part was received, so neither size nor checksum are the sender's.
    Truncated,
    /// Size and checksum, between names that are translated to each other in both directions.
    TranslatedBothWays,
    /// Size and checksum, between names that are translated to each other in at least one
    /// direction.
    Translated,
}

impl MatchingPass {
    /// The passes for datagrams without checksum.
    pub(crate) const UNCHECKED: &[MatchingPass] =
        &[MatchingPass::UncheckedSend, MatchingPass::UncheckedReceive];

    /// Whether a datagram takes part.
    pub(super) fn includes_datagram(self, datagram: &DatagramCall) -> bool {
        match self {
            MatchingPass::Exact
            | MatchingPass::UnknownSender
            | MatchingPass::TranslatedBothWays
            | MatchingPass::Translated => !datagram.is_unchecked(),
            MatchingPass::UncheckedSend => !datagram.is_sent() || datagram.is_unchecked(),
            MatchingPass::UncheckedReceive => datagram.is_sent() || datagram.is_unchecked(),
            MatchingPass::TruncatedAlike | MatchingPass::Truncated => {
                datagram.is_sent() || datagram.is_truncated()
            }
        }
    }

    /// Checksum and size, if both sides have them.
    pub(super) fn content_key(self, datagram: &DatagramCall) -> (u32, u32) {
        match self {
            MatchingPass::Exact
            | MatchingPass::UnknownSender
            | MatchingPass::TranslatedBothWays
            | MatchingPass::Translated => (datagram.checksum, datagram.bytes),
            MatchingPass::UncheckedSend
            | MatchingPass::UncheckedReceive
            | MatchingPass::TruncatedAlike => (0, datagram.bytes),
            MatchingPass::Truncated => (0, 0),
        }
    }

    /// Whether both sides know the sender's port. If one does not, the known names must not
    /// contradict.
    pub(super) fn knows_source(self) -> bool {
        matches!(self, MatchingPass::Exact | MatchingPass::TruncatedAlike | MatchingPass::Truncated)
    }

    /// Whether the two sides have different names for the destination.
    pub(super) fn is_translated(self) -> bool {
        matches!(self, MatchingPass::TranslatedBothWays | MatchingPass::Translated)
    }

    /// Whether equal keys mean equal content, so that a surplus receive is a second copy.
    pub(super) fn matches_copies(self) -> bool {
        matches!(self, MatchingPass::Exact | MatchingPass::UnknownSender)
    }
}
