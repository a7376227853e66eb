//! Marks: flags that events set on and remove from values (MARK, UNMARK in a schema).

use rustc_hash::FxHashSet;

use crate::tuning::MAX_MARKS;

/// Values that have a mark. A key combines the mark and the value.
#[derive(Debug, Default)]
pub(crate) struct MarkedValues {
    keys: FxHashSet<u64>,
    /// How often all marks were forgotten, as there were too many.
    pub(crate) forgotten: u64,
    /// For each mark number, whether it was ever set on a value.
    put: Vec<bool>,
}

impl MarkedValues {
    /// Sets the mark with this number on a value.
    pub(crate) fn set_mark(&mut self, mark: u16, key: u64) {
        let mark = usize::from(mark);
        if self.put.len() <= mark {
            self.put.resize(mark + 1, false);
        }
        if let Some(was_put) = self.put.get_mut(mark) {
            *was_put = true;
        }
        if self.keys.len() >= MAX_MARKS {
            self.keys.clear();
            self.forgotten += 1;
        }
        self.keys.insert(key);
    }

    /// Whether the mark with this number was ever set on a value.
    pub(crate) fn was_set(&self, mark: u16) -> bool {
        self.put.get(usize::from(mark)).copied().unwrap_or_default()
    }

    /// Clears a mark of a value.
    pub(crate) fn clear_mark(&mut self, key: u64) {
        self.keys.remove(&key);
    }

    /// Whether a value has a mark.
    pub(crate) fn is_marked(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }
}
