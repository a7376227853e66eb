//! Names: interned texts that occur repeatedly, each stored once.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use zerocopy::{Immutable, IntoBytes};

/// Number of a text in a [`NameInterner`], dense from 0, which is the unknown name.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    IntoBytes,
    Immutable,
)]
#[repr(transparent)]
#[serde(transparent)]
pub struct NameId(u32);

impl NameId {
    /// The id of the text at this index.
    pub const fn from_index(index: usize) -> NameId {
        NameId(index as u32)
    }

    /// The index of the text.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Hashes like `u32`, a list in one write. A derived implementation would hash a list id by id.
impl Hash for NameId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0);
    }

    fn hash_slice<H: Hasher>(ids: &[NameId], state: &mut H) {
        state.write(ids.as_bytes());
    }
}

/// Texts with their numbers, which are dense and in the order in which the texts arrived. The
/// number 0 is the empty text, which stands for an unknown name.
#[derive(Clone, Debug)]
pub struct NameInterner {
    numbers: FxHashMap<Box<str>, NameId>,
    texts: Vec<Box<str>>,
}

impl NameInterner {
    /// The number of the empty text: an unknown name.
    pub const UNKNOWN: NameId = NameId(0);

    /// The number of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> NameId {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = NameId::from_index(self.texts.len());
        self.numbers.insert(text.into(), number);
        self.texts.push(text.into());
        number
    }

    /// The number of `text`, if it has one.
    pub fn find_id(&self, text: &str) -> Option<NameId> {
        self.numbers.get(text).copied()
    }

    /// The text with the number `number`; empty if no text has it.
    pub fn name_of(&self, number: NameId) -> &str {
        self.texts.get(number.index()).map_or("", |text| text)
    }

    /// Number of distinct texts, including the empty one.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether the empty text is the only one.
    pub fn is_empty(&self) -> bool {
        self.texts.len() == 1
    }

    /// All texts, in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }
}

impl Default for NameInterner {
    fn default() -> NameInterner {
        let mut names = NameInterner { numbers: FxHashMap::default(), texts: Vec::new() };
        names.intern("");
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number_and_the_empty_text_is_0() {
        let mut names = NameInterner::default();
        assert!(names.is_empty());
        let ids = ["web", "db", "web"].map(|text| names.intern(text));
        assert_eq!(ids, [1, 2, 1].map(NameId::from_index));
        assert_eq!(names.intern(""), NameInterner::UNKNOWN);
        let texts = [0, 2, 9].map(|index| names.name_of(NameId::from_index(index)));
        assert_eq!(texts, ["", "db", ""]);
        assert_eq!((names.find_id("db"), names.find_id("x"), names.len()), (Some(ids[1]), None, 3));
        assert_eq!(names.iter().collect::<Vec<_>>(), ["", "web", "db"]);
    }
}
