//! Tuned figures of this crate.

// Partitions and sorting.

/// Bytes of a block that is being filled. Every worker has one for each partition. Chosen, not
/// measured.
pub(crate) const WRITER_BLOCK_BYTES: usize = 16 << 10;

/// Maximum bytes of the read buffer of a run. Chosen, not measured.
pub(crate) const MAX_READ_BUFFER_BYTES: usize = 16 << 10;

/// Maximum bytes of the read buffers of all runs together; each is smaller if there are many runs.
/// Chosen, not measured.
pub(crate) const MAX_READ_BUFFERS_BYTES: usize = 4 << 20;

/// Minimum bytes of the read buffer of a run, however many runs there are. Reading is slow with it.
pub(crate) const MIN_READ_BUFFER_BYTES: usize = 1 << 10;

/// Bytes of a run when a vector is sorted: in memory, and in a file. Chosen, not measured.
pub(crate) const SORT_RUN_BYTES: [usize; 2] = [16 << 20, 4 << 20];

// Memory pool.

/// Unit in which memory of mapped files is counted, in bytes. The kernel loads that much at a time
/// if its cache contains it.
pub(crate) const MAPPED_BLOCK_BYTES: usize = 64 << 10;

/// Minimum for the bytes of mapped files in memory, however small the pool is. Chosen, not
/// measured.
pub(crate) const MIN_MAPPED_BYTES: usize = 1 << 20;

/// Number of recently used blocks that each thread remembers. A power of two. Chosen, not measured.
pub(crate) const RECENT_BLOCKS: usize = 256;

/// Maximum bytes of a vector that stays in memory even when the pool is used up. Chosen, not
/// measured.
pub(crate) const ALWAYS_IN_MEMORY_BYTES: usize = 4 << 10;

/// Bytes of zeros per write if the file system cannot reserve space. Chosen, not measured.
pub(crate) const ZERO_WRITE_BYTES: usize = 64 << 10;

/// Minimum number of slots of a hash index that is not empty. A power of two. Chosen, not measured.
pub(crate) const MIN_INDEX_SLOTS: usize = 64;

/// Number of neighbouring values with adjacent slots, as a power of two. Chosen, not measured.
pub(crate) const NEIGHBOUR_BITS: u32 = 6;

// Workers.

/// Number of items below which a thread costs more than it saves. Chosen, not measured.
pub(crate) const MIN_ITEMS_PER_THREAD: usize = 16 * 1024;
