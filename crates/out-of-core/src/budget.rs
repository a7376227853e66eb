//! Memory budget: all unbounded stores of records take from it, and spill to files when it is used
//! up.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Limit of the bytes of records in memory, for all stores together.
#[derive(Debug)]
pub struct MemoryBudget {
    /// Bytes that are not taken.
    left: AtomicI64,
    /// Bytes written to temporary files.
    spilled: AtomicU64,
}

impl MemoryBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: u64) -> MemoryBudget {
        MemoryBudget {
            left: AtomicI64::new(i64::try_from(bytes).unwrap_or(i64::MAX)),
            spilled: AtomicU64::new(0),
        }
    }

    /// Budget of `memory` minus `tables` bytes, but at least an eighth of `memory`: with less, ever
    /// smaller blocks are written.
    pub fn after_tables(memory: u64, tables: usize) -> MemoryBudget {
        MemoryBudget::new(memory.saturating_sub(tables as u64).max(memory / 8))
    }

    /// Counts bytes that were written to a file.
    pub fn count_spilled(&self, bytes: usize) {
        self.spilled.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes that are left.
    pub fn bytes_left(&self) -> i64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Bytes that were written to temporary files so far.
    pub fn bytes_spilled(&self) -> u64 {
        self.spilled.load(Ordering::Relaxed)
    }

    /// Takes `bytes` if that many are left, and returns whether they were.
    pub fn take_bytes(&self, bytes: usize) -> bool {
        let enough = self.left.fetch_sub(bytes as i64, Ordering::Relaxed) >= bytes as i64;
        if !enough {
            self.give_back(bytes);
        }
        enough
    }

    /// Returns bytes to the budget.
    pub fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes as i64, Ordering::Relaxed);
    }
}
