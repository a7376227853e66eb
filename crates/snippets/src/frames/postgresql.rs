//! PostgreSQL: typed messages and the startup messages of clients.

use crate::bytes::TurnBytes;
use crate::context::{TurnContext, TurnExpectation};
use crate::sql::{self, SqlDialect};

/// Blanks PostgreSQL messages by their types; incomplete messages are blanked as a whole. Returns
/// whether the turn is certainly of this protocol.
pub(crate) fn blank_postgresql(turn: &mut TurnBytes<'_>) -> bool {
    const TYPES: &[u8] = b"QPBEDCHSFpdcfXRK1237tnTAINZsvGWV";
    let is_type = |turn: &TurnBytes<'_>, at: usize| {
        turn.byte_at(at).is_some_and(|kind| TYPES.contains(&kind))
            && turn.big_endian(at + 1, 4).is_none_or(|length| (4..1 << 24).contains(&length))
    };
    // The highest byte of the first length must be zero, which excludes text.
    if !is_type(turn, 0) || turn.byte_at(1) != Some(0) {
        return false;
    }
    let mut at = 0;
    while at < turn.len() {
        let Some(length) = turn.big_endian(at + 1, 4).filter(|_| is_type(turn, at)) else {
            // An incomplete header, or the end of the understood messages.
            if turn.len() - at > 5 || !is_type(turn, at) {
                turn.blank_range(at, turn.len());
            }
            return true;
        };
        let (from, to) = (at + 5, at + 1 + length);
        match turn.byte_at(at) {
            Some(b'Q') => blank_statement(turn, from, to),
            Some(b'P') => {
                let text = statement_name_end(turn, from, to);
                blank_statement(turn, text, to);
            }
            Some(b'B') => {
                let after = statement_name_end(turn, from, to);
                let after = statement_name_end(turn, after, to);
                turn.blank_range(after, to);
            }
            // The execution of a portal, or an error.
            Some(b'E') if turn.byte_at(from) == Some(b'S') && length > 12 => {
                blank_error_fields(turn, from, to)
            }
            Some(b'E') => {
                let after = statement_name_end(turn, from, to);
                turn.blank_range(after, to);
            }
            _ => turn.blank_range(from, to),
        }
        at = to;
    }
    true
}

/// Blanks the literals of the zero-terminated statement at `from`, and everything after it.
fn blank_statement(turn: &mut TurnBytes<'_>, from: usize, to: usize) {
    let end = turn.find_byte(0, from, to);
    let text_end = end.unwrap_or(to);
    let whole = end.is_some();
    if sql::begins_statement(turn.range(from, text_end), whole) {
        sql::blank_literals(turn.range_mut(from, text_end), SqlDialect::PostgreSql);
    } else {
        turn.blank_range(from, text_end);
    }
    turn.blank_range(text_end + 1, to);
}

/// Index after the name at `from`, which is blanked if it cannot name a statement or a portal.
fn statement_name_end(turn: &mut TurnBytes<'_>, from: usize, to: usize) -> usize {
    let end = turn.find_byte(0, from, to).unwrap_or(to.min(turn.len()));
    let is_plain = turn.range(from, end).iter().all(|byte| byte.is_ascii_graphic());
    if end - from.min(end) > 63 || !is_plain {
        turn.blank_range(from, end);
    }
    end + 1
}

/// Blanks the fields of an error, except its severity and its code.
fn blank_error_fields(turn: &mut TurnBytes<'_>, from: usize, to: usize) {
    let mut at = from;
    while let Some(kind) = turn.byte_at(at).filter(|kind| *kind != 0 && at < to) {
        let end = turn.find_byte(0, at, to).unwrap_or(to);
        if !(matches!(kind, b'S' | b'V' | b'C') && end - at <= 12) {
            turn.blank_range(at + 1, end);
        }
        at = end + 1;
    }
}

/// Blanks a client's startup message. Its parameters are blanked, except for the name of the first.
/// Returns whether the turn is such a message.
pub(crate) fn blank_postgresql_startup(
    turn: &mut TurnBytes<'_>,
    context: &mut TurnContext,
    direction: u8,
) -> bool {
    let (Some(length), Some(code)) = (turn.big_endian(0, 4), turn.big_endian(4, 4)) else {
        return false;
    };
    match (length, code) {
        (8, 80_877_103 | 80_877_104) => {
            context.note_expectation(direction, TurnExpectation::WantsTls);
            turn.blank_range(8, turn.len());
        }
        // A cancel request contains a secret key.
        (16..=512, 80_877_102) => turn.blank_range(8, turn.len()),
        (9..=10_000, 0x3_0000) => {
            let end = turn.find_byte(0, 8, turn.len()).unwrap_or(turn.len());
            let is_name =
                turn.range(8, end).iter().all(|of| of.is_ascii_alphabetic() || *of == b'_');
            if !is_name || !(3..=20).contains(&(end - 8)) {
                return false;
            }
            turn.blank_range(end + 1, turn.len());
        }
        _ => return false,
    }
    true
}
