//! The message trace in memory: columns, not objects.
//!
//! A stage reads the few columns it needs from end to end, so they are separate; a whole message is
//! assembled on request. Endpoints and call ids repeat and are kept once each.

mod call_ids;
mod columns;
mod endpoints;
mod rows;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::endpoint::{Endpoint, EndpointId};
use crate::flow::FlowId;
use crate::message::{ConnectSpan, EndPair, Message, MessageId, NodeEnd, TransportProtocol};
use crate::node::{Node, NodeId, NodeList};
use crate::operation::OperationFacts;
use crate::sparse_column::SparseColumn;
use crate::word_column::{MessageEnd, WordColumn, WordHash};
pub(crate) use call_ids::CallIds;
use endpoints::EndpointInterner;

/// The nil timestamp within a column; `Option` outside.
pub(crate) const NIL: i64 = i64::MIN;
/// The missing thread within a column.
pub(crate) const NO_THREAD: i32 = i32::MIN;
/// The missing call id within a column.
pub(crate) const NO_CALL: u32 = u32::MAX;

/// Messages with their nodes and endpoints, sorted by [`Message::sort_time`] after
/// [`MessageTrace::sort_messages`] was called. A message's id is its row.
#[derive(Clone, Debug, Default)]
pub struct MessageTrace {
    /// Nodes that sent or received the messages; parts of a trace share the table.
    pub nodes: Arc<NodeList>,
    endpoints: EndpointInterner,
    /// The texts of the call ids.
    pub(crate) calls: CallIds,
    /// `send_first`, `send_last`, `recv_first`, `recv_last`, `send_ts` and `recv_ts` of each
    /// message.
    pub(crate) times: [Vec<i64>; 6],
    pub(crate) src: Vec<NodeId>,
    pub(crate) dst: Vec<NodeId>,
    pub(crate) src_endpoint: Vec<EndpointId>,
    pub(crate) dst_endpoint: Vec<EndpointId>,
    pub(crate) src_tid: Vec<i32>,
    pub(crate) dst_tid: Vec<i32>,
    pub(crate) flow: Vec<FlowId>,
    pub(crate) direction: Vec<i8>,
    pub(crate) protocol: Vec<TransportProtocol>,
    pub(crate) bytes: Vec<i64>,
    pub(crate) parts: Vec<i32>,
    pub(crate) connects: SparseColumn<ConnectSpan>,
    /// The number of each message's call id in `calls`, or [`NO_CALL`].
    pub(crate) call: Vec<u32>,
    pub(crate) operations: SparseColumn<OperationFacts>,
    pub(crate) words: WordColumn,
    /// Facts about the whole trace, if this is only a part of it.
    pub beyond: WholeTraceFacts,
}

/// Facts about a whole trace by which the responses in a part of it are assigned to requests. They
/// count messages without call ids, by the side that sent them.
#[derive(Clone, Debug, Default)]
pub struct WholeTraceFacts {
    /// Number of requests before the first message of the part that are not answered before it, by
    /// flow; flows without such requests are omitted.
    pub open: FxHashMap<FlowId, u32>,
    /// Flows with different numbers of messages from their two sides in the whole trace; `None` if
    /// the part is the whole trace.
    pub uneven: Option<Arc<FxHashSet<FlowId>>>,
}

impl MessageTrace {
    /// Creates an empty trace over `nodes`.
    pub fn new(nodes: impl Into<Arc<NodeList>>) -> MessageTrace {
        MessageTrace { nodes: nodes.into(), ..MessageTrace::default() }
    }

    /// Adds a node and returns its id.
    pub fn add_node(&mut self, node: Node) -> NodeId {
        Arc::make_mut(&mut self.nodes).push(node)
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// Returns the ids of all messages, in order.
    #[inline]
    pub fn ids(
        &self,
    ) -> impl ExactSizeIterator<Item = MessageId> + DoubleEndedIterator + Clone + use<> {
        MessageId::of_rows(0..self.len())
    }

    /// Returns the id of `endpoint`, which is added to the dictionary if it is new.
    pub fn intern(&mut self, endpoint: &Endpoint) -> EndpointId {
        self.endpoints.intern(endpoint)
    }

    /// Returns the endpoint with this id.
    pub fn endpoint(&self, id: EndpointId) -> Option<&Endpoint> {
        self.endpoints.values.get(id.index())
    }

    /// Returns the id of `endpoint`, if it is in the dictionary.
    pub fn endpoint_id(&self, endpoint: &Endpoint) -> Option<EndpointId> {
        self.endpoints.ids.get(endpoint).copied()
    }

    /// Returns all endpoints; an endpoint's id is its index.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints.values
    }

    /// Appends a message, with the id that pairs a call with its return if the source has one.
    pub fn push(&mut self, message: &Message, call_id: Option<&str>) {
        let m = message;
        if let Some(connect) = m.connect {
            self.connects.push(MessageId::from_index(self.len()), connect);
        }
        let times = [m.send_first, m.send_last, m.recv_first, m.recv_last, m.send_ts, m.recv_ts];
        for (column, time) in self.times.iter_mut().zip(times) {
            column.push(time.unwrap_or(NIL));
        }
        self.src.push(m.src);
        self.dst.push(m.dst);
        self.src_endpoint.push(m.src_endpoint);
        self.dst_endpoint.push(m.dst_endpoint);
        self.src_tid.push(m.src_tid.unwrap_or(NO_THREAD));
        self.dst_tid.push(m.dst_tid.unwrap_or(NO_THREAD));
        self.flow.push(m.flow);
        self.direction.push(m.direction);
        self.protocol.push(m.protocol);
        self.bytes.push(m.bytes);
        self.parts.push(m.parts);
        let call = call_id.map_or(NO_CALL, |call| self.calls.intern(call));
        self.call.push(call);
    }

    /// Returns the message with this id.
    ///
    /// # Panics
    /// If the trace has no such message, as an index out of bounds does.
    pub fn message(&self, id: MessageId) -> Message {
        let row = id.index();
        let time = |column: usize| Some(self.times[column][row]).filter(|time| *time != NIL);
        Message {
            send_first: time(0),
            send_last: time(1),
            recv_first: time(2),
            recv_last: time(3),
            send_ts: time(4),
            recv_ts: time(5),
            bytes: self.bytes[row],
            parts: self.parts[row],
            connect: self.connects.get(id),
            ..Message::between_ends(self.message_ends(id), self.flow[row], self.direction[row])
        }
    }

    /// Returns the ends and the protocol of the message, for passes that need no more.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn message_ends(&self, id: MessageId) -> EndPair {
        let row = id.index();
        let tid = |tid: i32| Some(tid).filter(|tid| *tid != NO_THREAD);
        EndPair {
            src: NodeEnd {
                node: self.src[row],
                endpoint: self.src_endpoint[row],
                tid: tid(self.src_tid[row]),
            },
            dst: NodeEnd {
                node: self.dst[row],
                endpoint: self.dst_endpoint[row],
                tid: tid(self.dst_tid[row]),
            },
            protocol: self.protocol[row],
        }
    }

    /// Returns whether [`Message::connect`] of any message is known.
    pub fn has_connects(&self) -> bool {
        !self.connects.is_empty()
    }

    /// Returns the messages in row order.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Message> + '_ {
        self.ids().map(|id| self.message(id))
    }

    /// Sets the id that pairs the message with its counterpart, replacing one that it has.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    pub fn set_call_id(&mut self, id: MessageId, call_id: &str) {
        self.call[id.index()] = self.calls.intern(call_id);
    }

    /// Sets the operation of the message. Messages come in their order, each once.
    pub fn set_operation(&mut self, id: MessageId, operation: OperationFacts) {
        self.operations.push(id, operation);
    }

    /// Returns the operation of the message, if known.
    #[inline]
    pub fn operations(&self, id: MessageId) -> Option<OperationFacts> {
        self.operations.get(id)
    }

    /// Returns whether the operation of any message is known.
    pub fn has_operations(&self) -> bool {
        !self.operations.is_empty()
    }

    /// Adds a word of the message at `end`. Words come in the order of messages and ends.
    pub fn add_word(&mut self, id: MessageId, end: MessageEnd, word: WordHash) {
        self.words.push(id, end, word);
    }

    /// Returns the rare words of the message at `end`.
    #[inline]
    pub fn words(&self, id: MessageId, end: MessageEnd) -> &[WordHash] {
        self.words.words_of(id, end)
    }

    /// Returns whether the words of any message are known.
    pub fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// Returns the id that pairs the message, a call or a return, with its counterpart.
    pub fn call_id(&self, id: MessageId) -> Option<&str> {
        self.calls.get(self.call[id.index()])
    }
}
