//! `messages.parquet`: the message trace, one row a message.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::message::{Message, Protocol};
use crate::node::Nodes;
use crate::table::columns::{self, Columns, dictionary, nullable, required};
use crate::table::{self, BATCH_ROWS};
use crate::trace::{EndpointId, MessageTrace};

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
    ])
}

impl MessageTrace {
    /// Writes the messages and the nodes they name.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, messages: &Path, nodes: &Path) -> Result<(), Error> {
        self.nodes.write(nodes)?;
        let endpoints: Vec<String> = self.endpoints().iter().map(Endpoint::to_string).collect();
        let batches: Vec<RecordBatch> = (0..self.len())
            .step_by(BATCH_ROWS)
            .map(|first| self.batch(messages, &endpoints, first, (first + BATCH_ROWS).min(self.len()), 0))
            .collect::<Result<_, _>>()?;
        table::write(messages, schema(), batches)
    }

    /// The rows from `first` to before `end` as a batch; `endpoints` are the endpoints' texts, and `before` messages of
    /// the table come before this trace's.
    fn batch(
        &self,
        path: &Path,
        endpoints: &[String],
        first: usize,
        end: usize,
        before: i64,
    ) -> Result<RecordBatch, Error> {
        let rows: Vec<Message> = (first..end).map(|row| self.message(row)).collect();
        let endpoint = |id: EndpointId| Some(endpoints.get(id as usize).map_or("", String::as_str));
        let rows = || rows.iter();
        let arrays = vec![
            columns::int64((first..end).map(|row| Some(before + row as i64))),
            columns::int64(rows().map(|m| m.send_first)),
            columns::int64(rows().map(|m| m.send_last)),
            columns::int64(rows().map(|m| m.recv_first)),
            columns::int64(rows().map(|m| m.recv_last)),
            columns::int64(rows().map(|m| m.send_ts)),
            columns::int64(rows().map(|m| m.recv_ts)),
            columns::int32(rows().map(|m| Some(m.src))),
            columns::int32(rows().map(|m| Some(m.dst))),
            columns::texts(rows().map(|m| endpoint(m.src_endpoint))),
            columns::texts(rows().map(|m| endpoint(m.dst_endpoint))),
            columns::int32(rows().map(|m| m.src_tid)),
            columns::int32(rows().map(|m| m.dst_tid)),
            columns::int64(rows().map(|m| Some(m.flow))),
            columns::int8(rows().map(|m| m.direction)),
            columns::texts(rows().map(|m| Some(m.protocol.name()))),
            columns::int64(rows().map(|m| Some(m.bytes))),
            columns::int32(rows().map(|m| Some(m.parts))),
            columns::texts((first..end).map(|row| self.call_id(row))),
        ];
        columns::batch(path, &schema(), arrays)
    }

    /// Reads the messages and the nodes they name.
    ///
    /// # Errors
    /// When a file cannot be read, or is not such a table.
    pub fn read(messages: &Path, nodes: &Path) -> Result<MessageTrace, Error> {
        let mut trace = MessageTrace::new(Nodes::read(nodes)?);
        for batch in table::read(messages)? {
            trace.append(messages, &batch?)?;
        }
        Ok(trace)
    }

    fn append(&mut self, path: &Path, batch: &RecordBatch) -> Result<(), Error> {
        let table = Columns::new(path, batch);
        let times = ["send_first", "send_last", "recv_first", "recv_last", "send_ts", "recv_ts"]
            .map(|name| table.int64(name));
        let [send_first, send_last, recv_first, recv_last, send_ts, recv_ts] = times;
        let (send_first, send_last, recv_first) = (send_first?, send_last?, recv_first?);
        let (recv_last, send_ts, recv_ts) = (recv_last?, send_ts?, recv_ts?);
        let (src, dst) = (table.int32("src")?, table.int32("dst")?);
        let (src_endpoint, dst_endpoint) = (table.texts("src_endpoint")?, table.texts("dst_endpoint")?);
        let (src_tid, dst_tid) = (table.int32("src_tid")?, table.int32("dst_tid")?);
        let (flow, direction) = (table.int64("flow")?, table.int8("direction")?);
        let (protocol, call_id) = (table.texts("protocol")?, table.texts("call_id")?);
        let (bytes, parts) = (table.int64("bytes")?, table.int32("parts")?);
        for row in 0..batch.num_rows() {
            let mut endpoint = |name, text: Option<&str>| {
                let Ok(endpoint) = table.some(name, text)?.parse::<Endpoint>();
                Ok::<_, Error>(self.intern(&endpoint))
            };
            let Ok(protocol) = table.some("protocol", protocol[row])?.parse::<Protocol>();
            let message = Message {
                send_first: send_first[row],
                send_last: send_last[row],
                recv_first: recv_first[row],
                recv_last: recv_last[row],
                send_ts: send_ts[row],
                recv_ts: recv_ts[row],
                src: table.some("src", src[row])?,
                dst: table.some("dst", dst[row])?,
                src_endpoint: endpoint("src_endpoint", src_endpoint[row])?,
                dst_endpoint: endpoint("dst_endpoint", dst_endpoint[row])?,
                src_tid: src_tid[row],
                dst_tid: dst_tid[row],
                flow: table.some("flow", flow[row])?,
                direction: table.some("direction", direction[row])?,
                protocol,
                bytes: table.some("bytes", bytes[row])?,
                parts: table.some("parts", parts[row])?,
            };
            for node in [message.src, message.dst] {
                if self.nodes.get(node).is_none() {
                    return Err(Error::malformed(path, format!("node {node} is not in the table of nodes")));
                }
            }
            self.push(&message, call_id[row]);
        }
        Ok(())
    }
}

/// A table of messages that is written as they come, in the order in which they come: no more than a batch of them is
/// in memory. It is not sorted, unless what comes is.
pub struct MessageWriter {
    path: PathBuf,
    table: table::Writer,
    waiting: MessageTrace,
    written: i64,
}

impl MessageWriter {
    /// Begins the table `path`; as for [`table::Writer`], it is there once it is finished.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> Result<MessageWriter, Error> {
        let table = table::Writer::create(path, schema())?;
        Ok(MessageWriter { path: path.to_owned(), table, waiting: MessageTrace::default(), written: 0 })
    }

    /// The number of `endpoint` for the next message. It is good for one message only.
    pub fn intern(&mut self, endpoint: &Endpoint) -> EndpointId {
        self.waiting.intern(endpoint)
    }

    /// Appends a message; its nodes are rows of a table that the caller keeps.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, message: &Message, call_id: Option<&str>) -> Result<(), Error> {
        self.waiting.push(message, call_id);
        if self.waiting.len() == BATCH_ROWS { self.write_waiting() } else { Ok(()) }
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
        let endpoints: Vec<String> = rows.endpoints().iter().map(Endpoint::to_string).collect();
        self.table.write(&rows.batch(&self.path, &endpoints, 0, rows.len(), self.written)?)?;
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
