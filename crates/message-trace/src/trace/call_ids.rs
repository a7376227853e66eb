//! Interner of the call ids of a trace. If a source has call ids, there is a new one for every
//! other message. So all ids are concatenated in one text: none needs an allocation of its own, and
//! to copy a trace is to copy bytes.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// Texts with their numbers, which are dense in the order of their first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallIds {
    texts: String,
    /// End of each text.
    ends: Vec<usize>,
    /// The hash and the number of each text. The hash is stored so that no text is read again when
    /// the table grows.
    numbers: HashTable<(u32, u32)>,
}

impl CallIds {
    /// Returns the number of `text`, a new one if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        let CallIds { texts, ends, numbers } = self;
        let hash = hash_text(text);
        let is_same = |(other, number): &(u32, u32)| {
            *other == hash && text_at(texts, ends, *number) == Some(text)
        };
        if let Some((_, number)) = numbers.find(spread_hash(hash), is_same) {
            return *number;
        }
        let number = ends.len() as u32;
        texts.push_str(text);
        ends.push(texts.len());
        numbers.insert_unique(spread_hash(hash), (hash, number), |(hash, _)| spread_hash(*hash));
        number
    }

    /// Returns the text with this number.
    pub(super) fn get(&self, number: u32) -> Option<&str> {
        text_at(&self.texts, &self.ends, number)
    }
}

fn text_at<'texts>(texts: &'texts str, ends: &[usize], number: u32) -> Option<&'texts str> {
    let number = number as usize;
    let end = *ends.get(number)?;
    let begin = number.checked_sub(1).map_or(0, |before| ends[before]);
    texts.get(begin..end)
}

fn hash_text(text: &str) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    (hasher.finish() >> 32) as u32
}

/// Returns the hash for the hash table, which uses the lowest and the highest of its 64 bits.
fn spread_hash(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number_and_the_empty_one_is_a_text() {
        let mut ids = CallIds::default();
        let texts: Vec<String> =
            [String::new()].into_iter().chain((0..5000).map(|n| format!("{n}-é"))).collect();
        for _ in 0..2 {
            for (number, text) in texts.iter().enumerate() {
                assert_eq!(ids.intern(text), number as u32);
            }
        }
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(ids.get(number as u32), Some(text.as_str()));
        }
        assert_eq!(ids.get(texts.len() as u32), None);
        assert_eq!(ids.get(u32::MAX), None);
    }
}
