//! Reading `messages.parquet`: as a whole, a batch, or piece by piece.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::message::{Connect, Message, Protocol};
use crate::node::Nodes;
use crate::table::columns::Columns;
use crate::table::{self, Batches};
use crate::trace::{EndpointId, MessageTrace};

impl MessageTrace {
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
        let connects = ["connect_begin", "connect_end"].map(|name| table.int64_if_any(name));
        let [begin, end] = connects;
        let connects = begin?.zip(end?);
        let connect = |row: usize| {
            let (begin, end) = connects.as_ref()?;
            Some(Connect { begin: begin[row]?, end: end[row]? })
        };
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
                connect: connect(row),
                ..ways.message(row, self)?
            };
            self.push(&message, call_id[row]);
        }
        Ok(())
    }
}

/// Who sent what to whom over what, by row of a batch.
pub(super) struct Ways<'batch> {
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
    pub(super) fn of(table: &'batch Columns<'batch>, nodes: usize) -> Result<Ways<'batch>, Error> {
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
    pub(super) fn message(&mut self, row: usize, trace: &mut MessageTrace) -> Result<Message, Error> {
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
            connect: None,
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
    nodes: Arc<Nodes>,
    rows: u64,
    batches: Batches,
    /// What of the last batch was not asked for yet.
    rest: Option<RecordBatch>,
}

impl MessageReader {
    /// Opens the tables of messages and of the nodes they name.
    ///
    /// # Errors
    /// When a file cannot be read, or is not such a table.
    pub fn open(messages: &Path, nodes: &Path) -> Result<MessageReader, Error> {
        MessageReader::of_nodes(messages, Arc::new(Nodes::read(nodes)?))
    }

    /// The same where the table of nodes was read already.
    ///
    /// # Errors
    /// When the file cannot be read, or is not such a table.
    pub fn of_nodes(messages: &Path, nodes: Arc<Nodes>) -> Result<MessageReader, Error> {
        let batches = table::read(messages)?;
        let rows = table::rows(messages)?;
        Ok(MessageReader { path: messages.to_owned(), nodes, rows, batches, rest: None })
    }

    /// Who the messages are between.
    pub fn nodes(&self) -> &Arc<Nodes> {
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
            trace.append(&self.path, &part, self.nodes.len())?;
            self.rest = (now < batch.num_rows()).then(|| batch.slice(now, batch.num_rows() - now));
            left -= now;
        }
        Ok(())
    }
}
