//! Builds the services of a trace as their nodes observe them: the spans, threads and sizes of the
//! requests that a node received and of the calls that it made ([`Service`]).
//!
//! A message has arrived with its first byte: from then on its receiver may act, as every streaming
//! proxy does. Times are on the node's own clock, since the common clock is only estimated. A kind
//! of message may have no time at a node at all, if the node was not traced or the source records
//! one end only. Then the peers' times replace it, and all times of the node are on the common
//! clock, or shifted by the apparent difference of the peers' clocks ([`offsets`]).

use message_trace::{FlowId, MessageId, MessageTrace};
use rustc_hash::{FxHashMap, FxHashSet};

use super::hand_offs::ServiceHandoff;
use super::jobs::Jobs;
use super::middle::UntracedIntermediaries;
use super::node_clocks::NodeClocks;
use super::operation_kinds::OperationKinds;
use super::service::{MadeCallId, NodeSpan, OPEN, Service, UNKNOWN_SIZE, UNKNOWN_THREAD};
use super::service_parts::{CallRow, RequestRow};
use super::side_by_side::SyscallBatches;
use super::spawned::SpawnedProcesses;
use super::thread_numbers::ThreadNumbers;
use super::{hand_offs, offsets};
use crate::calls::{CallId, Calls};
use crate::evidence::{EnabledEvidence, Evidence};
use crate::infer::call_links::WorkItem;
use crate::infer::input::InferenceInput;
use crate::naming::Naming;
use crate::tuning::auto::services::observe::MAX_MISPAIRING;

/// Added to the kind of a call that makes a connection, since it differs from the other calls
/// between the same two nodes.
pub(super) const CONNECTING: u32 = 1 << 30;

/// The services of a trace, one for each node that received requests or made calls, and the
/// hand-offs within each.
pub(super) fn services(
    input: &InferenceInput<'_>,
    calls: &Calls,
    jobs: &Jobs,
    spawned: &SpawnedProcesses,
    operation_kinds: &OperationKinds,
) -> (Vec<Service>, FxHashMap<u32, Vec<ServiceHandoff>>) {
    let mut observer = Observer::new(input, calls, jobs, spawned, operation_kinds);
    for call in calls.iter() {
        // A delivery without a request is a job, not a request.
        let row = calls.request(call).filter(|row| !jobs.is_delivery(*row));
        if let Some(row) = row.filter(|_| !calls.is_control(call)) {
            observer.add_request(call, row);
            observer.add_call(call, row);
        }
    }
    let hand_offs = hand_offs::handoffs_by_node(
        input,
        |node| observer.clocks.is_by_peers(node),
        |node, thread| observer.threads.number(node, thread),
    );
    (observer.finish(), hand_offs)
}

/// The services while their requests and calls are collected.
struct Observer<'a> {
    trace: &'a MessageTrace,
    naming: &'a Naming,
    calls: &'a Calls,
    jobs: &'a Jobs<'a>,
    spawned: &'a SpawnedProcesses,
    clients_start_paths: bool,
    evidence: EnabledEvidence,
    clocks: NodeClocks<'a>,
    intermediaries: UntracedIntermediaries<'a>,
    threads: ThreadNumbers,
    /// The last call of a node on each flow.
    last_on_flow: FxHashMap<(FlowId, u32), MadeCallId>,
    operation_kinds: &'a OperationKinds,
    /// Messages that one system call sent or received.
    side_by_side: SyscallBatches,
    /// The kinds of requests whose times are those of their peers' clocks, because their own node
    /// lacks the times of such messages.
    requests_by_peers: FxHashSet<u32>,
    /// The kinds of calls with their peers' times, likewise.
    calls_by_peers: FxHashSet<u32>,
    services: Vec<Service>,
}

impl<'a> Observer<'a> {
    fn new(
        input: &InferenceInput<'a>,
        calls: &'a Calls,
        jobs: &'a Jobs<'a>,
        spawned: &'a SpawnedProcesses,
        operation_kinds: &'a OperationKinds,
    ) -> Observer<'a> {
        let InferenceInput { trace, naming, options, .. } = *input;
        let (without, window) = (EnabledEvidence::all_except(&options.without), options.window);
        let mut services: Vec<Service> = Vec::new();
        services.resize_with(naming.nodes().len(), || Service {
            window,
            evidence: without,
            ..Service::default()
        });
        Observer {
            trace,
            naming,
            calls,
            jobs,
            spawned,
            clients_start_paths: options.clients_start_paths,
            evidence: without,
            clocks: NodeClocks::from_trace(trace, naming, calls),
            intermediaries: UntracedIntermediaries::from_trace(trace, naming, calls),
            threads: ThreadNumbers::default(),
            last_on_flow: FxHashMap::default(),
            operation_kinds,
            side_by_side: match without.contains(Evidence::Operations) {
                true => SyscallBatches::from_trace(trace),
                false => SyscallBatches::default(),
            },
            requests_by_peers: FxHashSet::default(),
            calls_by_peers: FxHashSet::default(),
            services,
        }
    }

    /// The kind of a call with this request row.
    fn kind(&self, row: MessageId) -> u32 {
        if let Some(kind) = self.operation_kinds.kind_of_request(self.trace, self.naming, row) {
            return kind;
        }
        self.naming.hop(row) + if self.trace.is_connect(row) { CONNECTING } else { 0 }
    }

    /// The sizes of the request `row` and of the response of a call.
    fn bytes(&self, call: CallId, row: MessageId) -> [i64; 2] {
        let response = self.calls.response(call);
        [Some(row), response].map(|row| row.map_or(UNKNOWN_SIZE, |row| self.trace.bytes(row)))
    }

    /// Time at which the message was sent, on the clock of its sender.
    fn sent_time(&self, sender: u32, row: MessageId) -> Option<i64> {
        let time = self.clocks.sent_time(sender, self.trace, row)?;
        Some(self.side_by_side.sent_time(row, time))
    }

    /// Time at which the message was received, on the clock of its receiver.
    fn received_time(&self, receiver: u32, row: MessageId) -> Option<i64> {
        let time = self.clocks.received_time(receiver, self.trace, row)?;
        Some(self.side_by_side.received_time(row, time))
    }

    /// Adds a call with this request row to the requests of the called node.
    fn add_request(&mut self, call: CallId, row: MessageId) {
        let Observer { trace, naming, calls, .. } = *self;
        let callee = naming.dst(row);
        let Some(begin) = self.received_time(callee, row) else { return };
        let (kind, bytes) = (self.kind(row), self.bytes(call, row));
        let response = calls.response(call).filter(|row| naming.src(*row) == callee);
        let end = response.and_then(|row| self.sent_time(callee, row));
        if !self.clocks.times_known(trace, row)[1] {
            self.requests_by_peers.insert(kind);
        }
        let answerer =
            response.map_or(UNKNOWN_THREAD, |row| self.threads.sender(&trace.message(row)));
        let threads = [self.threads.receiver(&trace.message(row)), answerer];
        self.services[callee as usize].add_request(RequestRow {
            span: NodeSpan { begin, end: end.unwrap_or(OPEN), kind },
            threads,
            bytes,
            answering: end.and(response).map_or(0, |row| sending_time(trace, row)),
            item: WorkItem::request(call),
        });
    }

    /// Adds a call with this request row to the calls of the node that made it.
    fn add_call(&mut self, call: CallId, row: MessageId) {
        let Observer { trace, naming, calls, jobs, spawned, .. } = *self;
        let client = naming.src(row);
        if let Some(child) = spawned.child(client) {
            if child.first_call == call {
                let kind = self.kind(row);
                self.services[child.starter as usize].add_call(CallRow {
                    span: NodeSpan { begin: child.begin, end: child.end, kind },
                    threads: [UNKNOWN_THREAD; 2],
                    bytes: [UNKNOWN_SIZE; 2],
                    before: None,
                    is_unsure: true,
                    call,
                });
            }
            return;
        }
        let giver =
            Some(jobs.node_of_giver(client)).filter(|giver| !jobs.of_node(*giver).is_empty());
        let maker = self.intermediaries.maker(trace, naming, row).or(giver);
        let starts_paths = self.clients_start_paths && naming.nodes()[client as usize].client;
        if starts_paths && maker.is_none() {
            return;
        }
        let caller = maker.unwrap_or(client);
        if jobs.is_poll(call) {
            self.services[caller as usize].timer_calls.push(call);
            return;
        }
        let Some(begin) = self.sent_time(caller, row) else { return };
        let (kind, bytes) = (self.kind(row), self.bytes(call, row));
        // A delivery is not a response.
        let response = calls
            .response(call)
            .filter(|row| naming.dst(*row) == client && !jobs.is_delivery(*row));
        let end = response.and_then(|row| self.received_time(caller, row));
        if !self.clocks.times_known(trace, row)[0] {
            self.calls_by_peers.insert(kind);
        }
        let request = trace.message(row);
        let service = &mut self.services[caller as usize];
        if self.side_by_side.is_sent_with_another(row) {
            service.add_to_write(begin);
        }
        let before = match request.protocol.has_connections() {
            true => {
                let next = MadeCallId::from_index(service.calls.len());
                self.last_on_flow.insert((request.flow, caller), next)
            }
            false => None,
        };
        let reader =
            response.map_or(UNKNOWN_THREAD, |row| self.threads.receiver(&trace.message(row)));
        service.add_call(CallRow {
            span: NodeSpan { begin, end: end.unwrap_or(OPEN), kind },
            threads: [self.threads.sender(&request), reader],
            bytes,
            before,
            is_unsure: calls.mispairing_probability(call) > MAX_MISPAIRING,
            call,
        });
    }

    /// Adds the jobs, and sorts the data of each service by time.
    fn finish(mut self) -> Vec<Service> {
        let Observer { trace, calls, jobs, spawned, evidence: without, .. } = self;
        // If the clock is too coarse to order two calls, the numbers that their source gave them
        // may.
        let number = |call: CallId| calls.id(trace, call).parse::<u64>().unwrap_or(u64::MAX);
        for (node, service) in (0..).zip(&mut self.services) {
            for job in jobs.of_node(node) {
                let row = job.row;
                service.add_request(RequestRow {
                    span: job.span,
                    threads: [self.threads.receiver(&trace.message(row)), UNKNOWN_THREAD],
                    bytes: [trace.bytes(row), UNKNOWN_SIZE],
                    answering: 0,
                    item: job.item,
                });
            }
            offsets::align(service, &self.requests_by_peers, &self.calls_by_peers);
            service.keep_requests(&by_time(&service.requests, &service.request_calls, |item| {
                number(item.call())
            }));
            service.keep_calls(&by_time(&service.calls, &service.made_calls, number));
            spawned.bind_processes(service);
            service.shared_writes.sort_unstable();
            let threads = || service.request_threads.iter().chain(&service.call_threads).flatten();
            if !without.contains(Evidence::Threads)
                || threads().all(|thread| *thread == UNKNOWN_THREAD)
            {
                service.request_threads = Vec::new();
                service.call_threads = Vec::new();
            }
            if service.answering.iter().all(|answering| *answering == 0) {
                service.answering = Vec::new();
            }
            if service.call_before.iter().all(Option::is_none) {
                service.call_before = Vec::new();
            }
        }
        self.services
    }
}

/// Duration of the sending of a message, in nanoseconds.
fn sending_time(trace: &MessageTrace, row: MessageId) -> i64 {
    let sent = trace.send_first(row).zip(trace.send_last(row));
    sent.map_or(0, |(first, last)| last.saturating_sub(first).max(0))
}

/// The places of spans in the order of time, and for equal times in the order of their numbers.
fn by_time<Id: Copy>(spans: &[NodeSpan], of: &[Id], number: impl Fn(Id) -> u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..spans.len() as u32).collect();
    order.sort_by(|one, other| {
        let [a, b] = [one, other].map(|at| *at as usize);
        let by_number = || number(of[a]).cmp(&number(of[b]));
        spans[a].begin.cmp(&spans[b].begin).then_with(by_number).then(one.cmp(other))
    });
    order
}
