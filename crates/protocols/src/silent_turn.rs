//! Silent turns: what cannot be read, and what a protocol has no name for.
//!
//! What follows an operation is taken for a part of its message until the next one begins, whatever
//! the other side says meanwhile. So a turn that begins a message is never passed over in silence:
//! one statement of an unknown form would take all calls behind it away. Such a turn is one request
//! or response without a name, at its first byte. A turn that goes on with a message from before is
//! a part of that.

use crate::flow_snippet::{FlowSpeaker, LogPosition};
use crate::operation::{MessageRole, ProtocolOperation};

/// Byte in the place of one that is not kept.
const BLANK: u8 = b'*';

/// Number of blank bytes that no message begins with: what they stand for was not understood, and
/// they must not be read as a length.
const BLANKS: usize = 4;

/// The latest turn of one side, as long as nothing is told about it.
#[derive(Debug, Default)]
pub(crate) struct SilentTurn {
    begin: Option<(LogPosition, MessageRole)>,
    /// Whether its first message cannot be read.
    is_lost: bool,
}

impl SilentTurn {
    /// A turn begins at `place`, which is that where nothing is told of it.
    pub(crate) fn begin_turn(&mut self, place: LogPosition, role: MessageRole) {
        *self = SilentTurn { begin: Some((place, role)), is_lost: false };
    }

    /// Something was told of the side, at `place`.
    pub(crate) fn note_operation(&mut self, place: LogPosition) {
        if self.begin.is_some_and(|(begin, _)| begin <= place) {
            self.begin = None;
        }
    }

    /// The turn cannot be read from here on.
    pub(crate) fn lose_track(&mut self) {
        self.is_lost |= self.begin.is_some();
    }

    /// Takes the operation that the turn is, unless something is told of it. A turn that was read
    /// is one only where `quiet` ones are.
    pub(crate) fn take_operation(
        &mut self,
        name: &'static str,
        quiet: bool,
    ) -> Option<ProtocolOperation> {
        let (begin, role) = self.begin.filter(|_| quiet || self.is_lost)?;
        self.begin = None;
        Some(ProtocolOperation::new(begin, role, name))
    }
}

/// What a side that is asked or answers says, where nothing else is known of it.
pub(crate) fn role_of_speaker(speaker: FlowSpeaker) -> MessageRole {
    match speaker {
        FlowSpeaker::Client => MessageRole::Request,
        FlowSpeaker::Server => MessageRole::Response,
    }
}

/// Whether bytes at the beginning of a message stand for what was not understood.
pub(crate) fn are_blank(bytes: &[u8]) -> bool {
    bytes.get(..BLANKS).is_some_and(all_blank)
}

/// Whether all bytes stand for others.
pub(crate) fn all_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == BLANK)
}

#[cfg(test)]
#[path = "unread_tests.rs"]
mod tests;
