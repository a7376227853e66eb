//! `messages.parquet`: the message trace, one row a message.

use std::fmt;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::message::{Message, Protocol};
use crate::node::Nodes;
use crate::table::columns::{self, Columns, dictionary, nullable, required};
use crate::table::{self, Batches, GroupEncoder, GroupWriter, RowGroup, Texts};
use crate::trace::{EndpointId, MessageTrace};

/// The rows of a group that is encoded at once.
pub const GROUP_ROWS: usize = 128 * 1024;

pub(super) fn schema() -> SchemaRef {
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
    ])
}

/// The texts of the rows from `first` on.
struct OfTrace<'a> {
    trace: &'a MessageTrace,
    first: usize,
}

impl Texts for OfTrace<'_> {
    fn endpoint(&self, id: EndpointId, text: &mut impl fmt::Write) {
        // Writing into memory does not fail.
        let _ = self.trace.endpoint(id).map(|endpoint| write!(text, "{endpoint}"));
    }

    fn call_id(&self, row: usize) -> Option<&str> {
        self.trace.call_id(self.first + row)
    }
}

impl MessageTrace {
    /// Writes the messages and the nodes they name.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, messages: &Path, nodes: &Path) -> Result<(), Error> {
        self.nodes.write(nodes)?;
        let mut writer = GroupWriter::create(messages)?;
        for first in (0..self.len()).step_by(GROUP_ROWS) {
            let end = (first + GROUP_ROWS).min(self.len());
            writer.append(self.group(&writer.encoder(), first, end, 0)?)?;
        }
        writer.finish()
    }

    /// The rows from `first` to before `end`, encoded; `before` messages of the table come before this trace's.
    fn group(
        &self,
        encoder: &GroupEncoder,
        first: usize,
        end: usize,
        before: i64,
    ) -> Result<RowGroup, Error> {
        let texts = OfTrace { trace: self, first };
        encoder.encode(before + first as i64, end - first, |row| self.message(first + row), &texts)
    }

    /// Reads the messages and the nodes they name.
    ///
    /// # Errors
    /// When a file cannot be read, or is not such a table.
    pub fn read(messages: &Path, nodes: &Path) -> Result<MessageTrace, Error> {
        let mut reader = MessageReader::open(messages, nodes)?;
        let mut trace = MessageTrace::new(reader.nodes.clone());
        reader.read(&mut trace, usize::MAX)?;
        Ok(trace)
    }

    /// The messages of one batch of the table at `path`, without their nodes, of which there are `nodes`.
    ///
    /// # Errors
    /// When it is not such a table.
    pub fn of_batch(path: &Path, batch: &RecordBatch, nodes: usize) -> Result<MessageTrace, Error> {
        let mut trace = MessageTrace::default();
        trace.append(path, batch, nodes)?;
        Ok(trace)
    }

    fn append(&mut self, path: &Path, batch: &RecordBatch, nodes: usize) -> Result<(), Error> {
        let table = Columns::new(path, batch);
        let times = ["send_first", "send_last", "recv_first", "recv_last", "send_ts", "recv_ts"]
            .map(|name| table.int64(name));
        let [send_first, send_last, recv_first, recv_last, send_ts, recv_ts] = times;
        let (send_first, send_last, recv_first) = (send_first?, send_last?, recv_first?);
        let (recv_last, send_ts, recv_ts) = (recv_last?, send_ts?, recv_ts?);
        let (src_tid, dst_tid) = (table.int32("src_tid")?, table.int32("dst_tid")?);
        let (flow, call_id) = (table.int64("flow")?, table.texts("call_id")?);
        let (bytes, parts) = (table.int64("bytes")?, table.int32("parts")?);
        let mut ways = Ways::of(&table, nodes)?;
        for row in 0..batch.num_rows() {
            let message = Message {
                send_first: send_first[row],
                send_last: send_last[row],
                recv_first: recv_first[row],
                recv_last: recv_last[row],
                send_ts: send_ts[row],
                recv_ts: recv_ts[row],
                src_tid: src_tid[row],
                dst_tid: dst_tid[row],
                flow: table.some("flow", flow[row])?,
                bytes: table.some("bytes", bytes[row])?,
                parts: table.some("parts", parts[row])?,
                ..ways.message(row, self)?
            };
            self.push(&message, call_id[row]);
        }
        Ok(())
    }

    fn append_ways(&mut self, path: &Path, batch: &RecordBatch, nodes: usize) -> Result<(), Error> {
        let table = Columns::new(path, batch);
        let mut ways = Ways::of(&table, nodes)?;
        let (flow, call_id) = (table.int64("flow")?, table.texts("call_id")?);
        for row in 0..batch.num_rows() {
            let message = Message { flow: table.some("flow", flow[row])?, ..ways.message(row, self)? };
            self.push(&message, call_id[row]);
        }
        Ok(())
    }
}

/// Who sent what to whom over what, by row of a batch.
struct Ways<'batch> {
    table: &'batch Columns<'batch>,
    nodes: usize,
    src: Vec<Option<i32>>,
    dst: Vec<Option<i32>>,
    src_endpoint: Once<'batch, EndpointId>,
    dst_endpoint: Once<'batch, EndpointId>,
    direction: Vec<Option<i8>>,
    protocol: Once<'batch, Protocol>,
}

impl<'batch> Ways<'batch> {
    fn of(table: &'batch Columns<'batch>, nodes: usize) -> Result<Ways<'batch>, Error> {
        Ok(Ways {
            table,
            nodes,
            src: table.int32("src")?,
            dst: table.int32("dst")?,
            src_endpoint: Once::new(table.numbered_texts("src_endpoint")?),
            dst_endpoint: Once::new(table.numbered_texts("dst_endpoint")?),
            direction: table.int8("direction")?,
            protocol: Once::new(table.numbered_texts("protocol")?),
        })
    }

    /// The message of `row`, of which nothing else is known, with its endpoints in the dictionary of `trace`.
    fn message(&mut self, row: usize, trace: &mut MessageTrace) -> Result<Message, Error> {
        let mut endpoint = |text: &str| {
            let Ok(endpoint) = text.parse::<Endpoint>();
            trace.intern(&endpoint)
        };
        let src_endpoint = self.src_endpoint.of(row, &mut endpoint);
        let dst_endpoint = self.dst_endpoint.of(row, &mut endpoint);
        let protocol = self.protocol.of(row, |text| {
            let Ok(protocol) = text.parse::<Protocol>();
            protocol
        });
        let table = self.table;
        let (src, dst) = (table.some("src", self.src[row])?, table.some("dst", self.dst[row])?);
        for node in [src, dst] {
            if usize::try_from(node).map_or(true, |node| node >= self.nodes) {
                return Err(table.malformed(format!("node {node} is not in the table of nodes")));
            }
        }
        Ok(Message {
            send_first: None,
            send_last: None,
            recv_first: None,
            recv_last: None,
            send_ts: None,
            recv_ts: None,
            src,
            dst,
            src_endpoint: table.some("src_endpoint", src_endpoint)?,
            dst_endpoint: table.some("dst_endpoint", dst_endpoint)?,
            src_tid: None,
            dst_tid: None,
            flow: 0,
            direction: table.some("direction", self.direction[row])?,
            protocol: table.some("protocol", protocol)?,
            bytes: 0,
            parts: 0,
        })
    }
}

/// What the texts of a column stand for, each found out at the first row that has it.
struct Once<'batch, T> {
    numbers: Vec<Option<u32>>,
    texts: Vec<&'batch str>,
    known: Vec<Option<T>>,
}

impl<'batch, T: Copy> Once<'batch, T> {
    fn new((numbers, texts): (Vec<Option<u32>>, Vec<&'batch str>)) -> Once<'batch, T> {
        let known = vec![None; texts.len()];
        Once { numbers, texts, known }
    }

    fn of(&mut self, row: usize, find: impl FnOnce(&str) -> T) -> Option<T> {
        let number = self.numbers[row]? as usize;
        let known = self.known.get_mut(number)?;
        Some(*known.get_or_insert_with(|| find(self.texts[number])))
    }
}

/// A table of messages that is read piece by piece, in its order.
pub struct MessageReader {
    path: PathBuf,
    nodes: Nodes,
    rows: u64,
    batches: Batches,
    /// What of the last batch was not asked for yet.
    rest: Option<RecordBatch>,
    /// Whether only the columns [`WAYS`] are read.
    only_ways: bool,
}

/// The columns that tell who sent what to whom over what.
const WAYS: [&str; 8] =
    ["src", "dst", "src_endpoint", "dst_endpoint", "flow", "direction", "protocol", "call_id"];

impl MessageReader {
    /// Opens the tables for [`MessageReader::read`] to read of each message only between whom it was, over which endpoints,
    /// on which flow, in which direction, by which protocol, and its call id, which is quick; all else is as if it were not
    /// known.
    ///
    /// # Errors
    /// As for [`MessageReader::open`].
    pub fn open_ways(messages: &Path, nodes: &Path) -> Result<MessageReader, Error> {
        let mut reader = MessageReader::open(messages, nodes)?;
        reader.batches = table::read_columns(messages, &WAYS)?;
        reader.only_ways = true;
        Ok(reader)
    }

    /// Opens the tables of messages and of the nodes they name.
    ///
    /// # Errors
    /// When a file cannot be read, or is not such a table.
    pub fn open(messages: &Path, nodes: &Path) -> Result<MessageReader, Error> {
        let (nodes, rows) = (Nodes::read(nodes)?, table::rows(messages)?);
        let (path, batches) = (messages.to_owned(), table::read(messages)?);
        Ok(MessageReader { path, nodes, rows, batches, rest: None, only_ways: false })
    }

    /// Who the messages are between.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// How many messages the table has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the next messages to `trace`, whose nodes must be [`MessageReader::nodes`]: `most`, or what is left.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn read(&mut self, trace: &mut MessageTrace, most: usize) -> Result<(), Error> {
        let mut left = most;
        while left > 0 {
            let batch = match self.rest.take() {
                Some(batch) => batch,
                None => match self.batches.next() {
                    Some(batch) => batch?,
                    None => break,
                },
            };
            let now = left.min(batch.num_rows());
            let part = batch.slice(0, now);
            match self.only_ways {
                true => trace.append_ways(&self.path, &part, self.nodes.len())?,
                false => trace.append(&self.path, &part, self.nodes.len())?,
            }
            self.rest = (now < batch.num_rows()).then(|| batch.slice(now, batch.num_rows() - now));
            left -= now;
        }
        Ok(())
    }
}

/// A table of messages that is written as they come, in the order in which they come: no more than a group of them is
/// in memory. It is not sorted, unless what comes is.
pub struct MessageWriter {
    table: GroupWriter,
    waiting: MessageTrace,
    written: i64,
    /// The number of the endpoint without a name, where it has one yet.
    nameless: Option<EndpointId>,
}

impl MessageWriter {
    /// Begins the table `path`; as for [`GroupWriter`], it is there once it is finished.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> Result<MessageWriter, Error> {
        let table = GroupWriter::create(path)?;
        Ok(MessageWriter { table, waiting: MessageTrace::default(), written: 0, nameless: None })
    }

    /// The number of `endpoint` for the next message. It is good for one message only.
    pub fn intern(&mut self, endpoint: &Endpoint) -> EndpointId {
        self.waiting.intern(endpoint)
    }

    /// The number of an endpoint of which nothing is known, for the next message.
    pub fn nameless(&mut self) -> EndpointId {
        let waiting = &mut self.waiting;
        *self.nameless.get_or_insert_with(|| waiting.intern(&Endpoint::Other(String::new())))
    }

    /// Appends a message; its nodes are rows of a table that the caller keeps.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, message: &Message, call_id: Option<&str>) -> Result<(), Error> {
        self.waiting.push(message, call_id);
        if self.waiting.len() == GROUP_ROWS { self.write_waiting() } else { Ok(()) }
    }

    /// How many messages were appended.
    pub fn messages(&self) -> u64 {
        self.written as u64 + self.waiting.len() as u64
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.write_waiting()?;
        self.table.finish()
    }

    fn write_waiting(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.waiting);
        self.nameless = None;
        if !rows.is_empty() {
            self.table.append(rows.group(&self.table.encoder(), 0, rows.len(), self.written)?)?;
        }
        self.written += rows.len() as i64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Node;
    use proptest::prelude::*;

    fn message() -> impl Strategy<Value = Message> {
        let time = || proptest::option::of(-5i64..5_000_000_000);
        let tid = || proptest::option::of(1i32..9);
        (
            [time(), time(), time(), time(), time(), time()],
            (0i32..2, 0i32..2, 0u32..2, 0u32..2),
            (tid(), tid()),
            (0i64..9, 0i8..2, 0usize..6, 0i64..1 << 40, 1i32..9),
        )
            .prop_map(|(times, (src, dst, src_endpoint, dst_endpoint), (src_tid, dst_tid), rest)| {
                Message {
                    send_first: times[0],
                    send_last: times[1],
                    recv_first: times[2],
                    recv_last: times[3],
                    send_ts: times[4],
                    recv_ts: times[5],
                    src,
                    dst,
                    src_endpoint,
                    dst_endpoint,
                    src_tid,
                    dst_tid,
                    flow: rest.0,
                    direction: rest.1,
                    protocol: Protocol::ALL[rest.2],
                    bytes: rest.3,
                    parts: rest.4,
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn what_is_written_is_read_back(rows in proptest::collection::vec((message(), proptest::option::of("[a-c]{0,2}")), 0..40)) {
            let mut trace = MessageTrace::default();
            for number in 0..2 {
                let endpoint = Endpoint::Unix(format!("/run/{number}"));
                trace.intern(&endpoint);
                trace.nodes.push(Node { host: "h".into(), pid: Some(number), start: None, command: "c".into(), executable: String::new(), traced: number == 0 });
            }
            for (message, call) in &rows {
                trace.push(message, call.as_deref());
            }
            trace.sort();
            let directory = tempfile::tempdir().unwrap();
            let (messages, nodes) = (directory.path().join("m.parquet"), directory.path().join("n.parquet"));
            trace.write(&messages, &nodes).unwrap();
            let back = MessageTrace::read(&messages, &nodes).unwrap();
            prop_assert_eq!(&back.nodes, &trace.nodes);
            prop_assert_eq!(back.len(), trace.len());
            for row in 0..trace.len() {
                let (mut ours, mut theirs) = (trace.message(row), back.message(row));
                prop_assert_eq!(trace.endpoint(ours.src_endpoint), back.endpoint(theirs.src_endpoint));
                prop_assert_eq!(trace.endpoint(ours.dst_endpoint), back.endpoint(theirs.dst_endpoint));
                (ours.src_endpoint, ours.dst_endpoint, theirs.src_endpoint, theirs.dst_endpoint) = (0, 0, 0, 0);
                prop_assert_eq!(ours, theirs);
                prop_assert_eq!(trace.call_id(row), back.call_id(row));
                prop_assert!(row == 0 || trace.message(row - 1).time() <= trace.message(row).time());
            }
        }
    }

    #[test]
    fn a_file_that_is_no_table_is_named_in_the_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("messages.parquet");
        std::fs::write(&path, b"PAR1 but not really").unwrap();
        let nodes = directory.path().join("nodes.parquet");
        Nodes::default().write(&nodes).unwrap();
        let error = MessageTrace::read(&path, &nodes).unwrap_err().to_string();
        assert!(error.contains("messages.parquet") && error.contains("remove it"), "{error}");
    }
}
