//! Writer of one table, from batches that come in the order of time.

use std::fs::File;
use std::path::Path;

use arrow_schema::SchemaRef;
use message_trace::{DataPath, NewFile, PathError};
use out_of_core::NameInterner;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::encode::encode_columns;
use super::schema;
use crate::event_batch::EventBatch;
use crate::tuning::{DICTIONARY_BYTES, GROUP_EVENTS, PAGE_BYTES, PAGE_EVENTS};

/// Unfinished table. The table gets its name in [`TableWriter::finish`]; a writer that is dropped
/// before that leaves no file.
pub(crate) struct TableWriter {
    path: DataPath,
    columns: SchemaRef,
    /// `None` once the table has been ended.
    writer: Option<ArrowWriter<NewFile>>,
    /// File of a table that has been ended and is not named yet.
    ended: Option<NewFile>,
    events: u64,
}

impl TableWriter {
    /// Begins the table `path`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(crate) fn create(path: impl Into<DataPath>) -> Result<TableWriter, PathError> {
        let path = &path.into();
        let file = path.create().map_err(|error| PathError::io(path, error))?;
        let columns = schema::event_columns();
        let writer = ArrowWriter::try_new(file, columns.clone(), Some(writer_properties()))
            .map_err(|error| parquet_error(path, error))?;
        let path = path.to_owned();
        Ok(TableWriter { path, columns, writer: Some(writer), ended: None, events: 0 })
    }

    /// Appends the events of a batch at `places`, which are in the order of time, with names from
    /// `names`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write_batch(
        &mut self,
        piece: &EventBatch,
        places: &[usize],
        names: &NameInterner,
    ) -> Result<(), PathError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        self.events += places.len() as u64;
        let batch = encode_columns(piece, places, names, &self.columns, &self.path)?;
        writer.write(&batch).map_err(|error| parquet_error(&self.path, error))
    }

    /// Number of events so far.
    pub(crate) fn event_count(&self) -> u64 {
        self.events
    }

    /// Ends the table without naming it: it can be read from the returned file until
    /// [`TableWriter::finish`] gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn end_table(&mut self) -> Result<File, PathError> {
        if let Some(writer) = self.writer.take() {
            self.ended =
                Some(writer.into_inner().map_err(|error| parquet_error(&self.path, error))?);
        }
        let ended = self.ended.as_ref().map_or_else(
            || Err(std::io::Error::other("it has been ended already")),
            |file| file.file().try_clone(),
        );
        ended.map_err(|error| PathError::io(&self.path, error))
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn finish(mut self) -> Result<(), PathError> {
        self.end_table()?;
        let named = self.ended.take().map_or(Ok(()), NewFile::commit);
        named.map_err(|error| PathError::io(&self.path, error))
    }
}

/// Parquet settings: times as differences, all other columns with dictionaries, since tracing
/// repeats values. Bounds are kept for the times of each group; for other columns they are of no
/// use.
fn writer_properties() -> WriterProperties {
    let time = ColumnPath::from("time");
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_column_statistics_enabled(time.clone(), EnabledStatistics::Chunk)
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(PAGE_EVENTS)
        .set_max_row_group_row_count(Some(GROUP_EVENTS))
        .set_offset_index_disabled(true)
        .build()
}

fn parquet_error(path: impl AsRef<Path>, error: ParquetError) -> PathError {
    let path = path.as_ref();
    PathError::io(path, std::io::Error::other(error))
}
