//! Records on their way into a [`Store`]: a worker gathers them by partition, and hands them over
//! in blocks. A block's tag tells whose it is and where it comes among that worker's, so that the
//! order in which workers happen to be does not matter.

use super::store::{Plain, Store};
use crate::error::Error;

/// One worker's way of dealing records into a store, block by block.
pub struct Dealer<'s, 'a, T> {
    store: &'s Store<'a, T>,
    /// The piece of work, which comes first in the tags.
    piece: u64,
    blocks: u64,
    buffers: Vec<Vec<T>>,
}

/// The bytes of a block in the making. Every worker has one for each partition.
const BLOCK_BYTES: usize = 16 << 10;

impl<'s, 'a, T: Plain> Dealer<'s, 'a, T> {
    /// A dealer for the work of piece number `piece`.
    pub fn new(store: &'s Store<'a, T>, piece: usize) -> Dealer<'s, 'a, T> {
        let buffers = (0..store.partitions()).map(|_| Vec::new()).collect();
        Dealer { store, piece: piece as u64, blocks: 0, buffers }
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> usize {
        self.buffers.len()
    }

    /// Deals `record` into a partition.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    #[inline]
    pub fn deal(&mut self, partition: usize, record: T) -> Result<(), Error> {
        let Some(buffer) = self.buffers.get_mut(partition) else { return Ok(()) };
        buffer.push(record);
        if size_of::<T>() * buffer.len() < BLOCK_BYTES {
            return Ok(());
        }
        let full = std::mem::replace(buffer, Vec::with_capacity(BLOCK_BYTES / size_of::<T>() + 1));
        self.push(partition, full)
    }

    /// Deals `records` into a partition so that they stay in one block.
    ///
    /// # Errors
    /// As for [`Dealer::deal`].
    pub fn deal_together(&mut self, partition: usize, records: &[T]) -> Result<(), Error> {
        let Some(buffer) = self.buffers.get_mut(partition) else { return Ok(()) };
        if size_of::<T>() * (buffer.len() + records.len()) <= BLOCK_BYTES {
            buffer.extend_from_slice(records);
            return Ok(());
        }
        let capacity = records.len().max(BLOCK_BYTES / size_of::<T>());
        let full = std::mem::replace(buffer, Vec::with_capacity(capacity));
        buffer.extend_from_slice(records);
        self.push(partition, full)
    }

    fn push(&mut self, partition: usize, records: Vec<T>) -> Result<(), Error> {
        self.blocks += 1;
        self.store.push(partition, self.piece << 32 | self.blocks, records)
    }

    /// Hands over what is left.
    ///
    /// # Errors
    /// As for [`Dealer::deal`].
    pub fn finish(mut self) -> Result<(), Error> {
        for partition in 0..self.buffers.len() {
            let rest = self.buffers.get_mut(partition).map(|buffer| buffer.as_slice().to_vec());
            self.push(partition, rest.unwrap_or_default())?;
        }
        Ok(())
    }
}
