//! Sorting a column: pieces of it where they are, and then the pieces together into another one. So
//! only a piece of it is looked at in no order, and both the pieces and the outcome are gone
//! through from the beginning to the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use message_trace::Error;

use super::{Column, Kept};

/// So many bytes are sorted at once where they are in memory, and so many of a file.
const RUN_BYTES: [usize; 2] = [16 << 20, 4 << 20];

impl<T: Copy> Column<T> {
    /// Sorts it; rows of equal keys stay in their order.
    pub(crate) fn sort_by_key<K: Ord + Copy>(
        &mut self,
        key: impl Fn(&T) -> K,
    ) -> Result<(), Error> {
        let bytes = RUN_BYTES[usize::from(matches!(self.kept, Kept::File(..)))];
        let most = bytes / size_of::<T>().max(1);
        self.sort_runs_by_key(most, key)
    }

    /// The same, of which so many are sorted at once.
    pub(super) fn sort_runs_by_key<K: Ord + Copy>(
        &mut self,
        most: usize,
        key: impl Fn(&T) -> K,
    ) -> Result<(), Error> {
        let (mut sorted, mut heap) = (true, BinaryHeap::new());
        let mut last = None;
        for start in (0..self.len()).step_by(most) {
            let end = self.len().min(start + most);
            let run = self.slice_mut(start..end);
            if !run.is_sorted_by_key(&key) {
                run.sort_by_key(&key);
            }
            let [first, run_last] = [run.first(), run.last()].map(|row| row.map(&key));
            sorted &= last <= first;
            last = run_last;
            heap.extend(first.map(|first| Reverse((first, start, end))));
        }
        if sorted {
            return Ok(());
        }
        let mut merged = Column::new(&self.tables);
        merged.reserve(self.len())?;
        while let Some(mut top) = heap.peek_mut() {
            let Reverse((_, at, end)) = *top;
            merged.push(self[at])?;
            if at + 1 < end {
                *top = Reverse((key(&self[at + 1]), at + 1, end));
            } else {
                PeekMut::pop(top);
            }
        }
        *self = merged;
        Ok(())
    }
}
