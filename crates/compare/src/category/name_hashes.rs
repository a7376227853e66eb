//! Hashes of names: a structure is identified by its names, not by their numbers, so that threads
//! and periods with different numberings find the same categories.

use request_flow::{NameId, NameInterner};
use twox_hash::XxHash3_128;

/// The hash of each name, by number.
#[derive(Clone, Debug, Default)]
pub struct NameHashes(Vec<u128>);

impl NameHashes {
    /// The hashes of `names`.
    pub fn from_names(names: &NameInterner) -> NameHashes {
        NameHashes(names.iter().map(|text| XxHash3_128::oneshot(text.as_bytes())).collect())
    }

    pub(super) fn get(&self, name: NameId) -> u128 {
        self.0.get(name.index()).copied().unwrap_or_default()
    }
}

/// Hashes a sequence of words; `bytes` is a reused buffer.
pub(super) fn hash_words(words: &[u128], bytes: &mut Vec<u8>) -> u128 {
    bytes.clear();
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    XxHash3_128::oneshot(bytes)
}
