//! Writing a table batch by batch. It has its name only when it is whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::PathError;

/// Writes a table to `path`, replacing what was there only when all of it is written: a stage that
/// is killed leaves the former table or none, never half of one.
///
/// # Errors
/// When the file cannot be written, or a batch does not fit the schema.
pub fn write(
    path: &Path,
    schema: SchemaRef,
    batches: impl IntoIterator<Item = RecordBatch>,
) -> Result<(), PathError> {
    let mut writer = Writer::create(path, schema)?;
    for batch in batches {
        writer.write(&batch)?;
    }
    writer.finish()
}

/// Table that is being written, batch by batch. It has its name from [`Writer::finish`] on; until
/// then the former table stays, and one that is never finished leaves nothing behind.
pub struct Writer {
    path: PathBuf,
    /// `None` once the table is finished.
    writer: Option<ArrowWriter<File>>,
}

impl Writer {
    /// Begins the table `path`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path, schema: SchemaRef) -> Result<Writer, PathError> {
        let file = File::create(unfinished(path)).map_err(|error| PathError::io(path, error))?;
        let writer = ArrowWriter::try_new(file, schema, Some(properties()));
        Ok(Writer {
            path: path.to_owned(),
            writer: Some(writer.map_err(|error| wrong(path, error))?),
        })
    }

    /// Appends the rows of `batch`.
    ///
    /// # Errors
    /// When the file cannot be written, or the batch does not fit the schema.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), PathError> {
        match &mut self.writer {
            Some(writer) => writer.write(batch).map_err(|error| wrong(&self.path, error)),
            None => Ok(()),
        }
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), PathError> {
        if let Some(mut writer) = self.writer.take() {
            let ended = writer.finish().map_err(|error| wrong(&self.path, error));
            let named = ended.and_then(|_| {
                fs::rename(unfinished(&self.path), &self.path)
                    .map_err(|error| PathError::io(&self.path, error))
            });
            if named.is_err() {
                let _ = fs::remove_file(unfinished(&self.path));
            }
            return named;
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = fs::remove_file(unfinished(&self.path));
        }
    }
}

/// Properties of the Parquet files of all tables.
pub(super) fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build()
}

pub(super) fn wrong(path: &Path, error: parquet::errors::ParquetError) -> PathError {
    PathError::io(path, std::io::Error::other(error))
}

/// The name under which a table is written before it is whole.
pub(super) fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    path.with_file_name(name)
}
