//! Links of messages from the requests of calls, with probabilities. The parent of a request that a
//! node sends, or of a response, is the message that the node received last for the same request:
//! the request itself, or the response to a call that was made for it. Every algorithm that assigns
//! calls to requests calls [`link_messages`] with its assignment, node by node.

use message_trace::MessageId;
use out_of_core::id_types;

use super::span::{NodeSpan, OPEN};
use crate::calls::{CallId, Calls};
use crate::tuning::links::call_links::{CALLS_BACK, MAX_PARENTS, MIN_PROBABILITY};

id_types! {
    /// Number of a request among those that a node received, by time.
    pub(super) struct RequestId;
    /// Number of a call among those that a node made, by time.
    pub(super) struct MadeCallId;
}

/// The message with which a node received work: the request of a call or, out of a queue, its
/// delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(super) struct WorkItem(u32);

impl WorkItem {
    /// Flag in the number that marks the item as a delivery.
    const DELIVERY: u32 = 1 << 31;

    /// The request of `call`.
    pub(super) const fn request(call: CallId) -> WorkItem {
        WorkItem(call.index() as u32)
    }

    /// The delivery of `call`: its response or only message.
    pub(super) const fn delivery(call: CallId) -> WorkItem {
        WorkItem(call.index() as u32 | WorkItem::DELIVERY)
    }

    /// Returns whether the item is a delivery.
    pub(super) const fn is_delivery(self) -> bool {
        self.0 & WorkItem::DELIVERY != 0
    }

    /// Returns the call that the item belongs to.
    pub(super) const fn call(self) -> CallId {
        CallId::from_index((self.0 & !WorkItem::DELIVERY) as usize)
    }

    /// Returns the call with this item as its request; `None` for a delivery.
    pub(super) fn requesting_call(self) -> Option<CallId> {
        (!self.is_delivery()).then(|| self.call())
    }
}

#[cfg(test)]
impl WorkItem {
    /// The request of the call with this index.
    pub(super) const fn request_at(index: usize) -> WorkItem {
        WorkItem::request(CallId::from_index(index))
    }
}

/// The requests that a node received and the calls that it made, each by time.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeCalls<'a> {
    /// Times at which the requests were received, and answered.
    pub(super) requests: &'a [NodeSpan],
    /// The work item of each request.
    pub(super) request_calls: &'a [WorkItem],
    /// Times at which the calls were made, and answered.
    pub(super) calls: &'a [NodeSpan],
    /// The number of each call in the trace.
    pub(super) made_calls: &'a [CallId],
}

/// The calls of a node by the request that each was most likely made for.
struct CallsByRequest {
    /// Index of the first call of each request, and the end of the last.
    bounds: Vec<u32>,
    /// The calls of each request in the order of time.
    calls: Vec<MadeCallId>,
}

/// Calls `link` for each message that a node sent, with the message, its possible parents with
/// their probabilities, and the probability that it has no parent. `shares` returns the requests
/// that a call may have been made for, `None` for no request, each with its probability.
pub(super) fn link_messages<Shares: Iterator<Item = (Option<RequestId>, f64)>>(
    calls: &Calls,
    node: NodeCalls<'_>,
    shares: impl Fn(MadeCallId) -> Shares,
    mut link: impl FnMut(MessageId, &[(MessageId, f64)], f64),
) {
    let made = CallsByRequest::new(node, |call| {
        likeliest_request(shares(call)).map(|(request, _)| request)
    });
    let mut requests: Vec<(RequestId, f64)> = Vec::new();
    let mut parents: Vec<(MessageId, f64)> = Vec::new();
    for (call, (made_call, span)) in MadeCallId::ids().zip(node.made_calls.iter().zip(node.calls)) {
        let Some(row) = calls.request(*made_call) else { continue };
        requests.clear();
        let mut none = 0.0;
        for (request, share) in shares(call) {
            // A call to the node itself was not made for itself.
            match request.filter(|request| !node.is_itself(*request, *made_call)) {
                Some(request) => requests.push((request, share)),
                None => none += share,
            }
        }
        requests.sort_by(|one, other| other.1.total_cmp(&one.1));
        requests.truncate(MAX_PARENTS);
        requests.retain(|(_, share)| *share >= MIN_PROBABILITY || none < MIN_PROBABILITY);
        parents.clear();
        parents.extend(requests.iter().filter_map(|(request, share)| {
            let last = made.last_received(calls, node, *request, Some(call), span.begin);
            last.map(|(message, _)| (message, *share))
        }));
        // The remaining parents share the probability of those left out.
        let sum: f64 = parents.iter().map(|(_, share)| share).sum();
        let caused = if sum > 0.0 { (1.0 - none).clamp(0.0, 1.0) } else { 0.0 };
        parents.iter_mut().for_each(|(_, share)| *share = *share / sum * caused);
        parents.retain(|(_, share)| *share > 0.0);
        link(row, &parents, 1.0 - caused);
    }
    for (request, (item, span)) in
        RequestId::ids().zip(node.request_calls.iter().zip(node.requests))
    {
        // No response to a delivery is expected.
        let Some(call) = item.requesting_call() else { continue };
        let (Some(asked), Some(answer)) = (calls.request(call), calls.response(call)) else {
            continue;
        };
        if span.end == OPEN || span.end < span.begin {
            continue;
        }
        parents.clear();
        match made.last_received(calls, node, request, None, span.end) {
            Some((row, Some(of))) => {
                let sure = likeliest_request(shares(of)).map_or(1.0, |(_, share)| share.min(1.0));
                parents.extend([(row, sure), (asked, 1.0 - sure)]);
            }
            _ => parents.push((asked, 1.0)),
        }
        parents.retain(|(_, share)| *share > 0.0);
        link(answer, &parents, 0.0);
    }
}

/// The request that a call was most likely made for, unless it was likelier made for none.
fn likeliest_request(
    shares: impl Iterator<Item = (Option<RequestId>, f64)>,
) -> Option<(RequestId, f64)> {
    let likeliest = shares.max_by(|one, other| one.1.total_cmp(&other.1));
    likeliest.and_then(|(request, share)| Some((request?, share)))
}

/// Returns the last [`CALLS_BACK`] of the calls `made` for a request; earlier ones are not
/// examined.
pub(super) fn recent_calls(made: &[MadeCallId]) -> &[MadeCallId] {
    made.split_at(made.len().saturating_sub(CALLS_BACK)).1
}

impl NodeCalls<'_> {
    /// Returns whether the request and the call are the two ends of one call that the node makes to
    /// itself.
    fn is_itself(&self, request: RequestId, call: CallId) -> bool {
        self.request_calls[request.index()].requesting_call() == Some(call)
    }
}

impl CallsByRequest {
    /// Groups the calls by their requests; `request_of` returns the request of a call.
    fn new(
        node: NodeCalls<'_>,
        request_of: impl Fn(MadeCallId) -> Option<RequestId>,
    ) -> CallsByRequest {
        let requests: Vec<Option<RequestId>> =
            MadeCallId::ids().take(node.calls.len()).map(request_of).collect();
        let mut bounds = vec![0; node.requests.len() + 1];
        let assigned = || {
            MadeCallId::ids().zip(&requests).filter_map(|(call, request)| Some((call, (*request)?)))
        };
        assigned().for_each(|(_, request)| bounds[request.index() + 1] += 1);
        (1..bounds.len()).for_each(|at| bounds[at] += bounds[at - 1]);
        let mut calls: Vec<MadeCallId> = MadeCallId::ids().take(assigned().count()).collect();
        let mut next = bounds.clone();
        for (call, request) in assigned() {
            let slot = &mut next[request.index()];
            calls[*slot as usize] = call;
            *slot += 1;
        }
        CallsByRequest { bounds, calls }
    }

    /// Returns the message that the node received last for `request` until `time`, and the call
    /// that it responds to; `None` for the call if the message is the request or delivery itself.
    /// If `before` is given, only calls made before it count. A call of the node to itself is not
    /// made for its own request.
    fn last_received(
        &self,
        calls: &Calls,
        node: NodeCalls<'_>,
        request: RequestId,
        before: Option<MadeCallId>,
        time: i64,
    ) -> Option<(MessageId, Option<MadeCallId>)> {
        let [first, end] =
            [request.index(), request.index() + 1].map(|at| self.bounds[at] as usize);
        let made = &self.calls[first..end];
        let count = before.map_or(made.len(), |before| made.partition_point(|call| *call < before));
        let made = &made[..count];
        let own = node.request_calls[request.index()];
        let ended = recent_calls(made).iter().filter(|call| node.calls[call.index()].end <= time);
        let ended =
            ended.filter(|call| Some(node.made_calls[call.index()]) != own.requesting_call());
        let response = ended
            .max_by_key(|call| node.calls[call.index()].end)
            .and_then(|call| Some((calls.response(node.made_calls[call.index()])?, *call)));
        match response {
            Some((row, call)) => Some((row, Some(call))),
            None => {
                let delivery = calls.response(own.call()).filter(|_| own.is_delivery());
                Some((delivery.or(calls.request(own.call()))?, None))
            }
        }
    }
}

#[cfg(test)]
#[path = "call_links_tests.rs"]
mod tests;
