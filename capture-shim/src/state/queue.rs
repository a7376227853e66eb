//! Progress of the queue of chunks that can be reused (see `log/recycle.rs`).

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::tuning::SPARE_CHUNKS;

/// Progress of the queue in a process. All fields begin as zeros.
#[repr(C)]
pub(crate) struct ChunkQueue {
    /// Ticket of the oldest chunk in the queue.
    pub(crate) head: AtomicU64,
    /// Number of tickets given.
    pub(crate) tail: AtomicU64,
    /// Addresses of empty chunks that no thread writes into; 0 for none.
    pub(crate) spares: [AtomicU64; SPARE_CHUNKS],
    /// Number of chunks up to the log's limit that the disk had no space for.
    pub(crate) refused: AtomicU32,
    /// Number of requests for a chunk that are refused before the next search: the last search
    /// found flows that are still open in all chunks that it inspected.
    pub(crate) held_off: AtomicU32,
    /// Set of the scratch memories in use, a bit for each.
    pub(crate) busy: AtomicU64,
}
