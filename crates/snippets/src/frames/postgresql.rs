//! PostgreSQL: messages by their types, and what a client begins with.

use crate::bytes::Bytes;
use crate::context::{Context, State};
use crate::sql::{self, Dialect};

/// Messages of PostgreSQL, by their types; those that are not whole are blanked.
pub(crate) fn postgresql(turn: &mut Bytes<'_>) -> bool {
    const TYPES: &[u8] = b"QPBEDCHSFpdcfXRK1237tnTAINZsvGWV";
    let is_type = |turn: &Bytes<'_>, at: usize| {
        turn.at(at).is_some_and(|kind| TYPES.contains(&kind))
            && turn.big(at + 1, 4).is_none_or(|length| (4..1 << 24).contains(&length))
    };
    // The highest byte of the first length is there, so that it is no text.
    if !is_type(turn, 0) || turn.at(1) != Some(0) {
        return false;
    }
    let mut at = 0;
    while at < turn.len() {
        let Some(length) = turn.big(at + 1, 4).filter(|_| is_type(turn, at)) else {
            // A head that is not whole; or the end of what was understood.
            if turn.len() - at > 5 || !is_type(turn, at) {
                turn.blank(at, turn.len());
            }
            return true;
        };
        let (from, to) = (at + 5, at + 1 + length);
        match turn.at(at) {
            Some(b'Q') => statement(turn, from, to),
            Some(b'P') => {
                let text = name(turn, from, to);
                statement(turn, text, to);
            }
            Some(b'B') => {
                let behind = name(turn, from, to);
                let behind = name(turn, behind, to);
                turn.blank(behind, to);
            }
            // The execution of a portal, or an error.
            Some(b'E') if turn.at(from) == Some(b'S') && length > 12 => fields(turn, from, to),
            Some(b'E') => {
                let behind = name(turn, from, to);
                turn.blank(behind, to);
            }
            _ => turn.blank(from, to),
        }
        at = to;
    }
    true
}

/// Blanks the literals of the statement that begins at `from` and ends with a zero, and all behind.
fn statement(turn: &mut Bytes<'_>, from: usize, to: usize) {
    let end = turn.find(0, from, to);
    let text_end = end.unwrap_or(to);
    let whole = end.is_some();
    if sql::begins(turn.range(from, text_end), whole) {
        sql::blank(turn.range_mut(from, text_end), Dialect::PostgreSql);
    } else {
        turn.blank(from, text_end);
    }
    turn.blank(text_end + 1, to);
}

/// Index behind the name at `from`, which is blanked where it is none of a statement or a portal.
fn name(turn: &mut Bytes<'_>, from: usize, to: usize) -> usize {
    let end = turn.find(0, from, to).unwrap_or(to.min(turn.len()));
    let is_plain = turn.range(from, end).iter().all(|byte| byte.is_ascii_graphic());
    if end - from.min(end) > 63 || !is_plain {
        turn.blank(from, end);
    }
    end + 1
}

/// Blanks the fields of an error but for its severity and its code.
fn fields(turn: &mut Bytes<'_>, from: usize, to: usize) {
    let mut at = from;
    while let Some(kind) = turn.at(at).filter(|kind| *kind != 0 && at < to) {
        let end = turn.find(0, at, to).unwrap_or(to);
        if !(matches!(kind, b'S' | b'V' | b'C') && end - at <= 12) {
            turn.blank(at + 1, end);
        }
        at = end + 1;
    }
}

/// What a client of PostgreSQL begins with. Its parameters are blanked, but for the name of the
/// first.
pub(crate) fn postgresql_startup(
    turn: &mut Bytes<'_>,
    context: &mut Context,
    direction: u8,
) -> bool {
    let (Some(length), Some(code)) = (turn.big(0, 4), turn.big(4, 4)) else { return false };
    match (length, code) {
        (8, 80_877_103 | 80_877_104) => {
            context.says(direction, State::WantsTls);
            turn.blank(8, turn.len());
        }
        // A request to cancel has a secret key.
        (16..=512, 80_877_102) => turn.blank(8, turn.len()),
        (9..=10_000, 0x3_0000) => {
            let end = turn.find(0, 8, turn.len()).unwrap_or(turn.len());
            let is_name =
                turn.range(8, end).iter().all(|of| of.is_ascii_alphabetic() || *of == b'_');
            if !is_name || !(3..=20).contains(&(end - 8)) {
                return false;
            }
            turn.blank(end + 1, turn.len());
        }
        _ => return false,
    }
    true
}
