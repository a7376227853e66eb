//! The table `messages.parquet`: the message trace, one row per message.

use std::fmt;

use crate::endpoint::{Endpoint, EndpointId};
use crate::message::{Message, MessageId};
use crate::table::{GroupEncoder, GroupWriter, MessageTexts, RowGroup};
use crate::trace::MessageTrace;
use crate::tuning::GROUP_ROWS;
use crate::{DataPath, PathError};

/// The texts of the rows from `first` on.
struct TraceTexts<'a> {
    trace: &'a MessageTrace,
    first: usize,
}

impl MessageTexts for TraceTexts<'_> {
    fn write_endpoint(&self, id: EndpointId, text: &mut impl fmt::Write) {
        // Writing into memory does not fail.
        let _ = self.trace.endpoint(id).map(|endpoint| write!(text, "{endpoint}"));
    }

    fn call_id(&self, row: usize) -> Option<&str> {
        self.trace.call_id(MessageId::from_index(self.first + row))
    }
}

impl MessageTrace {
    /// Writes the messages and their nodes.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(
        &self,
        messages: impl Into<DataPath>,
        nodes: impl Into<DataPath>,
    ) -> Result<(), PathError> {
        let messages = &messages.into();
        let nodes = &nodes.into();
        self.nodes.write(nodes)?;
        let mut writer = GroupWriter::create(messages)?;
        for first in (0..self.len()).step_by(GROUP_ROWS) {
            let end = (first + GROUP_ROWS).min(self.len());
            writer.append_group(self.encode_group(&writer.encoder(), first, end, 0)?)?;
        }
        writer.finish()
    }

    /// Encodes the rows from `first` to before `end`; the table has `before` messages before the
    /// first one of this trace.
    fn encode_group(
        &self,
        encoder: &GroupEncoder,
        first: usize,
        end: usize,
        before: i64,
    ) -> Result<RowGroup, PathError> {
        let texts = TraceTexts { trace: self, first };
        encoder.encode_group(
            before + first as i64,
            end - first,
            |row| self.message(MessageId::from_index(first + row)),
            &texts,
        )
    }
}

/// Writer of a table of messages in their order of arrival; at most one row group is in memory. The
/// table is sorted only if the messages are.
pub struct MessageWriter {
    table: GroupWriter,
    /// The messages that are not written yet.
    pending: MessageTrace,
    /// Number of messages that are written.
    written: i64,
    /// The number of the unnamed endpoint in `pending`, if already assigned.
    nameless: Option<EndpointId>,
}

impl MessageWriter {
    /// Creates the table `path`; as for [`GroupWriter`], it appears once it is finished.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: impl Into<DataPath>) -> Result<MessageWriter, PathError> {
        let path = &path.into();
        let table = GroupWriter::create(path)?;
        Ok(MessageWriter { table, pending: MessageTrace::default(), written: 0, nameless: None })
    }

    /// Returns the number of `endpoint` for the next message. The number is valid for one message
    /// only.
    pub fn intern(&mut self, endpoint: &Endpoint) -> EndpointId {
        self.pending.intern(endpoint)
    }

    /// Returns the number of an unknown endpoint, for the next message.
    pub fn unnamed_endpoint(&mut self) -> EndpointId {
        let waiting = &mut self.pending;
        *self.nameless.get_or_insert_with(|| waiting.intern(&Endpoint::Other(String::new())))
    }

    /// Appends a message; its nodes are rows of a table that the caller keeps.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, message: &Message, call_id: Option<&str>) -> Result<(), PathError> {
        self.pending.push(message, call_id);
        if self.pending.len() == GROUP_ROWS { self.write_pending() } else { Ok(()) }
    }

    /// Returns the number of appended messages.
    pub fn message_count(&self) -> u64 {
        self.written as u64 + self.pending.len() as u64
    }

    /// Finishes the table and gives it its name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), PathError> {
        self.write_pending()?;
        self.table.finish()
    }

    fn write_pending(&mut self) -> Result<(), PathError> {
        let rows = std::mem::take(&mut self.pending);
        self.nameless = None;
        if !rows.is_empty() {
            self.table.append_group(rows.encode_group(
                &self.table.encoder(),
                0,
                rows.len(),
                self.written,
            )?)?;
        }
        self.written += rows.len() as i64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::message::{ConnectSpan, EndPair, NodeEnd, TransportProtocol};
    use crate::node::{Node, NodeId, NodeList};
    use proptest::prelude::*;

    fn any_message() -> impl Strategy<Value = Message> {
        let time = || proptest::option::of(-5i64..5_000_000_000);
        let tid = || proptest::option::of(1i32..9);
        (
            [time(), time(), time(), time(), time(), time()],
            (0usize..2, 0usize..2, 0usize..2, 0usize..2),
            (tid(), tid()),
            (0i64..9, 0i8..2, 0usize..6, 0i64..1 << 40, 1i32..9),
            proptest::option::of((-5i64..5_000_000_000, 0i64..9_000)),
        )
            .prop_map(
                |(
                    times,
                    (src, dst, src_endpoint, dst_endpoint),
                    (src_tid, dst_tid),
                    rest,
                    connect,
                )| {
                    let end = |node, endpoint, tid| NodeEnd {
                        node: NodeId::from_index(node),
                        endpoint: EndpointId::from_index(endpoint),
                        tid,
                    };
                    let ends = EndPair {
                        src: end(src, src_endpoint, src_tid),
                        dst: end(dst, dst_endpoint, dst_tid),
                        protocol: TransportProtocol::ALL[rest.2],
                    };
                    Message {
                        send_first: times[0],
                        send_last: times[1],
                        recv_first: times[2],
                        recv_last: times[3],
                        send_ts: times[4],
                        recv_ts: times[5],
                        bytes: rest.3,
                        parts: rest.4,
                        connect: connect
                            .map(|(begin, took)| ConnectSpan { begin, end: begin + took }),
                        ..Message::between_ends(ends, FlowId::from_number(rest.0), rest.1)
                    }
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn a_written_trace_is_read_back(rows in proptest::collection::vec((any_message(), proptest::option::of("[a-c]{0,2}")), 0..40)) {
            let mut trace = MessageTrace::default();
            for number in 0..2 {
                let endpoint = Endpoint::Unix(format!("/run/{number}"));
                trace.intern(&endpoint);
                trace.add_node(Node { host: "h".into(), pid: Some(number), command: "c".into(), traced: number == 0, ..Node::default() });
            }
            for (message, call) in &rows {
                trace.push(message, call.as_deref());
            }
            trace.sort_messages();
            let directory = tempfile::tempdir().unwrap();
            let (messages, nodes) = (directory.path().join("m.parquet"), directory.path().join("n.parquet"));
            trace.write(&messages, &nodes).unwrap();
            let back = MessageTrace::read(&messages, &nodes).unwrap();
            prop_assert_eq!(&back.nodes, &trace.nodes);
            prop_assert_eq!(back.len(), trace.len());
            for id in trace.ids() {
                let (mut ours, mut theirs) = (trace.message(id), back.message(id));
                prop_assert_eq!(trace.endpoint(ours.src_endpoint), back.endpoint(theirs.src_endpoint));
                prop_assert_eq!(trace.endpoint(ours.dst_endpoint), back.endpoint(theirs.dst_endpoint));
                for message in [&mut ours, &mut theirs] {
                    message.src_endpoint = EndpointId::default();
                    message.dst_endpoint = EndpointId::default();
                }
                prop_assert_eq!(ours, theirs);
                prop_assert_eq!(trace.call_id(id), back.call_id(id));
                let before = id.subtract_rows(1).map(|before| trace.message(before).sort_time());
                prop_assert!(before.is_none_or(|before| before <= trace.message(id).sort_time()));
            }
        }
    }

    #[test]
    fn a_file_that_is_no_table_is_named_in_the_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("messages.parquet");
        std::fs::write(&path, b"PAR1 but not really").unwrap();
        let nodes = directory.path().join("nodes.parquet");
        NodeList::default().write(&nodes).unwrap();
        let error = MessageTrace::read(&path, &nodes).unwrap_err().to_string();
        assert!(error.contains("messages.parquet") && error.contains("remove it"), "{error}");
    }
}
