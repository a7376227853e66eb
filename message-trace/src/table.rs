//! Tables on disk: Parquet as the stages keep them ([`write()`], [`read`]), CSV and JSON as people take them away
//! ([`export`]).
//!
//! A table is a sequence of Arrow record batches under one schema, so that a stage never needs to hold more than
//! a batch, and any reader of Parquet takes the files as they are: signed integers, plain Int64 nanoseconds, zstd.

pub mod columns;
pub mod export;
mod messages;
mod nodes;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::error::Error;

/// Rows in a batch.
pub const BATCH_ROWS: usize = 64 * 1024;

/// Writes a table to `path`, replacing what was there only when all of it is written: a stage that is killed
/// leaves the former table or none, never half of one.
///
/// # Errors
/// When the file cannot be written, or a batch does not fit the schema.
pub fn write(
    path: &Path,
    schema: SchemaRef,
    batches: impl IntoIterator<Item = RecordBatch>,
) -> Result<(), Error> {
    let unfinished = unfinished(path);
    let result = write_to(&unfinished, schema, batches)
        .and_then(|()| fs::rename(&unfinished, path).map_err(|error| Error::io(path, error)));
    if result.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    result
}

fn write_to(
    path: &Path,
    schema: SchemaRef,
    batches: impl IntoIterator<Item = RecordBatch>,
) -> Result<(), Error> {
    let wrong = |error: parquet::errors::ParquetError| Error::io(path, std::io::Error::other(error));
    let file = File::create(path).map_err(|error| Error::io(path, error))?;
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(wrong)?;
    for batch in batches {
        writer.write(&batch).map_err(wrong)?;
    }
    writer.close().map_err(wrong)?;
    Ok(())
}

/// The name under which a table is written before it is whole.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    path.with_file_name(name)
}

/// Opens the table at `path` for reading, batch by batch.
///
/// # Errors
/// When the file cannot be opened or is not Parquet.
pub fn read(path: &Path) -> Result<Batches, Error> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(BATCH_ROWS).build())
        .map_err(|error| Error::malformed(path, error))?;
    Ok(Batches { path: path.to_owned(), reader })
}

/// The batches of a table that is being read.
pub struct Batches {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
}

impl Batches {
    /// The table's schema.
    pub fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.map_err(|error| Error::malformed(&self.path, error)))
    }
}
