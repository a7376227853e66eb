//! Silent turns: turns that cannot be read, or that have no name in their protocol. A turn is what
//! one side sends until the other side sends.
//!
//! Bytes after an operation count as part of its message until the next operation begins, whatever
//! the other side sends meanwhile. A turn that begins a message is therefore never skipped:
//! otherwise one statement of an unknown form would hide all later calls. Such a turn is one
//! request or response without a name, at its first byte. A turn that continues an earlier message
//! is a part of that message.

use crate::flow_snippet::{FlowSpeaker, LogPosition};
use crate::operation::{MessageRole, ProtocolOperation};

/// Replacement for a byte that the library blanked.
const BLANK: u8 = b'*';

/// Number of blank bytes at the front of a message that cannot be its beginning: they replace bytes
/// that the library did not understand, and must not be read as a length.
const MIN_BLANKS: usize = 4;

/// Latest turn of one side, as long as it has no operation.
#[derive(Debug, Default)]
pub(crate) struct SilentTurn {
    /// Log position and role of the turn's operation; `None` if another operation was emitted.
    begin: Option<(LogPosition, MessageRole)>,
    /// Whether the turn's first message cannot be read.
    is_lost: bool,
}

impl SilentTurn {
    /// Begins a turn at `place`, which is the log position of its operation if no other is emitted.
    pub(crate) fn begin_turn(&mut self, place: LogPosition, role: MessageRole) {
        *self = SilentTurn { begin: Some((place, role)), is_lost: false };
    }

    /// Notes that an operation of the side was emitted at `place`.
    pub(crate) fn note_operation(&mut self, place: LogPosition) {
        if self.begin.is_some_and(|(begin, _)| begin <= place) {
            self.begin = None;
        }
    }

    /// Marks the turn as unreadable from its present position on.
    pub(crate) fn lose_track(&mut self) {
        self.is_lost |= self.begin.is_some();
    }

    /// Takes the operation that stands for the turn; `None` if the turn has another operation. A
    /// turn that could be read has one only if `quiet`.
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

/// Role of a side's turn if nothing else is known about it.
pub(crate) fn role_of_speaker(speaker: FlowSpeaker) -> MessageRole {
    match speaker {
        FlowSpeaker::Client => MessageRole::Request,
        FlowSpeaker::Server => MessageRole::Response,
    }
}

/// Whether the first bytes of a message are blank: they replace bytes that the library did not
/// understand.
pub(crate) fn begins_blank(bytes: &[u8]) -> bool {
    bytes.get(..MIN_BLANKS).is_some_and(all_blank)
}

/// Whether all bytes are blank.
pub(crate) fn all_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == BLANK)
}

#[cfg(test)]
#[path = "unread_tests.rs"]
mod tests;
