//! Blanking of snippets: removes the data that a log must not contain when it leaves its host, or
//! once there is a file of its operations.
//!
//! Lengths stay unchanged, so the log differs only in these bytes. Unreadable parts may contain
//! snippets, too, and are blanked with them: so is a chunk that does not begin as one, because
//! bytes are missing before it, or because it is being cleared at this moment.

use super::decode::{self, DecodeStep};
use crate::layout::{CHUNK_FREE, CHUNK_HEADER_WORDS, CHUNK_MAGIC, SNIPPET_WORDS, kind};

/// Value of the first four bytes of a blanked range that is not a chunk: readers still find damage
/// there.
const NO_CHUNK: u8 = 0xff;

/// Blanks the snippets in a chunk of a log, and the bodies of records that are being written or
/// cannot be read. Bytes that do not begin like a chunk are blanked as a whole; a log's header must
/// not be among them. Returns how many of these places were not blank before: if 0, nothing was
/// changed.
pub fn blank_snippets(chunk: &mut [u8]) -> usize {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
    let words: Vec<u32> = chunk.chunks_exact(4).map(word).collect();
    if words.first() != Some(&CHUNK_MAGIC) {
        return usize::from(blank_all(chunk));
    }
    let mut blanked = 0;
    let mut at = CHUNK_HEADER_WORDS;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let tag = rest.first().map_or(0, |first| *first as u8);
        let step = decode::decode_step(rest);
        let is_damaged = matches!(step, DecodeStep::Damaged { .. });
        let (length, body) = match step {
            DecodeStep::Empty => (1, None),
            DecodeStep::Record { words, .. } if tag == kind::SNIPPET => {
                (words, Some(SNIPPET_WORDS..words))
            }
            DecodeStep::Record { words, .. } => (words, None),
            DecodeStep::Damaged { words, .. } => (words.max(1), Some(1..words.max(1))),
        };
        for body in body.into_iter().filter(|body| body.start < body.end) {
            let bytes = chunk.get_mut(4 * (at + body.start)..4 * (at + body.end));
            let bytes = bytes.unwrap_or_default();
            blanked += usize::from(bytes.iter().any(|byte| *byte != 0));
            bytes.fill(0);
        }
        if is_damaged && let Some(first) = chunk.get_mut(4 * at..4 * at + 4) {
            first.copy_from_slice(&damaged_word(rest, length).to_le_bytes());
        }
        at += length;
    }
    // Bytes after the last whole word belong to no record.
    let rest = chunk.get_mut(4 * words.len()..).unwrap_or_default();
    blanked += usize::from(rest.iter().any(|byte| *byte != 0));
    rest.fill(0);
    blanked
}

/// First word for damage of `length` words that are followed by zeros: the present word, so that
/// readers find the same damage, unless they would find a record then.
fn damaged_word(words: &[u32], length: usize) -> u32 {
    let first = words.first().copied().unwrap_or(0);
    let mut blank = vec![0; words.len()];
    blank.iter_mut().take(1).for_each(|word| *word = first);
    match decode::decode_step(&blank) {
        DecodeStep::Damaged { .. } => first,
        _ => u32::from(kind::RESERVED) | (length as u32 & 0xff) << 8,
    }
}

/// Blanks bytes that are not a chunk. Returns true if they were not blank.
fn blank_all(bytes: &mut [u8]) -> bool {
    let (first, rest) = bytes.split_at_mut(bytes.len().min(4));
    let is_free = *first == CHUNK_FREE.to_le_bytes();
    let is_all = |wanted: u8| first.iter().all(|byte| *byte == wanted);
    if (is_free || is_all(0) || is_all(NO_CHUNK)) && rest.iter().all(|byte| *byte == 0) {
        return false;
    }
    if !is_free {
        first.fill(NO_CHUNK);
    }
    rest.fill(0);
    true
}
