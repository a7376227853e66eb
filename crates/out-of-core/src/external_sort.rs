//! External sort: sorts more records than fit into memory by a key. Stable.
//!
//! ```text
//! push -> buffer --sort--> run 0, run 1, ...   in memory while the budget lasts, else in a file
//!                             \\     |
//!                              heap of the runs' next keys --> records in order, again and again
//! ```
//!
//! A run has a read buffer only from the turn of its first record to that of its last. Records
//! arrive nearly in order, so few runs have one at a time. In the worst case all do, and the
//! buffers are smaller the more runs there are.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;

use crate::PathError;
use crate::tuning::{MAX_READ_BUFFER_BYTES, MAX_READ_BUFFERS_BYTES, MIN_READ_BUFFER_BYTES};
use crate::{MemoryBudget, PartitionStore, PlainRecord};

/// A record that is sorted by a key.
pub trait KeyedRecord: PlainRecord {
    /// The key by which records are sorted.
    type Key: Ord + Copy;

    /// The key of the record.
    fn key(&self) -> Self::Key;
}

/// Collects records and sorts them into runs.
pub struct ExternalSorter<'a, T: KeyedRecord> {
    /// Maximum number of records in a run.
    most: usize,
    buffer: Vec<T>,
    runs: SpilledRuns<'a, T>,
}

/// The sorted runs except the last.
struct SpilledRuns<'a, T: KeyedRecord> {
    /// The runs are the blocks of its only partition.
    store: PartitionStore<'a, T>,
    /// First key and length of each run.
    all: Vec<(T::Key, usize)>,
}

impl<'a, T: KeyedRecord> ExternalSorter<'a, T> {
    /// A sorter with at most `most` records in memory in addition to `budget`.
    pub fn new(budget: &'a MemoryBudget, directory: &Path, most: usize) -> ExternalSorter<'a, T> {
        let runs =
            SpilledRuns { store: PartitionStore::new(budget, directory, 1), all: Vec::new() };
        ExternalSorter { most: most.max(1), buffer: Vec::new(), runs }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn push(&mut self, record: T) -> Result<(), PathError> {
        if self.buffer.len() == self.most {
            self.sort_buffer();
            self.runs.all.extend(self.buffer.first().map(|first| (first.key(), self.buffer.len())));
            self.runs.store.push_block(0, self.runs.all.len() as u64, self.buffer.clone())?;
            self.buffer.clear();
        }
        self.buffer.push(record);
        Ok(())
    }

    fn sort_buffer(&mut self) {
        if !self.buffer.is_sorted_by_key(T::key) {
            self.buffer.sort_by_key(T::key);
        }
    }

    /// Sorts the remaining records, and returns all.
    pub fn finish(mut self) -> SortedRuns<'a, T> {
        self.sort_buffer();
        self.buffer.shrink_to_fit();
        SortedRuns { runs: self.runs, last: self.buffer }
    }
}

/// Sorted records, which can be read several times.
pub struct SortedRuns<'a, T: KeyedRecord> {
    runs: SpilledRuns<'a, T>,
    /// The last run, usually the only one.
    last: Vec<T>,
}

impl<T: KeyedRecord> SortedRuns<'_, T> {
    /// The records in order. The iterator ends at a read error, which is stored in `failed`.
    pub fn iter<'s>(&'s self, failed: &'s ReadFailure) -> MergedRuns<'s, T> {
        let runs = &self.runs.all;
        let buffer = (MAX_READ_BUFFERS_BYTES / runs.len().max(1))
            .clamp(MIN_READ_BUFFER_BYTES, MAX_READ_BUFFER_BYTES);
        let first = |(run, (key, _)): (usize, &(T::Key, usize))| Reverse((*key, run));
        let mut heap: BinaryHeap<_> = runs.iter().enumerate().map(first).collect();
        heap.extend(self.last.first().map(|first| Reverse((first.key(), runs.len()))));
        MergedRuns {
            sorted: self,
            failed,
            most: (buffer / size_of::<T>()).max(1),
            readers: runs.iter().map(|_| RunCursor::default()).collect(),
            last: &self.last,
            heap,
        }
    }
}

/// The runs merged into one sequence.
pub struct MergedRuns<'s, T: KeyedRecord> {
    sorted: &'s SortedRuns<'s, T>,
    failed: &'s ReadFailure,
    /// Number of records that are read of a run together.
    most: usize,
    readers: Vec<RunCursor<T>>,
    /// The remaining records of the last run, which is in memory.
    last: &'s [T],
    /// The runs with remaining records, by their next keys.
    heap: BinaryHeap<Reverse<(T::Key, usize)>>,
}

/// Position in a run.
struct RunCursor<T> {
    /// Number of records read into the buffer so far.
    read: usize,
    buffer: Vec<T>,
    /// The next record in the buffer.
    next: usize,
}

impl<T> Default for RunCursor<T> {
    fn default() -> Self {
        RunCursor { read: 0, buffer: Vec::new(), next: 0 }
    }
}

impl<T: KeyedRecord> RunCursor<T> {
    /// The next record, which stays next.
    fn peek_record(
        &mut self,
        runs: &SpilledRuns<T>,
        run: usize,
        most: usize,
    ) -> Result<Option<T>, PathError> {
        if self.next == self.buffer.len() {
            self.next = 0;
            runs.store.read_records(0, run, self.read, most, &mut self.buffer)?;
            self.read += self.buffer.len();
            if self.buffer.is_empty() {
                self.buffer = Vec::new();
            }
        }
        Ok(self.buffer.get(self.next).copied())
    }
}

impl<T: KeyedRecord> MergedRuns<'_, T> {
    /// The next record in order; `None` after the last one.
    fn next_record(&mut self) -> Result<Option<T>, PathError> {
        if self.readers.is_empty() {
            // The usual case: one run.
            let first = self.last.split_off_first();
            return Ok(first.copied());
        }
        let Some(mut top) = self.heap.peek_mut() else { return Ok(None) };
        let Reverse((_, run)) = *top;
        let Some(reader) = self.readers.get_mut(run) else {
            let record = self.last.split_off_first();
            match self.last.first() {
                Some(next) => *top = Reverse((next.key(), run)),
                None => drop(PeekMut::pop(top)),
            }
            return Ok(record.copied());
        };
        let record = reader.peek_record(&self.sorted.runs, run, self.most)?;
        reader.next += usize::from(record.is_some());
        match reader.peek_record(&self.sorted.runs, run, self.most)? {
            Some(next) => *top = Reverse((next.key(), run)),
            None => drop(PeekMut::pop(top)),
        }
        Ok(record)
    }
}

impl<T: KeyedRecord> Iterator for MergedRuns<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.next_record().unwrap_or_else(|error| {
            self.heap.clear();
            self.failed.0.set(Some(error));
            None
        })
    }
}

/// The error that ended an iteration over sorted records early, if any. The code that consumes the
/// records can ignore it; the code that started the iteration checks it at the end.
#[derive(Default)]
pub struct ReadFailure(Cell<Option<PathError>>);

impl ReadFailure {
    /// Returns the error of reading since the last check, if there was one.
    ///
    /// # Errors
    /// When the temporary file could not be read.
    pub fn check_failure(&self) -> Result<(), PathError> {
        self.0.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl KeyedRecord for [u32; 2] {
        /// The key.
        type Key = u32;

        fn key(&self) -> u32 {
            self[0]
        }
    }

    proptest! {
        #[test]
        fn it_is_a_stable_sort(
            records in prop::collection::vec((0u32..20, 0u32..1000), 0..200),
            most in 1usize..70,
            memory in 0u64..2000,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let budget = MemoryBudget::new(memory);
            let mut sorter = ExternalSorter::new(&budget, directory.path(), most);
            for (key, value) in &records {
                sorter.push([*key, *value]).unwrap();
            }
            let sorted = sorter.finish();
            let mut expected: Vec<[u32; 2]> = records.iter().map(|(key, value)| [*key, *value]).collect();
            expected.sort_by_key(|record| record[0]);
            let failed = ReadFailure::default();
            for _ in 0..2 {
                prop_assert_eq!(sorted.iter(&failed).collect::<Vec<_>>(), expected.clone());
            }
            failed.check_failure().unwrap();
        }
    }

    #[test]
    fn a_failed_write_is_an_error() {
        let budget = MemoryBudget::new(0);
        let mut sorter = ExternalSorter::new(&budget, Path::new("/nonexistent/here"), 1);
        sorter.push([1, 1]).unwrap();
        let error = sorter.push([2, 1]).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/here"), "{error}");
    }
}
