//! Matches of the datagrams of one partition.

use out_of_core::{MemoryPool, SpillableVec};

/// Matches of the datagrams of a partition, by their indices in it.
#[derive(Debug)]
pub(crate) struct DatagramMatches {
    /// Datagrams seen by both ends: the send and the receive.
    pub(crate) pairs: SpillableVec<(u32, u32)>,
    /// Datagrams to several receivers: a send that has a pair already, and a further receive.
    pub(crate) copies: SpillableVec<(u32, u32)>,
    /// Second copies: receives of datagrams that the same socket had received already.
    pub(crate) duplicates: SpillableVec<u32>,
    /// Sends without a recorded receive.
    pub(crate) sends: SpillableVec<u32>,
    /// Receives without a recorded send.
    pub(crate) receives: SpillableVec<u32>,
}

impl DatagramMatches {
    /// No matches yet.
    pub(crate) fn new(pool: &MemoryPool) -> DatagramMatches {
        DatagramMatches {
            pairs: SpillableVec::new(pool),
            copies: SpillableVec::new(pool),
            duplicates: SpillableVec::new(pool),
            sends: SpillableVec::new(pool),
            receives: SpillableVec::new(pool),
        }
    }
}
