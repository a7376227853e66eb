//! FindCallPairs (Project 5 section 5.1.1.1): calls with two observed messages, from the view of
//! each of their two nodes. A message without a counterpart is discarded: it has neither parents
//! nor children. [`crate::calls`] pairs the two messages of a call.
//!
//! The paper's traces have one time for each message. Here a traced node has times of its own for
//! all messages that it receives and sends. They give the delays at the node, whatever other clocks
//! show. For an untraced node the only available time is used, on the common clock.

use message_trace::{MessageId, MessageTrace};

use crate::calls::{CallId, Calls};
use crate::infer::call_links::{MadeCallId, NodeCalls, RequestId, WorkItem};
use crate::infer::span::NodeSpan;
use crate::naming::Naming;
use crate::options::Options;
use out_of_core::workers;

/// The call pairs of one node.
#[derive(Debug, Default)]
pub(super) struct NodeCallPairs {
    /// The calls that the node received: from the receipt of the call to the sending of the return,
    /// by the time of the call.
    pub(super) parents: Vec<NodeSpan>,
    /// The parents as calls of the trace.
    pub(super) parent_calls: Vec<WorkItem>,
    /// The calls that the node made: from the sending of the call to the receipt of the return, by
    /// the time of the call.
    pub(super) children: Vec<NodeSpan>,
    /// The children as calls of the trace.
    pub(super) child_calls: Vec<CallId>,
    /// The children by the time of the return.
    pub(super) returns: Vec<MadeCallId>,
    /// The chosen parent of each child.
    pub(super) chosen: Vec<Option<RequestId>>,
}

impl NodeCallPairs {
    /// The calls from which the links of the node are made.
    pub(super) fn node_calls(&self) -> NodeCalls<'_> {
        NodeCalls {
            requests: &self.parents,
            request_calls: &self.parent_calls,
            calls: &self.children,
            made_calls: &self.child_calls,
        }
    }

    /// Builds a node with these parents and children, each with its call, in any order.
    fn new(
        mut parents: Vec<(NodeSpan, CallId)>,
        mut children: Vec<(NodeSpan, CallId)>,
    ) -> NodeCallPairs {
        parents.sort_by_key(|(span, call)| (span.begin, *call));
        children.sort_by_key(|(span, call)| (span.begin, *call));
        let (parents, parent_calls) =
            parents.into_iter().map(|(span, call)| (span, WorkItem::request(call))).unzip();
        let (children, child_calls): (Vec<NodeSpan>, Vec<CallId>) = children.into_iter().unzip();
        let mut returns: Vec<(i64, MadeCallId)> =
            children.iter().map(|child| child.end).zip(MadeCallId::ids()).collect();
        // Nearly in order already.
        returns.sort();
        let returns = returns.into_iter().map(|(_, child)| child).collect();
        let chosen = vec![None; children.len()];
        NodeCallPairs { parents, parent_calls, children, child_calls, returns, chosen }
    }
}

/// The parents and the children of a node, each with its call.
type SpansByRole = [Vec<(NodeSpan, CallId)>; 2];

/// The call pairs of `trace`, by node.
pub(super) fn find_call_pairs(
    trace: &MessageTrace,
    naming: &Naming,
    calls: &Calls,
    options: &Options,
) -> Vec<NodeCallPairs> {
    let mut sizes = vec![[0; 2]; naming.nodes().len()];
    for (request, _) in paired_messages(calls) {
        sizes[naming.dst(request) as usize][0] += 1;
        sizes[naming.src(request) as usize][1] += 1;
    }
    let mut found: Vec<SpansByRole> =
        sizes.into_iter().map(|sizes| sizes.map(Vec::with_capacity)).collect();
    for call in calls.iter() {
        let (Some(request), Some(response)) = (calls.request(call), calls.response(call)) else {
            continue;
        };
        let (caller, callee) = (naming.src(request), naming.dst(request));
        let kind = naming.hop(request);
        let mut add = |node: u32, role: usize, times: [Option<i64>; 2]| {
            let common =
                || [request, response].map(|row| trace.send_ts(row).or(trace.arrival_time(row)));
            let times = if naming.nodes()[node as usize].traced { times } else { common() };
            if let [Some(begin), Some(end)] = times {
                found[node as usize][role].push((NodeSpan { begin, end, kind }, call));
            }
        };
        // A thread's call may be answered by another thread, which is a different node then.
        if naming.src(response) == callee {
            add(callee, 0, [trace.recv_first(request), trace.send_first(response)]);
        }
        let starts_paths = options.clients_start_paths && naming.nodes()[caller as usize].client;
        if naming.dst(response) == caller && !starts_paths {
            add(caller, 1, [trace.send_first(request), trace.recv_first(response)]);
        }
    }
    let mut nodes: Vec<(SpansByRole, NodeCallPairs)> =
        found.into_iter().map(|found| (found, NodeCallPairs::default())).collect();
    workers::for_each_item(
        &mut nodes,
        |(found, _)| found[0].len() + found[1].len(),
        |(found, node), (): &mut ()| {
            let [parents, children] = std::mem::take(found);
            *node = NodeCallPairs::new(parents, children);
        },
    );
    nodes.into_iter().map(|(_, node)| node).collect()
}

/// Both messages of each call that has two.
fn paired_messages(calls: &Calls) -> impl Iterator<Item = (MessageId, MessageId)> + '_ {
    calls.iter().filter_map(|call| calls.request(call).zip(calls.response(call)))
}

#[cfg(test)]
impl NodeCallPairs {
    /// A handwritten node: parents and children as begin, end and kind; the calls are numbered,
    /// parents first.
    pub(super) fn by_hand(
        parents: &[(i64, i64, u32)],
        children: &[(i64, i64, u32)],
    ) -> NodeCallPairs {
        let span = |(begin, end, kind): &(i64, i64, u32)| NodeSpan {
            begin: *begin,
            end: *end,
            kind: *kind,
        };
        let numbered = |spans: &[(i64, i64, u32)], first: usize| {
            spans
                .iter()
                .enumerate()
                .map(|(at, times)| (span(times), CallId::from_index(first + at)))
                .collect()
        };
        NodeCallPairs::new(numbered(parents, 0), numbered(children, parents.len()))
    }
}
