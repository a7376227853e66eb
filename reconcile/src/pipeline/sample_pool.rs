//! Clock samples, one set for each worker. A sample keeps the messages with least delay, in
//! whatever order they were added, so each worker takes any free set.

use std::sync::{Mutex, PoisonError};

use clocks::ClockSamples;
use out_of_core::workers::lock_mutex;

/// One set of samples for each worker.
pub(crate) struct SamplePool {
    hosts: usize,
    free: Mutex<Vec<ClockSamples>>,
}

impl SamplePool {
    pub(crate) fn new(hosts: usize) -> SamplePool {
        SamplePool { hosts, free: Mutex::new(Vec::new()) }
    }

    /// Runs `work` with a set that no other worker uses meanwhile.
    pub(crate) fn with_samples<T>(&self, work: impl FnOnce(&mut ClockSamples) -> T) -> T {
        let free = lock_mutex(&self.free).pop();
        let mut samples = free.unwrap_or_else(|| ClockSamples::new(self.hosts));
        let result = work(&mut samples);
        lock_mutex(&self.free).push(samples);
        result
    }

    /// All samples in one set.
    pub(crate) fn merge_samples(self) -> ClockSamples {
        let all = self.free.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.into_iter().fold(ClockSamples::new(self.hosts), |mut merged, samples| {
            merged.merge_samples(samples);
            merged
        })
    }
}
