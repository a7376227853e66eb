//! How far the queue of chunks that can be used again has come (see [`crate::log::recycle`]).

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::tuning::SPARE_CHUNKS;

/// How far the queue has come, in a process. All of it begins as zeros.
#[repr(C)]
pub(crate) struct Queue {
    /// Ticket of the oldest chunk in the queue.
    pub(crate) head: AtomicU64,
    /// Number of tickets given.
    pub(crate) tail: AtomicU64,
    /// Addresses of chunks that nobody owns and nothing is in, or 0.
    pub(crate) spares: [AtomicU64; SPARE_CHUNKS],
    /// Number of chunks that the log will not have: the disk had no room for them.
    pub(crate) refused: AtomicU32,
    /// Which scratch memories are in use, bit by bit.
    pub(crate) busy: AtomicU64,
}
