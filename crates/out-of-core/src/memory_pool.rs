//! Memory pool: the memory that the tables of one stage share, and the resident pages of their
//! mapped files.
//!
//! A table that no longer fits is moved to a mapped temporary file. Used pages of mapped files stay
//! in memory, so the pool counts them and returns all of them to the kernel when there are too
//! many. No data is lost: a page that is used again is read again, mostly from the kernel's cache,
//! which is not this process's memory.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::MemoryBudget;
use crate::workers::lock_mutex;

use crate::mapped_file::{MappedFile, MappedRegion};
use crate::tuning::{MAPPED_BLOCK_BYTES, MIN_MAPPED_BYTES, RECENT_BLOCKS};

thread_local! {
    /// Blocks that this thread used recently, each at the index to which its number hashes.
    static RECENTLY_USED: [Cell<usize>; RECENT_BLOCKS] = const { [const { Cell::new(usize::MAX) }; RECENT_BLOCKS] };
}

/// The memory that the tables of one stage share. A clone refers to the same pool.
#[derive(Clone, Debug)]
pub struct MemoryPool(Arc<PoolState>);

#[derive(Debug)]
struct PoolState {
    /// Memory of tables that are not in files.
    budget: MemoryBudget,
    /// The budget at the start, in bytes.
    all: u64,
    directory: PathBuf,
    /// Maximum number of blocks of mapped files in memory.
    max_resident: usize,
    /// Upper bound of the number of blocks of mapped files that are in memory now.
    resident: AtomicUsize,
    mapped: Mutex<Vec<MappedRegion>>,
}

impl Default for MemoryPool {
    /// A pool without a bound: its tables are never moved to files.
    fn default() -> MemoryPool {
        MemoryPool::new(u64::MAX, Path::new(""))
    }
}

impl MemoryPool {
    /// A pool of `memory` bytes: half of it for tables in memory, and a quarter for pages of mapped
    /// files. The files have no names and are in `directory`.
    pub fn new(memory: u64, directory: &Path) -> MemoryPool {
        let mapped = usize::try_from(memory / 4).unwrap_or(usize::MAX).max(MIN_MAPPED_BYTES);
        MemoryPool(Arc::new(PoolState {
            budget: MemoryBudget::new(memory / 2),
            all: memory / 2,
            directory: directory.to_owned(),
            max_resident: mapped / MAPPED_BLOCK_BYTES,
            resident: AtomicUsize::new(0),
            mapped: Mutex::new(Vec::new()),
        }))
    }

    /// The budget of tables in memory.
    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.0.budget
    }

    /// Bytes of tables that are in memory and not in files.
    pub fn in_memory(&self) -> usize {
        self.0.all.saturating_sub(self.0.budget.bytes_left().max(0) as u64) as usize
    }

    /// Lowers the budget to at most `bytes`, for tables that are made later.
    pub fn lower_budget(&self, bytes: u64) {
        let more = u64::try_from(self.0.budget.bytes_left()).unwrap_or(0).saturating_sub(bytes);
        self.0.budget.take_bytes(more as usize);
    }

    /// The directory of the temporary files.
    pub(crate) fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Notes that the byte at `address` of a mapped file is about to be used.
    #[inline]
    pub(crate) fn touch_page(&self, address: usize) {
        let block = address / MAPPED_BLOCK_BYTES;
        let is_new = RECENTLY_USED.with(|lately| {
            // Rows of several tables are used alternately: the hash gives neighbouring blocks, and
            // mostly also blocks of different tables, different indices.
            let place =
                block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - RECENT_BLOCKS.ilog2());
            lately.get(place).is_some_and(|last| last.replace(block) != block)
        });
        if is_new {
            self.count_arrived(1);
        }
    }

    /// Notes that `blocks` more blocks of mapped files are in memory.
    pub(crate) fn count_arrived(&self, blocks: usize) {
        if self.0.resident.fetch_add(blocks, Ordering::Relaxed) + blocks > self.0.max_resident {
            self.give_back();
        }
    }

    /// Gives all pages of mapped files back.
    #[cold]
    fn give_back(&self) {
        let mapped = lock_mutex(&self.0.mapped);
        // Another thread may have done it meanwhile.
        if self.0.resident.load(Ordering::Relaxed) > self.0.max_resident {
            self.0.resident.store(0, Ordering::Relaxed);
            mapped.iter().for_each(MappedRegion::give_back);
        }
    }

    /// Includes a mapped file in the count.
    pub(crate) fn add_region(&self, region: MappedRegion) {
        lock_mutex(&self.0.mapped).push(region);
    }

    /// Unmaps a file. The lock is held meanwhile, so that no other thread gives back its pages, or
    /// the pages of the next mapping at that address.
    pub(crate) fn unmap_file(&self, file: &mut MappedFile) {
        let mut mapped = lock_mutex(&self.0.mapped);
        mapped.retain(|region| *region != file.region());
        file.unmap();
    }
}
