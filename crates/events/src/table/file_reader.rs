//! Reader of one table, batch by batch.

use std::fs::File;

use message_trace::{DataPath, PathError};
use out_of_core::NameInterner;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::decode::BatchDecoder;
use super::schema;
use crate::event_batch::EventBatch;
use crate::tuning::BATCH_EVENTS;

/// A table that is being read. Only the batches of one row group share a dictionary, so each group
/// is read by itself.
pub(crate) struct TableReader {
    path: DataPath,
    file: File,
    metadata: ArrowReaderMetadata,
    next_group: usize,
    batches: Option<ParquetRecordBatchReader>,
    decoder: BatchDecoder,
}

impl TableReader {
    /// Opens the table at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not an event table.
    pub(crate) fn open(path: impl Into<DataPath>) -> Result<TableReader, PathError> {
        let path = &path.into();
        let file = path.open().map_err(|error| PathError::io(path, error))?;
        TableReader::from_file(path, file)
    }

    /// Reads the table in an open file, which is or will be called `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not an event table.
    pub(crate) fn from_file(path: &DataPath, file: File) -> Result<TableReader, PathError> {
        let metadata = ArrowReaderMetadata::load(&file, Default::default())
            .map_err(|error| PathError::malformed(path, error))?;
        let (own, wanted) = (metadata.schema(), schema::event_columns());
        let same = own.fields().len() == wanted.fields().len()
            && own.fields().iter().zip(wanted.fields()).all(|(own, wanted)| {
                own.name() == wanted.name() && own.data_type() == wanted.data_type()
            });
        if !same {
            let why = "its columns do not form an event table; docs/events.md lists them";
            return Err(PathError::malformed(path, why));
        }
        Ok(TableReader {
            path: path.to_owned(),
            file,
            metadata,
            next_group: 0,
            batches: None,
            decoder: BatchDecoder::default(),
        })
    }

    /// Number of events of the table.
    pub(crate) fn event_count(&self) -> u64 {
        self.metadata.metadata().file_metadata().num_rows().max(0) as u64
    }

    /// Replaces the contents of `piece` with the next events; returns `false` at the end.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub(crate) fn read_next(
        &mut self,
        names: &mut NameInterner,
        piece: &mut EventBatch,
    ) -> Result<bool, PathError> {
        piece.clear();
        loop {
            if let Some(batch) = self.batches.as_mut().and_then(Iterator::next) {
                let batch = batch.map_err(|error| PathError::malformed(&self.path, error))?;
                self.decoder.decode_batch(&batch, names, piece, &self.path)?;
                return Ok(true);
            }
            if self.next_group >= self.metadata.metadata().num_row_groups() {
                self.batches = None;
                return Ok(false);
            }
            let file = self.file.try_clone().map_err(|error| PathError::io(&self.path, error))?;
            let reader =
                ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                    .with_row_groups(vec![self.next_group])
                    .with_batch_size(BATCH_EVENTS)
                    .build();
            self.next_group += 1;
            self.batches = Some(reader.map_err(|error| PathError::malformed(&self.path, error))?);
        }
    }
}
