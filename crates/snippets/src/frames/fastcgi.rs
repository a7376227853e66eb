//! FastCGI: records, with parameters and headers in them.

use crate::bytes::Bytes;

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
            return turn.blank_rest(at);
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
