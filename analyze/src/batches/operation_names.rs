//! Interner of operation names: many messages have few distinct names. Names contain no literals,
//! but nothing bounds how many a system has, or how many paths without a known route a client
//! requests from a server. So the number of names is limited.

use rustc_hash::FxHashMap;

use crate::tuning::paths::operations::{MAX_NAMES, OTHER};

/// Names by number: first [`OTHER`], then in the order of their first use.
#[derive(Debug)]
pub(super) struct OperationNames {
    numbers: FxHashMap<String, u32>,
    all: Vec<String>,
}

impl Default for OperationNames {
    fn default() -> OperationNames {
        OperationNames { numbers: FxHashMap::default(), all: vec![OTHER.to_owned()] }
    }
}

impl OperationNames {
    /// Returns the number of `name`; `None` if it is empty. When there are too many names, further
    /// ones become [`OTHER`].
    pub(super) fn intern(&mut self, name: &str) -> Option<u32> {
        if name.is_empty() {
            return None;
        }
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if self.all.len() >= MAX_NAMES {
            return Some(0);
        }
        let number = self.all.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.all.push(name.to_owned());
        Some(number)
    }

    /// Returns all names by number.
    pub(super) fn all_names(&self) -> &[String] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_and_the_number_of_names_is_limited() {
        let mut names = OperationNames::default();
        assert_eq!(names.intern(""), None);
        for round in 0..2 {
            for number in 1..MAX_NAMES {
                assert_eq!(names.intern(&format!("GET /{number}")), Some(number as u32), "{round}");
            }
            assert_eq!(names.intern("GET /one"), Some(0));
            assert_eq!(names.intern("GET /another"), Some(0));
        }
        assert_eq!(names.all_names().len(), MAX_NAMES);
        assert_eq!(
            (names.all_names()[0].as_str(), names.all_names()[7].as_str()),
            (OTHER, "GET /7")
        );
    }
}
