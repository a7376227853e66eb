//! Searches a text eight bytes at a time: for spaces, and for the marks `?` and `;`, after which a
//! URL may contain secrets such as access tokens.

/// Index of the first mark after which a URL's query or parameters may contain a secret token: `?`
/// or `;`.
#[inline(always)]
pub(super) fn token_mark(text: &[u8]) -> Option<usize> {
    // The two marks differ in one bit.
    index_of_any::<b'?', { b'?' ^ b';' }>(text)
}

/// Index of the first `BYTE` of a text.
#[inline(always)]
pub(super) fn index_of<const BYTE: u8>(text: &[u8]) -> Option<usize> {
    index_of_any::<BYTE, 0>(text)
}

/// Index of the first byte of a text that equals `BYTE` except for the bits `IGNORED_BITS`, which
/// are set in `BYTE`.
#[inline(always)]
fn index_of_any<const BYTE: u8, const IGNORED_BITS: u8>(text: &[u8]) -> Option<usize> {
    let marks = const { u64::from_le_bytes([BYTE; 8]) };
    let either = const { u64::from_le_bytes([IGNORED_BITS; 8]) };
    const LOW: u64 = 0x0101_0101_0101_0101;
    let found = |bytes: &[u8; 8]| {
        let other = (u64::from_le_bytes(*bytes) | either) ^ marks;
        // The lowest set bit belongs to the first mark.
        other.wrapping_sub(LOW) & !other & (LOW << 7)
    };
    let index = |marks: u64| (marks.trailing_zeros() / 8) as usize;
    let (words, rest) = text.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let marks = found(word);
        if marks != 0 {
            return Some(8 * number + index(marks));
        }
    }
    // The last bytes are inspected together with the preceding ones, which contain none.
    match text.last_chunk::<8>() {
        Some(last) if !rest.is_empty() => {
            let marks = found(last);
            (marks != 0).then(|| text.len() - 8 + index(marks))
        }
        Some(_) => None,
        None => text.iter().position(|byte| *byte | IGNORED_BITS == BYTE),
    }
}
