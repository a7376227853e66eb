//! Reading of `messages.parquet`: as a whole, one record batch, or in parts.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};

use crate::endpoint::Endpoint;
use crate::flow::FlowId;
use crate::message::{ConnectSpan, MessageId, TransportProtocol};
use crate::node::{NodeId, NodeList};
use crate::table::columns::BatchColumns;
use crate::table::ends_reader::TIMES;
use crate::table::{self, TableBatches};
use crate::trace::{MessageTrace, NIL, NO_CALL, NO_THREAD};
use crate::{DataPath, PathError};
use out_of_core::workers::{run_ahead, thread_count};

/// The columns that are read of each message.
const COLUMNS: [&str; 19] = [
    "send_first",
    "send_last",
    "recv_first",
    "recv_last",
    "send_ts",
    "recv_ts",
    "src",
    "dst",
    "src_endpoint",
    "dst_endpoint",
    "src_tid",
    "dst_tid",
    "flow",
    "direction",
    "protocol",
    "bytes",
    "parts",
    "connect_begin",
    "connect_end",
];
/// The column that is read if calls are inferred.
const CALL_ID: &str = "call_id";

impl MessageTrace {
    /// Reads the messages and their nodes.
    ///
    /// # Errors
    /// If a file cannot be read, or is not a table of messages or nodes.
    pub fn read(
        messages: impl Into<DataPath>,
        nodes: impl Into<DataPath>,
    ) -> Result<MessageTrace, PathError> {
        let messages = &messages.into();
        let nodes = &nodes.into();
        let mut reader = MessageReader::open(messages, nodes)?;
        let mut trace = MessageTrace::new(reader.nodes.clone());
        reader.read_rows(&mut trace, usize::MAX)?;
        Ok(trace)
    }

    /// Reads the messages of one batch of the table at `path`, without their nodes; `nodes` is the
    /// number of nodes.
    ///
    /// # Errors
    /// If the batch is not from a table of messages.
    pub fn from_batch(
        path: impl AsRef<Path>,
        batch: &RecordBatch,
        nodes: usize,
    ) -> Result<MessageTrace, PathError> {
        let path = path.as_ref();
        let mut trace = MessageTrace::default();
        trace.append_batch(path, batch, nodes)?;
        Ok(trace)
    }

    fn append_batch(
        &mut self,
        path: impl AsRef<Path>,
        batch: &RecordBatch,
        nodes: usize,
    ) -> Result<(), PathError> {
        let path = path.as_ref();
        let table = BatchColumns::new(path, batch);
        let connects = ["connect_begin", "connect_end"].map(|name| table.int64_if_any(name));
        let [begin, end] = connects;
        for (row, (begin, end)) in
            begin?.into_iter().flatten().zip(end?.into_iter().flatten()).enumerate()
        {
            if let Some((begin, end)) = begin.zip(end) {
                self.connects
                    .push(MessageId::from_index(self.len() + row), ConnectSpan { begin, end });
            }
        }
        self.append_ends(&table, nodes)?;
        let times = ["send_first", "send_last", "recv_first", "recv_last", "send_ts", "recv_ts"];
        for (name, column) in times.into_iter().zip(&mut self.times) {
            table.append_column::<Int64Type>(name, Some(NIL), column)?;
        }
        table.append_column::<Int32Type>("src_tid", Some(NO_THREAD), &mut self.src_tid)?;
        table.append_column::<Int32Type>("dst_tid", Some(NO_THREAD), &mut self.dst_tid)?;
        table.append_column::<Int64Type>("bytes", None, &mut self.bytes)?;
        table.append_column::<Int32Type>("parts", None, &mut self.parts)?;
        let mut call = TextValues::new(table.numbered_texts_if_any("call_id")?);
        let calls = &mut self.calls;
        let call = |row: usize| call.value_at(row, |text| calls.intern(text)).unwrap_or(NO_CALL);
        self.call.extend((0..batch.num_rows()).map(call));
        Ok(())
    }

    /// Appends the ends of the messages: nodes, endpoints, flow, direction and protocol.
    fn append_ends(&mut self, table: &BatchColumns<'_>, nodes: usize) -> Result<(), PathError> {
        let first = self.len();
        let (mut src, mut dst) = (Vec::new(), Vec::new());
        table.append_column::<Int32Type>("src", None, &mut src)?;
        table.append_column::<Int32Type>("dst", None, &mut dst)?;
        for (ids, column) in [(src, &mut self.src), (dst, &mut self.dst)] {
            column.reserve(ids.len());
            for id in ids {
                match usize::try_from(id).ok().filter(|index| *index < nodes) {
                    Some(index) => column.push(NodeId::from_index(index)),
                    None => {
                        let why = format!("node {id} is not in the table of nodes");
                        return Err(table.malformed_error(why));
                    }
                }
            }
        }
        let mut src = TextValues::new(table.numbered_texts("src_endpoint")?);
        let mut dst = TextValues::new(table.numbered_texts("dst_endpoint")?);
        let mut protocol = TextValues::new(table.numbered_texts("protocol")?);
        for row in 0..self.src.len() - first {
            let mut endpoint = |text: &str| {
                let Ok(endpoint) = text.parse::<Endpoint>();
                self.intern(&endpoint)
            };
            let ends = (src.value_at(row, &mut endpoint), dst.value_at(row, &mut endpoint));
            self.src_endpoint.push(table.required_value("src_endpoint", ends.0)?);
            self.dst_endpoint.push(table.required_value("dst_endpoint", ends.1)?);
            let protocol = protocol.value_at(row, |text| {
                let Ok(protocol) = text.parse::<TransportProtocol>();
                protocol
            });
            self.protocol.push(table.required_value("protocol", protocol)?);
        }
        let mut flows = Vec::new();
        table.append_column::<Int64Type>("flow", None, &mut flows)?;
        self.flow.extend(flows.into_iter().map(FlowId::from_number));
        table.append_column::<Int8Type>("direction", None, &mut self.direction)
    }

    /// Reads only the ends of the messages of a batch; all other facts appear unknown. Messages
    /// with a call id get an empty one, which shows that they have one.
    pub(super) fn ends_only(
        table: &BatchColumns<'_>,
        nodes: usize,
    ) -> Result<MessageTrace, PathError> {
        let mut trace = MessageTrace::default();
        trace.append_ends(table, nodes)?;
        let rows = trace.len();
        for (name, column) in TIMES.into_iter().zip(&mut trace.times[4..]) {
            let times = table.int64_if_any(name)?.into_iter().flatten();
            column.extend(times.map(|time| time.unwrap_or(NIL)));
        }
        trace.times.iter_mut().for_each(|column| column.resize(rows, NIL));
        trace.src_tid.resize(rows, NO_THREAD);
        trace.dst_tid.resize(rows, NO_THREAD);
        trace.bytes.resize(rows, 0);
        trace.parts.resize(rows, 0);
        let empty = trace.calls.intern("");
        let (numbers, _) = table.numbered_texts_if_any("call_id")?;
        trace.call.extend(numbers.into_iter().map(|number| number.map_or(NO_CALL, |_| empty)));
        Ok(trace)
    }
}

/// Values that are computed from the texts of a column, each at the first row that has the text.
struct TextValues<'batch, T> {
    /// The number of each row's text.
    numbers: Vec<Option<u32>>,
    texts: Vec<&'batch str>,
    /// The value of each text, once it was computed.
    values: Vec<Option<T>>,
}

impl<'batch, T: Copy> TextValues<'batch, T> {
    fn new((numbers, texts): (Vec<Option<u32>>, Vec<&'batch str>)) -> TextValues<'batch, T> {
        let known = vec![None; texts.len()];
        TextValues { numbers, texts, values: known }
    }

    fn value_at(&mut self, row: usize, find: impl FnOnce(&str) -> T) -> Option<T> {
        let number = self.numbers[row]? as usize;
        let known = self.values.get_mut(number)?;
        Some(*known.get_or_insert_with(|| find(self.texts[number])))
    }
}

/// A table of messages that is read in parts, in its order.
pub struct MessageReader {
    path: DataPath,
    nodes: Arc<NodeList>,
    rows: u64,
    batches: TableBatches,
    /// The rows of the last batch that were not requested yet.
    rest: Option<RecordBatch>,
}

impl MessageReader {
    /// Opens the tables of messages and of their nodes.
    ///
    /// # Errors
    /// If a file cannot be read, or is not a table of messages or nodes.
    pub fn open(
        messages: impl Into<DataPath>,
        nodes: impl Into<DataPath>,
    ) -> Result<MessageReader, PathError> {
        let messages = &messages.into();
        let nodes = &nodes.into();
        MessageReader::open_with_nodes(messages, Arc::new(NodeList::read(nodes)?), true)
    }

    /// Opens the table of messages if the table of nodes was read already. Without `call_ids`
    /// messages appear to have none.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a table of messages.
    pub fn open_with_nodes(
        messages: impl Into<DataPath>,
        nodes: Arc<NodeList>,
        call_ids: bool,
    ) -> Result<MessageReader, PathError> {
        let messages = &messages.into();
        let columns: Vec<&str> = COLUMNS.into_iter().chain(call_ids.then_some(CALL_ID)).collect();
        let batches = table::read_columns(messages, &columns)?;
        let rows = table::count_rows(messages)?;
        Ok(MessageReader { path: messages.to_owned(), nodes, rows, batches, rest: None })
    }

    /// Returns the nodes of the messages.
    pub fn nodes(&self) -> &Arc<NodeList> {
        &self.nodes
    }

    /// Returns the number of messages of the table.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// Appends the next `most` messages, or all remaining ones if there are fewer, to `trace`,
    /// which must have the nodes [`MessageReader::nodes`].
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn read_rows(&mut self, trace: &mut MessageTrace, most: usize) -> Result<(), PathError> {
        let MessageReader { path, nodes, batches, rest, .. } = self;
        let (mut wanted, mut left, mut unread) = (most, most, None);
        let next = || {
            if wanted == 0 {
                return Ok(None);
            }
            let batch = rest.take().map(Ok).or_else(|| batches.next()).transpose()?;
            wanted = wanted.saturating_sub(batch.as_ref().map_or(0, RecordBatch::num_rows));
            Ok(batch)
        };
        // One batch is decoded while another is appended.
        run_ahead(thread_count(), next, |batch: RecordBatch| {
            let now = left.min(batch.num_rows());
            trace.append_batch(&*path, &batch.slice(0, now), nodes.len())?;
            unread = (now < batch.num_rows()).then(|| batch.slice(now, batch.num_rows() - now));
            left -= now;
            Ok(())
        })?;
        if unread.is_some() {
            *rest = unread;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::EndpointId;
    use crate::message::{EndPair, Message, NodeEnd};
    use crate::node::Node;
    use crate::table::BATCH_ROWS;

    fn make_message(send_ts: i64, src_endpoint: EndpointId) -> Message {
        let ends = EndPair {
            src: NodeEnd::new(NodeId::default(), src_endpoint),
            dst: NodeEnd::new(NodeId::default(), EndpointId::default()),
            protocol: TransportProtocol::Tcp,
        };
        Message { send_ts: Some(send_ts), ..Message::between_ends(ends, FlowId::default(), 0) }
    }

    #[test]
    fn parts_of_any_size_equal_the_whole_and_call_ids_are_read_on_request() {
        let mut whole = MessageTrace::default();
        whole.add_node(Node { command: "c".into(), ..Node::default() });
        for row in 0..2 * BATCH_ROWS + 10 {
            let port = 1 + (row % 100) as u16;
            let src_endpoint = whole.intern(&Endpoint::Inet(([10, 0, 0, 1], port).into()));
            let message = make_message(row as i64, src_endpoint);
            whole.push(
                &message,
                Some(if row % 3 == 0 { "three" } else { "other" }).filter(|_| row % 2 == 0),
            );
        }
        let directory = tempfile::tempdir().unwrap();
        let (messages, nodes) =
            (directory.path().join("m.parquet"), directory.path().join("n.parquet"));
        whole.write(&messages, &nodes).unwrap();
        let nodes = Arc::new(NodeList::read(&nodes).unwrap());
        for (most, call_ids) in
            [(1000, true), (BATCH_ROWS, true), (BATCH_ROWS + 7, false), (usize::MAX, false)]
        {
            let mut reader =
                MessageReader::open_with_nodes(&messages, nodes.clone(), call_ids).unwrap();
            let mut read = MessageTrace::new(reader.nodes().clone());
            loop {
                let before = read.len();
                reader.read_rows(&mut read, most).unwrap();
                let expected = (whole.len() - before).min(most);
                assert_eq!(read.len() - before, expected);
                if expected == 0 {
                    break;
                }
            }
            for id in whole.ids() {
                assert_eq!(read.send_ts(id), Some(id.index() as i64));
                let (ours, theirs) =
                    (whole.message_ends(id).src.endpoint, read.message_ends(id).src.endpoint);
                assert_eq!(read.endpoint(theirs), whole.endpoint(ours));
                assert_eq!(read.call_id(id), whole.call_id(id).filter(|_| call_ids));
            }
        }
    }
}
