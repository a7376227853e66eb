//! Writing the table: pieces that come in the order of time.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use message_trace::PathError;
use out_of_core::Names;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::encode::encode;
use super::schema;
use crate::piece::Piece;
use crate::tuning::{DICTIONARY_BYTES, GROUP_EVENTS, PAGE_BYTES, PAGE_EVENTS};

/// A table in the making. It has its name from [`TableWriter::finish`] on; one that is given up
/// leaves nothing behind.
pub(crate) struct TableWriter {
    path: PathBuf,
    unfinished: PathBuf,
    columns: SchemaRef,
    /// `None` once the table is finished.
    writer: Option<ArrowWriter<File>>,
    events: u64,
}

impl TableWriter {
    /// Begins the table `path`, which is called `unfinished` until it is whole.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(crate) fn create(path: &Path, unfinished: PathBuf) -> Result<TableWriter, PathError> {
        let file = File::create(&unfinished).map_err(|error| PathError::io(&unfinished, error))?;
        let columns = schema::columns();
        let writer = ArrowWriter::try_new(file, columns.clone(), Some(properties()))
            .map_err(|error| wrong(path, error))?;
        let path = path.to_owned();
        Ok(TableWriter { path, unfinished, columns, writer: Some(writer), events: 0 })
    }

    /// Appends the events of a piece at `places`, whose names are in `names`. They are in the order
    /// of time.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write(
        &mut self,
        piece: &Piece,
        places: &[usize],
        names: &Names,
    ) -> Result<(), PathError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        self.events += places.len() as u64;
        let batch = encode(piece, places, names, &self.columns, &self.path)?;
        writer.write(&batch).map_err(|error| wrong(&self.path, error))
    }

    /// Number of events so far.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Ends the table, which still has its name of one in the making: the table can be read now
    /// at that path, and [`TableWriter::finish`] gives it its own.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn end(&mut self) -> Result<&Path, PathError> {
        if let Some(writer) = self.writer.take() {
            writer.close().map_err(|error| wrong(&self.path, error))?;
        }
        Ok(&self.unfinished)
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn finish(mut self) -> Result<(), PathError> {
        self.end()?;
        std::fs::rename(&self.unfinished, &self.path)
            .map_err(|error| PathError::io(&self.path, error))
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        // Nothing is left of a table that was not finished; of a finished one this name is gone.
        let _ = std::fs::remove_file(&self.unfinished);
    }
}

/// Times as differences, everything else each value once: tracing repeats itself. The bounds of
/// times are kept for each group, those of other columns are of no use.
fn properties() -> WriterProperties {
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

fn wrong(path: &Path, error: ParquetError) -> PathError {
    PathError::io(path, std::io::Error::other(error))
}
