//! Tuned figures.

use std::time::Duration;

/// Number of attempts to open a file that has a lease. The lease of a sockcap command lasts
/// microseconds (`collector::writers`); another user's could last 45 s.
pub(crate) const LEASE_TRIES: u32 = 20;

/// Pause between two attempts to open a file with a lease.
pub(crate) const LEASE_PAUSE: Duration = Duration::from_millis(5);

/// Number of random bytes in the name of a new file: 2^64 names cannot be made in advance.
pub(crate) const NAME_BYTES: usize = 8;

/// Largest depth of nested directories that are removed.
pub(crate) const MAX_DEPTH: usize = 64;
