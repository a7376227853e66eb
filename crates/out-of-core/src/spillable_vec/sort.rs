//! Sorting a spillable vector: runs of it in place, then all runs merged into a new vector. Only
//! one run at a time is accessed in random order; the rest is read and written sequentially.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::PathError;
use crate::tuning::SORT_RUN_BYTES;

use super::{SpillableVec, VecStorage};

impl<T: Copy> SpillableVec<T> {
    /// Sorts the rows by a key. The sort is stable.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn sort_by_key<K: Ord + Copy>(&mut self, key: impl Fn(&T) -> K) -> Result<(), PathError> {
        let bytes = SORT_RUN_BYTES[usize::from(matches!(self.storage, VecStorage::File(..)))];
        let most = bytes / size_of::<T>().max(1);
        self.sort_runs_by_key(most, key)
    }

    /// Sorts with runs of `most` rows.
    pub(super) fn sort_runs_by_key<K: Ord + Copy>(
        &mut self,
        most: usize,
        key: impl Fn(&T) -> K,
    ) -> Result<(), PathError> {
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
        let mut merged = SpillableVec::new(&self.pool);
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
