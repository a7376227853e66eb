//! DNS over streams and datagrams: the question of a message.

use crate::bytes::TurnBytes;

/// Offset after the question of a DNS message; `None` if it has no valid one.
pub(crate) fn question_end(message: &[u8]) -> Option<usize> {
    let word = |at: usize| {
        let pair = message.get(at..)?.first_chunk::<2>()?;
        Some(u16::from_be_bytes(*pair))
    };
    let flags = word(2)?;
    let is_known = flags & 0x40 == 0 && matches!(flags >> 11 & 15, 0 | 4 | 5);
    if !is_known || word(4) != Some(1) || [6, 8, 10].iter().any(|at| word(*at) > Some(500)) {
        return None;
    }
    let mut at = 12;
    loop {
        let label = usize::from(*message.get(at)?);
        at += 1 + label;
        if label > 63 || at > 12 + 255 {
            return None;
        }
        if label == 0 {
            break;
        }
    }
    matches!(word(at + 2)? & 0x7fff, 1 | 3 | 254 | 255).then_some(at + 4)
}

/// Blanks the names and all records of the DNS message that begins at `from`. Returns whether the
/// message has a valid question.
pub(crate) fn blank_dns(turn: &mut TurnBytes<'_>, from: usize) -> bool {
    let Some(end) = question_end(turn.rest_from(from)) else { return false };
    let mut at = from + 12;
    while let Some(label) = turn.byte_at(at).map(usize::from).filter(|label| *label > 0) {
        turn.blank_range(at + 1, at + 1 + label);
        at += 1 + label;
    }
    turn.blank_range(from + end, turn.len());
    true
}
