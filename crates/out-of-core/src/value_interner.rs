//! Interner in memory, for kinds of values that are few in a trace: nodes, hops, labels.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Distinct values and their numbers, in the order of their first use.
#[derive(Debug)]
pub struct ValueInterner<T> {
    numbers: FxHashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for ValueInterner<T> {
    fn default() -> Self {
        ValueInterner { numbers: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> ValueInterner<T> {
    /// Returns the number of `value`; the next number if it is new.
    pub fn intern(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    /// Returns the values in the order of their numbers.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values in the order of their numbers.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_number() {
        let mut letters = ValueInterner::default();
        assert_eq!(["b", "a", "b"].map(|letter| letters.intern(letter)), [0, 1, 0]);
        assert_eq!(letters.values(), ["b", "a"]);
        assert_eq!(letters.into_values(), ["b", "a"]);
    }
}
