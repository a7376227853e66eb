//! Openings: the first bytes of a turn (what one side sends until the other side sends), by which
//! TLS, HTTP/2 and a proxy's header are recognised.

use super::lines::LINE_START_BYTES;

/// Beginning of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnOpening {
    /// TLS records: encrypted, or about to be.
    Tls,
    /// Frames of HTTP/2.
    Http2,
    /// A proxy's header with its length in bytes, before the actual data.
    Proxy(usize),
    /// TLS or HTTP/2, if the following bytes match.
    Maybe,
    /// Something else.
    Other,
}

/// Beginning of a proxy's header of version 2, before its version, family and length.
const PROXY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Maximum length of a TLS record, in bytes: 2^14 and the maximum overhead of encryption.
const LARGEST_RECORD: u16 = (1 << 14) + 2048;

/// Maximum length of first settings that are accepted without a client's preface.
const LARGEST_SETTINGS: u8 = 60;

/// Classifies the first bytes of a turn. `is_http2` is whether a client is known to speak HTTP/2.
pub(super) fn classify_opening(start: &[u8], is_http2: bool) -> TurnOpening {
    match start {
        [0x14..=0x17, version @ ..] => classify_tls(version),
        [0, ..] => classify_settings(start, is_http2),
        [b'\r', ..] if start.len() >= 16 && start.starts_with(PROXY) => match start.get(14..16) {
            Some(&[high, low]) => {
                TurnOpening::Proxy(16 + usize::from(u16::from_be_bytes([high, low])))
            }
            _ => TurnOpening::Other,
        },
        _ => TurnOpening::Other,
    }
}

/// Classifies the bytes after the first one of a possible TLS record: its version and length.
fn classify_tls(after: &[u8]) -> TurnOpening {
    match after {
        [] | [3] | [3, 1..=4] => TurnOpening::Maybe,
        [3, 1..=4, high, ..] if u16::from(*high) << 8 <= LARGEST_RECORD => TurnOpening::Tls,
        _ => TurnOpening::Other,
    }
}

/// Classifies a possible SETTINGS frame: without flags, and on no stream.
fn classify_settings(start: &[u8], is_http2: bool) -> TurnOpening {
    let fits = start.iter().enumerate().all(|(index, byte)| match index {
        2 => is_http2 || byte % 6 == 0 && *byte <= LARGEST_SETTINGS,
        3 => *byte == 4,
        0..9 => *byte == 0,
        _ => true,
    });
    match fits {
        true if start.len() < 9 => TurnOpening::Maybe,
        true => TurnOpening::Http2,
        false => TurnOpening::Other,
    }
}

/// Classifies the buffered bytes `held` together with the bytes `after` them.
#[cold]
pub(super) fn classify_fragments(held: &[u8], after: &[u8], is_http2: bool) -> TurnOpening {
    let mut start = [0; LINE_START_BYTES];
    let mut length = 0;
    for (place, byte) in start.iter_mut().zip(held.iter().chain(after)) {
        *place = *byte;
        length += 1;
    }
    classify_opening(start.get(..length).unwrap_or(&[]), is_http2)
}
