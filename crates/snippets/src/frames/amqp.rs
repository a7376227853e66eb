//! AMQP 0-9-1: method frames.

use crate::bytes::TurnBytes;

/// Blanks AMQP 0-9-1 frames. Returns whether the turn is certainly of this protocol.
pub(crate) fn blank_amqp(turn: &mut TurnBytes<'_>) -> bool {
    if turn.range(0, 8) == b"AMQP\0\0\x09\x01" {
        turn.blank_range(8, turn.len());
        return true;
    }
    let mut at = 0;
    while at < turn.len() {
        let kind = turn.byte_at(at).filter(|kind| matches!(kind, 1..=3 | 8));
        let size = turn.big_endian(at + 3, 4);
        let (Some(kind), true) = (kind, size.is_none_or(|size| size < 1 << 24)) else {
            return turn.blank_rest(at);
        };
        let Some(size) = size else { return at > 0 };
        let (from, to) = (at + 7, at + 7 + size);
        let class = turn.big_endian(from, 2);
        let is_method = kind == 1 && matches!(class, Some(10 | 20 | 40 | 50 | 60 | 85 | 90));
        if at == 0 && !is_method && !(kind == 8 && size == 0)
            || turn.byte_at(to).is_some_and(|end| end != 0xce)
        {
            return turn.blank_rest(at);
        }
        if is_method {
            let kept = kept_arguments_end(turn, from, to);
            turn.blank_range(kept, to);
        } else {
            turn.blank_range(from, to);
        }
        at = to + 1;
    }
    true
}

/// Index after the kept arguments of the method frame whose body is from `from` to `to`: names of
/// exchanges, queues and routing keys, or a code.
fn kept_arguments_end(turn: &mut TurnBytes<'_>, from: usize, to: usize) -> usize {
    let after = from + 4;
    let (class, method) = (turn.big_endian(from, 2), turn.big_endian(from + 2, 2));
    let (class, method) = (class.unwrap_or(0), method.unwrap_or(0));
    let short = |turn: &TurnBytes<'_>, at: usize| {
        turn.byte_at(at).map(|length| at + 1 + usize::from(length))
    };
    // Where the kept names begin, and how many there are. Classes: 10 is connection, 20 channel, 40
    // exchange, 50 queue, and 60 basic.
    let (skipped, count) = match (class, method) {
        (10, 50) | (20, 40) | (60, 50) => return after + 2,
        (40, 10 | 20) | (50, 10 | 30 | 40) | (60, 20 | 70) => (after + 2, 1),
        (40, 30 | 40) | (50, 20 | 50) | (60, 40) => (after + 2, 2),
        (60, 60) => match short(turn, after) {
            Some(end) => {
                turn.blank_range(after + 1, end);
                (end + 9, 2)
            }
            None => return after,
        },
        _ => return after,
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
