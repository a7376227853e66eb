//! Openings: what begins with bytes that are no text, as far as heads of it are kept or must not
//! be.

use super::lines::START;

/// Beginning of what one end says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnOpening {
    /// Records of TLS: encrypted, or about to be.
    Tls,
    /// Frames of HTTP/2.
    Http2,
    /// A proxy's header with the number of its bytes, before what is said.
    Proxy(usize),
    /// One of these, if more comes that fits.
    Maybe,
    /// Something else.
    Other,
}

/// Beginning of a proxy's header of version 2, before its version, family and length.
const PROXY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Largest length of a record of TLS, in bytes: 2^14 and what encryption adds at most.
const LARGEST_RECORD: u16 = (1 << 14) + 2048;

/// Largest length of first settings that are believed without a client's beginning.
const LARGEST_SETTINGS: u8 = 60;

/// Judges the first bytes of a turn, where a client may be known to speak HTTP/2.
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

/// Judges what is behind the first byte of what may be a record of TLS: its version and length.
fn classify_tls(behind: &[u8]) -> TurnOpening {
    match behind {
        [] | [3] | [3, 1..=4] => TurnOpening::Maybe,
        [3, 1..=4, high, ..] if u16::from(*high) << 8 <= LARGEST_RECORD => TurnOpening::Tls,
        _ => TurnOpening::Other,
    }
}

/// Judges what may be a frame of settings: without flags, and of no stream.
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

/// Opening of the bytes that were held and those behind them.
#[cold]
pub(super) fn classify_fragments(held: &[u8], behind: &[u8], is_http2: bool) -> TurnOpening {
    let mut start = [0; START];
    let mut length = 0;
    for (place, byte) in start.iter_mut().zip(held.iter().chain(behind)) {
        *place = *byte;
        length += 1;
    }
    classify_opening(start.get(..length).unwrap_or(&[]), is_http2)
}
