//! memcached's binary protocol.

use crate::bytes::Bytes;

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
            return turn.blank_rest(at);
        }
        let Some(body) = body else { return at > 0 };
        turn.blank(at + 24, at + 24 + body);
        at += 24 + body;
    }
    true
}
