//! Processes that a node starts for a request, such as a CGI script, or a command that is run by
//! ssh. Such a process receives no requests, so its messages would begin paths of their own. To the
//! node that started it, its whole life is one call: it begins when the process is started, and
//! ends with the last message that it receives. Its calls are for the request for which it was
//! started. [`super::process_tree`] finds the process that started it.

use message_trace::{FROM_CONNECTING, MessageId, MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::jobs::Jobs;
use super::process_tree::ProcessTree;
use super::service::{OPEN, Service, UNKNOWN_THREAD};
use crate::call_evidence::CallEvidence;
use crate::calls::{CallId, Calls};
use crate::links::Links;
use crate::naming::Naming;
use crate::tuning::auto::services::spawned::CALLS_BACK;

/// The processes of a trace that were started for requests, by their nodes.
#[derive(Debug, Default)]
pub(super) struct SpawnedProcesses {
    children: FxHashMap<u32, SpawnedProcess>,
    /// The first call of each of these processes.
    first_calls: FxHashSet<CallId>,
}

/// A process that was started for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpawnedProcess {
    /// The node that started the process or its first intermediate process.
    pub(super) starter: u32,
    /// Time at which the process was started, in nanoseconds on its host's clock.
    pub(super) begin: i64,
    /// Time at which the process received or sent its last message, on the same clock; [`OPEN`] if
    /// it waits for a response that never came.
    pub(super) end: i64,
    /// The first call of the process, which represents all of its calls.
    pub(super) first_call: CallId,
}

impl SpawnedProcesses {
    /// The started processes of `trace`, if each process is a node.
    pub(super) fn from_trace(
        trace: &MessageTrace,
        naming: &Naming,
        calls: &Calls,
        jobs: &Jobs,
    ) -> SpawnedProcesses {
        let mut nodes: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut processes: FxHashMap<u32, NodeId> = FxHashMap::default();
        // Times at which each node received its first request.
        let mut asked: FxHashMap<u32, i64> = FxHashMap::default();
        let mut children: FxHashMap<u32, SpawnedProcess> = FxHashMap::default();
        for call in calls.iter() {
            let Some(row) = calls.request(call) else { continue };
            let message = trace.message(row);
            let (from, to) = (naming.src(row), naming.dst(row));
            for (node, process) in [(from, message.src), (to, message.dst)] {
                // A process without a process id has no known starter.
                if trace.nodes.get(process).is_none_or(|known| known.pid.is_none()) {
                    continue;
                }
                if *nodes.entry(process).or_insert(node) != node
                    || *processes.entry(node).or_insert(process) != process
                {
                    // Nodes are threads or hosts instead of processes.
                    return SpawnedProcesses::default();
                }
            }
            // A message on a connection that the process made itself is not a request.
            let received = trace.recv_first(row).or(trace.recv_last(row));
            if let Some(time) = received.filter(|_| trace.direction(row) == FROM_CONNECTING) {
                let first = asked.entry(to).or_insert(time);
                *first = time.min(*first);
            }
            let answer = calls.response(call).filter(|answer| naming.dst(*answer) == from);
            let end = match answer {
                Some(answer) => trace.recv_last(answer),
                // There is no response to a mere connection, or to the last message.
                None => trace.send_last(row),
            };
            let child = SpawnedProcess { starter: 0, begin: 0, end: i64::MIN, first_call: call };
            let child = children.entry(from).or_insert(child);
            child.end = end.unwrap_or(OPEN).max(child.end);
        }
        let tree = ProcessTree::from_trace(trace);
        let is_client =
            |node: u32| naming.nodes()[node as usize].client && !asked.contains_key(&node);
        children.retain(|node, child| {
            let process = processes.get(node).copied().filter(|_| is_client(*node));
            let alone = jobs.of_node(*node).is_empty() && jobs.node_of_giver(*node) == *node;
            let started = process.filter(|_| alone).and_then(|process| {
                tree.nearest_starter(process, |between, begin| {
                    let node = nodes.get(&between)?;
                    asked.get(node).filter(|asked| **asked <= begin).map(|_| *node)
                })
            });
            if let Some((starter, begin)) = started {
                (child.starter, child.begin) = (starter, begin);
            }
            started.is_some_and(|(starter, _)| starter != *node)
        });
        let first_calls = children.values().map(|child| child.first_call).collect();
        SpawnedProcesses { children, first_calls }
    }

    /// Links the further calls of the processes to the requests of their first calls, if these were
    /// answered no more than `window` nanoseconds before; `is_linked` states which messages have
    /// their links.
    pub(super) fn link(
        &self,
        trace: &MessageTrace,
        naming: &Naming,
        calls: &Calls,
        window: i64,
        links: &mut Links,
        is_linked: &mut [bool],
    ) {
        for call in calls.iter() {
            let Some(row) = calls.request(call) else { continue };
            let Some(child) = self.child(naming.src(row)).filter(|child| child.first_call != call)
            else {
                continue;
            };
            let Some(first) = calls.request(child.first_call) else { continue };
            let begin = trace.send_first(row).unwrap_or(i64::MIN);
            let parents: Vec<(MessageId, f64)> = links.parents_here(first).collect();
            let over = answered_at(trace, calls, links, first).unwrap_or(child.begin);
            if !parents.is_empty()
                && !is_linked[row.index()]
                && begin <= over.saturating_add(window)
            {
                let spontaneous = links.spontaneous_probability(first);
                links.set_parents(row, &parents, spontaneous);
                links.set_evidence(row, links.evidence(first));
                is_linked[row.index()] = true;
            }
        }
    }

    /// Binds the processes that `service` started to the last request that it received, if it has
    /// one thread and no other request waits for its response.
    pub(super) fn bind_processes(&self, service: &mut Service) {
        if self.first_calls.is_empty() {
            return;
        }
        let known = || service.request_threads.iter().chain(&service.call_threads).flatten();
        let mut threads = known().filter(|thread| **thread != UNKNOWN_THREAD);
        let Some(only) =
            threads.next().copied().filter(|only| threads.all(|thread| thread == only))
        else {
            return;
        };
        // The latest end of the requests before each one.
        let ends = service
            .requests
            .iter()
            .map(|request| if request.end == OPEN { i64::MIN } else { request.end });
        let before = |latest: &mut i64, end: i64| Some(std::mem::replace(latest, end.max(*latest)));
        let latest: Vec<i64> = ends.scan(i64::MIN, before).collect();
        for at in 0..service.calls.len() {
            let call = service.made_calls[at];
            if !self.first_calls.contains(&call) {
                continue;
            }
            service.call_threads[at] = [only; 2];
            let begin = service.calls[at].begin;
            let received = service.requests.partition_point(|request| request.begin <= begin);
            if let Some(last) = received.checked_sub(1)
                && latest[last] <= begin
            {
                service.attributed_to.insert(call, service.request_calls[last]);
                service.shown_by.insert(call, CallEvidence::OneRequest);
            }
        }
    }

    /// The process that is `node`, if it was started for a request.
    pub(super) fn child(&self, node: u32) -> Option<&SpawnedProcess> {
        self.children.get(&node)
    }
}

/// Time at which the request of a call with request row `row` was answered, by the likeliest links;
/// `None` if the request was not answered.
fn answered_at(
    trace: &MessageTrace,
    calls: &Calls,
    links: &Links,
    mut row: MessageId,
) -> Option<i64> {
    for _ in 0..CALLS_BACK {
        let parent = links.likeliest_parent(row)?.0.here()?;
        let call = calls.call_of_message(parent);
        let response = calls.response(call);
        if response != Some(parent) {
            return trace.send_last(response?);
        }
        // The call was made after the response to another call, which was made for the same
        // request.
        row = calls.request(call)?;
    }
    None
}
