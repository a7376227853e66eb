//! Transfer of a watched stream, as what is wanted beside it is made of it.

use super::Buffers;
use crate::log::{Transfer, Writer};

/// Transfer of a watched stream whose bytes lie in buffers.
pub(crate) struct Moved {
    /// Who writes it down.
    pub(crate) writer: Writer,
    /// The transfer.
    pub(crate) transfer: Transfer,
    /// Buffers of its bytes.
    pub(crate) buffers: Buffers,
    /// The present, in ticks.
    pub(crate) now: u64,
}
