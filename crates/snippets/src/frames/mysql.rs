//! MySQL and MariaDB: numbered packets.

use crate::bytes::TurnBytes;
use crate::sql::{self, SqlDialect};

/// Whether a turn is only the header of a MySQL packet, as its servers read it: a length below 64
/// KiB and the packet's number.
pub(crate) fn is_mysql_header(turn: &TurnBytes<'_>) -> bool {
    matches!(turn.rest_from(0), [_, _, 0, 0..=7])
}

/// Blanks MySQL packets. Returns whether the turn is certainly of this protocol.
pub(crate) fn blank_mysql(turn: &mut TurnBytes<'_>) -> bool {
    let mut at = 0;
    let mut last = None;
    while let (Some(length), Some(number)) = (turn.little_endian(at, 3), turn.byte_at(at + 3)) {
        let follows = match last {
            // A response, or the rest of a login.
            None => (1..=7).contains(&number) && turn.byte_at(2) == Some(0),
            Some(last) => number == last + 1 || number == 0 && last == u8::MAX,
        };
        if length == 0 && number == 0 || !(follows || number == 0 && is_command(turn, at, length)) {
            break;
        }
        last = Some(number);
        blank_packet(turn, at + 4, length, number);
        at += 4 + length;
    }
    match at {
        0 => false,
        _ if turn.len() >= at + 4 => turn.blank_rest(at),
        // An incomplete header of another packet may follow.
        _ => true,
    }
}

/// Whether a turn begins with a MySQL statement, which may be longer than its snippet. Nothing else
/// has a command byte and the first word of a statement at these positions.
pub(crate) fn is_mysql_statement(turn: &TurnBytes<'_>) -> bool {
    let length = turn.little_endian(0, 3).unwrap_or(0);
    turn.byte_at(3) == Some(0)
        && matches!(turn.byte_at(4), Some(3 | 22))
        && is_command(turn, 0, length)
}

/// Whether a turn begins like a MySQL response of several packets: the first packet has number 1,
/// and the header of the next one follows it.
pub(crate) fn is_mysql_response(turn: &TurnBytes<'_>) -> bool {
    let next = 4 + turn.little_endian(0, 3).unwrap_or(0);
    let is_head = |at: usize, number: u8| {
        turn.byte_at(at + 2) == Some(0) && turn.byte_at(at + 3) == Some(number)
    };
    is_head(0, 1) && is_head(next, 2)
}

/// Whether the packet at `at`, with a body of this length, is a client's command or a server's
/// greeting.
fn is_command(turn: &TurnBytes<'_>, at: usize, length: usize) -> bool {
    const COMMANDS: &[u8] =
        &[1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 17, 18, 21, 23, 24, 25, 26, 27, 28, 30, 31];
    // Only statements are longer than 64 KiB.
    let is_short = turn.byte_at(at + 2) == Some(0);
    match turn.byte_at(at + 4) {
        None => is_short,
        Some(3 | 22) => {
            let body = turn.range(at + 5, at + 4 + length);
            let text = body.strip_prefix(&[0, 1]).unwrap_or(body);
            // A statement of an unknown form is accepted if it is as long as its packet states.
            let is_exact = at == 0 && turn.len() == 4 + length && is_text(text);
            body.is_empty() || is_exact || sql::begins_statement(text, body.len() + 1 >= length)
        }
        Some(command) => is_short && COMMANDS.contains(&command),
    }
}

/// Whether the bytes are text.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x80..))
}

/// Blanks the body of the MySQL packet `number` of an exchange, except for its kind and codes.
fn blank_packet(turn: &mut TurnBytes<'_>, from: usize, length: usize, number: u8) {
    let to = from + length;
    let end = to.min(turn.len());
    match (number, turn.byte_at(from)) {
        (0, Some(3 | 22)) => {
            let has_attributes = turn.range(from + 1, from + 3) == [0, 1];
            let text = from + if has_attributes { 3 } else { 1 };
            if sql::begins_statement(turn.range(text, end), end == to) {
                sql::blank_literals(turn.range_mut(text, end), SqlDialect::MySql);
            } else {
                turn.blank_range(text, end);
            }
        }
        // Server greeting: version, connection id, challenge, capabilities, and the rest of the
        // challenge.
        (0, Some(10)) if length >= 30 => {
            let version = turn.find_byte(0, from, end).unwrap_or(end);
            turn.blank_range(version + 5, version + 13);
            turn.blank_range(version + 32, end);
        }
        // A prepared statement, referred to by its id.
        (0, Some(23 | 25 | 26 | 28)) => turn.blank_range(from + 5, end),
        // Login: the client's capabilities are kept.
        (1, _) if length >= 32 && turn.range(from + 9, from + 32).iter().all(|byte| *byte == 0) => {
            turn.blank_range(from + 32, end);
        }
        // An error with its code.
        (_, Some(0xff)) => turn.blank_range(from + 3, end),
        // A prepared statement's id.
        (1, Some(0)) if length == 12 && turn.range(from + 9, from + 10) == [0] => {
            turn.blank_range(from + 9, end);
        }
        // The kind of the response is kept, unless it could be a letter of another protocol's text.
        (_, Some(b' '..=b'~')) => turn.blank_range(from, end),
        _ => turn.blank_range(from + 1, end),
    }
}
