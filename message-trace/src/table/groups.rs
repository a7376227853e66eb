//! Writing `messages.parquet` piece by piece: the columns of messages, for [`RowGroupWriter`].

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int32Array, StringArray, new_null_array};
use arrow_schema::DataType;
use rustc_hash::FxHashMap;

use crate::Error;
use crate::message::{Connect, Message, Protocol};
use crate::table::columns;
use crate::table::messages::schema;
use crate::table::row_groups::{RowGroup, RowGroupEncoder, RowGroupWriter, Stored};
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
    table: RowGroupWriter,
    encoder: Arc<GroupEncoder>,
}

/// What makes groups of messages, on any thread.
pub struct GroupEncoder(Arc<RowGroupEncoder>);

impl GroupWriter {
    /// Begins the table at `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path) -> Result<GroupWriter, Error> {
        let table = RowGroupWriter::create(path, schema(), stored)?;
        let encoder = Arc::new(GroupEncoder(table.encoder()));
        Ok(GroupWriter { table, encoder })
    }

    /// What encodes groups for this table.
    pub fn encoder(&self) -> Arc<GroupEncoder> {
        self.encoder.clone()
    }

    /// Appends a group.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, group: RowGroup) -> Result<(), Error> {
        self.table.append(group)
    }

    /// Ends the table and puts it into its place.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        self.table.finish()
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
    ) -> Result<RowGroup, Error> {
        let mut group = self.0.begin()?;
        let mut endpoints = EndpointTexts::default();
        let mut step: Vec<Message> = Vec::with_capacity(STEP.min(rows));
        for begin in (0..rows).step_by(STEP) {
            let end = (begin + STEP).min(rows);
            step.clear();
            step.extend((begin..end).map(&message));
            group.write(&arrays(first + begin as i64, begin, &step, &mut endpoints, texts))?;
        }
        group.finish()
    }
}

/// The columns of some rows: of the group they are those from `begin` on, and the first has the id
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

/// A column of the making of connections, which few messages tell.
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

/// The column of the protocols, of which all are in its dictionary.
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
