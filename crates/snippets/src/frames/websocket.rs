//! WebSocket: frames with their heads.

use crate::bytes::TurnBytes;

/// Frames of WebSocket: their heads are kept, with the keys that hide their payload, and the code
/// of a closing one.
pub(crate) fn blank_websocket(turn: &mut TurnBytes<'_>) -> bool {
    let mut at = 0;
    while at < turn.len() {
        let (Some(first), Some(second)) = (turn.byte_at(at), turn.byte_at(at + 1)) else {
            return at > 0;
        };
        let opcode = first & 15;
        let is_frame = first & 0x70 == 0 && matches!(opcode, 0..=2 | 8..=10);
        // One that goes on in another could be anything else.
        if !is_frame || at == 0 && first < 0x80 {
            return turn.blank_rest(at);
        }
        let (length, behind) = match second & 0x7f {
            126 => (turn.big_endian(at + 2, 2), at + 4),
            127 => (turn.big_endian(at + 2, 8), at + 10),
            short => (Some(usize::from(short)), at + 2),
        };
        let Some(length) = length.filter(|length| *length < 1 << 40) else {
            return turn.blank_rest(at);
        };
        let from = behind + if second & 0x80 != 0 { 4 } else { 0 };
        let to = from + length;
        turn.blank_range(from + if opcode == 8 { 2.min(length) } else { 0 }, to);
        at = to;
    }
    true
}
