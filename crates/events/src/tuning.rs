//! Tuned figures of this crate.

/// Maximum number of events of a batch that is read: few enough to stay in the processor's cache.
pub(crate) const BATCH_EVENTS: usize = 4096;

/// Number of events in a row group. A group costs some kilobytes of memory when a table is opened,
/// and the writer holds one whole compressed group.
pub(crate) const GROUP_EVENTS: usize = 512 << 10;

/// Size of a page of a column, in bytes; a reader holds one page of each column, twice.
pub(crate) const PAGE_BYTES: usize = 128 << 10;

/// Maximum number of events of a page of a column.
pub(crate) const PAGE_EVENTS: usize = 16 << 10;

/// Size limit of the dictionary of a column in a row group, in bytes; further values are stored
/// without a dictionary.
pub(crate) const DICTIONARY_BYTES: usize = 256 << 10;

/// Size of the events that are held back until they are sorted, in bytes.
pub(crate) const WAITING_BYTES: usize = 8 << 20;

/// Number of events of a block of a sorted run; a merge of runs has one block of each in memory.
pub(crate) const BLOCK_EVENTS: usize = 512;

/// Maximum number of sorted runs; more are merged into one.
pub(crate) const MAX_RUNS: usize = 64;
