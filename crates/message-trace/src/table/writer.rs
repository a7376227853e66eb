//! Writing of a table batch by batch. The table gets its name only when it is complete.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use data_files::NewFile;

use crate::{DataPath, PathError};

/// Writes a table to `path`, replacing the old one only when all of it is written: a stage that is
/// killed leaves the former table or none, never half of one.
///
/// # Errors
/// If the file cannot be written, or a batch does not fit the schema.
pub fn write_batches(
    path: impl Into<DataPath>,
    schema: SchemaRef,
    batches: impl IntoIterator<Item = RecordBatch>,
) -> Result<(), PathError> {
    let path = &path.into();
    let mut writer = BatchWriter::create(path, schema)?;
    for batch in batches {
        writer.write_batch(&batch)?;
    }
    writer.finish()
}

/// Table that is being written, batch by batch. The table gets its name by [`BatchWriter::finish`];
/// until then the former table stays, and a table that is never finished leaves no file.
pub struct BatchWriter {
    path: DataPath,
    /// `None` once the table is finished.
    writer: Option<ArrowWriter<NewFile>>,
}

impl BatchWriter {
    /// Creates the table `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: impl Into<DataPath>, schema: SchemaRef) -> Result<BatchWriter, PathError> {
        let path = &path.into();
        let file = path.create().map_err(|error| PathError::io(path, error))?;
        let writer = ArrowWriter::try_new(file, schema, Some(table_properties()));
        Ok(BatchWriter {
            path: path.to_owned(),
            writer: Some(writer.map_err(|error| parquet_error(path, error))?),
        })
    }

    /// Appends the rows of `batch`.
    ///
    /// # Errors
    /// If the file cannot be written, or the batch does not fit the schema.
    pub fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), PathError> {
        match &mut self.writer {
            Some(writer) => writer.write(batch).map_err(|error| parquet_error(&self.path, error)),
            None => Ok(()),
        }
    }

    /// Finishes the table and gives it its name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), PathError> {
        if let Some(writer) = self.writer.take() {
            let file = writer.into_inner().map_err(|error| parquet_error(&self.path, error))?;
            file.commit().map_err(|error| PathError::io(&self.path, error))?;
        }
        Ok(())
    }
}

/// Returns the properties of the Parquet files of all tables.
pub(super) fn table_properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build()
}

pub(super) fn parquet_error(
    path: impl AsRef<Path>,
    error: parquet::errors::ParquetError,
) -> PathError {
    let path = path.as_ref();
    PathError::io(path, std::io::Error::other(error))
}
