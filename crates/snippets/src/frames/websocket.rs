//! WebSocket: frames and their headers.

use crate::bytes::TurnBytes;

/// Blanks WebSocket frames. Their headers are kept, with the masking keys, and so is the code of a
/// close frame. Returns whether the turn is certainly of this protocol.
pub(crate) fn blank_websocket(turn: &mut TurnBytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let (Some(first), Some(second)) = (turn.byte_at(at), turn.byte_at(at + 1)) else {
            return at > 0;
        };
        let opcode = first & 15;
        let is_frame = first & 0x70 == 0 && matches!(opcode, 0..=2 | 8..=10);
        // A first frame that another one continues could be of any protocol.
        if !is_frame || at == 0 && first < 0x80 {
            return turn.blank_rest(at);
        }
        let (length, after) = match second & 0x7f {
            126 => (turn.big_endian(at + 2, 2), at + 4),
            127 => (turn.big_endian(at + 2, 8), at + 10),
            short => (Some(usize::from(short)), at + 2),
        };
        let Some(length) = length.filter(|length| *length < 1 << 40) else {
            return turn.blank_rest(at);
        };
        let from = after + if second & 0x80 != 0 { 4 } else { 0 };
        let to = from + length;
        turn.blank_range(from + if opcode == 8 { 2.min(length) } else { 0 }, to);
        at = to;
    }
    true
}
