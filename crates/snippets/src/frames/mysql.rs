//! MySQL and MariaDB: packets with their numbers.

use crate::bytes::Bytes;
use crate::sql::{self, Dialect};

/// Whether a turn is the head of a packet of MySQL that came alone, as its servers read it: a
/// length below 64 KiB, and the packet's number.
pub(crate) fn is_head_of_mysql(turn: &Bytes<'_>) -> bool {
    matches!(turn.rest(0), [_, _, 0, 0..=7])
}

/// Packets of MySQL.
pub(crate) fn mysql(turn: &mut Bytes<'_>) -> bool {
    let mut at = 0;
    let mut last = None;
    while let (Some(length), Some(number)) = (turn.little(at, 3), turn.at(at + 3)) {
        let follows = match last {
            // An answer, or the rest of a login.
            None => (1..=7).contains(&number) && turn.at(2) == Some(0),
            Some(last) => number == last + 1 || number == 0 && last == u8::MAX,
        };
        if length == 0 && number == 0 || !(follows || number == 0 && is_command(turn, at, length)) {
            break;
        }
        last = Some(number);
        packet(turn, at + 4, length, number);
        at += 4 + length;
    }
    match at {
        0 => false,
        _ if turn.len() >= at + 4 => turn.blank_rest(at),
        // The head of another one, which is not whole, may follow.
        _ => true,
    }
}

/// Whether a turn begins with a statement of MySQL, which may be longer than what is kept of it.
/// Nothing else begins with its command and a statement's first word at these places.
pub(crate) fn is_statement_of_mysql(turn: &Bytes<'_>) -> bool {
    let length = turn.little(0, 3).unwrap_or(0);
    turn.at(3) == Some(0) && matches!(turn.at(4), Some(3 | 22)) && is_command(turn, 0, length)
}

/// Whether a turn begins as an answer of MySQL with several packets does: the first has number 1,
/// and where it ends is the head of the next.
pub(crate) fn is_answer_of_mysql(turn: &Bytes<'_>) -> bool {
    let next = 4 + turn.little(0, 3).unwrap_or(0);
    let is_head =
        |at: usize, number: u8| turn.at(at + 2) == Some(0) && turn.at(at + 3) == Some(number);
    is_head(0, 1) && is_head(next, 2)
}

/// Whether a packet of this length is a command of a client, or a server's greeting.
fn is_command(turn: &Bytes<'_>, at: usize, length: usize) -> bool {
    const COMMANDS: &[u8] =
        &[1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 17, 18, 21, 23, 24, 25, 26, 27, 28, 30, 31];
    // Only a statement is longer than 64 KiB.
    let is_short = turn.at(at + 2) == Some(0);
    match turn.at(at + 4) {
        None => is_short,
        Some(3 | 22) => {
            let body = turn.range(at + 5, at + 4 + length);
            let text = body.strip_prefix(&[0, 1]).unwrap_or(body);
            // A statement of an unknown form is one where it is as long as its packet says.
            let is_exact = at == 0 && turn.len() == 4 + length && is_text(text);
            body.is_empty() || is_exact || sql::begins(text, body.len() + 1 >= length)
        }
        Some(command) => is_short && COMMANDS.contains(&command),
    }
}

/// Whether bytes are those of a text.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x80..))
}

/// Blanks the body of a packet of MySQL.
fn packet(turn: &mut Bytes<'_>, from: usize, length: usize, number: u8) {
    let to = from + length;
    let end = to.min(turn.len());
    match (number, turn.at(from)) {
        (0, Some(3 | 22)) => {
            let has_attributes = turn.range(from + 1, from + 3) == [0, 1];
            let text = from + if has_attributes { 3 } else { 1 };
            if sql::begins(turn.range(text, end), end == to) {
                sql::blank(turn.range_mut(text, end), Dialect::MySql);
            } else {
                turn.blank(text, end);
            }
        }
        // The server's greeting: its version, the number of the connection, a challenge, what it
        // can do, and more of the challenge.
        (0, Some(10)) if length >= 30 => {
            let version = turn.find(0, from, end).unwrap_or(end);
            turn.blank(version + 5, version + 13);
            turn.blank(version + 32, end);
        }
        // A statement by its number.
        (0, Some(23 | 25 | 26 | 28)) => turn.blank(from + 5, end),
        // A login: what the client can do.
        (1, _) if length >= 32 && turn.range(from + 9, from + 32).iter().all(|byte| *byte == 0) => {
            turn.blank(from + 32, end);
        }
        // An error with its number.
        (_, Some(0xff)) => turn.blank(from + 3, end),
        // A statement that was prepared.
        (1, Some(0)) if length == 12 && turn.range(from + 9, from + 10) == [0] => {
            turn.blank(from + 9, end);
        }
        // What kind of an answer it is, unless that is a letter of something else.
        (_, Some(b' '..=b'~')) => turn.blank(from, end),
        _ => turn.blank(from + 1, end),
    }
}
