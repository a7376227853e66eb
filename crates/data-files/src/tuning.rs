//! Tuned figures.

use std::time::Duration;

/// Number of attempts to open a file that somebody has a lease on. The lease of a command of ours
/// lasts microseconds (`collector::writers`); another user's could last 45 s.
pub(crate) const LEASE_TRIES: u32 = 20;

/// Pause between two of these attempts.
pub(crate) const LEASE_PAUSE: Duration = Duration::from_millis(5);

/// Number of bytes drawn for the name of a new file: 2^64 names cannot be made ahead.
pub(crate) const NAME_BYTES: usize = 8;

/// Largest number of directories in each other that are removed.
pub(crate) const MAX_DEPTH: usize = 64;
