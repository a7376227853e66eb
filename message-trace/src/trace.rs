//! The message trace in memory: columns, not objects.
//!
//! A stage reads the few columns it needs from end to end, so they are kept apart; a message as a
//! whole is put together on request. Endpoints and call ids repeat and are kept once each.

mod call_ids;

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::endpoint::Endpoint;
use crate::few::Few;
use crate::message::{Connect, End, Ends, Message, Protocol, arrival};
use crate::node::{Node, NodeId, Nodes};
pub(crate) use call_ids::CallIds;

/// A row of the trace's endpoint dictionary.
pub type EndpointId = u32;

/// The nil timestamp within a column; `Option` outside.
pub(crate) const NIL: i64 = i64::MIN;
/// The missing thread within a column.
pub(crate) const NO_THREAD: i32 = i32::MIN;
/// The missing call id within a column.
pub(crate) const NO_CALL: u32 = u32::MAX;

/// Messages with the nodes and endpoints they name, sorted by [`Message::time`] once
/// [`MessageTrace::sort`] was called. A message's id is its row.
#[derive(Clone, Debug, Default)]
pub struct MessageTrace {
    /// Who the messages went between; parts of a trace share the table.
    pub nodes: Arc<Nodes>,
    endpoints: Endpoints,
    pub(crate) calls: CallIds,
    pub(crate) times: [Vec<i64>; 6],
    pub(crate) src: Vec<NodeId>,
    pub(crate) dst: Vec<NodeId>,
    pub(crate) src_endpoint: Vec<EndpointId>,
    pub(crate) dst_endpoint: Vec<EndpointId>,
    pub(crate) src_tid: Vec<i32>,
    pub(crate) dst_tid: Vec<i32>,
    pub(crate) flow: Vec<i64>,
    pub(crate) direction: Vec<i8>,
    pub(crate) protocol: Vec<Protocol>,
    pub(crate) bytes: Vec<i64>,
    pub(crate) parts: Vec<i32>,
    pub(crate) connects: Few<Connect>,
    pub(crate) call: Vec<u32>,
    /// What is known of the rest, where this is a part of a trace.
    pub beyond: Beyond,
}

/// What of a trace is beyond a part of it and tells about its messages: about those without call
/// ids, how their flows are between the two sides.
#[derive(Clone, Debug, Default)]
pub struct Beyond {
    /// How many requests before the first message are not answered before it, by flow; those that
    /// have none are left out.
    pub open: FxHashMap<i64, u32>,
    /// The flows of which the two sides sent different numbers of messages in the whole trace;
    /// `None`: this is the whole.
    pub uneven: Option<Arc<FxHashSet<i64>>>,
}

impl MessageTrace {
    /// An empty trace over `nodes`.
    pub fn new(nodes: impl Into<Arc<Nodes>>) -> MessageTrace {
        MessageTrace { nodes: nodes.into(), ..MessageTrace::default() }
    }

    /// Adds a node and returns its id.
    pub fn add_node(&mut self, node: Node) -> NodeId {
        Arc::make_mut(&mut self.nodes).push(node)
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// The id of `endpoint`, which is added to the dictionary where it is new.
    pub fn intern(&mut self, endpoint: &Endpoint) -> EndpointId {
        self.endpoints.intern(endpoint)
    }

    /// The endpoint of that id.
    pub fn endpoint(&self, id: EndpointId) -> Option<&Endpoint> {
        self.endpoints.values.get(id as usize)
    }

    /// The id of `endpoint`, where it is in the dictionary.
    pub fn endpoint_id(&self, endpoint: &Endpoint) -> Option<EndpointId> {
        self.endpoints.ids.get(endpoint).copied()
    }

    /// All endpoints; an endpoint's id is its place.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints.values
    }

    /// Appends a message, with the id that pairs a call with its return where the source knows one.
    pub fn push(&mut self, message: &Message, call_id: Option<&str>) {
        let m = message;
        if let Some(connect) = m.connect {
            self.connects.push(self.len(), connect);
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

    /// The message of row `row`.
    ///
    /// # Panics
    /// When there is no such row, as an index out of bounds does.
    pub fn message(&self, row: usize) -> Message {
        let time = |column: usize| Some(self.times[column][row]).filter(|time| *time != NIL);
        let thread = |tid: i32| Some(tid).filter(|tid| *tid != NO_THREAD);
        let end = |node, endpoint, tid| End { node, endpoint, tid: thread(tid) };
        let ends = Ends {
            src: end(self.src[row], self.src_endpoint[row], self.src_tid[row]),
            dst: end(self.dst[row], self.dst_endpoint[row], self.dst_tid[row]),
            protocol: self.protocol[row],
        };
        let message = Message::between(ends, self.flow[row], self.direction[row])
            .sent([time(0), time(1), time(4)])
            .received([time(2), time(3), time(5)])
            .carrying(self.bytes[row], self.parts[row]);
        Message { connect: self.connects.get(row), ..message }
    }

    /// Between whom and over what the message of row `row` went, for passes that need no more.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn ends(&self, row: usize) -> Ends {
        let tid = |tid: i32| Some(tid).filter(|tid| *tid != NO_THREAD);
        Ends {
            src: End {
                node: self.src[row],
                endpoint: self.src_endpoint[row],
                tid: tid(self.src_tid[row]),
            },
            dst: End {
                node: self.dst[row],
                endpoint: self.dst_endpoint[row],
                tid: tid(self.dst_tid[row]),
            },
            protocol: self.protocol[row],
        }
    }

    /// [`Message::send_ts`] of row `row` alone, for passes over one column.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_ts(&self, row: usize) -> Option<i64> {
        Some(self.times[4][row]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_ts`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_ts(&self, row: usize) -> Option<i64> {
        Some(self.times[5][row]).filter(|time| *time != NIL)
    }

    /// [`Message::send_first`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_first(&self, row: usize) -> Option<i64> {
        Some(self.times[0][row]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_first`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_first(&self, row: usize) -> Option<i64> {
        Some(self.times[2][row]).filter(|time| *time != NIL)
    }

    /// [`Message::arrival`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn arrival(&self, row: usize) -> Option<i64> {
        arrival(self.recv_ts(row), self.recv_first(row), self.recv_last(row))
    }

    /// [`Message::send_last`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn send_last(&self, row: usize) -> Option<i64> {
        Some(self.times[1][row]).filter(|time| *time != NIL)
    }

    /// [`Message::recv_last`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn recv_last(&self, row: usize) -> Option<i64> {
        Some(self.times[3][row]).filter(|time| *time != NIL)
    }

    /// [`Message::flow`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn flow(&self, row: usize) -> i64 {
        self.flow[row]
    }

    /// [`Message::direction`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn direction(&self, row: usize) -> i8 {
        self.direction[row]
    }

    /// [`Message::bytes`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn bytes(&self, row: usize) -> i64 {
        self.bytes[row]
    }

    /// [`Message::is_connect`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn is_connect(&self, row: usize) -> bool {
        self.parts[row] == 0
    }

    /// Whether any message has [`Message::connect`].
    pub fn has_connects(&self) -> bool {
        !self.connects.is_empty()
    }

    /// [`Message::connecting`] of row `row` alone.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn connecting(&self, row: usize) -> Option<Connect> {
        self.connects.get(row).and_then(|_| self.message(row).connecting())
    }

    /// The messages in row order.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Message> + '_ {
        (0..self.len()).map(|row| self.message(row))
    }

    /// The id that pairs the call or return of row `row` with its counterpart.
    pub fn call_id(&self, row: usize) -> Option<&str> {
        self.calls.get(self.call[row])
    }

    /// The number of the call id of row `row` among those of this trace, for passes that only
    /// compare ids.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    #[inline]
    pub fn call_number(&self, row: usize) -> Option<u32> {
        Some(self.call[row]).filter(|call| *call != NO_CALL)
    }

    /// Makes room for so many more messages, and for no more than these.
    pub fn reserve(&mut self, rows: usize) {
        self.times.iter_mut().for_each(|column| column.reserve_exact(rows));
        for column in
            [&mut self.src, &mut self.dst, &mut self.src_tid, &mut self.dst_tid, &mut self.parts]
        {
            column.reserve_exact(rows);
        }
        for column in [&mut self.src_endpoint, &mut self.dst_endpoint, &mut self.call] {
            column.reserve_exact(rows);
        }
        [&mut self.flow, &mut self.bytes].into_iter().for_each(|column| column.reserve_exact(rows));
        self.direction.reserve_exact(rows);
        self.protocol.reserve_exact(rows);
    }

    /// The messages of these rows of `other`, appended to those here; both must be over the same
    /// nodes. Endpoints and call ids that no row names are not taken along.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    pub fn append_rows(&mut self, other: &MessageTrace, rows: Range<usize>) {
        self.connects.append(&other.connects, rows.clone(), self.len());
        for (column, others) in self.times.iter_mut().zip(&other.times) {
            column.extend_from_slice(&others[rows.clone()]);
        }
        self.src.extend_from_slice(&other.src[rows.clone()]);
        self.dst.extend_from_slice(&other.dst[rows.clone()]);
        self.src_tid.extend_from_slice(&other.src_tid[rows.clone()]);
        self.dst_tid.extend_from_slice(&other.dst_tid[rows.clone()]);
        self.flow.extend_from_slice(&other.flow[rows.clone()]);
        self.direction.extend_from_slice(&other.direction[rows.clone()]);
        self.protocol.extend_from_slice(&other.protocol[rows.clone()]);
        self.bytes.extend_from_slice(&other.bytes[rows.clone()]);
        self.parts.extend_from_slice(&other.parts[rows.clone()]);
        let MessageTrace { endpoints, calls, src_endpoint, dst_endpoint, call, .. } = self;
        let mut known: Vec<Option<EndpointId>> = vec![None; other.endpoints.values.len()];
        let mut of = |id: &EndpointId| match (known.get_mut(*id as usize), other.endpoint(*id)) {
            (Some(known), Some(endpoint)) => {
                *known.get_or_insert_with(|| endpoints.intern(endpoint))
            }
            _ => *id,
        };
        for row in rows.clone() {
            src_endpoint.push(of(&other.src_endpoint[row]));
            dst_endpoint.push(of(&other.dst_endpoint[row]));
        }
        call.extend(rows.map(|row| other.call_id(row).map_or(NO_CALL, |id| calls.intern(id))));
    }

    /// Sorts the messages by [`Message::time`], equal times by flow, direction and former row, so
    /// that equal input always gives equal output.
    pub fn sort(&mut self) {
        let key = |row: u32| {
            let row = row as usize;
            let (sent, received) = (self.times[4][row], self.times[5][row]);
            (if sent == NIL { received } else { sent }, self.flow[row], self.direction[row], row)
        };
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by_key(|row| key(*row));
        for column in &mut self.times {
            permute(column, &order);
        }
        permute(&mut self.src, &order);
        permute(&mut self.dst, &order);
        permute(&mut self.src_endpoint, &order);
        permute(&mut self.dst_endpoint, &order);
        permute(&mut self.src_tid, &order);
        permute(&mut self.dst_tid, &order);
        permute(&mut self.flow, &order);
        permute(&mut self.direction, &order);
        permute(&mut self.protocol, &order);
        permute(&mut self.bytes, &order);
        permute(&mut self.parts, &order);
        self.connects.permute(&order);
        permute(&mut self.call, &order);
    }
}

fn permute<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().map(|row| column[*row as usize]).collect();
}

/// The endpoints, each once.
#[derive(Clone, Debug, Default)]
struct Endpoints {
    values: Vec<Endpoint>,
    ids: FxHashMap<Endpoint, EndpointId>,
}

impl Endpoints {
    fn intern(&mut self, endpoint: &Endpoint) -> EndpointId {
        if let Some(id) = self.ids.get(endpoint) {
            return *id;
        }
        let id = self.values.len() as EndpointId;
        self.values.push(endpoint.clone());
        self.ids.insert(endpoint.clone(), id);
        id
    }
}
