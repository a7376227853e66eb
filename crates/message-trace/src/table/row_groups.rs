//! Writing of a table row group by row group: groups are encoded independently, on any thread, and
//! appended in order. So neither the table nor its encoding needs to be in memory as a whole.

use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use data_files::NewFile;

use crate::{DataPath, PathError};

/// Encoding of the values of a column, before they are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnEncoding {
    /// Differences between consecutive values, for integers: times, ids and sizes hardly repeat,
    /// but their differences are small, and hashing each value to find that out would take longer
    /// than everything else.
    Differences,
    /// Each distinct value once, for values that repeat.
    Once,
    /// Values one after the other.
    Plain,
    /// All first bytes of the values, all second bytes, and so on, for floating-point numbers of
    /// similar size.
    Bytewise,
}

/// Table that is being written. The new table replaces the former one when it is finished.
pub struct RowGroupWriter {
    path: DataPath,
    writer: SerializedFileWriter<NewFile>,
    encoder: Arc<RowGroupEncoder>,
}

/// Encoder of arrays into [`RowGroup`]s, on any thread.
pub struct RowGroupEncoder {
    path: DataPath,
    schema: SchemaRef,
    factory: ArrowRowGroupWriterFactory,
}

/// Row group that is being encoded.
pub struct RowGroupBuilder<'encoder> {
    encoder: &'encoder RowGroupEncoder,
    columns: Vec<ArrowColumnWriter>,
}

/// A row group that is encoded, but not written yet.
pub struct RowGroup {
    columns: Vec<ArrowColumnChunk>,
}

impl RowGroupWriter {
    /// Creates the table at `path`; `stored` returns the encoding of each column, by name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(
        path: impl Into<DataPath>,
        schema: SchemaRef,
        stored: impl Fn(&str) -> ColumnEncoding,
    ) -> Result<RowGroupWriter, PathError> {
        let path = &path.into();
        let file = path.create().map_err(|error| PathError::io(path, error))?;
        let properties = group_properties(&schema, stored);
        let parts = ArrowWriter::try_new(file, schema.clone(), Some(properties))
            .and_then(ArrowWriter::into_serialized_writer);
        let (writer, factory) = parts.map_err(|error| group_error(path, error))?;
        let encoder = Arc::new(RowGroupEncoder { path: path.to_owned(), schema, factory });
        Ok(RowGroupWriter { path: path.to_owned(), writer, encoder })
    }

    /// Returns the encoder of row groups for this table.
    pub fn encoder(&self) -> Arc<RowGroupEncoder> {
        self.encoder.clone()
    }

    /// Appends a group.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_group(&mut self, group: RowGroup) -> Result<(), PathError> {
        let append = || {
            let mut writer = self.writer.next_row_group()?;
            for column in group.columns {
                column.append_to_row_group(&mut writer)?;
            }
            writer.close().map(drop)
        };
        append().map_err(|error| group_error(&self.path, error))
    }

    /// Finishes the table and gives it its name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<(), PathError> {
        let file = self.writer.into_inner().map_err(|error| group_error(&self.path, error))?;
        file.commit().map_err(|error| PathError::io(&self.path, error))
    }
}

impl RowGroupEncoder {
    /// Begins a group.
    ///
    /// # Errors
    /// If the columns have no writers: a mistake of the caller.
    pub fn begin_group(&self) -> Result<RowGroupBuilder<'_>, PathError> {
        let columns = self
            .factory
            .create_column_writers(0)
            .map_err(|error| group_error(&self.path, error))?;
        Ok(RowGroupBuilder { encoder: self, columns })
    }
}

impl RowGroupBuilder<'_> {
    /// Encodes more rows, an array for each column. A few thousand rows at a time stay in the
    /// processor's cache.
    ///
    /// # Errors
    /// If the arrays do not fit the schema: a mistake of the caller.
    pub fn write_rows(&mut self, arrays: &[ArrayRef]) -> Result<(), PathError> {
        let mut write = || {
            // A nested column has several leaves, each with a writer of its own.
            let mut writers = self.columns.iter_mut();
            for (field, array) in self.encoder.schema.fields().iter().zip(arrays) {
                for (leaf, writer) in compute_leaves(field, array)?.iter().zip(&mut writers) {
                    writer.write(leaf)?;
                }
            }
            Ok(())
        };
        write().map_err(|error| group_error(&self.encoder.path, error))
    }

    /// Finishes the group.
    ///
    /// # Errors
    /// If the columns do not match: a mistake of the caller.
    pub fn finish_group(self) -> Result<RowGroup, PathError> {
        let columns: Result<_, _> =
            self.columns.into_iter().map(ArrowColumnWriter::close).collect();
        Ok(RowGroup { columns: columns.map_err(|error| group_error(&self.encoder.path, error))? })
    }
}

/// Returns the properties of the file. For columns of differences it stores the minimum and the
/// maximum of each group, by which rows can be found. For other columns it does not: their bounds
/// are useless, and comparing values takes long.
fn group_properties(
    schema: &SchemaRef,
    stored: impl Fn(&str) -> ColumnEncoding,
) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false);
    let columns = schema.fields().iter().flat_map(|field| match field.data_type() {
        DataType::Map(..) => ["keys", "values"]
            .map(|leaf| [field.name().as_str(), "entries", leaf].map(str::to_owned).to_vec())
            .to_vec(),
        _ => vec![vec![field.name().clone()]],
    });
    for path in columns {
        let stored = path.first().map_or(ColumnEncoding::Plain, |name| stored(name));
        let column = ColumnPath::new(path);
        properties = match stored {
            ColumnEncoding::Once => properties.set_column_dictionary_enabled(column, true),
            ColumnEncoding::Plain => properties.set_column_encoding(column, Encoding::PLAIN),
            ColumnEncoding::Bytewise => {
                properties.set_column_encoding(column, Encoding::BYTE_STREAM_SPLIT)
            }
            ColumnEncoding::Differences => properties
                .set_column_statistics_enabled(column.clone(), EnabledStatistics::Chunk)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
        };
    }
    properties.build()
}

fn group_error(path: impl AsRef<Path>, error: ParquetError) -> PathError {
    let path = path.as_ref();
    PathError::io(path, std::io::Error::other(error))
}
