//! What one node sees of itself: the requests that it received and answered, and the calls that it made, all by its own
//! clock. Everything that is inferred here is inferred for one service at a time, from these times and kinds alone.

use message_trace::{Message, MessageTrace, NodeId};
use rustc_hash::FxHashMap;

use super::jobs::Jobs;
use super::{NONE, timers};
use crate::calls::Calls;
use crate::evidence::{Evidence, Without};
pub(super) use crate::infer::call_links::recent;
use crate::infer::call_links::{DELIVERY, NodeCalls};
pub(super) use crate::infer::span::{OPEN, Span};
use crate::naming::Naming;
use crate::options::Options;

/// The requests and calls of one node, each by time.
#[derive(Debug, Default)]
pub(super) struct Service {
    pub(super) requests: Vec<Span>,
    pub(super) calls: Vec<Span>,
    /// The threads that received each request, and that answered it, by numbers of this service; and those that made each
    /// call and received its response. [`UNKNOWN_THREAD`] where that is not known; empty where none is.
    pub(super) request_threads: Vec<[u32; 2]>,
    pub(super) call_threads: Vec<[u32; 2]>,
    /// Which calls of the trace they are.
    pub(super) request_calls: Vec<u32>,
    pub(super) made_calls: Vec<u32>,
    /// Further calls of the trace that the node made by a timer or to ask for work, for no request.
    pub(super) timer_calls: Vec<u32>,
    /// Whether nobody answers anything here, and requests end when what they cause is likely done.
    pub(super) one_way: bool,
    /// A request without a response is over after so many nanoseconds.
    pub(super) window: i64,
    /// Nothing is known of what was after this time, where there is more.
    pub(super) until: Option<i64>,
    /// What is not to be looked at.
    pub(super) without: Without,
}

/// The number of no thread.
pub(super) const UNKNOWN_THREAD: u32 = u32::MAX;

impl Service {
    /// Whether the call can have been made for the request and been waited for: it ended before.
    pub(super) fn covers(&self, request: u32, call: u32) -> bool {
        let is_itself = self.is_itself(request, call);
        let (request, call) = (self.requests[request as usize], self.calls[call as usize]);
        let by_its_begin = call.end == OPEN || !self.without.has(Evidence::Nesting);
        !is_itself && request.end >= if by_its_begin { call.begin } else { call.end }
    }

    /// The thread that made the call.
    pub(super) fn caller(&self, call: u32) -> u32 {
        self.call_threads.get(call as usize).map_or(UNKNOWN_THREAD, |[thread, _]| *thread)
    }

    /// The thread that answered the request.
    pub(super) fn answerer(&self, request: u32) -> u32 {
        self.request_threads.get(request as usize).map_or(UNKNOWN_THREAD, |[_, thread]| *thread)
    }

    /// Whether the request and the call are the two ends of one call that the node makes to itself.
    pub(super) fn is_itself(&self, request: u32, call: u32) -> bool {
        let [request, call] = [self.request_calls.get(request as usize), self.made_calls.get(call as usize)];
        request.is_some() && request == call
    }

    /// Whether there are requests, and most of them and of the calls have responses, or jobs, of which nobody expects any; else they
    /// are messages of another kind.
    pub(super) fn is_answered(&self) -> bool {
        if self.one_way || self.request_calls.iter().any(|call| call & DELIVERY != 0) {
            return true;
        }
        let answered = |spans: &[Span]| spans.iter().filter(|span| span.end != OPEN).count();
        let [requests, calls] = [&self.requests, &self.calls].map(|spans| (answered(spans), spans.len()));
        // A few messages that are no calls, as what a server tells unasked, make no other service of it.
        requests.1 > 0 && 2 * requests.0 >= requests.1 && 2 * (requests.0 + calls.0) >= requests.1 + calls.1
    }

    /// The resolution of the times in nanoseconds: the largest power of ten that divides all of them, from a
    /// microsecond, below which nothing is to be learned of causes, to a millisecond.
    pub(super) fn resolution(&self) -> f64 {
        let mut unit = 1_000_000;
        for span in self.requests.iter().chain(&self.calls) {
            for time in [span.begin, span.end].into_iter().filter(|time| *time != OPEN) {
                while unit > 1000 && time % unit != 0 {
                    unit /= 10;
                }
            }
        }
        unit as f64
    }

    /// The beginning, with about so many requests and as many calls, but not many times as many.
    pub(super) fn beginning(&self, size: usize) -> Service {
        const CALLS: usize = 10;
        if size >= self.requests.len() && CALLS * size >= self.calls.len() {
            return self.part(self.requests.len(), self.calls.len(), None);
        }
        let at = |spans: &[Span], place: usize| spans.get(place).map_or(i64::MAX, |span| span.begin);
        let enough = at(&self.requests, size).max(at(&self.calls, size));
        let until = enough.min(at(&self.calls, CALLS * size));
        let before = |spans: &[Span], least: usize| {
            spans.partition_point(|span| span.begin < until).max(least.min(spans.len()))
        };
        self.part(before(&self.requests, 1), before(&self.calls, size), Some(until))
    }

    /// What its links are made of.
    pub(super) fn node_calls(&self) -> NodeCalls<'_> {
        NodeCalls {
            requests: &self.requests,
            request_calls: &self.request_calls,
            calls: &self.calls,
            made_calls: &self.made_calls,
        }
    }

    /// Puts the calls aside that are made for no request.
    fn put_timers_aside(&mut self) {
        let is_timer = timers::of(&self.requests, &self.calls, self.window);
        if !is_timer.contains(&true) {
            return;
        }
        let own = |place: &usize| !is_timer[*place];
        let aside = self.made_calls.iter().zip(&is_timer).filter(|(_, is_timer)| **is_timer);
        self.timer_calls.extend(aside.map(|(call, _)| *call));
        let places: Vec<usize> = (0..self.calls.len()).filter(own).collect();
        self.calls = places.iter().map(|place| self.calls[*place]).collect();
        self.made_calls = places.iter().map(|place| self.made_calls[*place]).collect();
        self.call_threads =
            places.iter().filter_map(|place| self.call_threads.get(*place).copied()).collect();
    }

    fn part(&self, requests: usize, calls: usize, until: Option<i64>) -> Service {
        Service {
            requests: self.requests[..requests].to_vec(),
            calls: self.calls[..calls].to_vec(),
            request_threads: self.request_threads.iter().take(requests).copied().collect(),
            call_threads: self.call_threads.iter().take(calls).copied().collect(),
            request_calls: self.request_calls.iter().take(requests).copied().collect(),
            made_calls: self.made_calls.iter().take(calls).copied().collect(),
            timer_calls: Vec::new(),
            one_way: self.one_way,
            window: self.window,
            until,
            without: self.without,
        }
    }

    /// When the request was over.
    pub(super) fn over(&self, request: &Span) -> i64 {
        let end = if request.end == OPEN { request.begin.saturating_add(self.window) } else { request.end };
        end.max(request.begin)
    }
}

/// The services of a trace: one for each node that both received requests or was given `jobs` and made calls, where it was traced.
pub(super) fn services(
    trace: &MessageTrace,
    naming: &Naming,
    calls: &Calls,
    jobs: &Jobs,
    options: &Options,
) -> Vec<Service> {
    let mut services: Vec<Service> = Vec::new();
    let without = Without::of(&options.without);
    let window = options.window;
    services.resize_with(naming.nodes().len(), || Service { window, without, ..Service::default() });
    let mut threads = ThreadNumbers::default();
    for call in 0..calls.len() {
        // What was delivered unasked is a job, and no request.
        let Some(row) = calls.request(call).filter(|row| !jobs.is_delivery(*row)) else { continue };
        let (caller, callee) = (naming.src(row), naming.dst(row));
        let request = trace.message(row);
        let response = calls.response(call).map(|row| (naming.src(row), naming.dst(row), trace.message(row)));
        let kind = naming.hop(row);
        let node = naming.nodes()[callee as usize];
        if let Some(begin) = request.recv_last.filter(|_| node.traced) {
            let end =
                response.as_ref().filter(|(from, _, _)| *from == callee).and_then(|(_, _, m)| m.send_first);
            let service = &mut services[callee as usize];
            service.requests.push(Span { begin, end: end.unwrap_or(OPEN), kind });
            let answer = response.as_ref().filter(|(from, _, _)| *from == callee).map(|(_, _, m)| m);
            let of = [threads.receiver(&request), answer.map_or(UNKNOWN_THREAD, |m| threads.sender(m))];
            service.request_threads.push(of);
            service.request_calls.push(call as u32);
        }
        let node = naming.nodes()[caller as usize];
        let caller_or_giver = jobs.giver(caller);
        let client = options.clients_start_paths && node.client && jobs.of_node(caller_or_giver).is_empty();
        if let Some(begin) = request.send_first.filter(|_| node.traced && !client) {
            let end = response.as_ref().filter(|(_, to, _)| *to == caller).and_then(|(_, _, m)| m.recv_last);
            let service = &mut services[caller_or_giver as usize];
            if jobs.is_poll(call as u32) {
                service.timer_calls.push(call as u32);
                continue;
            }
            // What is delivered is no answer.
            let end = end.filter(|_| !calls.response(call).is_some_and(|row| jobs.is_delivery(row)));
            service.calls.push(Span { begin, end: end.unwrap_or(OPEN), kind });
            let answer = response.as_ref().filter(|(_, to, _)| *to == caller).map(|(_, _, m)| m);
            let of = [threads.sender(&request), answer.map_or(UNKNOWN_THREAD, |m| threads.receiver(m))];
            service.call_threads.push(of);
            service.made_calls.push(call as u32);
        }
    }
    // Where the clock is too coarse to tell what came first, the numbers that the calls have where they come from may.
    let number = |call: u32| calls.id(trace, (call & !DELIVERY) as usize).parse::<u64>().unwrap_or(u64::MAX);
    for (node, service) in (0..).zip(&mut services) {
        for job in jobs.of_node(node) {
            let receiver = threads.receiver(&trace.message(job.row as usize));
            service.requests.push(job.span);
            service.request_threads.push([receiver, UNKNOWN_THREAD]);
            service.request_calls.push(job.call);
        }
        by_time(&mut service.requests, &mut service.request_calls, &mut service.request_threads, number);
        by_time(&mut service.calls, &mut service.made_calls, &mut service.call_threads, number);
        let threads = || service.request_threads.iter().chain(&service.call_threads).flatten();
        if !without.has(Evidence::Threads) || threads().all(|thread| *thread == UNKNOWN_THREAD) {
            service.request_threads = Vec::new();
            service.call_threads = Vec::new();
        }
        service.put_timers_aside();
    }
    services
}

/// Numbers for threads. A process and a thread of it are one thread, whichever name the process goes by.
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

/// Puts spans and what they are of into the order of time, and those of equal times into that of their numbers.
fn by_time(
    spans: &mut Vec<Span>,
    of: &mut Vec<u32>,
    threads: &mut Vec<[u32; 2]>,
    number: impl Fn(u32) -> u64,
) {
    let mut order: Vec<u32> = (0..spans.len() as u32).collect();
    order.sort_by(|one, other| {
        let [a, b] = [one, other].map(|at| *at as usize);
        let by_number = || number(of[a]).cmp(&number(of[b]));
        spans[a].begin.cmp(&spans[b].begin).then_with(by_number).then(one.cmp(other))
    });
    *spans = order.iter().map(|at| spans[*at as usize]).collect();
    *of = order.iter().map(|at| of[*at as usize]).collect();
    *threads = order.iter().map(|at| threads[*at as usize]).collect();
}

/// Something that happens at a service and bears on which call belongs to which request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A request was received.
    Receipt(u32),
    /// A call was made.
    Call(u32),
    /// A request was answered, or is given up.
    Reply(u32),
}

/// All events of `service` by time. At equal times requests come first, and replies last.
pub(super) fn events(service: &Service) -> Vec<(i64, Event)> {
    let mut events = Vec::with_capacity(2 * service.requests.len() + service.calls.len());
    for (at, request) in service.requests.iter().enumerate() {
        events.push((request.begin, Event::Receipt(at as u32)));
        let end =
            if request.end == OPEN { request.begin.saturating_add(service.window) } else { request.end };
        events.push((end.max(request.begin), Event::Reply(at as u32)));
    }
    events.extend(service.calls.iter().enumerate().map(|(at, call)| (call.begin, Event::Call(at as u32))));
    events.sort_unstable();
    events
}

/// The calls of each request in the order of time, by the request that each call was given to.
pub(super) fn made_for(service: &Service, owner: &[u32]) -> Vec<Vec<u32>> {
    let mut made = vec![Vec::new(); service.requests.len()];
    for (call, owner) in owner.iter().enumerate().filter(|(_, owner)| **owner != NONE) {
        made[*owner as usize].push(call as u32);
    }
    made
}
