//! Traces for tests: built message by message, where the first mention of a node's name adds the
//! node; or random, for properties of all traces.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proptest::prelude::*;

use message_trace::table::operations::{OperationRow, OperationWriter};
use message_trace::table::words::{WordRow, WordWriter};
use message_trace::{
    ConnectSpan, DataDir, EndPair, Endpoint, EndpointId, FROM_ACCEPTING, FROM_CONNECTING, FlowId,
    Message, MessageEnd, MessageId, MessageTrace, Node, NodeEnd, NodeId, OperationFacts,
    OperationRole, TransportProtocol, WordHash,
};
use out_of_core::MemoryBudget;

use crate::naming::Naming;
use crate::options::WorkDivision;
use crate::paths::collector::PathCollector;
use crate::{AnalysisResources, Options, analyze};

/// Builder of a trace.
#[derive(Default)]
pub(crate) struct Fixture {
    trace: MessageTrace,
    ephemeral: u16,
    untraced: Vec<String>,
    messages: Vec<FixtureMessage>,
}

/// Builder of a message.
pub(crate) struct FixtureMessage {
    message: Message,
    ports: (u16, u16),
    operation: Option<OperationFacts>,
    call: Option<u64>,
    words: Vec<u32>,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture::default()
    }

    /// Declares nodes that were not traced, before they are mentioned.
    pub(crate) fn untraced(mut self, names: &[&str]) -> Fixture {
        self.untraced.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Returns an unused port.
    pub(crate) fn ephemeral(&mut self) -> u16 {
        self.ephemeral += 1;
        40_000 + self.ephemeral
    }

    /// Returns the node with this name; `name#1` and `name#2` are two processes of one command, and
    /// `one/name` is on host one.
    pub(crate) fn node(&mut self, name: &str) -> NodeId {
        let (host, name) = name.split_once('/').unwrap_or(("h", name));
        let (command, number) = name.split_once('#').unwrap_or((name, "0"));
        let pid = Some(number.parse().unwrap());
        let nodes = std::sync::Arc::make_mut(&mut self.trace.nodes);
        let is_named =
            |node: &Node| node.host == host && node.command == command && node.pid == pid;
        let known = nodes.0.iter().position(is_named);
        known.map(NodeId::from_index).unwrap_or_else(|| {
            let traced = !self.untraced.iter().any(|untraced| untraced == command);
            nodes.push(Node {
                host: host.into(),
                pid,
                command: command.into(),
                traced,
                ..Node::default()
            })
        })
    }

    /// Adds a message from port 40000 to port 80, sent and received at these times, in nanoseconds,
    /// if the ends were traced.
    pub(crate) fn send(
        &mut self,
        src: &str,
        dst: &str,
        send: i64,
        recv: i64,
    ) -> &mut FixtureMessage {
        let (src, dst) = (self.node(src), self.node(dst));
        let traced =
            |id: NodeId, time| Some(time).filter(|_| self.trace.nodes.0[id.index()].traced);
        let (send, recv) = (traced(src, send), traced(dst, recv));
        let ends = EndPair {
            src: NodeEnd::new(src, EndpointId::default()),
            dst: NodeEnd::new(dst, EndpointId::default()),
            protocol: TransportProtocol::Tcp,
        };
        let number = self.messages.len() as i64;
        let message = Message::between_ends(ends, FlowId::from_number(number), FROM_CONNECTING)
            .with_times(send, recv);
        let message = Message { bytes: 100, ..message };
        self.messages.push(FixtureMessage {
            message,
            ports: (40_000, 80),
            operation: None,
            call: None,
            words: Vec::new(),
        });
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }

    /// Returns the sorted trace.
    pub(crate) fn trace(mut self) -> MessageTrace {
        for (row, FixtureMessage { message, ports, operation: facts, call, words }) in
            self.messages.iter().enumerate()
        {
            let mut endpoint = |node: NodeId, port| {
                let address = IpAddr::V4(Ipv4Addr::new(10, 0, 0, node.index() as u8 + 1));
                self.trace.intern(&Endpoint::Inet(SocketAddr::new(address, port)))
            };
            let (src_endpoint, dst_endpoint) =
                (endpoint(message.src, ports.0), endpoint(message.dst, ports.1));
            let call = call.map(|call| format!("{}/{call}", message.flow.number()));
            self.trace.push(&Message { src_endpoint, dst_endpoint, ..*message }, call.as_deref());
            if let Some(facts) = facts {
                self.trace.set_operation(MessageId::from_index(row), *facts);
            }
            for (end, word) in MessageEnd::ALL
                .into_iter()
                .flat_map(|end| words.iter().map(move |word| (end, word)))
            {
                self.trace.add_word(MessageId::from_index(row), end, WordHash(*word));
            }
        }
        self.trace.sort_messages();
        self.trace
    }
}

impl FixtureMessage {
    /// Sets the ports of the sender and the receiver of the message.
    pub(crate) fn ports(&mut self, src: u16, dst: u16) -> &mut FixtureMessage {
        self.ports = (src, dst);
        self
    }

    /// Sets the rare words that both ends see in the message.
    pub(crate) fn words(&mut self, words: &[u32]) -> &mut FixtureMessage {
        self.words = words.to_vec();
        self
    }

    /// Makes the accepting side send the message.
    pub(crate) fn accepting(&mut self) -> &mut FixtureMessage {
        self.message.direction = FROM_ACCEPTING;
        self
    }

    /// Sets the connection of the message, by its number.
    pub(crate) fn on(&mut self, flow: i64) -> &mut FixtureMessage {
        self.message.flow = FlowId::from_number(flow);
        self
    }

    /// Sets the time when the first byte of the message was received, before the last one.
    pub(crate) fn arrives(&mut self, first: i64) -> &mut FixtureMessage {
        self.message.recv_first = self.message.recv_first.map(|_| first);
        self
    }

    /// Moves the times of receipt to a clock that is this far ahead of the common one, in
    /// nanoseconds.
    pub(crate) fn ahead(&mut self, ns: i64) -> &mut FixtureMessage {
        let own = |common: Option<i64>| common.map(|common| common + ns);
        (self.message.recv_first, self.message.recv_last) =
            (own(self.message.recv_first), own(self.message.recv_last));
        self
    }

    /// Makes the message a connection setup.
    pub(crate) fn connect(&mut self) -> &mut FixtureMessage {
        (self.message.bytes, self.message.parts) = (0, 0);
        self
    }

    /// Makes the message the first on a connection that was set up from `begin` to `end`.
    pub(crate) fn connecting(&mut self, begin: i64, end: i64) -> &mut FixtureMessage {
        self.message.connect = Some(ConnectSpan { begin, end });
        self
    }

    /// Makes the message a datagram.
    pub(crate) fn udp(&mut self) -> &mut FixtureMessage {
        self.message.protocol = TransportProtocol::Udp;
        self
    }

    /// Sets the threads that sent and received the message.
    pub(crate) fn threads(&mut self, src: i32, dst: i32) -> &mut FixtureMessage {
        (self.message.src_tid, self.message.dst_tid) = (Some(src), Some(dst));
        self
    }

    /// Sets the size of the message, in bytes.
    pub(crate) fn bytes(&mut self, bytes: i64) -> &mut FixtureMessage {
        self.message.bytes = bytes;
        self
    }

    /// Sets the role of the message and its call id.
    pub(crate) fn tells(&mut self, role: OperationRole, call: Option<u64>) -> &mut FixtureMessage {
        self.operation =
            Some(OperationFacts { role, name: None, is_error: false, trace: None, span: None });
        self.call = call;
        self
    }

    /// Sets the operation of the message, by the number of its name, and whether the request
    /// failed.
    pub(crate) fn named(&mut self, name: Option<u32>, is_error: bool) -> &mut FixtureMessage {
        self.operation = self.operation.map(|facts| OperationFacts { name, is_error, ..facts });
        self
    }

    /// Makes the message a request that is part of this trace and span of a tracer.
    pub(crate) fn of_trace(&mut self, trace: u64, span: u64) -> &mut FixtureMessage {
        self.tells(OperationRole::Request, None);
        let (trace, span) = (Some(trace), Some(span));
        self.operation = self.operation.map(|facts| OperationFacts { trace, span, ..facts });
        self
    }

    /// Makes the message lost, without times of receipt.
    pub(crate) fn lost(&mut self) -> &mut FixtureMessage {
        (self.message.recv_first, self.message.recv_last, self.message.recv_ts) =
            (None, None, None);
        self
    }
}

/// Messages among four nodes with clocks that may be off. The last node was not traced.
pub(crate) fn some_trace() -> impl Strategy<Value = MessageTrace> {
    let message = (0usize..4, 0usize..4, 0i64..400, -20i64..60, any::<bool>(), 0u8..10, 0i64..40);
    let connect = prop::option::weighted(0.3, (0i64..60, 0i64..60));
    let message = (message, connect);
    proptest::collection::vec(message, 0..60).prop_map(|messages| {
        let mut trace = Fixture::new().untraced(&["d"]);
        for (bytes, ((src, dst, send, latency, answers, lost, early), connect)) in
            (1..).zip(messages)
        {
            let sent = trace.send(
                ["a", "b", "c", "d"][src],
                ["a", "b", "c", "d"][dst],
                send,
                send + latency,
            );
            sent.bytes(bytes).arrives(send + latency - early);
            if answers {
                sent.ports(80, 40_000).accepting();
            }
            if let Some((before, took)) = connect.filter(|_| src != 3) {
                sent.connecting(send - before, send - before + took);
            }
            if lost == 0 {
                sent.lost();
            }
        }
        trace.trace()
    })
}

/// Analyzes `trace` and returns the tables, with small row groups.
pub(crate) fn analyzed(trace: &MessageTrace) -> (tempfile::TempDir, DataDir) {
    let directory = tempfile::tempdir().unwrap();
    let dir = DataDir::new(directory.path());
    trace.write(dir.messages_path(), dir.nodes_path()).unwrap();
    let resources = AnalysisResources {
        division: WorkDivision { messages: 5, partitions: 2, rows: 9 },
        ..AnalysisResources::default()
    };
    analyze(&dir, &Options { resources, clients_start_paths: false, ..Options::default() }, &())
        .unwrap();
    (directory, dir)
}

/// An operation with nothing but a role.
pub(crate) fn operation(message: u64, role: OperationRole) -> OperationRow<'static> {
    OperationRow {
        message,
        role,
        protocol: "http2",
        name: "",
        detail: "",
        status: "",
        is_error: false,
        call: None,
        trace_id: None,
        parent_id: None,
    }
}

/// Writes the operations of messages to `data`.
pub(crate) fn write_operations(data: &DataDir, operations: &[OperationRow<'_>]) {
    let mut writer = OperationWriter::create(data.operations_path()).unwrap();
    operations.iter().for_each(|row| writer.push(row).unwrap());
    writer.finish().unwrap();
}

/// Writes the words of messages to `data`.
pub(crate) fn write_words(data: &DataDir, words: &[WordRow]) {
    let mut writer = WordWriter::create(data.words_path()).unwrap();
    words.iter().for_each(|row| writer.push(*row).unwrap());
    writer.finish().unwrap();
}

/// A directory with the tables of paths and patterns of `trees`: each with its probability and, in
/// depth-first order, the messages of `trace` with their depths.
pub(crate) fn collected(
    trace: &MessageTrace,
    trees: &[(f64, &[(u32, u32)])],
) -> (tempfile::TempDir, DataDir) {
    let directory = tempfile::tempdir().unwrap();
    let (dir, options) = (DataDir::new(directory.path()), Options::default());
    let (naming, budget) = (Naming::new(trace, &options), MemoryBudget::new(1 << 20));
    let mut collector = PathCollector::new(&options, &budget, dir.path());
    collector.add_trees(&trace.into(), &naming, trees);
    collector.finish(&naming, None, &dir, &()).unwrap();
    (directory, dir)
}
