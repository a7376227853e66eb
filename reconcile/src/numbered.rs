//! Different values numbered in the order in which they came, however many there are: a hash table in columns. Values mostly come
//! in some order, so those that follow each other have places side by side, and few pages of the table are looked at at a time.

use std::hash::BuildHasher;

use message_trace::Error;
use rustc_hash::FxBuildHasher;

use crate::column::Column;
use crate::tables::Tables;

/// This place is free.
const FREE: u32 = u32::MAX;

/// So many values that follow each other have places side by side, as a power of two.
const TOGETHER: u32 = 6;

/// Where values are on a line.
pub(crate) trait OnLine {
    /// A place on it, which others may share: values that mostly come one after the other are beside each other.
    fn at(&self) -> u64;
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Numbered<T: Copy> {
    tables: Tables,
    /// By number.
    values: Column<T>,
    /// Numbers by the hash of their values: in the first free place from its own on, of which half are free.
    places: Column<u32>,
}

impl<T: Copy + Eq + OnLine> Numbered<T> {
    pub(crate) fn new(tables: &Tables) -> Numbered<T> {
        Numbered { tables: tables.clone(), values: Column::new(tables), places: Column::new(tables) }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The values in the order of their numbers.
    pub(crate) fn values(&self) -> &Column<T> {
        &self.values
    }

    /// The number of `value`, where it has one.
    #[cfg(test)]
    fn find(&self, value: &T) -> Option<u32> {
        self.look_for(value).ok()
    }

    /// The number of `value`, which is the next where it has none yet.
    pub(crate) fn number(&mut self, value: T) -> Result<u32, Error> {
        if self.places.len() <= 2 * self.values.len() {
            self.grow()?;
        }
        let free = match self.look_for(&value) {
            Ok(number) => return Ok(number),
            Err(free) => free,
        };
        let number = self.values.len() as u32;
        self.values.push(value)?;
        self.places[free] = number;
        Ok(number)
    }

    /// Makes more places.
    fn grow(&mut self) -> Result<(), Error> {
        let count = (4 * self.values.len()).next_power_of_two().max(64);
        self.places = Column::new(&self.tables);
        self.places.resize(count, FREE)?;
        for number in 0..self.values.len() {
            let value = self.values[number];
            let free = self.walk(&value).find(|at| self.places[*at] == FREE);
            if let Some(free) = free {
                self.places[free] = number as u32;
            }
        }
        Ok(())
    }

    /// The places where a value may be, in order.
    fn walk(&self, value: &T) -> impl Iterator<Item = usize> + use<T> {
        let count = self.places.len();
        let (block, within) = (value.at() >> TOGETHER, value.at() & ((1 << TOGETHER) - 1));
        let first = FxBuildHasher.hash_one(block) << TOGETHER | within;
        let first = first as usize & count.wrapping_sub(1);
        (first..count).chain(0..first.min(count))
    }

    /// The number of a value or, where it has none, the place that is free for it.
    fn look_for(&self, value: &T) -> Result<u32, usize> {
        for at in self.walk(value) {
            match self.places[at] {
                FREE => return Err(at),
                number if self.values.get(number as usize) == Some(value) => return Ok(number),
                _ => {}
            }
        }
        Err(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl OnLine for (u32, bool) {
        fn at(&self) -> u64 {
            u64::from(self.0)
        }
    }

    proptest! {
        #[test]
        fn equal_values_have_one_number(values in prop::collection::vec((0u32..200, any::<bool>()), 0..2_000)) {
            let directory = tempfile::tempdir().unwrap();
            for memory in [0, u64::MAX] {
                let mut numbered = Numbered::new(&Tables::new(memory, directory.path()));
                let mut expected: Vec<(u32, bool)> = Vec::new();
                prop_assert_eq!(numbered.find(&(0, true)), None);
                for value in &values {
                    let known = expected.iter().position(|other| other == value);
                    prop_assert_eq!(numbered.find(value), known.map(|number| number as u32));
                    if known.is_none() {
                        expected.push(*value);
                    }
                    let number = numbered.number(*value).unwrap();
                    prop_assert_eq!(expected[number as usize], *value);
                }
                prop_assert!(numbered.values().iter().eq(&expected));
                prop_assert_eq!(numbered.len(), expected.len());
            }
        }
    }
}
