//! Records in the order of a key, of which there may be more than memory holds: slices of them are
//! sorted and kept as runs, in memory while the budget lasts and in a temporary file beyond it, and
//! then the runs are gone through together, as often as needed. Records of equal keys stay in the
//! order in which they came, as in a stable sort.
//!
//! A run has a buffer only from its first record's turn to its last one's. Calls come nearly in
//! order, so few runs have one at a time; in the worst case all do, and then the buffers are the
//! smaller the more runs there are.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;

use message_trace::Error;
use message_trace::spill::{Budget, Plain, Store};

/// At most so many bytes of a run are read at once:
const BUFFER_BYTES: usize = 16 << 10;
/// fewer where the buffers of all runs came to more than this,
const BUFFERS_BYTES: usize = 4 << 20;
/// but never less than this, with which reading is slow.
const LEAST_BUFFER_BYTES: usize = 1 << 10;

/// A record that has a place in an order.
pub(crate) trait Keyed: Plain {
    type Key: Ord + Copy;

    /// By what it is sorted.
    fn key(&self) -> Self::Key;
}

/// Records on their way to be sorted.
pub(crate) struct Sorter<'a, T: Keyed> {
    /// How many records make a run.
    most: usize,
    buffer: Vec<T>,
    runs: Runs<'a, T>,
}

/// What was sorted so far.
struct Runs<'a, T: Keyed> {
    /// The runs are the blocks of its one partition.
    store: Store<'a, T>,
    /// Of each its first key, and its length.
    all: Vec<(T::Key, usize)>,
}

impl<'a, T: Keyed> Sorter<'a, T> {
    /// A sorter that has at most so many records in memory beside what `budget` allows.
    pub(crate) fn new(budget: &'a Budget, directory: &Path, most: usize) -> Sorter<'a, T> {
        let runs = Runs { store: Store::new(budget, directory, 1), all: Vec::new() };
        Sorter { most: most.max(1), buffer: Vec::new(), runs }
    }

    pub(crate) fn push(&mut self, record: T) -> Result<(), Error> {
        if self.buffer.len() == self.most {
            self.sort();
            self.runs.all.extend(self.buffer.first().map(|first| (first.key(), self.buffer.len())));
            self.runs.store.push(0, self.runs.all.len() as u64, self.buffer.clone())?;
            self.buffer.clear();
        }
        self.buffer.push(record);
        Ok(())
    }

    fn sort(&mut self) {
        if !self.buffer.is_sorted_by_key(T::key) {
            self.buffer.sort_by_key(T::key);
        }
    }

    /// All records, sorted.
    pub(crate) fn finish(mut self) -> Sorted<'a, T> {
        self.sort();
        self.buffer.shrink_to_fit();
        Sorted { runs: self.runs, last: self.buffer }
    }
}

/// Sorted records.
pub(crate) struct Sorted<'a, T: Keyed> {
    runs: Runs<'a, T>,
    /// The last run. Mostly it is the only one.
    last: Vec<T>,
}

impl<T: Keyed> Sorted<'_, T> {
    /// The records in order. Where some cannot be read it ends, and `failed` has the error.
    pub(crate) fn iter<'s>(&'s self, failed: &'s Failed) -> Merged<'s, T> {
        let runs = &self.runs.all;
        let buffer = (BUFFERS_BYTES / runs.len().max(1)).clamp(LEAST_BUFFER_BYTES, BUFFER_BYTES);
        let first = |(run, (key, _)): (usize, &(T::Key, usize))| Reverse((*key, run));
        let mut heap: BinaryHeap<_> = runs.iter().enumerate().map(first).collect();
        heap.extend(self.last.first().map(|first| Reverse((first.key(), runs.len()))));
        Merged {
            sorted: self,
            failed,
            most: (buffer / size_of::<T>()).max(1),
            readers: runs.iter().map(|_| Reader::default()).collect(),
            last: &self.last,
            heap,
        }
    }
}

/// All runs, merged.
pub(crate) struct Merged<'s, T: Keyed> {
    sorted: &'s Sorted<'s, T>,
    failed: &'s Failed,
    /// How many records of a run are read at once.
    most: usize,
    readers: Vec<Reader<T>>,
    last: &'s [T],
    /// The runs that have more, by their next keys.
    heap: BinaryHeap<Reverse<(T::Key, usize)>>,
}

/// Where reading a run has come to.
struct Reader<T> {
    /// How many records were read into the buffer so far.
    read: usize,
    buffer: Vec<T>,
    /// The next record in the buffer.
    next: usize,
}

impl<T> Default for Reader<T> {
    fn default() -> Self {
        Reader { read: 0, buffer: Vec::new(), next: 0 }
    }
}

impl<T: Keyed> Reader<T> {
    /// The next record, which there is.
    fn peek(&mut self, runs: &Runs<T>, run: usize, most: usize) -> Result<Option<T>, Error> {
        if self.next == self.buffer.len() {
            self.next = 0;
            runs.store.read(0, run, self.read, most, &mut self.buffer)?;
            self.read += self.buffer.len();
            if self.buffer.is_empty() {
                self.buffer = Vec::new();
            }
        }
        Ok(self.buffer.get(self.next).copied())
    }
}

impl<T: Keyed> Merged<'_, T> {
    fn step(&mut self) -> Result<Option<T>, Error> {
        if self.readers.is_empty() {
            // Mostly there is one run.
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
        let record = reader.peek(&self.sorted.runs, run, self.most)?;
        reader.next += usize::from(record.is_some());
        match reader.peek(&self.sorted.runs, run, self.most)? {
            Some(next) => *top = Reverse((next.key(), run)),
            None => drop(PeekMut::pop(top)),
        }
        Ok(record)
    }
}

impl<T: Keyed> Iterator for Merged<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.step().unwrap_or_else(|error| {
            self.heap.clear();
            self.failed.0.set(Some(error));
            None
        })
    }
}

/// Why going through sorted records has ended early. Steps that take them as they take any others
/// need not ask.
#[derive(Default)]
pub(crate) struct Failed(Cell<Option<Error>>);

impl Failed {
    /// Whether all was read since it was asked last.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.0.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Keyed for [u32; 2] {
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
            let budget = Budget::new(memory);
            let mut sorter = Sorter::new(&budget, directory.path(), most);
            for (key, value) in &records {
                sorter.push([*key, *value]).unwrap();
            }
            let sorted = sorter.finish();
            let mut expected: Vec<[u32; 2]> = records.iter().map(|(key, value)| [*key, *value]).collect();
            expected.sort_by_key(|record| record[0]);
            let failed = Failed::default();
            for _ in 0..2 {
                prop_assert_eq!(sorted.iter(&failed).collect::<Vec<_>>(), expected.clone());
            }
            failed.check().unwrap();
        }
    }

    #[test]
    fn what_cannot_be_kept_is_an_error() {
        let budget = Budget::new(0);
        let mut sorter = Sorter::new(&budget, Path::new("/nonexistent/here"), 1);
        sorter.push([1, 1]).unwrap();
        let error = sorter.push([2, 1]).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/here"), "{error}");
    }
}
