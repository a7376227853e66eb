//! Kafka: requests, recognised by their API key, and responses after a request was seen.

use crate::bytes::TurnBytes;
use crate::context::TurnContext;

/// Blanks Kafka requests, and responses after a request was seen. Returns whether the turn is
/// certainly of this protocol.
pub(crate) fn blank_kafka(turn: &mut TurnBytes<'_>, context: &mut TurnContext) -> bool {
    const MAX_APIS: usize = 100;
    const MAX_VERSION: usize = 25;
    let mut at = 0;
    let mut is_kafka = false;
    while at < turn.len() {
        let Some(size) = turn.big_endian(at, 4).filter(|size| (4..1 << 28).contains(size)) else {
            // An incomplete header, or no message.
            if turn.len() - at >= 4 {
                turn.blank_range(at, turn.len());
            }
            return is_kafka;
        };
        let to = at + 4 + size;
        let client = turn.big_endian(at + 12, 2);
        let length = client.filter(|length| *length <= 255).unwrap_or(0);
        let is_request = size >= 10
            && turn.big_endian(at + 4, 2).is_some_and(|key| key < MAX_APIS)
            && turn.big_endian(at + 6, 2).is_some_and(|version| version <= MAX_VERSION)
            && client.is_some_and(|length| length <= 255 || length == 0xffff)
            && turn.range(at + 14, at + 14 + length).iter().all(|of| (b' '..=b'~').contains(of));
        if is_request {
            context.is_kafka = true;
            let kept = first_topic_end(turn, at, at + 14 + length);
            turn.blank_range(at + 14, at + 14 + length);
            turn.blank_range(kept, to);
        } else if context.is_kafka {
            turn.blank_range(at + 8, to);
        } else {
            return false;
        }
        is_kafka = true;
        at = to;
    }
    is_kafka
}

/// Index after the kept part of the body, which begins at `from`, of the request at `at`: the name
/// of the first topic and the fields before it.
fn first_topic_end(turn: &mut TurnBytes<'_>, at: usize, from: usize) -> usize {
    let found = (|| {
        let (key, version) = (turn.big_endian(at + 4, 2)?, turn.big_endian(at + 6, 2)?);
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
            if turn.byte_at(here)? != 0 {
                return None;
            }
            here += 1;
        }
        if key == 0 {
            if version >= 3 {
                // The transactional id, which is blanked.
                let (length, after) = read_text(turn, here, flexible)?;
                turn.blank_range(after, after + length);
                here = after + length;
            }
            here += 6;
        } else {
            let max_bytes = if version >= 3 { 4 } else { 0 };
            let isolation = usize::from(version >= 4);
            let session = if version >= 7 { 8 } else { 0 };
            here += 12 + max_bytes + isolation + session;
        }
        let after_count = if flexible { read_varint(turn, here)?.1 } else { here + 4 };
        let (length, after) = read_text(turn, after_count, flexible)?;
        (length <= 249 && after + length <= turn.len()).then_some(after + length)
    })();
    found.unwrap_or_else(|| match turn.big_endian(at + 4, 2) {
        // Produce: how many servers are to acknowledge.
        Some(0) => from + 3,
        _ => from,
    })
}

/// Length of the text at `at`, and the index of its bytes. In a `flexible` version of a request the
/// length is a varint, and one more than the number of bytes.
fn read_text(turn: &TurnBytes<'_>, at: usize, flexible: bool) -> Option<(usize, usize)> {
    if flexible {
        let (length, after) = read_varint(turn, at)?;
        return Some((length.saturating_sub(1), after));
    }
    match turn.big_endian(at, 2)? {
        0xffff => Some((0, at + 2)),
        length => Some((length, at + 2)),
    }
}

/// Number of variable length (seven bits a byte) at `at`, and the index after it.
fn read_varint(turn: &TurnBytes<'_>, at: usize) -> Option<(usize, usize)> {
    let mut number = 0;
    for index in 0..4 {
        let byte = turn.byte_at(at + index)?;
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, at + index + 1));
        }
    }
    None
}
