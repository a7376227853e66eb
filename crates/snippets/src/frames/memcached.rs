//! memcached: binary protocol.

use crate::bytes::TurnBytes;

/// Blanks messages of memcached's binary protocol. Returns whether the turn is certainly of this
/// protocol.
pub(crate) fn blank_memcached_binary(turn: &mut TurnBytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let is_head = matches!(turn.byte_at(at), Some(0x80 | 0x81))
            && turn.byte_at(at + 1).is_none_or(|opcode| opcode <= 0x24)
            && matches!(turn.byte_at(at + 5), None | Some(0));
        let (key, extras) = (turn.big_endian(at + 2, 2), turn.byte_at(at + 4));
        let body = turn.big_endian(at + 8, 4);
        let fits = match (key, extras, body) {
            (Some(key), Some(extras), Some(body)) => {
                key <= 250 && (key + usize::from(extras)..1 << 28).contains(&body)
            }
            _ => turn.len() - at < 12,
        };
        if !is_head || !fits {
            return turn.blank_rest(at);
        }
        let Some(body) = body else { return at > 0 };
        turn.blank_range(at + 24, at + 24 + body);
        at += 24 + body;
    }
    true
}
