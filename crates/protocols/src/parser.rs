//! What a protocol's parser is to a conversation.

use crate::operation::Out;
use crate::piece::{Class, Piece};

/// A parser of one protocol on one flow.
pub(crate) trait Parser: Send {
    /// Takes what was said next, and adds to `out` what is certain by then.
    fn take(&mut self, piece: &Piece<'_>, out: &mut Out<'_>) -> Next;

    /// Adds what is known of messages that never became whole.
    fn finish(&mut self, out: &mut Out<'_>);
}

/// What a flow is after a piece.
pub(crate) enum Next {
    /// As before.
    Same,
    /// It goes on in another protocol, whose bytes are kept by the rule of a class.
    Become(Box<dyn Parser>, Class),
    /// It goes on in a protocol that has to be recognised.
    Unknown,
    /// It goes on in what cannot be read.
    Silent,
}
