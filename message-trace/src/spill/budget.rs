//! What may be in memory of that which has no bound: all stores of records take from one budget,
//! and go to files when it is used up.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// How many bytes of records may be in memory, for all stores together.
#[derive(Debug)]
pub struct Budget {
    left: AtomicI64,
    spilled: AtomicU64,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes: u64) -> Budget {
        Budget {
            left: AtomicI64::new(i64::try_from(bytes).unwrap_or(i64::MAX)),
            spilled: AtomicU64::new(0),
        }
    }

    /// What is left of `memory` beside tables of so many bytes, and at least an eighth of it: with
    /// less, what is written comes in ever smaller pieces.
    pub fn beside(memory: u64, tables: usize) -> Budget {
        Budget::new(memory.saturating_sub(tables as u64).max(memory / 8))
    }

    /// Takes note that so many went to a file.
    pub fn spill(&self, bytes: usize) {
        self.spilled.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// How many bytes are left.
    pub fn left(&self) -> i64 {
        self.left.load(Ordering::Relaxed)
    }

    /// How many bytes went to temporary files so far.
    pub fn spilled(&self) -> u64 {
        self.spilled.load(Ordering::Relaxed)
    }

    /// Takes so many, if they are left.
    pub fn take(&self, bytes: usize) -> bool {
        let enough = self.left.fetch_sub(bytes as i64, Ordering::Relaxed) >= bytes as i64;
        if !enough {
            self.give(bytes);
        }
        enough
    }

    /// Gives back what was taken.
    pub fn give(&self, bytes: usize) {
        self.left.fetch_add(bytes as i64, Ordering::Relaxed);
    }
}
