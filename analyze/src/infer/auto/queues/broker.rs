//! A broker's messages by kinds: those that it receives, and those that it sends on connections
//! that it accepted. Times are in nanoseconds, the broker's own or, if it was not traced, its
//! peers'.

use message_trace::{FROM_CONNECTING, FlowId, MessageId, MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::{CallId, Calls};
use crate::infer::span::count_overlapping;
use crate::naming::Naming;
use crate::tuning::auto::queues::broker::{
    MANY_DIVISOR, MAX_KINDS, MAX_SKIPPED, MIN_OF_LENGTH, MIN_REPLIES,
};

/// A message that the broker received.
#[derive(Clone, Copy, Debug)]
pub(super) struct BrokerReceipt {
    pub(super) time: i64,
    pub(super) row: MessageId,
    pub(super) flow: FlowId,
    /// The process at the other end.
    pub(super) peer: NodeId,
    pub(super) bytes: i64,
}

/// A message that the broker sent to a peer that connected to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BrokerReply {
    pub(super) time: i64,
    /// Start of the wait for the reply: the receipt of the request or, without a request, the
    /// previous message on the connection.
    pub(super) since: i64,
    pub(super) row: MessageId,
    pub(super) flow: FlowId,
    /// The process at the other end.
    pub(super) peer: NodeId,
    pub(super) bytes: i64,
    /// Whether the peer accepts no connections.
    pub(super) to_client: bool,
    /// The message that is treated as the request of the reply.
    pub(super) request: Option<MessageId>,
    /// Whether the thread that sent the request had itself received a request, which it answered
    /// later: such a thread works for that request, and does not ask for work.
    pub(super) is_for_request: bool,
    pub(super) call: CallId,
}

/// The receipts of one kind, by time.
#[derive(Debug, Default)]
pub(super) struct ReceiptsOfKind {
    /// The sending and the receiving node, and the port.
    pub(super) hop: u32,
    /// Magnitude of the lengths of the messages.
    pub(super) asked: i64,
    /// Magnitude of the lengths of their responses; 0 if they have none.
    pub(super) answered: i64,
    pub(super) all: Vec<BrokerReceipt>,
}

/// The replies of one kind, by time.
#[derive(Debug, Default)]
pub(super) struct RepliesOfKind {
    /// The length of the requests of the replies or, negative, its magnitude; 0 if there are no
    /// requests.
    pub(super) asked: i64,
    pub(super) all: Vec<BrokerReply>,
}

/// A node that others connect to.
#[derive(Debug, Default)]
pub(super) struct Broker {
    pub(super) receipts: Vec<ReceiptsOfKind>,
    pub(super) replies: Vec<RepliesOfKind>,
    /// Times at which the broker received responses to calls of its own.
    own_answers: Vec<i64>,
    /// Replies of kinds with too few messages.
    rare: Vec<BrokerReply>,
}

impl Broker {
    /// Returns whether a response to a call of the broker itself came after `from` and not after
    /// `to`: the broker may have waited for it.
    pub(super) fn was_answered(&self, from: i64, to: i64) -> bool {
        let next = self.own_answers.partition_point(|time| *time <= from);
        self.own_answers.get(next).is_some_and(|time| *time <= to)
    }

    /// Replies to the peers that connected to the broker, in no particular order.
    pub(super) fn all_replies(&self) -> impl Iterator<Item = &BrokerReply> {
        self.replies.iter().flat_map(|kind| &kind.all).chain(&self.rare)
    }
}

impl ReceiptsOfKind {
    /// The last receipt until `reply` from another process than the receiver of the reply.
    pub(super) fn last_before(&self, reply: &BrokerReply) -> Option<&BrokerReceipt> {
        let end = self.count_until(reply.time);
        self.all[..end].iter().rev().take(MAX_SKIPPED).find(|receipt| receipt.peer != reply.peer)
    }

    /// Number of receipts until `time`.
    pub(super) fn count_until(&self, time: i64) -> usize {
        self.all.partition_point(|receipt| receipt.time <= time)
    }
}

/// A kind of message: its hop; its length or, negative, the magnitude of its length; and the length
/// or magnitude of its response.
type BrokerMessageKind = (u32, i64, i64);

/// The magnitude of a length, in half octaves, as a negative number.
fn magnitude(bytes: i64) -> i64 {
    -1 - (2.0 * (bytes.max(1) as f64).log2()) as i64
}

/// All nodes of the trace that accept connections and send enough messages to be examined. `window`
/// is the longest wait for a reply without a request, in nanoseconds. On the flows `unsolicited` no
/// message is a request.
pub(super) fn brokers(
    trace: &MessageTrace,
    naming: &Naming,
    calls: &Calls,
    window: i64,
    unsolicited: &FxHashSet<FlowId>,
) -> Vec<Broker> {
    let nodes = naming.nodes();
    // The clock of the node itself or, if it has none, of the other end.
    let received = |row: MessageId| {
        let traced = nodes[naming.dst(row) as usize].traced;
        if traced { trace.arrival_time(row) } else { trace.send_ts(row) }
    };
    let sent = |row: MessageId| {
        let traced = nodes[naming.src(row) as usize].traced;
        if traced { trace.send_ts(row) } else { trace.recv_ts(row) }
    };
    let mut shared = shared_flows(trace, calls);
    shared.extend(unsolicited);
    let request_of = |row: MessageId| {
        let call = calls.call_of_message(row);
        // If responses cannot be paired with requests, an unsolicited message seems to answer
        // something.
        let is_paired = !shared.contains(&trace.flow(row));
        calls
            .request(call)
            .filter(|_| is_paired)
            .filter(|request| *request != row && naming.dst(*request) == naming.src(row))
    };
    let lengths = lengths(trace, naming, request_of);
    let served = ServedTimes::from_calls(trace, calls);
    let mut brokers: Vec<BrokerBuilder> = Vec::new();
    brokers.resize_with(nodes.len(), BrokerBuilder::default);
    let rows = || trace.ids().filter(|row| !trace.is_connect(*row));
    let here = |row: MessageId| match trace.direction(row) {
        FROM_CONNECTING => received(row),
        _ => sent(row),
    };
    let on_flows = TimesByFlow::from_times(
        rows().filter_map(|row| here(row).map(|time| (trace.flow(row), time))),
    );
    for row in rows() {
        let (flow, bytes) = (trace.flow(row), trace.bytes(row));
        if trace.direction(row) == FROM_CONNECTING {
            let Some(time) = received(row) else { continue };
            let answer = calls.response(calls.call_of_message(row)).filter(|answer| *answer != row);
            let answer = answer.filter(|_| !shared.contains(&flow));
            // The length of the response distinguishes requests, too, but only roughly.
            let answered = answer.map_or(0, |answer| magnitude(trace.bytes(answer)) / 2);
            let kind = (naming.hop(row), magnitude(bytes), answered);
            brokers[naming.dst(row) as usize].receive(
                kind,
                BrokerReceipt { time, row, flow, peer: trace.message(row).src, bytes },
            );
        } else {
            if let Some(time) = trace.arrival_time(row) {
                brokers[naming.dst(row) as usize].own_answers.push(time);
            }
            let Some(time) = sent(row) else { continue };
            let request = request_of(row);
            let asked = request.and_then(received);
            let since = asked
                .or_else(|| on_flows.last_before(flow, time))
                .unwrap_or(time.saturating_sub(window));
            let length = request.map_or(0, |request| {
                let (hop, bytes) = (naming.hop(row), trace.bytes(request));
                let often = lengths.get(&(hop, bytes)).is_some_and(|count| *count >= MIN_OF_LENGTH);
                if often { bytes.max(1) } else { magnitude(bytes) }
            });
            let call = calls.call_of_message(row);
            let reply = BrokerReply {
                time,
                since,
                row,
                flow,
                peer: trace.message(row).dst,
                bytes,
                to_client: nodes[naming.dst(row) as usize].client,
                request,
                is_for_request: request.is_some_and(|request| served.contains(trace, request)),
                call,
            };
            brokers[naming.src(row) as usize].send((naming.hop(row), length, 0), reply);
        }
    }
    brokers.into_iter().filter_map(BrokerBuilder::finish).collect()
}

/// Times during which a thread has a request that it received and answers itself, on the clock of
/// its own node.
struct ServedTimes(FxHashMap<(NodeId, i32), Vec<[i64; 2]>>);

impl ServedTimes {
    fn from_calls(trace: &MessageTrace, calls: &Calls) -> ServedTimes {
        let mut threads: FxHashMap<(NodeId, i32), Vec<[i64; 2]>> = FxHashMap::default();
        for call in calls.iter() {
            let Some((request, response)) = calls.request(call).zip(calls.response(call)) else {
                continue;
            };
            let (request, response) = (trace.message(request), trace.message(response));
            if let (Some(thread), Some(begin), Some(end)) =
                (request.dst_tid, request.recv_last, response.send_first)
                && response.src_tid == Some(thread)
            {
                threads.entry((request.dst, thread)).or_default().push([begin, end]);
            }
        }
        // A thread that takes requests while it has one is an event loop, which may ask for work
        // as well.
        threads.retain(|_, times| {
            times.sort_unstable();
            MANY_DIVISOR as usize * count_overlapping(times) <= times.len()
        });
        ServedTimes(threads)
    }

    /// Returns whether the sender of a message had a request when it sent the message.
    fn contains(&self, trace: &MessageTrace, row: MessageId) -> bool {
        let message = trace.message(row);
        let (Some(thread), Some(time)) = (message.src_tid, message.send_first) else {
            return false;
        };
        let Some(times) = self.0.get(&(message.src, thread)) else { return false };
        // The thread has one request at a time.
        let next = times.partition_point(|[begin, _]| *begin <= time);
        next.checked_sub(1).is_some_and(|last| time <= times[last][1])
    }
}

/// Times at which a broker received or sent the messages on each flow, in order. The trace is in
/// the order of sending, in which an acknowledgement may come before an event that the broker sends
/// before it reads the acknowledgement.
struct TimesByFlow(FxHashMap<FlowId, Vec<i64>>);

impl TimesByFlow {
    fn from_times(times: impl Iterator<Item = (FlowId, i64)>) -> TimesByFlow {
        let mut flows: FxHashMap<FlowId, Vec<i64>> = FxHashMap::default();
        times.for_each(|(flow, time)| flows.entry(flow).or_default().push(time));
        flows.values_mut().for_each(|times| times.sort_unstable());
        TimesByFlow(flows)
    }

    /// The time of the last message on the flow before `time`.
    fn last_before(&self, flow: FlowId, time: i64) -> Option<i64> {
        let times = self.0.get(&flow)?;
        let next = times.partition_point(|at| *at < time);
        next.checked_sub(1).map(|last| times[last])
    }
}

/// Flows on which many responses may belong to other requests.
fn shared_flows(trace: &MessageTrace, calls: &Calls) -> FxHashSet<FlowId> {
    let mut counts: FxHashMap<FlowId, [u32; 2]> = FxHashMap::default();
    for call in calls.iter() {
        let Some(row) = calls.request(call).filter(|_| calls.response(call).is_some()) else {
            continue;
        };
        let [doubtful, all] = counts.entry(trace.flow(row)).or_default();
        *doubtful +=
            u32::from(calls.mispairing_probability(call) > 0.0 && trace.call_number(row).is_none());
        *all += 1;
    }
    let is_shared = |[doubtful, all]: [u32; 2]| MANY_DIVISOR * doubtful >= all;
    counts.into_iter().filter(|(_, counts)| is_shared(*counts)).map(|(flow, _)| flow).collect()
}

/// Number of replies on each hop that answer requests of each length.
fn lengths(
    trace: &MessageTrace,
    naming: &Naming,
    request_of: impl Fn(MessageId) -> Option<MessageId>,
) -> FxHashMap<(u32, i64), u32> {
    let mut lengths: FxHashMap<(u32, i64), u32> = FxHashMap::default();
    for row in trace.ids().filter(|row| trace.direction(*row) != FROM_CONNECTING) {
        if let Some(request) = request_of(row) {
            *lengths.entry((naming.hop(row), trace.bytes(request))).or_default() += 1;
        }
    }
    lengths
}

/// A broker under construction.
#[derive(Default)]
struct BrokerBuilder {
    receipts: FxHashMap<BrokerMessageKind, Vec<BrokerReceipt>>,
    replies: FxHashMap<BrokerMessageKind, Vec<BrokerReply>>,
    own_answers: Vec<i64>,
}

impl BrokerBuilder {
    fn receive(&mut self, kind: BrokerMessageKind, receipt: BrokerReceipt) {
        self.receipts.entry(kind).or_default().push(receipt);
    }

    fn send(&mut self, kind: BrokerMessageKind, reply: BrokerReply) {
        self.replies.entry(kind).or_default().push(reply);
    }

    /// The broker; `None` if it has too few messages.
    fn finish(mut self) -> Option<Broker> {
        let rare = self
            .replies
            .extract_if(|_, all| all.len() < MIN_REPLIES)
            .flat_map(|(_, all)| all)
            .collect();
        if self.replies.is_empty() || self.receipts.is_empty() {
            return None;
        }
        let mut receipts: Vec<(BrokerMessageKind, Vec<BrokerReceipt>)> =
            self.receipts.into_iter().collect();
        receipts.sort_unstable_by_key(|(kind, all)| (std::cmp::Reverse(all.len()), *kind));
        receipts.truncate(MAX_KINDS);
        let mut replies: Vec<(BrokerMessageKind, Vec<BrokerReply>)> =
            self.replies.into_iter().collect();
        replies.sort_unstable_by_key(|(kind, _)| *kind);
        let by_time = |(hop, asked, answered): BrokerMessageKind, mut all: Vec<BrokerReceipt>| {
            all.sort_by_key(|receipt| receipt.time);
            ReceiptsOfKind { hop, asked, answered, all }
        };
        let in_order = |asked: i64, mut all: Vec<BrokerReply>| {
            all.sort_by_key(|reply| reply.time);
            RepliesOfKind { asked, all }
        };
        self.own_answers.sort_unstable();
        Some(Broker {
            receipts: receipts.into_iter().map(|(kind, all)| by_time(kind, all)).collect(),
            replies: replies.into_iter().map(|((_, asked, _), all)| in_order(asked, all)).collect(),
            own_answers: self.own_answers,
            rare,
        })
    }
}
