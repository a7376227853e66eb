//! Marks: what is remembered of values.

use rustc_hash::FxHashSet;

use crate::tuning::MARKS;

/// Values that are marked, as keys.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    keys: FxHashSet<u64>,
    /// How often all were forgotten, as there were too many.
    pub(crate) forgotten: u64,
}

impl Marks {
    /// Puts a mark on a value.
    pub(crate) fn put(&mut self, key: u64) {
        if self.keys.len() >= MARKS {
            self.keys.clear();
            self.forgotten += 1;
        }
        self.keys.insert(key);
    }

    /// Takes a mark from a value.
    pub(crate) fn take(&mut self, key: u64) {
        self.keys.remove(&key);
    }

    /// Whether a value has a mark.
    pub(crate) fn has(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }
}
