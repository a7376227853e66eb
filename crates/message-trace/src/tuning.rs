//! Tuned figures of this crate.

/// Number of messages in a row group of `messages.parquet`. A group is encoded as a whole, and
/// threads share work by groups. Chosen, not measured.
pub const GROUP_ROWS: usize = 128 * 1024;

/// Number of messages that are put into columns at a time: few enough that they stay in the
/// processor's cache. Chosen, not measured.
pub(crate) const STEP_ROWS: usize = 4096;

/// Number of rows in a record batch that is read. Chosen, not measured.
pub const BATCH_ROWS: usize = 64 * 1024;

/// Number of bytes of JSON that are collected before they are written. Chosen, not measured.
pub(crate) const LINES_BEFORE_WRITING: usize = 64 * 1024;

/// Bytes of operations in memory before more are moved to temporary files: 2.5 million messages.
/// Chosen, not measured.
pub(crate) const OPERATIONS_IN_MEMORY_BYTES: u64 = 256 << 20;
