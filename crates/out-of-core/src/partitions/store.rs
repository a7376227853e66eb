//! Records by partition: in memory within a budget, in a temporary file beyond it.
//!
//! Reconciliation groups more records than fit into memory, several times over: calls by
//! connection, datagrams by content and then by flow, messages by time; analysis groups path
//! instances by shape. Each time many workers write blocks of records into partitions, and later
//! each partition is read whole. A block has a tag that orders the blocks of its partition, so that
//! neither the number of workers nor the storage of the blocks affects the result.

use std::fs::File;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::MemoryBudget;
use crate::PathError;
use crate::workers::lock_mutex;

/// A record with the same bytes in a file as in memory.
pub trait PlainRecord: FromBytes + IntoBytes + Immutable + Copy + Send + Sync {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + Send + Sync> PlainRecord for T {}

/// Records of one kind in partitions.
#[derive(Debug)]
pub struct PartitionStore<'a, T> {
    budget: &'a MemoryBudget,
    /// Directory of the temporary file. The file has no name, so nothing is left of it however the
    /// program ends.
    directory: PathBuf,
    file: OnceLock<File>,
    /// Size of the file, in bytes.
    end: AtomicU64,
    partitions: Vec<Mutex<Vec<PartitionBlock<T>>>>,
}

#[derive(Debug)]
struct PartitionBlock<T> {
    tag: u64,
    storage: BlockStorage<T>,
}

#[derive(Debug)]
enum BlockStorage<T> {
    Memory(Vec<T>),
    File { offset: u64, records: usize, kind: PhantomData<T> },
}

impl<'a, T: PlainRecord> PartitionStore<'a, T> {
    /// A store of `partitions` partitions, with its temporary file in `directory`.
    pub fn new(
        budget: &'a MemoryBudget,
        directory: &Path,
        partitions: usize,
    ) -> PartitionStore<'a, T> {
        PartitionStore {
            budget,
            directory: directory.to_owned(),
            file: OnceLock::new(),
            end: AtomicU64::new(0),
            partitions: (0..partitions).map(|_| Mutex::new(Vec::new())).collect(),
        }
    }

    /// Number of partitions.
    pub fn partition_count(&self) -> usize {
        self.partitions.len()
    }

    /// Bytes of all records of a partition; 0 after it was taken.
    pub fn partition_bytes(&self, partition: usize) -> usize {
        let records = |of: &Mutex<Vec<PartitionBlock<T>>>| {
            lock_mutex(of).iter().map(|block| block.storage.record_count()).sum::<usize>()
        };
        self.partitions.get(partition).map_or(0, records) * size_of::<T>()
    }

    /// Sorts the blocks of a partition by their tags, so that [`PartitionStore::read_records`]
    /// numbers them in this order, and returns their number.
    pub fn order_blocks(&self, partition: usize) -> usize {
        self.partitions.get(partition).map_or(0, |of| {
            let mut blocks = lock_mutex(of);
            blocks.sort_by_key(|block| block.tag);
            blocks.len()
        })
    }

    /// Adds a block to a partition; `tag` is its position among the partition's blocks.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn push_block(&self, partition: usize, tag: u64, records: Vec<T>) -> Result<(), PathError> {
        let Some(blocks) = self.partitions.get(partition).filter(|_| !records.is_empty()) else {
            return Ok(());
        };
        let storage = match self.budget.take_bytes(byte_size(&records)) {
            true => BlockStorage::Memory(records),
            false => self.spill_records(&records)?,
        };
        lock_mutex(blocks).push(PartitionBlock { tag, storage });
        Ok(())
    }

    /// Adds `partitions` empty partitions.
    pub fn add_partitions(&mut self, partitions: usize) {
        self.partitions.extend((0..partitions).map(|_| Mutex::new(Vec::new())));
    }

    /// Adds a partition of one block.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn push_partition(&mut self, records: Vec<T>) -> Result<(), PathError> {
        self.add_partitions(1);
        self.push_block(self.partitions.len() - 1, 0, records)
    }

    /// Writes a block to the temporary file.
    fn spill_records(&self, records: &[T]) -> Result<BlockStorage<T>, PathError> {
        let file = self.temporary_file()?;
        let length = byte_size(records);
        let offset = self.end.fetch_add(length as u64, Ordering::Relaxed);
        self.budget.count_spilled(length);
        file.write_all_at(records.as_bytes(), offset)
            .map_err(|error| PathError::io(&self.directory, error))?;
        Ok(BlockStorage::File { offset, records: records.len(), kind: PhantomData })
    }

    fn temporary_file(&self) -> Result<&File, PathError> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = tempfile::tempfile_in(&self.directory)
            .map_err(|error| PathError::io(&self.directory, error))?;
        // Another worker may have been faster.
        Ok(self.file.get_or_init(|| file))
    }

    /// Takes the records of a partition, in blocks, in the order of their tags.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn take_blocks(&self, partition: usize) -> Result<Vec<Vec<T>>, PathError> {
        self.take_each_block(partition).collect()
    }

    /// Takes a partition block by block: only the current block is in memory.
    ///
    /// # Errors
    /// If the temporary file cannot be read; the error takes the place of the block.
    pub fn take_each_block(
        &self,
        partition: usize,
    ) -> impl Iterator<Item = Result<Vec<T>, PathError>> {
        let mut blocks = self
            .partitions
            .get(partition)
            .map(|of| std::mem::take(&mut *lock_mutex(of)))
            .unwrap_or_default();
        blocks.sort_by_key(|block| block.tag);
        blocks.into_iter().map(|block| self.load_block(block.storage))
    }

    /// Reads up to `most` records of a block into `to`, from record number `from` on. Blocks are
    /// numbered in the order in which they were pushed.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn read_records(
        &self,
        partition: usize,
        block: usize,
        from: usize,
        most: usize,
        to: &mut Vec<T>,
    ) -> Result<(), PathError> {
        to.clear();
        let Some(blocks) = self.partitions.get(partition) else { return Ok(()) };
        let blocks = lock_mutex(blocks);
        let Some(PartitionBlock { storage, .. }) = blocks.get(block) else { return Ok(()) };
        let end = storage.record_count().min(from.saturating_add(most));
        match storage {
            BlockStorage::Memory(records) => {
                to.extend_from_slice(records.get(from..end).unwrap_or(&[]))
            }
            BlockStorage::File { offset, .. } => {
                to.resize(end.saturating_sub(from), T::new_zeroed());
                let offset = offset + (size_of::<T>() * from) as u64;
                let read =
                    self.temporary_file()?.read_exact_at(to.as_mut_slice().as_mut_bytes(), offset);
                read.map_err(|error| PathError::io(&self.directory, error))?;
            }
        }
        Ok(())
    }

    /// The records of a block; their memory is given back to the budget.
    fn load_block(&self, storage: BlockStorage<T>) -> Result<Vec<T>, PathError> {
        let io = |error| PathError::io(&self.directory, error);
        match storage {
            BlockStorage::Memory(records) => {
                self.budget.give_back(byte_size(&records));
                Ok(records)
            }
            BlockStorage::File { offset, records, .. } => {
                let mut loaded = vec![T::new_zeroed(); records];
                self.temporary_file()?.read_exact_at(loaded.as_mut_bytes(), offset).map_err(io)?;
                Ok(loaded)
            }
        }
    }
}

impl<T> BlockStorage<T> {
    fn record_count(&self) -> usize {
        match self {
            BlockStorage::Memory(records) => records.len(),
            BlockStorage::File { records, .. } => *records,
        }
    }
}

impl<T> Drop for PartitionStore<'_, T> {
    /// Gives back the memory of records that were not taken.
    fn drop(&mut self) {
        for block in
            self.partitions.iter().flat_map(|blocks| std::mem::take(&mut *lock_mutex(blocks)))
        {
            if let BlockStorage::Memory(records) = block.storage {
                self.budget.give_back(byte_size(&records));
            }
        }
    }
}

/// The records of all blocks in one vector. Each block is dropped as soon as it is copied, as
/// together they may be as large as the memory.
pub fn join_blocks<T: PlainRecord>(mut blocks: Vec<Vec<T>>) -> Vec<T> {
    if let [only] = blocks.as_mut_slice() {
        return std::mem::take(only);
    }
    let mut all = Vec::with_capacity(blocks.iter().map(Vec::len).sum());
    blocks.into_iter().for_each(|block| all.extend_from_slice(&block));
    all
}

fn byte_size<T>(records: &[T]) -> usize {
    size_of_val(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartitionWriter;

    /// Content of each partition after five pieces of work wrote numbers with this budget.
    fn partition_numbers(budget: u64, directory: &Path, reverse: bool) -> (Vec<Vec<u64>>, u64) {
        let budget = MemoryBudget::new(budget);
        let store: PartitionStore<u64> = PartitionStore::new(&budget, directory, 3);
        let mut pieces: Vec<usize> = (0..5).collect();
        if reverse {
            pieces.reverse();
        }
        for piece in pieces {
            let mut dealer = PartitionWriter::new(&store, piece);
            for number in 0..5_000u64 {
                dealer
                    .partition_record((number % 3) as usize, number + 10_000 * piece as u64)
                    .unwrap();
            }
            dealer.finish().unwrap();
        }
        (0..3)
            .map(|partition| store.take_blocks(partition).unwrap().concat())
            .zip(std::iter::repeat(()))
            .fold((Vec::new(), budget.bytes_spilled()), |(mut all, spilled), (one, ())| {
                all.push(one);
                (all, spilled)
            })
    }

    #[test]
    fn neither_order_of_work_nor_budget_affects_the_result() {
        let directory = tempfile::tempdir().unwrap();
        let (in_memory, spilled) = partition_numbers(u64::MAX, directory.path(), false);
        assert_eq!(spilled, 0);
        assert_eq!(in_memory[1][..2], [1, 4]);
        assert_eq!(in_memory.iter().map(Vec::len).sum::<usize>(), 25_000);
        for budget in [0, 50_000] {
            let (from_file, spilled) = partition_numbers(budget, directory.path(), true);
            assert!(spilled > 100_000, "{spilled}");
            assert_eq!(from_file, in_memory);
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "the file has no name");
    }

    #[test]
    fn taking_gives_back_to_the_budget() {
        let directory = tempfile::tempdir().unwrap();
        let budget = MemoryBudget::new(80);
        let store: PartitionStore<u64> = PartitionStore::new(&budget, directory.path(), 1);
        for round in 0..4 {
            store.push_block(0, 0, vec![round; 10]).unwrap();
            assert_eq!(store.take_blocks(0).unwrap(), [vec![round; 10]]);
        }
        assert_eq!(budget.bytes_spilled(), 0);
    }

    #[test]
    fn blocks_can_be_read_in_parts_and_free_their_memory() {
        let directory = tempfile::tempdir().unwrap();
        for (memory, left) in [(0, 0), (100, 20)] {
            let budget = MemoryBudget::new(memory);
            let store: PartitionStore<u64> = PartitionStore::new(&budget, directory.path(), 1);
            store.push_block(0, 7, (0..10).collect()).unwrap();
            assert_eq!(budget.bytes_left(), left);
            let mut read = vec![99];
            for (from, expected) in
                [(0, vec![0, 1, 2, 3]), (8, vec![8, 9]), (10, vec![]), (11, vec![])]
            {
                store.read_records(0, 0, from, 4, &mut read).unwrap();
                assert_eq!(read, expected);
            }
            drop(store);
            assert_eq!(budget.bytes_left(), memory as i64);
        }
    }

    #[test]
    fn bytes_and_the_order_of_blocks_are_known() {
        let directory = tempfile::tempdir().unwrap();
        for memory in [0, u64::MAX] {
            let budget = MemoryBudget::new(memory);
            let store: PartitionStore<u64> = PartitionStore::new(&budget, directory.path(), 2);
            store.push_block(1, 9, vec![1, 2]).unwrap();
            store.push_block(1, 3, vec![3]).unwrap();
            assert_eq!([0, 1, 2].map(|partition| store.partition_bytes(partition)), [0, 24, 0]);
            assert_eq!([0, 1, 2].map(|partition| store.order_blocks(partition)), [0, 2, 0]);
            let mut read = Vec::new();
            store.read_records(1, 0, 0, 9, &mut read).unwrap();
            assert_eq!(read, [3], "the lower tag is the first");
            store.take_blocks(1).unwrap();
            assert_eq!((store.partition_bytes(1), store.order_blocks(1)), (0, 0));
        }
    }

    #[test]
    fn a_missing_directory_is_named() {
        let budget = MemoryBudget::new(0);
        let store: PartitionStore<u64> =
            PartitionStore::new(&budget, Path::new("/nonexistent/here"), 1);
        let error = store.push_block(0, 0, vec![1]).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/here"), "{error}");
    }
}
