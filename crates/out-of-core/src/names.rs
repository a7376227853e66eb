//! Names: interned texts that occur repeatedly, each stored once.

use rustc_hash::FxHashMap;

/// Number of a text in [`NameInterner`].
pub type NameId = u32;

/// Texts with their numbers, which are dense and in the order in which the texts arrived. The
/// number 0 is the empty text, which stands for an unknown name.
#[derive(Clone, Debug)]
pub struct NameInterner {
    numbers: FxHashMap<Box<str>, NameId>,
    texts: Vec<Box<str>>,
}

impl NameInterner {
    /// The number of the empty text: an unknown name.
    pub const UNKNOWN: NameId = 0;

    /// The number of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> NameId {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as NameId;
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
        self.texts.get(number as usize).map_or("", |text| text)
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
        assert_eq!([names.intern("web"), names.intern("db"), names.intern("web")], [1, 2, 1]);
        assert_eq!(
            (names.intern(""), names.name_of(0), names.name_of(2), names.name_of(9)),
            (0, "", "db", "")
        );
        assert_eq!((names.find_id("db"), names.find_id("x"), names.len()), (Some(2), None, 3));
        assert_eq!(names.iter().collect::<Vec<_>>(), ["", "web", "db"]);
    }
}
