//! Tuned figures of this crate.

/// Number of events of a piece that is read, at most. Few enough that a piece stays in the
/// processor's cache.
pub(crate) const BATCH_EVENTS: usize = 4096;

/// Number of events in a row group. A group costs some kilobytes of memory when a table is opened,
/// and the writer holds a whole one, compressed.
pub(crate) const GROUP_EVENTS: usize = 512 << 10;

/// Size of a page of a column, in bytes: a reader holds one of each column, twice.
pub(crate) const PAGE_BYTES: usize = 128 << 10;

/// Number of events of a page of a column, at most.
pub(crate) const PAGE_EVENTS: usize = 16 << 10;

/// Size of all different values of a column in a row group beyond which the others are stored one
/// after the other, in bytes.
pub(crate) const DICTIONARY_BYTES: usize = 256 << 10;

/// Size of the events that wait until they are sorted, in bytes.
pub(crate) const WAITING_BYTES: usize = 8 << 20;

/// Number of events of a block of a sorted run: one of each run is in memory when runs are merged.
pub(crate) const BLOCK_EVENTS: usize = 512;

/// Maximum number of sorted runs; with more they are merged into one.
pub(crate) const MAX_RUNS: usize = 64;
