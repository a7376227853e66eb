//! Writing `messages.parquet` piece by piece: the columns of messages, for [`RowGroupWriter`].

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int32Array, StringArray, new_null_array};
use arrow_schema::{DataType, SchemaRef};
use rustc_hash::FxHashMap;

use crate::endpoint::EndpointId;
use crate::message::{Connect, Message, Protocol};
use crate::table::columns::{self, dictionary, nullable, required};
use crate::table::row_groups::{RowGroup, RowGroupEncoder, RowGroupWriter, Stored};
use crate::tuning::STEP_ROWS;
use crate::{DataPath, PathError};

/// The columns of the table, in the order of [`arrays`].
fn schema() -> SchemaRef {
    let time = |name| nullable(name, DataType::Int64);
    columns::schema([
        required("id", DataType::Int64),
        time("send_first"),
        time("send_last"),
        time("recv_first"),
        time("recv_last"),
        time("send_ts"),
        time("recv_ts"),
        required("src", DataType::Int32),
        required("dst", DataType::Int32),
        required("src_endpoint", dictionary()),
        required("dst_endpoint", dictionary()),
        nullable("src_tid", DataType::Int32),
        nullable("dst_tid", DataType::Int32),
        required("flow", DataType::Int64),
        required("direction", DataType::Int8),
        required("protocol", dictionary()),
        required("bytes", DataType::Int64),
        required("parts", DataType::Int32),
        nullable("call_id", dictionary()),
        nullable("connect_begin", DataType::Int64),
        nullable("connect_end", DataType::Int64),
    ])
}

/// Texts of the dictionary columns.
pub trait Texts {
    /// Writes the text of an endpoint; asked for now and again.
    fn endpoint(&self, id: EndpointId, text: &mut impl fmt::Write);
    /// The id that pairs the call or return of a row of the group with its counterpart.
    fn call_id(&self, row: usize) -> Option<&str>;
}

/// Table of messages that is being written. It replaces the former one when it is finished.
pub struct GroupWriter {
    table: RowGroupWriter,
    encoder: Arc<GroupEncoder>,
}

/// Encoder of messages into row groups, on any thread.
pub struct GroupEncoder(Arc<RowGroupEncoder>);

impl GroupWriter {
    /// Begins the table at `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: impl Into<DataPath>) -> Result<GroupWriter, PathError> {
        let path = &path.into();
        let table = RowGroupWriter::create(path, schema(), stored)?;
        let encoder = Arc::new(GroupEncoder(table.encoder()));
        Ok(GroupWriter { table, encoder })
    }

    /// Encoder of row groups for this table.
    pub fn encoder(&self) -> Arc<GroupEncoder> {
        self.encoder.clone()
    }

    /// Appends a group.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, group: RowGroup) -> Result<(), PathError> {
        self.table.append(group)
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(), PathError> {
        self.table.finish()
    }
}

impl GroupEncoder {
    /// Encodes `rows` messages; the first one has the id `first`.
    ///
    /// # Errors
    /// When they do not fit the schema: a mistake of the caller.
    pub fn encode(
        &self,
        first: i64,
        rows: usize,
        message: impl Fn(usize) -> Message,
        texts: &impl Texts,
    ) -> Result<RowGroup, PathError> {
        let mut group = self.0.begin()?;
        let mut endpoints = EndpointTexts::default();
        let mut step: Vec<Message> = Vec::with_capacity(STEP_ROWS.min(rows));
        for begin in (0..rows).step_by(STEP_ROWS) {
            let end = (begin + STEP_ROWS).min(rows);
            step.clear();
            step.extend((begin..end).map(&message));
            group.write(&arrays(first + begin as i64, begin, &step, &mut endpoints, texts))?;
        }
        group.finish()
    }
}

/// Columns of some rows of a group, from row `begin` of the group on; the first one has the id
/// `first`.
fn arrays(
    first: i64,
    begin: usize,
    step: &[Message],
    endpoints: &mut EndpointTexts,
    texts: &impl Texts,
) -> [ArrayRef; 21] {
    let rows = || step.iter();
    [
        columns::int64((0..step.len()).map(|row| Some(first + row as i64))),
        columns::int64(rows().map(|m| m.send_first)),
        columns::int64(rows().map(|m| m.send_last)),
        columns::int64(rows().map(|m| m.recv_first)),
        columns::int64(rows().map(|m| m.recv_last)),
        columns::int64(rows().map(|m| m.send_ts)),
        columns::int64(rows().map(|m| m.recv_ts)),
        columns::int32(rows().map(|m| Some(m.src))),
        columns::int32(rows().map(|m| Some(m.dst))),
        endpoints.column(rows().map(|m| m.src_endpoint), texts),
        endpoints.column(rows().map(|m| m.dst_endpoint), texts),
        columns::int32(rows().map(|m| m.src_tid)),
        columns::int32(rows().map(|m| m.dst_tid)),
        columns::int64(rows().map(|m| Some(m.flow))),
        columns::int8(rows().map(|m| m.direction)),
        protocols(rows().map(|m| m.protocol)),
        columns::int64(rows().map(|m| Some(m.bytes))),
        columns::int32(rows().map(|m| Some(m.parts))),
        calls((begin..begin + step.len()).map(|row| texts.call_id(row))),
        connects(step, |connect| connect.begin),
        connects(step, |connect| connect.end),
    ]
}

/// Column of the making of connections, which few messages have.
fn connects(step: &[Message], time: impl Fn(Connect) -> i64) -> ArrayRef {
    if step.iter().all(|message| message.connect.is_none()) {
        return new_null_array(&DataType::Int64, step.len());
    }
    columns::int64(step.iter().map(|message| message.connect.map(&time)))
}

/// The texts of the endpoints of one step.
#[derive(Default)]
struct EndpointTexts {
    keys: FxHashMap<EndpointId, i32>,
}

impl EndpointTexts {
    fn column(&mut self, ids: impl Iterator<Item = EndpointId>, texts: &impl Texts) -> ArrayRef {
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
        columns::keyed(keys, all.finish())
    }
}

/// Column of the protocols; its dictionary has all of them.
fn protocols(rows: impl Iterator<Item = Protocol>) -> ArrayRef {
    // The protocols' places are as they are declared, which is the order of `ALL`.
    let keys: Int32Array = rows.map(|protocol| Some(protocol as i32)).collect();
    let names = StringArray::from_iter_values(Protocol::ALL.map(Protocol::name));
    columns::keyed(keys, names)
}

/// The column of the ids of calls. Hardly more than two rows have the same one, so each is put into
/// the dictionary as it comes; the writer of the file sees which are the same.
fn calls<'a>(rows: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
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
    columns::keyed(keys, texts)
}

/// Texts repeat, and the others hardly do.
fn stored(column: &str) -> Stored {
    match column {
        "src_endpoint" | "dst_endpoint" | "protocol" | "call_id" => Stored::Once,
        _ => Stored::Differences,
    }
}
