//! FastCGI: records that contain parameters and headers.

use crate::bytes::TurnBytes;

/// Blanks FastCGI records. Returns whether the turn is certainly of this protocol.
pub(crate) fn blank_fastcgi(turn: &mut TurnBytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let (kind, length, padding) =
            (turn.byte_at(at + 1), turn.big_endian(at + 4, 2), turn.byte_at(at + 6));
        let (Some(kind), Some(length), Some(padding)) = (kind, length, padding) else {
            return at > 0;
        };
        let is_record = turn.byte_at(at) == Some(1)
            && (1..=11).contains(&kind)
            && matches!(turn.byte_at(at + 7), None | Some(0));
        let (from, to) = (at + 8, at + 8 + length);
        if !is_record || at == 0 && kind == 1 && length != 8 {
            return turn.blank_rest(at);
        }
        match kind {
            1 | 3 if length == 8 => {}
            4 => blank_parameters(turn, from, to),
            6 => blank_cgi_header(turn, from, to),
            _ => turn.blank_range(from, to),
        }
        turn.blank_range(to, to + usize::from(padding));
        at = to + usize::from(padding);
    }
    true
}

/// Blanks the values of parameters, except the ones that name a request.
fn blank_parameters(turn: &mut TurnBytes<'_>, from: usize, to: usize) {
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
    // Length of a name or a value, and the index after the length.
    let length = |turn: &TurnBytes<'_>, at: usize| match turn.byte_at(at)? {
        short @ 0..=127 => Some((usize::from(short), at + 1)),
        _ => turn.big_endian(at, 4).map(|long| (long & 0x7fff_ffff, at + 4)),
    };
    let mut at = from;
    while at < to {
        let Some((name, after)) = length(turn, at) else { break };
        let Some((value, begin)) = length(turn, after) else { break };
        let (value_from, value_to) = (begin + name, begin + name + value);
        let of = turn.range(begin, value_from);
        if of == b"REQUEST_URI" {
            let query = turn.find_byte(b'?', value_from, value_to.min(to));
            turn.blank_range(query.map_or(value_to, |query| query + 1), value_to.min(to));
        } else if !KEPT.contains(&of) {
            turn.blank_range(value_from, value_to.min(to));
        }
        at = value_to;
    }
    turn.blank_range(at, to);
}

/// Blanks the lines of a CGI header, except their names and the status.
fn blank_cgi_header(turn: &mut TurnBytes<'_>, from: usize, to: usize) {
    let end = to.min(turn.len());
    let mut at = from;
    while at < end {
        let line_end = turn.find_byte(b'\n', at, end).unwrap_or(end);
        let text_end = if line_end > at && turn.byte_at(line_end - 1) == Some(b'\r') {
            line_end - 1
        } else {
            line_end
        };
        if text_end == at && line_end < end {
            turn.blank_range(line_end + 1, end);
            return;
        }
        let Some(colon) = turn.find_byte(b':', at, text_end) else {
            turn.blank_range(at, end);
            return;
        };
        let is_name =
            turn.range(at, colon).iter().all(|of| of.is_ascii_alphanumeric() || *of == b'-');
        if !is_name {
            turn.blank_range(at, end);
            return;
        }
        let is_status = turn.range(at, colon).eq_ignore_ascii_case(b"status");
        let kept = colon + 1 + if is_status { 4 } else { 0 };
        turn.blank_range(kept, text_end);
        at = line_end + 1;
    }
}
