//! Tuned figures of this crate.

// Partitions and sorting.

/// Bytes of a block that is being filled. Every worker has one for each partition. Chosen, not
/// measured.
pub(crate) const WRITER_BLOCK_BYTES: usize = 16 << 10;

/// Maximum bytes of the read buffer of a run. Chosen, not measured.
pub(crate) const MAX_READ_BUFFER_BYTES: usize = 16 << 10;

/// Maximum bytes of the read buffers of all runs together; each is smaller where there are many
/// runs. Chosen, not measured.
pub(crate) const MAX_READ_BUFFERS_BYTES: usize = 4 << 20;

/// Minimum bytes of the read buffer of a run, whatever their number. Reading is slow with it.
pub(crate) const MIN_READ_BUFFER_BYTES: usize = 1 << 10;

/// Bytes of a run when a vector is sorted: of one in memory, and of one in a file. Chosen, not
/// measured.
pub(crate) const SORT_RUN_BYTES: [usize; 2] = [16 << 20, 4 << 20];

// Memory pool.

/// Unit in which memory of mapped files is counted, in bytes. The kernel reads that much at a time
/// where its cache holds it.
pub(crate) const MAPPED_BLOCK_BYTES: usize = 64 << 10;

/// Minimum for the bytes of mapped files in memory, however small the pool is. Chosen, not
/// measured.
pub(crate) const MIN_MAPPED_BYTES: usize = 1 << 20;

/// Number of blocks that each thread remembers as used lately. A power of two. Chosen, not
/// measured.
pub(crate) const RECENT_BLOCKS: usize = 256;

/// Maximum bytes of a vector that stays in memory even when the pool is used up. Chosen, not
/// measured.
pub(crate) const ALWAYS_IN_MEMORY_BYTES: usize = 4 << 10;

/// Bytes of zeros that are written at once where the file system cannot reserve room. Chosen, not
/// measured.
pub(crate) const ZERO_WRITE_BYTES: usize = 64 << 10;

/// Minimum number of slots of a hash index, once there is a number in it. A power of two. Chosen,
/// not measured.
pub(crate) const MIN_INDEX_SLOTS: usize = 64;

/// Number of neighbouring values that have slots side by side, as a power of two. Chosen, not
/// measured.
pub(crate) const NEIGHBOUR_BITS: u32 = 6;

// Workers.

/// Number of items below which a thread costs more than it brings. Chosen, not measured.
pub(crate) const MIN_ITEMS_PER_THREAD: usize = 16 * 1024;
