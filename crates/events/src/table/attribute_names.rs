//! Names of the values of a list, encoded as one text and decoded again.

use out_of_core::{NameId, NameInterner};
use rustc_hash::FxHashMap;

/// Separator between two names. In a name it is replaced by [`SEPARATOR_REPLACEMENT`].
const SEPARATOR: char = ',';

/// Replacement for [`SEPARATOR`] in a name.
const SEPARATOR_REPLACEMENT: &str = ";";

/// Distinct lists of names, each with its text.
#[derive(Debug, Default)]
pub(super) struct NameLists {
    /// Index of each list's text in `texts`.
    indexes: FxHashMap<Box<[NameId]>, i32>,
    texts: Vec<String>,
    /// Most recently requested list and its index: neighbouring events mostly have the same one.
    last: (Vec<NameId>, Option<i32>),
}

impl NameLists {
    /// Returns the index of the list's text in [`NameLists::texts`]; `None` for an empty list.
    pub(super) fn intern_list(&mut self, list: &[NameId], names: &NameInterner) -> Option<i32> {
        if self.last.0 == list {
            return self.last.1;
        }
        let place = (!list.is_empty()).then(|| match self.indexes.get(list) {
            Some(place) => *place,
            None => {
                let place = self.texts.len() as i32;
                self.indexes.insert(list.into(), place);
                self.texts.push(join_names(list, names));
                place
            }
        });
        self.last.0.clear();
        self.last.0.extend_from_slice(list);
        self.last.1 = place;
        place
    }

    /// Texts of all lists, by index.
    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }
}

fn join_names(list: &[NameId], names: &NameInterner) -> String {
    let mut text = String::new();
    for (place, name) in list.iter().enumerate() {
        if place > 0 {
            text.push(SEPARATOR);
        }
        text.push_str(&names.name_of(*name).replace(SEPARATOR, SEPARATOR_REPLACEMENT));
    }
    text
}

/// Splits `text` into its names.
pub(super) fn split_names(text: &str, names: &mut NameInterner) -> Vec<NameId> {
    text.split(SEPARATOR).map(|name| names.intern(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip_and_are_stored_once() {
        let mut names = NameInterner::default();
        let [bytes, odd] = ["bytes", "a,b"].map(|name| names.intern(name));
        let mut lists = NameLists::default();
        let mut place = |list: &[NameId]| lists.intern_list(list, &names);
        assert_eq!(place(&[]), None);
        assert_eq!(place(&[bytes]), Some(0));
        assert_eq!(place(&[bytes, odd]), Some(1));
        assert_eq!((place(&[bytes]), place(&[]), place(&[bytes])), (Some(0), None, Some(0)));
        assert_eq!(lists.texts(), ["bytes", "bytes,a;b"]);
        let read = split_names("bytes,a;b", &mut names);
        assert_eq!(
            read.iter().map(|name| names.name_of(*name)).collect::<Vec<_>>(),
            ["bytes", "a;b"]
        );
    }
}
