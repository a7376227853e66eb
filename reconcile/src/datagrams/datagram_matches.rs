//! What became of the datagrams of one partition.

use out_of_core::{MemoryPool, SpillableVec};

/// What became of the datagrams of a partition, by their places in it.
#[derive(Debug)]
pub(crate) struct DatagramMatches {
    /// Datagrams seen by both ends: the send and the receive.
    pub(crate) pairs: SpillableVec<(u32, u32)>,
    /// Sends that another socket received as well: to many receivers at once.
    pub(crate) copies: SpillableVec<(u32, u32)>,
    /// Receives of what the same socket had received already.
    pub(crate) duplicates: SpillableVec<u32>,
    /// Sends that nobody was seen to receive.
    pub(crate) sends: SpillableVec<u32>,
    /// Receives that nobody was seen to send.
    pub(crate) receives: SpillableVec<u32>,
}

impl DatagramMatches {
    /// None yet.
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
