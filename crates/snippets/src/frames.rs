//! Protocols of frames that tell their lengths. Each function says whether the turn is of its
//! protocol for sure, and has blanked it then but for what names its messages.

use crate::bytes::Bytes;
use crate::context::{Context, State};
use crate::sql::{self, Dialect};

/// Blanks what is behind the messages that were understood. False where there are none.
fn ends_at(turn: &mut Bytes<'_>, at: usize) -> bool {
    if at > 0 {
        turn.blank(at, turn.len());
    }
    at > 0
}

/// Whether a turn is the head of a message that came alone, as receivers read it who ask for the
/// rest then: its length, which is less than 2^24, and a type and a channel before it.
pub(crate) fn is_head_alone(turn: &Bytes<'_>) -> bool {
    matches!(turn.rest(0), [0, _, _, _] | [0 | 1, _] | [1..=3, 0..=7, _, 0, _, _, _])
}

/// Whether a turn is the head of a packet of MySQL that came alone, as its servers read it: a
/// length below 64 KiB, and the packet's number.
pub(crate) fn is_head_of_mysql(turn: &Bytes<'_>) -> bool {
    matches!(turn.rest(0), [_, _, 0, 0..=7])
}

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
        _ if turn.len() >= at + 4 => ends_at(turn, at),
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
            body.is_empty() || sql::begins(text, body.len() + 1 >= length)
        }
        Some(command) => is_short && COMMANDS.contains(&command),
    }
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

/// Requests of Kafka, and answers where there were requests.
pub(crate) fn kafka(turn: &mut Bytes<'_>, context: &mut Context) -> bool {
    const APIS: usize = 100;
    const VERSION: usize = 25;
    let mut at = 0;
    let mut is_it = false;
    while at < turn.len() {
        let Some(size) = turn.big(at, 4).filter(|size| (4..1 << 28).contains(size)) else {
            // A head that is not whole, or no message.
            if turn.len() - at >= 4 {
                turn.blank(at, turn.len());
            }
            return is_it;
        };
        let to = at + 4 + size;
        let client = turn.big(at + 12, 2);
        let length = client.filter(|length| *length <= 255).unwrap_or(0);
        let is_request = size >= 10
            && turn.big(at + 4, 2).is_some_and(|key| key < APIS)
            && turn.big(at + 6, 2).is_some_and(|version| version <= VERSION)
            && client.is_some_and(|length| length <= 255 || length == 0xffff)
            && turn.range(at + 14, at + 14 + length).iter().all(|of| (b' '..=b'~').contains(of));
        if is_request {
            context.is_kafka = true;
            let kept = topic(turn, at, at + 14 + length);
            turn.blank(at + 14, at + 14 + length);
            turn.blank(kept, to);
        } else if context.is_kafka {
            turn.blank(at + 8, to);
        } else {
            return false;
        }
        is_it = true;
        at = to;
    }
    is_it
}

/// Index behind what is kept of a request's body, which begins at `from`: the name of its first
/// topic, and what is in front of that.
fn topic(turn: &mut Bytes<'_>, at: usize, from: usize) -> usize {
    let found = (|| {
        let (key, version) = (turn.big(at + 4, 2)?, turn.big(at + 6, 2)?);
        let mut here = from;
        let flexible = match key {
            0 => version >= 9,
            1 => version >= 12,
            _ => return None,
        };
        if version > 12 {
            return None;
        }
        if flexible {
            if turn.at(here)? != 0 {
                return None;
            }
            here += 1;
        }
        if key == 0 {
            if version >= 3 {
                // The id of a transaction, which is blanked.
                let (length, behind) = text(turn, here, flexible)?;
                turn.blank(behind, behind + length);
                here = behind + length;
            }
            here += 6;
        } else {
            let most = if version >= 3 { 4 } else { 0 };
            let isolation = usize::from(version >= 4);
            let session = if version >= 7 { 8 } else { 0 };
            here += 12 + most + isolation + session;
        }
        let behind_count = if flexible { varint(turn, here)?.1 } else { here + 4 };
        let (length, behind) = text(turn, behind_count, flexible)?;
        (length <= 249 && behind + length <= turn.len()).then_some(behind + length)
    })();
    found.unwrap_or_else(|| match turn.big(at + 4, 2) {
        // Of a producer, how many servers are to acknowledge.
        Some(0) => from + 3,
        _ => from,
    })
}

/// Length of a text, and where its bytes begin.
fn text(turn: &Bytes<'_>, at: usize, flexible: bool) -> Option<(usize, usize)> {
    if flexible {
        let (length, behind) = varint(turn, at)?;
        return Some((length.saturating_sub(1), behind));
    }
    match turn.big(at, 2)? {
        0xffff => Some((0, at + 2)),
        length => Some((length, at + 2)),
    }
}

fn varint(turn: &Bytes<'_>, at: usize) -> Option<(usize, usize)> {
    let mut number = 0;
    for index in 0..4 {
        let byte = turn.at(at + index)?;
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, at + index + 1));
        }
    }
    None
}

/// Messages of MongoDB.
pub(crate) fn mongodb(turn: &mut Bytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let opcode = turn.little(at + 12, 4);
        let length = turn.little(at, 4).filter(|length| (20..48_000_000).contains(length));
        let is_known = |length: &usize| match opcode {
            // So small a number could be anything else: a document ends where the message does.
            Some(1) => turn
                .little(at + 36, 4)
                .map_or(turn.len() == 16, |document| document + 36 == *length),
            opcode => matches!(opcode, Some(2004 | 2012 | 2013)),
        };
        let Some(length) = length.filter(is_known) else {
            return ends_at(turn, at);
        };
        let (from, to) = (at + 16, at + length);
        let asks = turn.little(at + 8, 4) == Some(0) && opcode != Some(1);
        match opcode {
            Some(2013) => {
                let mut here = from + 4;
                // Sequences of documents may come first.
                while turn.at(here) == Some(1) && here < to {
                    let size = turn.little(here + 1, 4).unwrap_or(usize::MAX >> 1);
                    turn.blank(here + 5, here + 1 + size);
                    here += 1 + size;
                }
                match turn.at(here) {
                    Some(0) => document(turn, here + 1, to, asks),
                    _ => turn.blank(here, to),
                }
            }
            Some(2004) => {
                let end = turn.find(0, from + 4, to).unwrap_or(to);
                match turn.range(from + 4, end).ends_with(b".$cmd") {
                    true => document(turn, end + 9, to, asks),
                    false => turn.blank(from + 4, to),
                }
            }
            Some(1) => document(turn, from + 20, to, false),
            _ => turn.blank(from, to),
        }
        at = to;
    }
    true
}

/// Blanks the values of a document, but for the collection, which is the first, and what tells how
/// a command ended.
fn document(turn: &mut Bytes<'_>, from: usize, to: usize, asks: bool) {
    let mut at = from + 4;
    let mut is_first = asks;
    while let Some(kind) = turn.at(at).filter(|kind| *kind != 0 && at < to) {
        let Some(end) = turn.find(0, at + 1, to.min(at + 66)) else { break };
        let value = end + 1;
        let name = turn.range(at + 1, end);
        let is_plain =
            name.iter().all(|of| of.is_ascii_alphanumeric() || matches!(of, b'_' | b'$'));
        let names_someone = name
            .windows(4)
            .any(|of| of.eq_ignore_ascii_case(b"user") || of.eq_ignore_ascii_case(b"role"));
        let tells_end = matches!(name, b"ok" | b"code");
        let size = turn.little(value, 4);
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
        let Some(behind) = length.and_then(|length| value.checked_add(length)) else {
            turn.blank(value, to);
            return;
        };
        // What tells the length is kept.
        let inner = if matches!(kind, 2..=5 | 13..=15) { value + 4 } else { value };
        match kind {
            2 if is_first && !names_someone => {}
            1 | 16 if tells_end => {}
            // The zero that ends a text.
            2 => turn.blank(inner, behind - 1),
            _ => turn.blank(inner, behind),
        }
        if !is_plain {
            turn.blank(at + 1, end);
        }
        is_first = false;
        at = behind;
    }
    turn.blank(at, to);
}

/// Frames of AMQP 0-9-1.
pub(crate) fn amqp(turn: &mut Bytes<'_>) -> bool {
    if turn.range(0, 8) == b"AMQP\0\0\x09\x01" {
        turn.blank(8, turn.len());
        return true;
    }
    let mut at = 0;
    while at < turn.len() {
        let kind = turn.at(at).filter(|kind| matches!(kind, 1..=3 | 8));
        let size = turn.big(at + 3, 4);
        let (Some(kind), true) = (kind, size.is_none_or(|size| size < 1 << 24)) else {
            return ends_at(turn, at);
        };
        let Some(size) = size else { return at > 0 };
        let (from, to) = (at + 7, at + 7 + size);
        let class = turn.big(from, 2);
        let is_method = kind == 1 && matches!(class, Some(10 | 20 | 40 | 50 | 60 | 85 | 90));
        if at == 0 && !is_method && !(kind == 8 && size == 0)
            || turn.at(to).is_some_and(|end| end != 0xce)
        {
            return ends_at(turn, at);
        }
        if is_method {
            let kept = arguments(turn, from, to);
            turn.blank(kept, to);
        } else {
            turn.blank(from, to);
        }
        at = to + 1;
    }
    true
}

/// Index behind what is kept of a method: the names of exchanges, queues and routes, or a code.
fn arguments(turn: &mut Bytes<'_>, from: usize, to: usize) -> usize {
    let behind = from + 4;
    let (class, method) = (turn.big(from, 2), turn.big(from + 2, 2));
    let (class, method) = (class.unwrap_or(0), method.unwrap_or(0));
    let short =
        |turn: &Bytes<'_>, at: usize| turn.at(at).map(|length| at + 1 + usize::from(length));
    let (skipped, count) = match (class, method) {
        (10, 50) | (20, 40) | (60, 50) => return behind + 2,
        (40, 10 | 20) | (50, 10 | 30 | 40) | (60, 20 | 70) => (behind + 2, 1),
        (40, 30 | 40) | (50, 20 | 50) | (60, 40) => (behind + 2, 2),
        (60, 60) => match short(turn, behind) {
            Some(end) => {
                turn.blank(behind + 1, end);
                (end + 9, 2)
            }
            None => return behind,
        },
        _ => return behind,
    };
    let mut at = skipped;
    for _ in 0..count {
        match short(turn, at).filter(|end| *end <= to) {
            Some(end) => at = end,
            None => return at,
        }
    }
    at
}

/// Records of FastCGI.
pub(crate) fn fastcgi(turn: &mut Bytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let (kind, length, padding) = (turn.at(at + 1), turn.big(at + 4, 2), turn.at(at + 6));
        let (Some(kind), Some(length), Some(padding)) = (kind, length, padding) else {
            return at > 0;
        };
        let is_record = turn.at(at) == Some(1)
            && (1..=11).contains(&kind)
            && matches!(turn.at(at + 7), None | Some(0));
        let (from, to) = (at + 8, at + 8 + length);
        if !is_record || at == 0 && kind == 1 && length != 8 {
            return ends_at(turn, at);
        }
        match kind {
            1 | 3 if length == 8 => {}
            4 => parameters(turn, from, to),
            6 => header(turn, from, to),
            _ => turn.blank(from, to),
        }
        turn.blank(to, to + usize::from(padding));
        at = to + usize::from(padding);
    }
    true
}

/// Blanks the values of parameters but for those that name a request.
fn parameters(turn: &mut Bytes<'_>, from: usize, to: usize) {
    const KEPT: &[&[u8]] = &[
        b"REQUEST_METHOD",
        b"REQUEST_URI",
        b"SCRIPT_NAME",
        b"HTTP_TRACEPARENT",
        b"HTTP_B3",
        b"HTTP_X_B3_TRACEID",
        b"HTTP_X_B3_SPANID",
        b"HTTP_X_B3_SAMPLED",
    ];
    let length = |turn: &Bytes<'_>, at: usize| match turn.at(at)? {
        short @ 0..=127 => Some((usize::from(short), at + 1)),
        _ => turn.big(at, 4).map(|long| (long & 0x7fff_ffff, at + 4)),
    };
    let mut at = from;
    while at < to {
        let Some((name, behind)) = length(turn, at) else { break };
        let Some((value, begin)) = length(turn, behind) else { break };
        let (value_from, value_to) = (begin + name, begin + name + value);
        let of = turn.range(begin, value_from);
        if of == b"REQUEST_URI" {
            let query = turn.find(b'?', value_from, value_to.min(to));
            turn.blank(query.map_or(value_to, |query| query + 1), value_to.min(to));
        } else if !KEPT.contains(&of) {
            turn.blank(value_from, value_to.min(to));
        }
        at = value_to;
    }
    turn.blank(at, to);
}

/// Blanks the lines of a header of CGI but for their names, and the status.
fn header(turn: &mut Bytes<'_>, from: usize, to: usize) {
    let end = to.min(turn.len());
    let mut at = from;
    while at < end {
        let line_end = turn.find(b'\n', at, end).unwrap_or(end);
        let text_end = if line_end > at && turn.at(line_end - 1) == Some(b'\r') {
            line_end - 1
        } else {
            line_end
        };
        if text_end == at && line_end < end {
            turn.blank(line_end + 1, end);
            return;
        }
        let Some(colon) = turn.find(b':', at, text_end) else {
            turn.blank(at, end);
            return;
        };
        let is_name =
            turn.range(at, colon).iter().all(|of| of.is_ascii_alphanumeric() || *of == b'-');
        if !is_name {
            turn.blank(at, end);
            return;
        }
        let is_status = turn.range(at, colon).eq_ignore_ascii_case(b"status");
        let kept = colon + 1 + if is_status { 4 } else { 0 };
        turn.blank(kept, text_end);
        at = line_end + 1;
    }
}

/// Frames of WebSocket: their heads are kept, with the keys that hide their payload, and the code
/// of a closing one.
pub(crate) fn websocket(turn: &mut Bytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let (Some(first), Some(second)) = (turn.at(at), turn.at(at + 1)) else { return at > 0 };
        let opcode = first & 15;
        let is_frame = first & 0x70 == 0 && matches!(opcode, 0..=2 | 8..=10);
        // One that goes on in another could be anything else.
        if !is_frame || at == 0 && first < 0x80 {
            return ends_at(turn, at);
        }
        let (length, behind) = match second & 0x7f {
            126 => (turn.big(at + 2, 2), at + 4),
            127 => (turn.big(at + 2, 8), at + 10),
            short => (Some(usize::from(short)), at + 2),
        };
        let Some(length) = length.filter(|length| *length < 1 << 40) else {
            return ends_at(turn, at);
        };
        let from = behind + if second & 0x80 != 0 { 4 } else { 0 };
        let to = from + length;
        turn.blank(from + if opcode == 8 { 2.min(length) } else { 0 }, to);
        at = to;
    }
    true
}

/// Messages of memcached's binary protocol.
pub(crate) fn memcached(turn: &mut Bytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let is_head = matches!(turn.at(at), Some(0x80 | 0x81))
            && turn.at(at + 1).is_none_or(|opcode| opcode <= 0x24)
            && matches!(turn.at(at + 5), None | Some(0));
        let (key, extras) = (turn.big(at + 2, 2), turn.at(at + 4));
        let body = turn.big(at + 8, 4);
        let fits = match (key, extras, body) {
            (Some(key), Some(extras), Some(body)) => {
                key <= 250 && (key + usize::from(extras)..1 << 28).contains(&body)
            }
            _ => turn.len() - at < 12,
        };
        if !is_head || !fits {
            return ends_at(turn, at);
        }
        let Some(body) = body else { return at > 0 };
        turn.blank(at + 24, at + 24 + body);
        at += 24 + body;
    }
    true
}

/// End of the question of a message of DNS; `None` where there is none that makes sense.
pub(crate) fn question(message: &[u8]) -> Option<usize> {
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

/// A message of DNS that begins at `from`: the names in it are blanked, and all records.
pub(crate) fn dns(turn: &mut Bytes<'_>, from: usize) -> bool {
    let Some(end) = question(turn.rest(from)) else { return false };
    let mut at = from + 12;
    while let Some(label) = turn.at(at).map(usize::from).filter(|label| *label > 0) {
        turn.blank(at + 1, at + 1 + label);
        at += 1 + label;
    }
    turn.blank(from + end, turn.len());
    true
}
