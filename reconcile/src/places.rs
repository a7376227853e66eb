//! A hash table of numbers in a column: where it is by hash, the number of something that is kept
//! elsewhere. Numbers are put in the first free place from their own on, and at least half of the
//! places are free.

use message_trace::Error;

use crate::column::Column;
use crate::tables::Tables;

/// This place is free.
const FREE: u32 = u32::MAX;
/// There are at least so many places, once there is a number.
const FEWEST: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Places {
    tables: Tables,
    numbers: Column<u32>,
}

/// A place that is free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free(usize);

impl Places {
    pub(crate) fn new(tables: &Tables) -> Places {
        Places { tables: tables.clone(), numbers: Column::new(tables) }
    }

    /// Sees to it that there is room for one more than the numbers below `count`, of which each has
    /// that `hash`.
    pub(crate) fn make_room(
        &mut self,
        count: usize,
        hash: impl Fn(u32) -> u64,
    ) -> Result<(), Error> {
        if self.numbers.len() > 2 * count {
            return Ok(());
        }
        // The former places go first, so that there are never both.
        self.numbers = Column::new(&self.tables);
        self.numbers.resize((4 * count).next_power_of_two().max(FEWEST), FREE)?;
        for number in 0..count as u32 {
            if let Err(Some(free)) = self.find(hash(number), |_| false) {
                self.put(free, number);
            }
        }
        Ok(())
    }

    /// The number with that `hash` of which `is` holds or, where there is none, the place that is
    /// free for it; that is there after [`Places::make_room`].
    pub(crate) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Result<u32, Option<Free>> {
        let count = self.numbers.len();
        let first = hash as usize & count.wrapping_sub(1);
        for at in (first..count).chain(0..first.min(count)) {
            match self.numbers[at] {
                FREE => return Err(Some(Free(at))),
                number if is(number) => return Ok(number),
                _ => {}
            }
        }
        Err(None)
    }

    /// Puts `number` where it was looked for.
    pub(crate) fn put(&mut self, Free(at): Free, number: u32) {
        self.numbers[at] = number;
    }
}
