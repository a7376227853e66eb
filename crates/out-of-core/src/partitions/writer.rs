//! Partition writer: buffers the records of one worker by partition and hands them to a
//! [`PartitionStore`] in blocks. A block's tag contains its piece of work and its position among
//! the blocks of that piece, so that the order of the workers does not matter.

use super::store::{PartitionStore, PlainRecord};
use crate::PathError;
use crate::tuning::WRITER_BLOCK_BYTES;

/// One worker's writer of records into a store, block by block.
pub struct PartitionWriter<'s, 'a, T> {
    store: &'s PartitionStore<'a, T>,
    /// Number of the piece of work, the first part of each tag.
    piece: u64,
    /// Number of blocks written so far.
    blocks: u64,
    buffers: Vec<Vec<T>>,
}

impl<'s, 'a, T: PlainRecord> PartitionWriter<'s, 'a, T> {
    /// A writer for the piece of work number `piece`.
    pub fn new(store: &'s PartitionStore<'a, T>, piece: usize) -> PartitionWriter<'s, 'a, T> {
        let buffers = (0..store.partition_count()).map(|_| Vec::new()).collect();
        PartitionWriter { store, piece: piece as u64, blocks: 0, buffers }
    }

    /// Number of partitions.
    pub fn partition_count(&self) -> usize {
        self.buffers.len()
    }

    /// Writes `record` into a partition.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    #[inline]
    pub fn partition_record(&mut self, partition: usize, record: T) -> Result<(), PathError> {
        let Some(buffer) = self.buffers.get_mut(partition) else { return Ok(()) };
        buffer.push(record);
        if size_of::<T>() * buffer.len() < WRITER_BLOCK_BYTES {
            return Ok(());
        }
        let full =
            std::mem::replace(buffer, Vec::with_capacity(WRITER_BLOCK_BYTES / size_of::<T>() + 1));
        self.push_block(partition, full)
    }

    /// Writes `records` into a partition so that they stay in one block.
    ///
    /// # Errors
    /// As for [`PartitionWriter::partition_record`].
    pub fn partition_records(&mut self, partition: usize, records: &[T]) -> Result<(), PathError> {
        let Some(buffer) = self.buffers.get_mut(partition) else { return Ok(()) };
        if size_of::<T>() * (buffer.len() + records.len()) <= WRITER_BLOCK_BYTES {
            buffer.extend_from_slice(records);
            return Ok(());
        }
        let capacity = records.len().max(WRITER_BLOCK_BYTES / size_of::<T>());
        let full = std::mem::replace(buffer, Vec::with_capacity(capacity));
        buffer.extend_from_slice(records);
        self.push_block(partition, full)
    }

    /// Adds a block to the store, with the next tag of this piece of work.
    fn push_block(&mut self, partition: usize, records: Vec<T>) -> Result<(), PathError> {
        self.blocks += 1;
        self.store.push_block(partition, self.piece << 32 | self.blocks, records)
    }

    /// Hands over the partly filled blocks.
    ///
    /// # Errors
    /// As for [`PartitionWriter::partition_record`].
    pub fn finish(mut self) -> Result<(), PathError> {
        for partition in 0..self.buffers.len() {
            let rest = self.buffers.get_mut(partition).map(|buffer| buffer.as_slice().to_vec());
            self.push_block(partition, rest.unwrap_or_default())?;
        }
        Ok(())
    }
}
