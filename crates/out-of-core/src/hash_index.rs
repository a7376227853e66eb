//! Hash index: finds the number of a value that is stored elsewhere, by the value's hash. Linear
//! probing, at least half of the slots free, in a spillable vector.

use crate::PathError;

use crate::MemoryPool;
use crate::SpillableVec;
use crate::tuning::MIN_INDEX_SLOTS;

/// Content of a free slot.
const FREE: u32 = u32::MAX;

/// Numbers by the hash of their values.
#[derive(Debug, Default)]
pub struct HashIndex {
    pool: MemoryPool,
    /// The slots: a number, or [`FREE`].
    numbers: SpillableVec<u32>,
}

/// A free slot, in which a value that was not found can be put.
#[derive(Clone, Copy, Debug)]
pub struct FreeSlot(usize);

impl HashIndex {
    /// An empty index in the memory of `pool`.
    pub fn new(pool: &MemoryPool) -> HashIndex {
        HashIndex { pool: pool.clone(), numbers: SpillableVec::new(pool) }
    }

    /// Makes room for the number `count`, after `0..count`; `hash` returns the hash of each.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn reserve_slots(
        &mut self,
        count: usize,
        hash: impl Fn(u32) -> u64,
    ) -> Result<(), PathError> {
        if self.numbers.len() > 2 * count {
            return Ok(());
        }
        // The old slots are dropped first, so that both never exist at a time.
        self.numbers = SpillableVec::new(&self.pool);
        self.numbers.resize((4 * count).next_power_of_two().max(MIN_INDEX_SLOTS), FREE)?;
        for number in 0..count as u32 {
            if let Err(Some(free)) = self.find_number(hash(number), |_| false) {
                self.put_number(free, number);
            }
        }
        Ok(())
    }

    /// The number with this `hash` for which `is_sought` returns true.
    ///
    /// # Errors
    /// If there is no number: the free slot for it, which exists after
    /// [`HashIndex::reserve_slots`].
    pub fn find_number(
        &self,
        hash: u64,
        is_sought: impl Fn(u32) -> bool,
    ) -> Result<u32, Option<FreeSlot>> {
        let count = self.numbers.len();
        let first = hash as usize & count.wrapping_sub(1);
        for at in (first..count).chain(0..first.min(count)) {
            match self.numbers[at] {
                FREE => return Err(Some(FreeSlot(at))),
                number if is_sought(number) => return Ok(number),
                _ => {}
            }
        }
        Err(None)
    }

    /// Puts `number` into the slot at which the search ended.
    pub fn put_number(&mut self, FreeSlot(at): FreeSlot, number: u32) {
        self.numbers[at] = number;
    }
}
