//! An interner for names and labels: numbers distinct values in the order of their first use. There
//! are as many as the trace has nodes, hops and names, so it stays in memory.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Distinct values and their numbers.
pub(super) struct Interner<T> {
    numbers: FxHashMap<T, u32>,
    pub(super) values: Vec<T>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { numbers: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    pub(super) fn intern(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}
