//! Jobs: work that a queue delivers to a worker. A worker acts for a job as a server acts for a
//! request. So a delivery is to the worker what a request is to a server: it begins with its
//! receipt, and ends when the worker asks for more or receives more. The messages that ask for work
//! are for no request.

use message_trace::{FROM_CONNECTING, FlowId, MessageId, MessageTrace, Node, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::queues::Queues;
use crate::calls::{CallId, Calls};
use crate::infer::call_links::WorkItem;
use crate::infer::span::{NodeSpan, count_overlapping};
use crate::naming::Naming;
use crate::tuning::auto::queues::jobs::{
    DELIVERIES_PER_EARLY, DELIVERIES_PER_EXCEPTION, LONGER_FACTOR, MIN_DELIVERIES,
};

/// A job that was delivered to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// From the receipt to the end, by the node's own clock.
    pub(super) span: NodeSpan,
    /// The delivery.
    pub(super) row: MessageId,
    /// The delivery as work of the node, by the call that it belongs to.
    pub(super) item: WorkItem,
}

/// The jobs of all nodes.
#[derive(Debug, Default)]
pub(super) struct Jobs<'trace> {
    /// The jobs of each node, in the order of the trace.
    of_nodes: FxHashMap<u32, Vec<Job>>,
    /// For each process that may do work of another process, the process that gave it the work.
    givers: FxHashMap<u32, u32>,
    queues: Option<&'trace Queues>,
}

/// Event at a worker on a connection to a broker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WorkerEvent {
    Delivery,
    Sent { asks_for_work: bool },
}

impl<'trace> Jobs<'trace> {
    /// Jobs that `queues` delivered to traced nodes. A job without a known end ends after `window`
    /// nanoseconds.
    pub(super) fn from_queues(
        trace: &MessageTrace,
        naming: &Naming,
        calls: &Calls,
        queues: &'trace Queues,
        window: i64,
    ) -> Jobs<'trace> {
        let mut jobs = Jobs { queues: Some(queues), ..Jobs::default() };
        let deliveries = queues.deliveries();
        if deliveries.is_empty() {
            return jobs;
        }
        let ends = ends(trace, naming, calls, queues, &deliveries);
        for row in deliveries {
            // What a thread receives for its request is no other work.
            if queues.is_for_request(calls.call_of_message(row)) {
                continue;
            }
            let node = naming.dst(row);
            let Some(begin) = trace.recv_last(row).filter(|_| naming.nodes()[node as usize].traced)
            else {
                continue;
            };
            let latest = begin.saturating_add(window);
            let end = ends.get(&row).map_or(latest, |end| latest.min(*end));
            let span = NodeSpan { begin, end, kind: naming.hop(row) };
            let item = WorkItem::delivery(calls.call_of_message(row));
            jobs.of_nodes.entry(node).or_default().push(Job { span, row, item });
        }
        jobs.find_givers(trace, naming);
        jobs.prolong_jobs(trace, naming, calls, window);
        jobs
    }

    /// The jobs of a node.
    pub(super) fn of_node(&self, node: u32) -> &[Job] {
        self.of_nodes.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The node that receives the jobs on which this node works: itself or, if it receives none,
    /// the node that may have handed them over.
    pub(super) fn node_of_giver(&self, node: u32) -> u32 {
        self.givers.get(&node).copied().unwrap_or(node)
    }

    /// Returns whether the call asks for work.
    pub(super) fn is_poll(&self, call: CallId) -> bool {
        self.queues.is_some_and(|queues| queues.is_poll(call))
    }

    /// Returns whether the message is a delivery.
    pub(super) fn is_delivery(&self, row: MessageId) -> bool {
        self.queues.is_some_and(|queues| queues.causes(row).is_some())
    }

    /// Finds the givers: a worker may delegate its jobs to processes that it started. These
    /// processes run the worker's program, started later than it, and receive no requests. How a
    /// job is handed over is not visible.
    fn find_givers(&mut self, trace: &MessageTrace, naming: &Naming) {
        let pushers = self.pushing_nodes(trace, naming);
        // A process of each node of `naming`: the first in the trace.
        let mut processes: FxHashMap<u32, NodeId> = FxHashMap::default();
        for row in trace.ids() {
            let message = trace.message(row);
            processes.entry(naming.src(row)).or_insert(message.src);
            processes.entry(naming.dst(row)).or_insert(message.dst);
        }
        let mut nodes: Vec<u32> = processes.keys().copied().collect();
        nodes.sort_unstable();
        let process_of = |node: u32| processes.get(&node).and_then(|id| trace.nodes.get(*id));
        for node in nodes {
            let facts = naming.nodes()[node as usize];
            let is_candidate = facts.traced && facts.client;
            let Some(own) = process_of(node).filter(|_| is_candidate) else { continue };
            if self.of_nodes.contains_key(&node) || pushers.contains(&node) {
                continue;
            }
            let is_giver = |giver: &Node| {
                (&giver.host, &giver.command, &giver.executable)
                    == (&own.host, &own.command, &own.executable)
                    && giver.start <= own.start
            };
            let givers =
                self.of_nodes.keys().filter(|giver| process_of(**giver).is_some_and(is_giver));
            let start_of = |giver: u32| process_of(giver).and_then(|process| process.start);
            // The giver that started last.
            if let Some(giver) = givers.copied().max_by_key(|giver| (start_of(*giver), *giver)) {
                self.givers.insert(node, giver);
            }
        }
    }

    /// Nodes that give work to others, and so do not work for them, even if both run one program:
    /// most of their messages are delivered to others, or they sent some before the first delivery.
    fn pushing_nodes(&self, trace: &MessageTrace, naming: &Naming) -> FxHashSet<u32> {
        let all = || self.of_nodes.values().flatten();
        let first = all().map(|job| (job.span.begin, job.row)).min().map(|(_, row)| row);
        let mut pushes: FxHashSet<MessageId> = FxHashSet::default();
        let mut pushers: FxHashSet<u32> = FxHashSet::default();
        for job in all() {
            let causes = self.queues.and_then(|queues| queues.causes(job.row));
            let Some((push, _)) = causes.and_then(<[_]>::first) else { continue };
            pushes.insert(*push);
            if first == Some(job.row) {
                pushers.insert(naming.src(*push));
            }
        }
        let mut sent: FxHashMap<u32, [usize; 2]> = FxHashMap::default();
        for row in trace.ids().filter(|row| !trace.is_connect(*row)) {
            let [given, all] = sent.entry(naming.src(row)).or_default();
            *given += usize::from(pushes.contains(&row));
            *all += 1;
        }
        let mostly = sent.into_iter().filter(|(_, [given, all])| 2 * given >= *all);
        pushers.extend(mostly.map(|(node, _)| node));
        pushers
    }

    /// Makes jobs last longer if a worker asks for more before it has finished, as a worker that
    /// delegates to others does.
    fn prolong_jobs(&mut self, trace: &MessageTrace, naming: &Naming, calls: &Calls, window: i64) {
        // For each worker, the number of calls during a job, and for each other call the time since
        // the latest delivery.
        let mut within: FxHashMap<u32, (usize, Vec<i64>)> = FxHashMap::default();
        for call in calls.iter() {
            let Some(row) = calls.request(call) else { continue };
            let Some(jobs) = self
                .of_nodes
                .get(&self.node_of_giver(naming.src(row)))
                .filter(|_| !self.is_poll(call))
            else {
                continue;
            };
            let Some(time) = trace.send_first(row) else { continue };
            // The jobs of a node are in the order of the trace, which is nearly the order of time.
            let next = jobs.partition_point(|job| job.span.begin <= time);
            let last = jobs[..next].iter().rev().take(8);
            if next > 0 {
                let is_within = last.clone().any(|job| time <= job.span.end);
                let (inside, outside) =
                    within.entry(self.node_of_giver(naming.src(row))).or_default();
                match is_within {
                    true => *inside += 1,
                    false => outside.push(time.saturating_sub(jobs[next - 1].span.begin)),
                }
            }
        }
        for (node, (inside, mut outside)) in within {
            if outside.len() > inside {
                let nearly = outside.len() * 95 / 100;
                let (_, nearly_all, _) = outside.select_nth_unstable(nearly);
                let takes = nearly_all.saturating_mul(LONGER_FACTOR).clamp(1, window);
                for job in self.of_nodes.get_mut(&node).into_iter().flatten() {
                    job.span.end = job.span.begin.saturating_add(takes);
                }
            }
        }
    }
}

/// What asks for work, and receives it, one delivery after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WorkerKey {
    /// A thread of a process, over any connection, for one kind of work: the hop and the number of
    /// binary digits of the length of its requests. A call through a broker within a job may ask
    /// for its reply in the same way.
    Thread(NodeId, i32, (u32, u32)),
    /// A connection.
    Flow(FlowId),
}

/// Nodes whose threads ask for work and wait for it. Such threads may share a pool of connections,
/// so that the next request for work on a connection says nothing about the delivery before it.
fn nodes_of_waiting_threads(
    trace: &MessageTrace,
    calls: &Calls,
    queues: &Queues,
    deliveries: &[MessageId],
) -> FxHashSet<NodeId> {
    // By thread: the times at which it asked and received.
    let mut waits: FxHashMap<(NodeId, i32), Vec<[i64; 2]>> = FxHashMap::default();
    // By node: the deliveries that it asked for, and those that another thread received.
    let mut counts: FxHashMap<NodeId, [usize; 2]> = FxHashMap::default();
    for row in deliveries {
        let call = calls.call_of_message(*row);
        let Some(request) = calls.request(call).filter(|_| queues.is_poll(call)) else { continue };
        let (asked, received) = (trace.message(request), trace.message(*row));
        let [all, others] = counts.entry(received.dst).or_default();
        *all += 1;
        match (asked.src_tid, received.dst_tid, asked.send_first, received.recv_last) {
            (Some(asking), Some(receiving), Some(from), Some(to)) if asking == receiving => {
                waits.entry((received.dst, receiving)).or_default().push([from, to]);
            }
            _ => *others += 1,
        }
    }
    for ((node, _), times) in &mut waits {
        times.sort_unstable();
        // A thread that asks while it waits is an event loop, which serves several workers.
        if let Some([_, others]) = counts.get_mut(node) {
            *others += count_overlapping(times);
        }
    }
    counts.retain(|_, [all, others]| {
        *all >= MIN_DELIVERIES && DELIVERIES_PER_EXCEPTION * *others <= *all
    });
    counts.into_keys().collect()
}

/// End of each delivery: the time at which the worker asked for more after it or, if workers never
/// ask, at which it received more after it had sent something.
fn ends(
    trace: &MessageTrace,
    naming: &Naming,
    calls: &Calls,
    queues: &Queues,
    deliveries: &[MessageId],
) -> FxHashMap<MessageId, i64> {
    let mut workers: FxHashMap<WorkerKey, Vec<(i64, WorkerEvent, MessageId)>> =
        FxHashMap::default();
    let of_threads = nodes_of_waiting_threads(trace, calls, queues, deliveries);
    let key = |row: MessageId, node: NodeId, thread: Option<i32>| {
        let request = calls.request(calls.call_of_message(row));
        match (thread, request) {
            (Some(thread), Some(request)) if of_threads.contains(&node) => {
                let digits = i64::BITS - trace.bytes(request).leading_zeros();
                WorkerKey::Thread(node, thread, (naming.hop(request), digits))
            }
            _ => WorkerKey::Flow(trace.flow(row)),
        }
    };
    for row in deliveries {
        let message = trace.message(*row);
        let Some(time) = message.recv_last else { continue };
        let key = key(*row, message.dst, message.dst_tid);
        workers.entry(key).or_default().push((time, WorkerEvent::Delivery, *row));
    }
    for row in trace.ids().filter(|row| trace.direction(*row) == FROM_CONNECTING) {
        let message = trace.message(row);
        let Some(time) = message.send_first else { continue };
        let asks_for_work = queues.is_poll(calls.call_of_message(row));
        let key = key(row, message.src, message.src_tid);
        // A thread's other messages are its work.
        if matches!(key, WorkerKey::Thread(..)) && !asks_for_work {
            continue;
        }
        let Some(events) = workers.get_mut(&key) else { continue };
        events.push((time, WorkerEvent::Sent { asks_for_work }, row));
    }
    let mut ends = FxHashMap::default();
    for events in workers.values_mut() {
        events.sort_unstable();
        let polls =
            events.iter().any(|(_, event, _)| *event == WorkerEvent::Sent { asks_for_work: true });
        let acknowledged = if polls { None } else { acknowledged_ends(events) };
        if let Some(over) = acknowledged {
            ends.extend(over);
            continue;
        }
        // From the last event back: when the worker asked for more, whether it sent something
        // before the next delivery, and when that delivery came.
        let (mut asked, mut sent, mut given) = (None, false, None);
        for (time, event, row) in events.iter().rev() {
            match event {
                WorkerEvent::Delivery => {
                    let end = if polls { asked } else { given.filter(|_| sent) };
                    ends.extend(end.map(|end| (*row, end)));
                    (sent, given) = (false, Some(*time));
                }
                WorkerEvent::Sent { asks_for_work } => {
                    sent = true;
                    asked = if *asks_for_work { Some(*time) } else { asked };
                }
            }
        }
    }
    ends
}

/// End of each delivery if a worker acknowledges each one and may receive more before it does;
/// `None` if what the worker sends are no acknowledgements. `events` are in order. It is not known
/// which delivery an acknowledgement is for. If at most n are open at the same time, a delivery
/// ends at the latest with the n-th acknowledgement after it.
fn acknowledged_ends(events: &[(i64, WorkerEvent, MessageId)]) -> Option<Vec<(MessageId, i64)>> {
    let first = events.iter().position(|(_, event, _)| *event == WorkerEvent::Delivery)?;
    let events = &events[first..];
    let given: Vec<(i64, MessageId)> = events
        .iter()
        .filter(|(_, event, _)| *event == WorkerEvent::Delivery)
        .map(|(time, _, row)| (*time, *row))
        .collect();
    let sent: Vec<i64> = events
        .iter()
        .filter(|(_, event, _)| *event != WorkerEvent::Delivery)
        .map(|(time, ..)| *time)
        .collect();
    if given.len() < MIN_DELIVERIES
        || DELIVERIES_PER_EXCEPTION * given.len().abs_diff(sent.len()) > given.len()
    {
        return None;
    }
    // Nothing is acknowledged before it was delivered; otherwise the messages are not
    // acknowledgements.
    let (mut open, mut most, mut early) = (0_usize, 0_usize, 0_usize);
    for (_, event, _) in events {
        match event {
            WorkerEvent::Delivery => open += 1,
            WorkerEvent::Sent { .. } if open == 0 => early += 1,
            WorkerEvent::Sent { .. } => open -= 1,
        }
        most = most.max(open);
    }
    if DELIVERIES_PER_EARLY * early > given.len() {
        return None;
    }
    // If several deliveries are open at a time, it is not known which one ends with an
    // acknowledgement, so all last equally long.
    let over = sent.iter().skip(most.saturating_sub(1));
    let longest =
        given.iter().zip(over.clone()).map(|((began, _), end)| end.saturating_sub(*began)).max();
    let last = |began: i64| began.saturating_add(longest.unwrap_or(0));
    let end = |began: i64, end: i64| if most == 1 { end } else { last(began) };
    Some(given.iter().zip(over).map(|((began, row), over)| (*row, end(*began, *over))).collect())
}
