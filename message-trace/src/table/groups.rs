//! Writing `messages.parquet` piece by piece: groups of rows are encoded apart from each other, on any thread, and
//! appended in order. So neither the table nor its encoding needs to be in one place.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::message::{Message, Protocol};
use crate::table::columns;
use crate::table::messages::schema;
use crate::table::unfinished;
use crate::trace::EndpointId;

/// Rows that are put into columns at a time: few enough that they stay in the processor's cache.
const STEP: usize = 4096;

/// The texts of the columns of texts.
pub trait Texts {
    /// Writes the text of an endpoint; asked for now and again.
    fn endpoint(&self, id: EndpointId, text: &mut impl fmt::Write);
    /// The id that pairs the call or return of a row of the group with its counterpart.
    fn call_id(&self, row: usize) -> Option<&str>;
}

/// A table of messages in the making. It replaces the former one when it is finished.
pub struct GroupWriter {
    path: PathBuf,
    unfinished: PathBuf,
    writer: SerializedFileWriter<File>,
    encoder: Arc<GroupEncoder>,
}

/// What makes [`Group`]s of messages, on any thread.
pub struct GroupEncoder {
    path: PathBuf,
    schema: SchemaRef,
    factory: ArrowRowGroupWriterFactory,
}

/// Some rows of the table, encoded.
pub struct Group {
    columns: Vec<ArrowColumnChunk>,
}

impl GroupWriter {
    /// Begins the table at `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path) -> Result<GroupWriter, Error> {
        let unfinished = unfinished(path);
        let file = File::create(&unfinished).map_err(|error| Error::io(&unfinished, error))?;
        let parts = ArrowWriter::try_new(file, schema(), Some(properties()))
            .and_then(ArrowWriter::into_serialized_writer);
        let (writer, factory) = parts.map_err(|error| wrong(path, error))?;
        let encoder = Arc::new(GroupEncoder { path: path.to_owned(), schema: schema(), factory });
        Ok(GroupWriter { path: path.to_owned(), unfinished, writer, encoder })
    }

    /// What encodes groups for this table.
    pub fn encoder(&self) -> Arc<GroupEncoder> {
        self.encoder.clone()
    }

    /// Appends a group.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, group: Group) -> Result<(), Error> {
        let append = || {
            let mut writer = self.writer.next_row_group()?;
            for column in group.columns {
                column.append_to_row_group(&mut writer)?;
            }
            writer.close().map(drop)
        };
        append().map_err(|error| wrong(&self.path, error))
    }

    /// Ends the table and puts it into its place.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.writer.finish().map_err(|error| wrong(&self.path, error))?;
        fs::rename(&self.unfinished, &self.path).map_err(|error| Error::io(&self.path, error))
    }
}

impl Drop for GroupWriter {
    fn drop(&mut self) {
        // Nothing is left of a table that was not finished; of a finished one this name is gone.
        let _ = fs::remove_file(&self.unfinished);
    }
}

impl GroupEncoder {
    /// Encodes `rows` messages, of which the first has the id `first`.
    ///
    /// # Errors
    /// When they do not fit the schema: a mistake of the caller.
    pub fn encode(
        &self,
        first: i64,
        rows: usize,
        message: impl Fn(usize) -> Message,
        texts: &impl Texts,
    ) -> Result<Group, Error> {
        let result = self.encode_columns(first, rows, message, texts);
        result.map(|columns| Group { columns }).map_err(|error| wrong(&self.path, error))
    }

    fn encode_columns(
        &self,
        first: i64,
        rows: usize,
        message: impl Fn(usize) -> Message,
        texts: &impl Texts,
    ) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        let mut writers = self.factory.create_column_writers(0)?;
        let mut endpoints = EndpointTexts::default();
        let mut step: Vec<Message> = Vec::with_capacity(STEP.min(rows));
        for begin in (0..rows).step_by(STEP) {
            let end = (begin + STEP).min(rows);
            step.clear();
            step.extend((begin..end).map(&message));
            self.write_step(&mut writers, first + begin as i64, begin, &step, &mut endpoints, texts)?;
        }
        writers.into_iter().map(ArrowColumnWriter::close).collect()
    }

    fn write_step(
        &self,
        writers: &mut [ArrowColumnWriter],
        first: i64,
        begin: usize,
        step: &[Message],
        endpoints: &mut EndpointTexts,
        texts: &impl Texts,
    ) -> Result<(), ParquetError> {
        let rows = || step.iter();
        let arrays: [ArrayRef; 19] = [
            columns::int64((0..step.len()).map(|row| Some(first + row as i64))),
            columns::int64(rows().map(|m| m.send_first)),
            columns::int64(rows().map(|m| m.send_last)),
            columns::int64(rows().map(|m| m.recv_first)),
            columns::int64(rows().map(|m| m.recv_last)),
            columns::int64(rows().map(|m| m.send_ts)),
            columns::int64(rows().map(|m| m.recv_ts)),
            columns::int32(rows().map(|m| Some(m.src))),
            columns::int32(rows().map(|m| Some(m.dst))),
            endpoints.column(rows().map(|m| m.src_endpoint), texts)?,
            endpoints.column(rows().map(|m| m.dst_endpoint), texts)?,
            columns::int32(rows().map(|m| m.src_tid)),
            columns::int32(rows().map(|m| m.dst_tid)),
            columns::int64(rows().map(|m| Some(m.flow))),
            columns::int8(rows().map(|m| m.direction)),
            protocols(rows().map(|m| m.protocol))?,
            columns::int64(rows().map(|m| Some(m.bytes))),
            columns::int32(rows().map(|m| Some(m.parts))),
            calls((begin..begin + step.len()).map(|row| texts.call_id(row)))?,
        ];
        for ((field, array), writer) in self.schema.fields().iter().zip(&arrays).zip(writers) {
            for leaf in compute_leaves(field, array)? {
                writer.write(&leaf)?;
            }
        }
        Ok(())
    }
}

/// The texts of the endpoints of one step.
#[derive(Default)]
struct EndpointTexts {
    keys: FxHashMap<EndpointId, i32>,
}

impl EndpointTexts {
    fn column(
        &mut self,
        ids: impl Iterator<Item = EndpointId>,
        texts: &impl Texts,
    ) -> Result<ArrayRef, ParquetError> {
        self.keys.clear();
        let mut all = StringBuilder::new();
        let keys: Int32Array = ids
            .map(|id| {
                let next = self.keys.len() as i32;
                Some(*self.keys.entry(id).or_insert_with(|| {
                    texts.endpoint(id, &mut all);
                    all.append_value("");
                    next
                }))
            })
            .collect();
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(all.finish()))?))
    }
}

/// The column of the protocols, of which all are in its dictionary.
fn protocols(rows: impl Iterator<Item = Protocol>) -> Result<ArrayRef, ParquetError> {
    // The protocols' places are as they are declared, which is the order of `ALL`.
    let keys: Int32Array = rows.map(|protocol| Some(protocol as i32)).collect();
    let names = StringArray::from_iter_values(Protocol::ALL.map(Protocol::name));
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(names))?))
}

/// The column of the ids of calls. Hardly more than two rows have the same one, so each is put into the dictionary as it
/// comes; the writer of the file sees which are the same.
fn calls<'a>(rows: impl Iterator<Item = Option<&'a str>>) -> Result<ArrayRef, ParquetError> {
    let mut texts = Vec::new();
    let keys: Int32Array = rows
        .map(|text| {
            text.map(|text| {
                texts.push(text);
                (texts.len() - 1) as i32
            })
        })
        .collect();
    let texts = StringArray::from_iter_values(texts);
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts))?))
}

/// Times, ids and sizes hardly repeat: their differences are small, and hashing each value to find that out would
/// take longer than all the rest. Texts do repeat.
fn properties() -> WriterProperties {
    let text = ["src_endpoint", "dst_endpoint", "protocol", "call_id"];
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false);
    for field in schema().fields() {
        let column = ColumnPath::from(field.name().as_str());
        properties = match text.contains(&field.name().as_str()) {
            // The least and the greatest text of a group tell nobody anything, and comparing takes long.
            true => properties
                .set_column_statistics_enabled(column.clone(), EnabledStatistics::None)
                .set_column_dictionary_enabled(column, true),
            false => properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
        };
    }
    properties.build()
}

fn wrong(path: &Path, error: ParquetError) -> Error {
    Error::io(path, std::io::Error::other(error))
}
