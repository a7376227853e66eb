//! What the tables of flows, sockets and names may take of memory: those that are larger are in
//! temporary files, which are mapped, and this has them all in sight. Pages of such files that were
//! looked at stay in memory until they are given back; that is done here for all of them as soon as
//! there are too many. They are lost to nobody: what is looked at again is read again, mostly from
//! the kernel's cache, which is not this process's memory.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use message_trace::parallel::lock;
use message_trace::spill::Budget;

use crate::mapping::{Mapping, Region};

/// Memory is counted in blocks of so many bytes, as the kernel brings in as much at a time where it
/// has it at hand.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;
/// However little memory there is, so many bytes of mapped files may be in it.
const LEAST: usize = 1 << 20;
/// So many blocks each thread remembers to have been in.
const RECENT: usize = 256;

thread_local! {
    /// The blocks that this thread was in lately, each in the place that its number gives it.
    static LATELY: [Cell<usize>; RECENT] = const { [const { Cell::new(usize::MAX) }; RECENT] };
}

/// What all tables of one reconciliation share.
#[derive(Clone, Debug)]
pub(crate) struct Tables(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// How much may be in memory and not in files.
    budget: Budget,
    /// How much was in memory at the beginning.
    all: u64,
    directory: PathBuf,
    /// So many blocks of files may be in memory.
    most: usize,
    /// At most so many are.
    resident: AtomicUsize,
    mapped: Mutex<Vec<Region>>,
}

impl Default for Tables {
    /// Tables that are never in files.
    fn default() -> Tables {
        Tables::new(u64::MAX, Path::new(""))
    }
}

impl Tables {
    /// Tables of which half of `memory`, in bytes, may be in memory, and a quarter of it of those
    /// in files, which have no names and are in `directory`.
    pub(crate) fn new(memory: u64, directory: &Path) -> Tables {
        let most = usize::try_from(memory / 4).unwrap_or(usize::MAX).max(LEAST);
        Tables(Arc::new(Shared {
            budget: Budget::new(memory / 2),
            all: memory / 2,
            directory: directory.to_owned(),
            most: most / BLOCK_BYTES,
            resident: AtomicUsize::new(0),
            mapped: Mutex::new(Vec::new()),
        }))
    }

    /// What is counted of memory.
    pub(crate) fn budget(&self) -> &Budget {
        &self.0.budget
    }

    /// How many bytes are in memory and not in files.
    pub(crate) fn in_memory(&self) -> usize {
        self.0.all.saturating_sub(self.0.budget.left().max(0) as u64) as usize
    }

    /// Leaves so many bytes at most of what may be in memory: to tables that come from now on.
    pub(crate) fn leave(&self, bytes: u64) {
        let more = u64::try_from(self.0.budget.left()).unwrap_or(0).saturating_sub(bytes);
        self.0.budget.take(more as usize);
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Takes note that the byte at `address` of a mapped file is about to be looked at.
    #[inline]
    pub(crate) fn touch(&self, address: usize) {
        let block = address / BLOCK_BYTES;
        let is_new = LATELY.with(|lately| {
            // Rows of several tables are looked at in turns, so neighbours have other places and
            // tables mostly as well.
            let place = block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - RECENT.ilog2());
            lately.get(place).is_some_and(|last| last.replace(block) != block)
        });
        if is_new {
            self.came(1);
        }
    }

    /// Takes note that so many blocks of mapped files came into memory.
    pub(crate) fn came(&self, blocks: usize) {
        if self.0.resident.fetch_add(blocks, Ordering::Relaxed) + blocks > self.0.most {
            self.give_back();
        }
    }

    /// Gives all pages of mapped files back.
    #[cold]
    fn give_back(&self) {
        let mapped = lock(&self.0.mapped);
        // Another thread may have done it meanwhile.
        if self.0.resident.load(Ordering::Relaxed) > self.0.most {
            self.0.resident.store(0, Ordering::Relaxed);
            mapped.iter().for_each(Region::give_back);
        }
    }

    /// Takes care of a mapped file from now on.
    pub(crate) fn mapped(&self, region: Region) {
        lock(&self.0.mapped).push(region);
    }

    /// Ends a mapping. Nobody gives its pages back at the same time, nor those of what comes to be
    /// where it was.
    pub(crate) fn unmap(&self, mapping: &mut Mapping) {
        let mut mapped = lock(&self.0.mapped);
        mapped.retain(|region| *region != mapping.region());
        mapping.unmap();
    }
}
