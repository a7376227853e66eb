//! Interner: numbers distinct values in the order in which they arrive, however many there are.
//! Values mostly arrive in some order, so the hash places neighbours next to each other and few
//! pages are in use at a time.

use std::hash::BuildHasher;

use crate::PathError;
use rustc_hash::FxBuildHasher;

use crate::HashIndex;
use crate::MemoryPool;
use crate::SpillableVec;
use crate::tuning::NEIGHBOUR_BITS;

/// Position of a value on a line, by which neighbours can be stored together.
pub trait Locality {
    /// Position of the value, which other values may share. Values that usually arrive one after
    /// the other have neighbouring positions.
    fn position(&self) -> u64;
}

/// Values and their numbers.
#[derive(Debug, Default)]
pub struct Interner<T: Copy> {
    /// The values by their numbers.
    values: SpillableVec<T>,
    /// Numbers by the hash of their values.
    index: HashIndex,
}

impl<T: Copy + Eq + Locality> Interner<T> {
    /// An empty interner in the memory of `pool`.
    pub fn new(pool: &MemoryPool) -> Interner<T> {
        Interner { values: SpillableVec::new(pool), index: HashIndex::new(pool) }
    }

    /// Number of distinct values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values in the order of their numbers.
    pub fn values(&self) -> &SpillableVec<T> {
        &self.values
    }

    /// The number of `value`; the next number if it is new.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn intern(&mut self, value: T) -> Result<u32, PathError> {
        let Interner { values, index } = self;
        index.reserve_slots(values.len(), |number| hash_position(&values[number as usize]))?;
        match index.find_number(hash_position(&value), |number| values[number as usize] == value) {
            Ok(number) => Ok(number),
            Err(free) => {
                let number = values.len() as u32;
                values.push(value)?;
                if let Some(free) = free {
                    index.put_number(free, number);
                }
                Ok(number)
            }
        }
    }
}

/// A hash that is adjacent for adjacent values.
fn hash_position(value: &impl Locality) -> u64 {
    let (block, within) =
        (value.position() >> NEIGHBOUR_BITS, value.position() & ((1 << NEIGHBOUR_BITS) - 1));
    FxBuildHasher.hash_one(block) << NEIGHBOUR_BITS | within
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Locality for (u32, bool) {
        fn position(&self) -> u64 {
            u64::from(self.0)
        }
    }

    proptest! {
        #[test]
        fn equal_values_have_one_number(values in prop::collection::vec((0u32..200, any::<bool>()), 0..2_000)) {
            let directory = tempfile::tempdir().unwrap();
            for memory in [0, u64::MAX] {
                let mut numbered = Interner::new(&MemoryPool::new(memory, directory.path()));
                let mut expected: Vec<(u32, bool)> = Vec::new();
                for value in &values {
                    let known = expected.iter().position(|other| other == value);
                    if known.is_none() {
                        expected.push(*value);
                    }
                    let number = numbered.intern(*value).unwrap();
                    prop_assert_eq!(expected[number as usize], *value);
                }
                prop_assert!(numbered.values().iter().eq(&expected));
                prop_assert_eq!(numbered.len(), expected.len());
            }
        }
    }
}
