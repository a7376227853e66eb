//! Heads made blank: what a log must not hold when it leaves its host, or once its operations are
//! beside it.
//!
//! Lengths stay as they are, so the log is the same but for these bytes. What cannot be read may
//! hold a head, too, and is made blank with them.

use super::decode::{self, Step};
use crate::layout::{CHUNK_HEADER_WORDS, CHUNK_MAGIC, HEAD_WORDS, kind};

/// Makes the heads in a chunk of a log blank, and the bodies of records that are being written or
/// cannot be read. Bytes that do not begin like a chunk stay as they are. Returns the number of
/// heads that were not blank.
pub fn blank_heads(chunk: &mut [u8]) -> usize {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
    let words: Vec<u32> = chunk.chunks_exact(4).map(word).collect();
    if words.first() != Some(&CHUNK_MAGIC) {
        return 0;
    }
    let mut blanked = 0;
    let mut at = CHUNK_HEADER_WORDS;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let tag = rest.first().map_or(0, |first| *first as u8);
        let (length, body) = match decode::step(rest) {
            Step::Empty => (1, None),
            Step::Record { words, .. } if tag == kind::HEAD => (words, Some(HEAD_WORDS..words)),
            Step::Record { words, .. } => (words, None),
            // The first word stays, so that readers find the same damage.
            Step::Damaged { words, .. } => (words.max(1), Some(1..words.max(1))),
        };
        for body in body.into_iter().filter(|body| body.start < body.end) {
            let bytes = chunk.get_mut(4 * (at + body.start)..4 * (at + body.end));
            let bytes = bytes.unwrap_or_default();
            blanked += usize::from(tag == kind::HEAD && bytes.iter().any(|byte| *byte != 0));
            bytes.fill(0);
        }
        at += length;
    }
    // Bytes behind the last whole word are no record's.
    let whole = 4 * words.len();
    chunk.get_mut(whole..).unwrap_or_default().fill(0);
    blanked
}
