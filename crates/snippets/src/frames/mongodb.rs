//! MongoDB: messages that contain documents.

use crate::bytes::TurnBytes;

/// Blanks MongoDB messages. Returns whether the turn is certainly of this protocol.
pub(crate) fn blank_mongodb(turn: &mut TurnBytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let opcode = turn.little_endian(at + 12, 4);
        let length = turn.little_endian(at, 4).filter(|length| (20..48_000_000).contains(length));
        let is_known = |length: &usize| match opcode {
            // OP_REPLY is too small a number to be proof: the document has to end with the message.
            Some(1) => turn
                .little_endian(at + 36, 4)
                .map_or(turn.len() == 16, |document| document + 36 == *length),
            opcode => matches!(opcode, Some(2004 | 2012 | 2013)),
        };
        let Some(length) = length.filter(is_known) else {
            return turn.blank_rest(at);
        };
        let (from, to) = (at + 16, at + length);
        let is_request = turn.little_endian(at + 8, 4) == Some(0) && opcode != Some(1);
        match opcode {
            Some(2013) => {
                let mut here = from + 4;
                // Sequences of documents may come first.
                while turn.byte_at(here) == Some(1) && here < to {
                    let size = turn.little_endian(here + 1, 4).unwrap_or(usize::MAX >> 1);
                    turn.blank_range(here + 5, here + 1 + size);
                    here += 1 + size;
                }
                match turn.byte_at(here) {
                    Some(0) => blank_document(turn, here + 1, to, is_request),
                    _ => turn.blank_range(here, to),
                }
            }
            Some(2004) => {
                let end = turn.find_byte(0, from + 4, to).unwrap_or(to);
                match turn.range(from + 4, end).ends_with(b".$cmd") {
                    true => blank_document(turn, end + 9, to, is_request),
                    false => turn.blank_range(from + 4, to),
                }
            }
            Some(1) => blank_document(turn, from + 20, to, false),
            _ => turn.blank_range(from, to),
        }
        at = to;
    }
    true
}

/// Blanks the values of a document, except for the collection, which is the first value of a
/// request, and the fields with the outcome of a command.
fn blank_document(turn: &mut TurnBytes<'_>, from: usize, to: usize, is_request: bool) {
    let mut at = from + 4;
    let mut is_first = is_request;
    while let Some(kind) = turn.byte_at(at).filter(|kind| *kind != 0 && at < to) {
        let Some(end) = turn.find_byte(0, at + 1, to.min(at + 66)) else { break };
        let value = end + 1;
        let name = turn.range(at + 1, end);
        let is_plain =
            name.iter().all(|of| of.is_ascii_alphanumeric() || matches!(of, b'_' | b'$'));
        let names_user = name
            .windows(4)
            .any(|of| of.eq_ignore_ascii_case(b"user") || of.eq_ignore_ascii_case(b"role"));
        let is_outcome = matches!(name, b"ok" | b"code");
        let size = turn.little_endian(value, 4);
        let length = match kind {
            1 | 9 | 17 | 18 => Some(8),
            2 | 13 | 14 => size.and_then(|size| size.checked_add(4)),
            3 | 4 | 15 => size,
            5 => size.and_then(|size| size.checked_add(5)),
            7 => Some(12),
            8 => Some(1),
            16 => Some(4),
            19 => Some(16),
            6 | 10 | 127 | 255 => Some(0),
            _ => break,
        };
        let Some(after) = length.and_then(|length| value.checked_add(length)) else {
            turn.blank_range(value, to);
            return;
        };
        // The length field is kept.
        let inner = if matches!(kind, 2..=5 | 13..=15) { value + 4 } else { value };
        match kind {
            2 if is_first && !names_user => {}
            1 | 16 if is_outcome => {}
            // The zero byte that ends a text stays.
            2 => turn.blank_range(inner, after - 1),
            _ => turn.blank_range(inner, after),
        }
        if !is_plain {
            turn.blank_range(at + 1, end);
        }
        is_first = false;
        at = after;
    }
    turn.blank_range(at, to);
}
