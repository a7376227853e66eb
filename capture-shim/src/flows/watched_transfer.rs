//! Transfer of a watched stream, as what is wanted beside it is made of it.

use super::CallBuffers;
use crate::log::{RecordWriter, StreamTransfer};

/// Transfer of a watched stream whose bytes lie in buffers.
pub(crate) struct WatchedTransfer {
    /// Who writes it down.
    pub(crate) writer: RecordWriter,
    /// The transfer.
    pub(crate) transfer: StreamTransfer,
    /// Buffers of its bytes.
    pub(crate) buffers: CallBuffers,
    /// The present, in ticks.
    pub(crate) now: u64,
}
