//! Writing of `messages.parquet` row group by row group: the columns of messages, for
//! [`RowGroupWriter`].

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int32Array, StringArray, new_null_array};
use arrow_schema::{DataType, SchemaRef};
use rustc_hash::FxHashMap;

use crate::endpoint::EndpointId;
use crate::message::{ConnectSpan, Message, TransportProtocol};
use crate::table::columns::{self, dictionary_type, nullable_field, required_field};
use crate::table::row_groups::{ColumnEncoding, RowGroup, RowGroupEncoder, RowGroupWriter};
use crate::tuning::STEP_ROWS;
use crate::{DataPath, PathError};

/// Returns the columns of the table, in the order of [`message_arrays`].
fn messages_schema() -> SchemaRef {
    let time = |name| nullable_field(name, DataType::Int64);
    columns::build_schema([
        required_field("id", DataType::Int64),
        time("send_first"),
        time("send_last"),
        time("recv_first"),
        time("recv_last"),
        time("send_ts"),
        time("recv_ts"),
        required_field("src", DataType::Int32),
        required_field("dst", DataType::Int32),
        required_field("src_endpoint", dictionary_type()),
        required_field("dst_endpoint", dictionary_type()),
        nullable_field("src_tid", DataType::Int32),
        nullable_field("dst_tid", DataType::Int32),
        required_field("flow", DataType::Int64),
        required_field("direction", DataType::Int8),
        required_field("protocol", dictionary_type()),
        required_field("bytes", DataType::Int64),
        required_field("parts", DataType::Int32),
        nullable_field("call_id", dictionary_type()),
        nullable_field("connect_begin", DataType::Int64),
        nullable_field("connect_end", DataType::Int64),
    ])
}

/// Texts of the dictionary columns.
pub trait MessageTexts {
    /// Writes the text of an endpoint. It is called several times for an endpoint.
    fn write_endpoint(&self, id: EndpointId, text: &mut impl fmt::Write);
    /// Returns the id that pairs the call or return of a row of the group with its counterpart.
    fn call_id(&self, row: usize) -> Option<&str>;
}

/// Table of messages that is being written. The new table replaces the former one when it is
/// finished.
pub struct GroupWriter {
    table: RowGroupWriter,
    encoder: Arc<GroupEncoder>,
}

/// Encoder of messages into row groups, on any thread.
pub struct GroupEncoder(Arc<RowGroupEncoder>);

impl GroupWriter {
    /// Creates the table at `path`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: impl Into<DataPath>) -> Result<GroupWriter, PathError> {
        let path = &path.into();
        let table = RowGroupWriter::create(path, messages_schema(), column_encoding)?;
        let encoder = Arc::new(GroupEncoder(table.encoder()));
        Ok(GroupWriter { table, encoder })
    }

    /// Returns the encoder of row groups for the table.
    pub fn encoder(&self) -> Arc<GroupEncoder> {
        self.encoder.clone()
    }

    /// Appends a group.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_group(&mut self, group: RowGroup) -> Result<(), PathError> {
        self.table.append_group(group)
    }

    /// Finishes the table and gives it its name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<(), PathError> {
        self.table.finish()
    }
}

impl GroupEncoder {
    /// Encodes `rows` messages; the first message has the id `first`.
    ///
    /// # Errors
    /// If the messages do not fit the schema: a mistake of the caller.
    pub fn encode_group(
        &self,
        first: i64,
        rows: usize,
        message: impl Fn(usize) -> Message,
        texts: &impl MessageTexts,
    ) -> Result<RowGroup, PathError> {
        let mut group = self.0.begin_group()?;
        let mut endpoints = EndpointTexts::default();
        let mut step: Vec<Message> = Vec::with_capacity(STEP_ROWS.min(rows));
        for begin in (0..rows).step_by(STEP_ROWS) {
            let end = (begin + STEP_ROWS).min(rows);
            step.clear();
            step.extend((begin..end).map(&message));
            group.write_rows(&message_arrays(
                first + begin as i64,
                begin,
                &step,
                &mut endpoints,
                texts,
            ))?;
        }
        group.finish_group()
    }
}

/// Returns the columns of the messages `step`, which are rows of a group from row `begin` of the
/// group on; the first of them has the id `first`.
fn message_arrays(
    first: i64,
    begin: usize,
    step: &[Message],
    endpoints: &mut EndpointTexts,
    texts: &impl MessageTexts,
) -> [ArrayRef; 21] {
    let rows = || step.iter();
    [
        columns::int64_array((0..step.len()).map(|row| Some(first + row as i64))),
        columns::int64_array(rows().map(|m| m.send_first)),
        columns::int64_array(rows().map(|m| m.send_last)),
        columns::int64_array(rows().map(|m| m.recv_first)),
        columns::int64_array(rows().map(|m| m.recv_last)),
        columns::int64_array(rows().map(|m| m.send_ts)),
        columns::int64_array(rows().map(|m| m.recv_ts)),
        columns::int32_array(rows().map(|m| Some(m.src.index() as i32))),
        columns::int32_array(rows().map(|m| Some(m.dst.index() as i32))),
        endpoints.endpoint_array(rows().map(|m| m.src_endpoint), texts),
        endpoints.endpoint_array(rows().map(|m| m.dst_endpoint), texts),
        columns::int32_array(rows().map(|m| m.src_tid)),
        columns::int32_array(rows().map(|m| m.dst_tid)),
        columns::int64_array(rows().map(|m| Some(m.flow.number()))),
        columns::int8_array(rows().map(|m| m.direction)),
        protocol_array(rows().map(|m| m.protocol)),
        columns::int64_array(rows().map(|m| Some(m.bytes))),
        columns::int32_array(rows().map(|m| Some(m.parts))),
        call_id_array((begin..begin + step.len()).map(|row| texts.call_id(row))),
        connect_array(step, |connect| connect.begin),
        connect_array(step, |connect| connect.end),
    ]
}

/// Returns the column of connection setups, which few messages have.
fn connect_array(step: &[Message], time: impl Fn(ConnectSpan) -> i64) -> ArrayRef {
    if step.iter().all(|message| message.connect.is_none()) {
        return new_null_array(&DataType::Int64, step.len());
    }
    columns::int64_array(step.iter().map(|message| message.connect.map(&time)))
}

/// The endpoints of one column of some rows, with their keys in the column's dictionary.
#[derive(Default)]
struct EndpointTexts {
    keys: FxHashMap<EndpointId, i32>,
}

impl EndpointTexts {
    fn endpoint_array(
        &mut self,
        ids: impl Iterator<Item = EndpointId>,
        texts: &impl MessageTexts,
    ) -> ArrayRef {
        self.keys.clear();
        let mut all = StringBuilder::new();
        let keys: Int32Array = ids
            .map(|id| {
                let next = self.keys.len() as i32;
                Some(*self.keys.entry(id).or_insert_with(|| {
                    texts.write_endpoint(id, &mut all);
                    all.append_value("");
                    next
                }))
            })
            .collect();
        columns::keyed_array(keys, all.finish())
    }
}

/// Returns the column of the protocols; its dictionary contains all of them.
fn protocol_array(rows: impl Iterator<Item = TransportProtocol>) -> ArrayRef {
    // The discriminants of the protocols are in the order of their declaration, as is `ALL`.
    let keys: Int32Array = rows.map(|protocol| Some(protocol as i32)).collect();
    let names = StringArray::from_iter_values(TransportProtocol::ALL.map(TransportProtocol::name));
    columns::keyed_array(keys, names)
}

/// Returns the column of call ids. Hardly more than two rows have the same one, so each is added to
/// the dictionary; the writer of the file merges equal ones.
fn call_id_array<'a>(rows: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
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
    columns::keyed_array(keys, texts)
}

/// Encoding of a column: texts are stored once each, as they repeat; other values hardly repeat,
/// and are stored as differences.
fn column_encoding(column: &str) -> ColumnEncoding {
    match column {
        "src_endpoint" | "dst_endpoint" | "protocol" | "call_id" => ColumnEncoding::Once,
        _ => ColumnEncoding::Differences,
    }
}
