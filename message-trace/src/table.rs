//! Tables on disk: Parquet as the stages keep them ([`write()`], [`read`]), CSV and JSON as people
//! take them away ([`export`]).
//!
//! A table is a sequence of Arrow record batches under one schema, so that a stage never needs to
//! hold more than a batch, and any reader of Parquet takes the files as they are: signed integers,
//! plain Int64 nanoseconds, zstd.

pub mod columns;
pub mod export;
mod groups;
mod message_reader;
mod messages;
mod nodes;
mod row_groups;
mod way_reader;

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::Error;
pub use groups::{GroupEncoder, GroupWriter, Texts};
pub use message_reader::MessageReader;
pub use messages::{GROUP_ROWS, MessageWriter};
pub use row_groups::{RowGroup, RowGroupBuilder, RowGroupEncoder, RowGroupWriter, Stored};
pub use way_reader::WayReader;

/// Rows in a batch.
pub const BATCH_ROWS: usize = 64 * 1024;

/// Writes a table to `path`, replacing what was there only when all of it is written: a stage that
/// is killed leaves the former table or none, never half of one.
///
/// # Errors
/// When the file cannot be written, or a batch does not fit the schema.
pub fn write(
    path: &Path,
    schema: SchemaRef,
    batches: impl IntoIterator<Item = RecordBatch>,
) -> Result<(), Error> {
    let mut writer = Writer::create(path, schema)?;
    for batch in batches {
        writer.write(&batch)?;
    }
    writer.finish()
}

/// A table that is being written, batch by batch. It has its name from [`Writer::finish`] on; until
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
    pub fn create(path: &Path, schema: SchemaRef) -> Result<Writer, Error> {
        let file = File::create(unfinished(path)).map_err(|error| Error::io(path, error))?;
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
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.writer {
            Some(writer) => writer.write(batch).map_err(|error| wrong(&self.path, error)),
            None => Ok(()),
        }
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        if let Some(mut writer) = self.writer.take() {
            let ended = writer.finish().map_err(|error| wrong(&self.path, error));
            let named = ended.and_then(|_| {
                fs::rename(unfinished(&self.path), &self.path)
                    .map_err(|error| Error::io(&self.path, error))
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

/// How tables are stored.
fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build()
}

fn wrong(path: &Path, error: parquet::errors::ParquetError) -> Error {
    Error::io(path, std::io::Error::other(error))
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
    batches(path, None)
}

/// Opens the table at `path` for reading these columns only, as far as there are such.
///
/// # Errors
/// As for [`read`].
pub fn read_columns(path: &Path, columns: &[&str]) -> Result<Batches, Error> {
    batches(path, Some(columns))
}

/// The groups of rows of a table, of which some columns are read, in any order and by several
/// threads.
pub struct Groups {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
}

impl Groups {
    /// Opens the table at `path` for reading these columns only, as far as there are such.
    ///
    /// # Errors
    /// As for [`read`].
    pub fn open(path: &Path, columns: &[&str]) -> Result<Groups, Error> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let metadata = ArrowReaderMetadata::load(&file, Default::default())
            .map_err(|error| Error::malformed(path, error))?;
        let mask = ProjectionMask::columns(
            metadata.metadata().file_metadata().schema_descr(),
            columns.iter().copied(),
        );
        Ok(Groups { path: path.to_owned(), metadata, mask })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// The batches of a group.
    ///
    /// # Errors
    /// As for [`read`].
    pub fn read(&self, group: usize) -> Result<Batches, Error> {
        self.batches(vec![group], None)
    }

    /// The batches of these rows of the table, whichever groups they are in, as far as there are
    /// such.
    ///
    /// # Errors
    /// As for [`read`].
    pub fn rows(&self, rows: Range<u64>) -> Result<Batches, Error> {
        let (mut end, mut skip, mut groups) = (0, 0, Vec::new());
        for (group, of) in self.metadata.metadata().row_groups().iter().enumerate() {
            let begin = end;
            end += of.num_rows().max(0) as u64;
            if begin < rows.end && end > rows.start {
                if groups.is_empty() {
                    skip = rows.start.saturating_sub(begin);
                }
                groups.push(group);
            }
        }
        let most = rows.end.saturating_sub(rows.start);
        self.batches(groups, Some((skip as usize, most as usize)))
    }

    /// The batches of these groups; of their rows only so many after the first that are skipped, if
    /// that is said.
    fn batches(&self, groups: Vec<usize>, part: Option<(usize, usize)>) -> Result<Batches, Error> {
        let Groups { path, metadata, mask } = self;
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
                .with_projection(mask.clone())
                .with_row_groups(groups)
                .with_batch_size(BATCH_ROWS);
        if let Some((skip, most)) = part {
            builder = builder.with_offset(skip).with_limit(most);
        }
        let reader = builder.build().map_err(|error| Error::malformed(path, error))?;
        Ok(Batches { path: path.to_owned(), reader })
    }
}

fn batches(path: &Path, columns: Option<&[&str]>) -> Result<Batches, Error> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let mut builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| Error::malformed(path, error))?;
    if let Some(columns) = columns {
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        builder = builder.with_projection(mask);
    }
    let reader = builder
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(|error| Error::malformed(path, error))?;
    Ok(Batches { path: path.to_owned(), reader })
}

/// How many rows the table at `path` has, of which only the end of the file is read.
///
/// # Errors
/// As for [`read`].
pub fn rows(path: &Path) -> Result<u64, Error> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| Error::malformed(path, error))?;
    Ok(reader.metadata().file_metadata().num_rows().max(0) as u64)
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

#[cfg(test)]
mod tests {
    use columns::Columns;

    use super::*;

    #[test]
    fn rows_are_read_whichever_groups_they_are_in() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("numbers.parquet");
        let schema = columns::schema([columns::required("number", arrow_schema::DataType::Int64)]);
        let mut writer = RowGroupWriter::create(&path, schema, |_| Stored::Differences).unwrap();
        for group in [0..5, 5..6, 6..20i64] {
            let encoder = writer.encoder();
            let mut builder = encoder.begin().unwrap();
            builder.write(&[columns::int64(group.map(Some))]).unwrap();
            writer.append(builder.finish().unwrap()).unwrap();
        }
        writer.finish().unwrap();
        let groups = Groups::open(&path, &["number"]).unwrap();
        for (begin, end) in (0..23).flat_map(|begin| (begin..23).map(move |end| (begin, end))) {
            let mut read = Vec::new();
            for batch in groups.rows(begin..end).unwrap() {
                let batch = batch.unwrap();
                read.extend(
                    Columns::new(&path, &batch).int64("number").unwrap().into_iter().flatten(),
                );
            }
            let expected: Vec<i64> = (begin as i64..(end as i64).min(20)).collect();
            assert_eq!(read, expected, "{begin}..{end}");
        }
    }
}
