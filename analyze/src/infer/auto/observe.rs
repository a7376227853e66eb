//! What each node sees of itself, from the trace: the spans, threads and sizes of the requests that
//! it received and of the calls that it made ([`Service`]).
//!
//! A message has arrived with its first byte: from then on its receiver may act, as every proxy
//! that streams does. Times are those of the node's own clock, as clocks are corrected by estimates
//! only. Where a kind of message has no time at this node at all, since the node was not traced or
//! the source knows one end only, the peers' times stand in for it, and then all times of the node
//! are those of the common clock, or moved by what the peers' clocks seem to differ ([`offsets`]).

use message_trace::{FROM_ACCEPTING, Message, MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::jobs::Jobs;
use super::middle::Middle;
use super::service::{OPEN, Service, Span, UNKNOWN_SIZE, UNKNOWN_THREAD};
use super::spawned::Spawned;
use super::{NONE, offsets};
use crate::calls::Calls;
use crate::evidence::{Evidence, Without};
use crate::infer::call_links::DELIVERY;
use crate::naming::Naming;
use crate::options::Options;
use crate::tuning::auto::services::observe::MAX_DOUBT;

/// Added to the kind of what makes a connection, as that is no call like the others between the
/// same two.
pub(super) const CONNECTING: u32 = 1 << 30;

/// The services of a trace: one for each node that received requests or made calls.
pub(super) fn services(
    trace: &MessageTrace,
    naming: &Naming,
    calls: &Calls,
    jobs: &Jobs,
    spawned: &Spawned,
    options: &Options,
) -> Vec<Service> {
    let without = Without::of(&options.without);
    let window = options.window;
    let mut services: Vec<Service> = Vec::new();
    services.resize_with(naming.nodes().len(), || Service {
        window,
        without,
        ..Service::default()
    });
    let clocks = Clocks::of(trace, naming, calls);
    let middle = Middle::of(trace, naming, calls);
    let (mut requests_by_peers, mut calls_by_peers) = (FxHashSet::default(), FxHashSet::default());
    let mut threads = ThreadNumbers::default();
    let mut last_on_flow: FxHashMap<(i64, u32), u32> = FxHashMap::default();
    for call in 0..calls.len() {
        // What was delivered unasked is a job, and no request.
        let Some(row) = calls.request(call).filter(|row| !jobs.is_delivery(*row)) else { continue };
        let (caller, callee) = (naming.src(row), naming.dst(row));
        let request = trace.message(row);
        let response = calls.response(call);
        let kind = naming.hop(row) + if request.is_connect() { CONNECTING } else { 0 };
        let bytes = [request.bytes, response.map_or(UNKNOWN_SIZE, |row| trace.bytes(row))];
        if let Some(begin) = clocks.received(callee, trace, row) {
            let response = response.filter(|row| naming.src(*row) == callee);
            let end = response.and_then(|row| clocks.sent(callee, trace, row));
            if !clocks.known(trace, row)[1] {
                requests_by_peers.insert(kind);
            }
            let service = &mut services[callee as usize];
            service.requests.push(Span { begin, end: end.unwrap_or(OPEN), kind });
            let answerer =
                response.map_or(UNKNOWN_THREAD, |row| threads.sender(&trace.message(row)));
            service.request_threads.push([threads.receiver(&request), answerer]);
            service.request_sizes.push(bytes);
            service.answering.push(end.and(response).map_or(0, |row| answering(trace, row)));
            service.request_calls.push(call as u32);
        }
        if let Some(child) = spawned.child(caller) {
            if child.first_call == call as u32 {
                let service = &mut services[child.starter as usize];
                service.call_before.push(NONE);
                service.calls.push(Span { begin: child.begin, end: child.end, kind });
                service.call_threads.push([UNKNOWN_THREAD; 2]);
                service.call_sizes.push([UNKNOWN_SIZE; 2]);
                service.made_calls.push(call as u32);
                service.call_unsure.push(true);
            }
            continue;
        }
        let giver = Some(jobs.giver(caller)).filter(|giver| !jobs.of_node(*giver).is_empty());
        let maker = middle.maker(trace, naming, row).or(giver);
        let client = options.clients_start_paths && naming.nodes()[caller as usize].client;
        if client && maker.is_none() {
            continue;
        }
        if jobs.is_poll(call as u32) {
            services[maker.unwrap_or(caller) as usize].timer_calls.push(call as u32);
            continue;
        }
        let (client, caller) = (caller, maker.unwrap_or(caller));
        if let Some(begin) = clocks.sent(caller, trace, row) {
            // What is delivered is no answer.
            let response =
                response.filter(|row| naming.dst(*row) == client && !jobs.is_delivery(*row));
            let end = response.and_then(|row| clocks.received(caller, trace, row));
            if !clocks.known(trace, row)[0] {
                calls_by_peers.insert(kind);
            }
            let service = &mut services[caller as usize];
            let before = match request.protocol.has_connections() {
                true => last_on_flow.insert((request.flow, caller), service.calls.len() as u32),
                false => None,
            };
            service.call_before.push(before.unwrap_or(NONE));
            service.calls.push(Span { begin, end: end.unwrap_or(OPEN), kind });
            let reader =
                response.map_or(UNKNOWN_THREAD, |row| threads.receiver(&trace.message(row)));
            service.call_threads.push([threads.sender(&request), reader]);
            service.call_sizes.push(bytes);
            service.made_calls.push(call as u32);
            service.call_unsure.push(calls.doubt(call) > MAX_DOUBT);
        }
    }
    // Where the clock is too coarse to tell what came first, the numbers that the calls have where
    // they come from may.
    let number =
        |call: u32| calls.id(trace, (call & !DELIVERY) as usize).parse::<u64>().unwrap_or(u64::MAX);
    for (node, service) in (0..).zip(&mut services) {
        for job in jobs.of_node(node) {
            service.requests.push(job.span);
            service
                .request_threads
                .push([threads.receiver(&trace.message(job.row as usize)), UNKNOWN_THREAD]);
            service.request_sizes.push([trace.bytes(job.row as usize), UNKNOWN_SIZE]);
            service.answering.push(0);
            service.request_calls.push(job.call);
        }
        offsets::align(service, &requests_by_peers, &calls_by_peers);
        service.keep_requests(&by_time(&service.requests, &service.request_calls, number));
        service.keep_calls(&by_time(&service.calls, &service.made_calls, number));
        spawned.hold(service);
        let threads = || service.request_threads.iter().chain(&service.call_threads).flatten();
        if !without.has(Evidence::Threads) || threads().all(|thread| *thread == UNKNOWN_THREAD) {
            service.request_threads = Vec::new();
            service.call_threads = Vec::new();
        }
        if service.answering.iter().all(|answering| *answering == 0) {
            service.answering = Vec::new();
        }
        if service.call_before.iter().all(|before| *before == NONE) {
            service.call_before = Vec::new();
        }
    }
    services
}

/// For how long a message was being sent.
fn answering(trace: &MessageTrace, row: usize) -> i64 {
    let sent = trace.send_first(row).zip(trace.send_last(row));
    sent.map_or(0, |(first, last)| last.saturating_sub(first).max(0))
}

/// By whose clocks the events of each node are told.
struct Clocks<'a> {
    naming: &'a Naming,
    /// Of each kind of message (by hop, connecting or accepting side's, sent or received) whether
    /// any has a time.
    known: Vec<[[bool; 2]; 2]>,
    /// The nodes that lack the times of a kind of message, so that their peers' times must do.
    by_peers: Vec<bool>,
}

impl<'a> Clocks<'a> {
    fn of(trace: &MessageTrace, naming: &'a Naming, calls: &Calls) -> Clocks<'a> {
        let mut known = vec![[[false; 2]; 2]; naming.hops()];
        for row in 0..trace.len() {
            let side = usize::from(trace.direction(row) == FROM_ACCEPTING);
            let of_hop = &mut known[naming.hop(row) as usize][side];
            of_hop[0] |= trace.send_first(row).is_some();
            of_hop[1] |= trace.recv_last(row).is_some();
        }
        let mut clocks = Clocks { naming, known, by_peers: vec![false; naming.nodes().len()] };
        for row in (0..trace.len()).filter(|row| calls.is_of_a_call(*row)) {
            let [sent, received] = clocks.known(trace, row);
            clocks.by_peers[naming.src(row) as usize] |= !sent;
            clocks.by_peers[naming.dst(row) as usize] |= !received;
        }
        clocks
    }

    /// Whether messages like this one have times where they are sent, and where they are received.
    fn known(&self, trace: &MessageTrace, row: usize) -> [bool; 2] {
        let side = usize::from(trace.direction(row) == FROM_ACCEPTING);
        self.known[self.naming.hop(row) as usize][side]
    }

    /// When `node` sent the message; none where that is not known.
    fn sent(&self, node: u32, trace: &MessageTrace, row: usize) -> Option<i64> {
        if !self.by_peers[node as usize] {
            return trace.send_first(row);
        }
        let [known, _] = self.known(trace, row);
        trace.send_ts(row).or_else(|| trace.arrival(row).filter(|_| !known))
    }

    /// When the first byte of the message was received by `node`; none where it was not, or that is
    /// not known.
    fn received(&self, node: u32, trace: &MessageTrace, row: usize) -> Option<i64> {
        if !self.by_peers[node as usize] {
            return trace.recv_first(row).or(trace.recv_last(row));
        }
        let [_, known] = self.known(trace, row);
        trace.arrival(row).or_else(|| trace.send_ts(row).filter(|_| !known))
    }
}

/// Numbers for threads. A process and a thread of it are one thread, whichever name the process
/// goes by.
#[derive(Default)]
struct ThreadNumbers(FxHashMap<(NodeId, i32), u32>);

impl ThreadNumbers {
    fn sender(&mut self, message: &Message) -> u32 {
        self.number(message.src, message.src_tid)
    }

    fn receiver(&mut self, message: &Message) -> u32 {
        self.number(message.dst, message.dst_tid)
    }

    fn number(&mut self, node: NodeId, thread: Option<i32>) -> u32 {
        let next = self.0.len() as u32;
        thread.map_or(UNKNOWN_THREAD, |thread| *self.0.entry((node, thread)).or_insert(next))
    }
}

/// The places of spans in the order of time, and those of equal times in that of their numbers.
fn by_time(spans: &[Span], of: &[u32], number: impl Fn(u32) -> u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..spans.len() as u32).collect();
    order.sort_by(|one, other| {
        let [a, b] = [one, other].map(|at| *at as usize);
        let by_number = || number(of[a]).cmp(&number(of[b]));
        spans[a].begin.cmp(&spans[b].begin).then_with(by_number).then(one.cmp(other))
    });
    order
}
