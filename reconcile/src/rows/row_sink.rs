//! Row sink of a worker for one partition: rows are passed on in blocks, so that a partition may
//! have any number of them, and some are kept as the sample from which the boundaries in time are
//! chosen.

use message_trace::PathError;
use out_of_core::PartitionStore;

use crate::rows::row::MessageRow;
use crate::tuning::{ROW_BLOCK, ROWS_A_SAMPLE};

/// Sink of one partition's rows into the store of all rows.
pub(crate) struct RowSink<'s, 'a> {
    store: &'s PartitionStore<'a, MessageRow>,
    partition: usize,
    buffer: Vec<MessageRow>,
    blocks: u64,
    /// Summary of the rows so far.
    taken: StoredRows,
}

/// Summary of a partition's rows in the store.
#[derive(Debug, Default)]
pub(crate) struct StoredRows {
    /// Number of rows.
    pub(crate) count: u64,
    /// Some of the rows, from which the boundaries in time are chosen.
    pub(crate) sample: Vec<MessageRow>,
}

impl<'s, 'a> RowSink<'s, 'a> {
    pub(crate) fn new(
        store: &'s PartitionStore<'a, MessageRow>,
        partition: usize,
    ) -> RowSink<'s, 'a> {
        RowSink { store, partition, buffer: Vec::new(), blocks: 0, taken: StoredRows::default() }
    }

    pub(crate) fn push(&mut self, row: MessageRow) -> Result<(), PathError> {
        if self.taken.count.is_multiple_of(ROWS_A_SAMPLE as u64) {
            self.taken.sample.push(row);
        }
        self.taken.count += 1;
        self.buffer.push(row);
        if self.buffer.len() < ROW_BLOCK {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(ROW_BLOCK));
        self.write_block(full)
    }

    fn write_block(&mut self, mut rows: Vec<MessageRow>) -> Result<(), PathError> {
        rows.shrink_to_fit();
        self.blocks += 1;
        self.store.push_block(self.partition, self.blocks, rows)
    }

    /// Passes the remaining rows to the store of all rows.
    pub(crate) fn finish(mut self) -> Result<StoredRows, PathError> {
        let rest = std::mem::take(&mut self.buffer);
        self.write_block(rest)?;
        Ok(self.taken)
    }
}
