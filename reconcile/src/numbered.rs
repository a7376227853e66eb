//! Different values numbered in the order in which they came, however many there are: in columns.
//! Values mostly come in some order, so those that follow each other have places side by side, and
//! few pages of the table are looked at at a time.

use std::hash::BuildHasher;

use message_trace::Error;
use rustc_hash::FxBuildHasher;

use crate::column::Column;
use crate::places::Places;
use crate::tables::Tables;

/// So many values that follow each other have places side by side, as a power of two.
const TOGETHER: u32 = 6;

/// Where values are on a line.
pub(crate) trait OnLine {
    /// A place on it, which others may share: values that mostly come one after the other are
    /// beside each other.
    fn at(&self) -> u64;
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Numbered<T: Copy> {
    /// By number.
    values: Column<T>,
    /// Numbers by the hash of their values.
    places: Places,
}

impl<T: Copy + Eq + OnLine> Numbered<T> {
    pub(crate) fn new(tables: &Tables) -> Numbered<T> {
        Numbered { values: Column::new(tables), places: Places::new(tables) }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The values in the order of their numbers.
    pub(crate) fn values(&self) -> &Column<T> {
        &self.values
    }

    /// The number of `value`, which is the next where it has none yet.
    pub(crate) fn number(&mut self, value: T) -> Result<u32, Error> {
        let Numbered { values, places } = self;
        places.make_room(values.len(), |number| hash(&values[number as usize]))?;
        match places.find(hash(&value), |number| values[number as usize] == value) {
            Ok(number) => Ok(number),
            Err(free) => {
                let number = values.len() as u32;
                values.push(value)?;
                if let Some(free) = free {
                    places.put(free, number);
                }
                Ok(number)
            }
        }
    }
}

/// Values that are beside each other on the line have hashes that are.
fn hash(value: &impl OnLine) -> u64 {
    let (block, within) = (value.at() >> TOGETHER, value.at() & ((1 << TOGETHER) - 1));
    FxBuildHasher.hash_one(block) << TOGETHER | within
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
                for value in &values {
                    let known = expected.iter().position(|other| other == value);
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
