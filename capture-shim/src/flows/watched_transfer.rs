//! Transfer of a watched stream: a stream with more recorded data than its messages.

use super::CallBuffers;
use crate::log::{RecordWriter, StreamTransfer};

/// Transfer of a watched stream with its bytes in buffers.
pub(crate) struct WatchedTransfer {
    /// Writer for the transfer's records.
    pub(crate) writer: RecordWriter,
    /// The transfer.
    pub(crate) transfer: StreamTransfer,
    /// Buffers with the transfer's bytes.
    pub(crate) buffers: CallBuffers,
    /// The current time, in ticks.
    pub(crate) now: u64,
}
