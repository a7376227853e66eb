//! Integers and strings of HPACK (RFC 7541, 5).

use super::huffman;
use super::value::{BrokenBlock, HeaderValue};

/// Maximum number of bytes after the first byte of an integer: 28 bits exceed any length or index
/// that a frame can have.
const MAX_FOLLOWING_BYTES: usize = 4;

/// Reads an integer that begins in the last `prefix` bits of its first byte (5.1).
pub(super) fn read_integer(rest: &mut &[u8], prefix: u32) -> Result<usize, BrokenBlock> {
    let (first, after) = rest.split_first().ok_or(BrokenBlock)?;
    *rest = after;
    let max = (1 << prefix) - 1;
    let mut number = usize::from(*first) & max;
    if number < max {
        return Ok(number);
    }
    for shift in 0..MAX_FOLLOWING_BYTES {
        let (byte, after) = rest.split_first().ok_or(BrokenBlock)?;
        *rest = after;
        number += usize::from(byte & 0x7f) << (7 * shift);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(BrokenBlock)
}

/// Reads a string (5.2), keeping at most `keep` bytes.
pub(super) fn read_string(rest: &mut &[u8], keep: usize) -> Result<HeaderValue, BrokenBlock> {
    let coded = rest.first().ok_or(BrokenBlock)? & 0x80 != 0;
    let length = read_integer(rest, 7)?;
    let bytes = rest.get(..length).ok_or(BrokenBlock)?;
    *rest = rest.get(length..).unwrap_or_default();
    if coded {
        return huffman::decode_huffman(bytes, keep);
    }
    let kept = bytes.get(..keep.min(length)).unwrap_or_default();
    Ok(HeaderValue { bytes: kept.to_vec(), length })
}
