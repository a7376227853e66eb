//! Reading of a table batch by batch: as a whole, some columns, some row groups, or some rows.

use std::ops::Range;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use crate::tuning::BATCH_ROWS;
use crate::{DataPath, PathError};

/// Opens the table at `path` for reading, batch by batch.
///
/// # Errors
/// If the file cannot be opened or is not Parquet.
pub fn read_batches(path: impl Into<DataPath>) -> Result<TableBatches, PathError> {
    let path = &path.into();
    open_batches(path, None)
}

/// Opens the table at `path` for reading the columns of `columns` that it has.
///
/// # Errors
/// As for `read_batches`.
pub fn read_columns(
    path: impl Into<DataPath>,
    columns: &[&str],
) -> Result<TableBatches, PathError> {
    let path = &path.into();
    open_batches(path, Some(columns))
}

/// Row groups of a table with a selection of its columns. They can be read in any order, and by
/// several threads.
pub struct RowGroups {
    path: DataPath,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
}

impl RowGroups {
    /// Opens the table at `path` for reading the columns of `columns` that it has.
    ///
    /// # Errors
    /// As for `read_batches`.
    pub fn open(path: impl Into<DataPath>, columns: &[&str]) -> Result<RowGroups, PathError> {
        let path = &path.into();
        let file = path.open().map_err(|error| PathError::io(path, error))?;
        let metadata = ArrowReaderMetadata::load(&file, Default::default())
            .map_err(|error| PathError::malformed(path, error))?;
        let mask = ProjectionMask::columns(
            metadata.metadata().file_metadata().schema_descr(),
            columns.iter().copied(),
        );
        Ok(RowGroups { path: path.to_owned(), metadata, mask })
    }

    /// Returns the first of `columns` that the table lacks.
    pub fn missing_column<'c>(&self, columns: &[&'c str]) -> Option<&'c str> {
        let schema = self.metadata.schema();
        columns.iter().copied().find(|column| schema.field_with_name(column).is_err())
    }

    /// Returns the number of row groups.
    pub fn group_count(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// Reads the batches of a group.
    ///
    /// # Errors
    /// As for `read_batches`.
    pub fn read_group(&self, group: usize) -> Result<TableBatches, PathError> {
        self.read_groups(vec![group], None)
    }

    /// Reads those of `rows` that the table has, whichever row groups they are in.
    ///
    /// # Errors
    /// As for `read_batches`.
    pub fn read_rows(&self, rows: Range<u64>) -> Result<TableBatches, PathError> {
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
        self.read_groups(groups, Some((skip as usize, most as usize)))
    }

    /// Reads the batches of the row groups `groups`. `part`, if given, is the number of rows to
    /// skip and the maximum number of rows after them.
    fn read_groups(
        &self,
        groups: Vec<usize>,
        part: Option<(usize, usize)>,
    ) -> Result<TableBatches, PathError> {
        let RowGroups { path, metadata, mask } = self;
        let file = path.open().map_err(|error| PathError::io(path, error))?;
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
                .with_projection(mask.clone())
                .with_row_groups(groups)
                .with_batch_size(BATCH_ROWS);
        if let Some((skip, most)) = part {
            builder = builder.with_offset(skip).with_limit(most);
        }
        let reader = builder.build().map_err(|error| PathError::malformed(path, error))?;
        Ok(TableBatches { path: path.to_owned(), reader })
    }
}

fn open_batches(
    path: impl Into<DataPath>,
    columns: Option<&[&str]>,
) -> Result<TableBatches, PathError> {
    let path = &path.into();
    let file = path.open().map_err(|error| PathError::io(path, error))?;
    let mut builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| PathError::malformed(path, error))?;
    if let Some(columns) = columns {
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        builder = builder.with_projection(mask);
    }
    let reader = builder
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(|error| PathError::malformed(path, error))?;
    Ok(TableBatches { path: path.to_owned(), reader })
}

/// Returns the number of rows of the table at `path`; only the end of the file is read.
///
/// # Errors
/// As for `read_batches`.
pub fn count_rows(path: impl Into<DataPath>) -> Result<u64, PathError> {
    let path = &path.into();
    let file = path.open().map_err(|error| PathError::io(path, error))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| PathError::malformed(path, error))?;
    Ok(reader.metadata().file_metadata().num_rows().max(0) as u64)
}

/// The batches of a table that is being read.
pub struct TableBatches {
    path: DataPath,
    reader: ParquetRecordBatchReader,
}

impl TableBatches {
    /// Returns the table's schema.
    pub fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

impl Iterator for TableBatches {
    type Item = Result<RecordBatch, PathError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.map_err(|error| PathError::malformed(&self.path, error)))
    }
}

#[cfg(test)]
mod tests {
    use crate::table::columns::{self, BatchColumns};
    use crate::table::{ColumnEncoding, RowGroupWriter};

    use super::*;

    #[test]
    fn rows_are_read_from_any_groups() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("numbers.parquet");
        let schema = columns::build_schema([columns::required_field(
            "number",
            arrow_schema::DataType::Int64,
        )]);
        let mut writer =
            RowGroupWriter::create(&path, schema, |_| ColumnEncoding::Differences).unwrap();
        for group in [0..5, 5..6, 6..20i64] {
            let encoder = writer.encoder();
            let mut builder = encoder.begin_group().unwrap();
            builder.write_rows(&[columns::int64_array(group.map(Some))]).unwrap();
            writer.append_group(builder.finish_group().unwrap()).unwrap();
        }
        writer.finish().unwrap();
        let groups = RowGroups::open(&path, &["number"]).unwrap();
        for (begin, end) in (0..23).flat_map(|begin| (begin..23).map(move |end| (begin, end))) {
            let mut read = Vec::new();
            for batch in groups.read_rows(begin..end).unwrap() {
                let batch = batch.unwrap();
                read.extend(
                    BatchColumns::new(&path, &batch)
                        .int64_column("number")
                        .unwrap()
                        .into_iter()
                        .flatten(),
                );
            }
            let expected: Vec<i64> = (begin as i64..(end as i64).min(20)).collect();
            assert_eq!(read, expected, "{begin}..{end}");
        }
    }
}
