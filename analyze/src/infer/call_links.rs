//! Links of messages from the requests of calls, with probabilities. The parent of a request that a
//! node sends, or of a response, is the message that the node received last for the same request:
//! the request itself, or the response to a call that was made for it. Every algorithm that assigns
//! calls to requests passes them on here, node by node. Only the calls of one node by their
//! requests are kept.

use super::span::{NodeSpan, OPEN};
use crate::calls::Calls;
use crate::tuning::links::call_links::{CALLS_BACK, MAX_PARENTS, MIN_PROBABILITY};

/// Value for a missing request or call.
pub(super) const NONE: u32 = u32::MAX;

/// Flag in the number of a call: in place of a request stands the delivery of the call, that is,
/// its response or only message, with which the node received work.
pub(super) const DELIVERY: u32 = 1 << 31;

/// The requests that a node received and the calls that it made, each by time.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeCalls<'a> {
    /// Times at which the requests were received, and answered.
    pub(super) requests: &'a [NodeSpan],
    /// The requests as calls of the trace, or marked as [`DELIVERY`].
    pub(super) request_calls: &'a [u32],
    /// Times at which the calls were made, and answered.
    pub(super) calls: &'a [NodeSpan],
    /// The calls, as calls of the trace.
    pub(super) made_calls: &'a [u32],
}

/// The calls of a node by the request that each was most likely made for.
struct CallsByRequest {
    /// Index of the first call of each request, and the end of the last.
    bounds: Vec<u32>,
    /// The calls of each request in the order of time.
    calls: Vec<u32>,
}

/// Calls `link` for each message that a node sent, with the message, its possible parents with
/// their probabilities, and the probability that it has no parent. `shares` returns the requests
/// that a call may have been made for, including [`NONE`], each with its probability.
pub(super) fn link_messages<Shares: Iterator<Item = (u32, f64)>>(
    calls: &Calls,
    node: NodeCalls<'_>,
    shares: impl Fn(usize) -> Shares,
    mut link: impl FnMut(usize, &[(u32, f64)], f64),
) {
    let made = CallsByRequest::new(node, |call| {
        likeliest_request(shares(call)).map_or(NONE, |(request, _)| request)
    });
    let mut parents: Vec<(u32, f64)> = Vec::new();
    for call in 0..node.calls.len() {
        let Some(row) = calls.request(node.made_calls[call] as usize) else { continue };
        parents.clear();
        let mut none = 0.0;
        for (request, share) in shares(call) {
            match request {
                NONE => none += share,
                // A call to the node itself was not made for itself.
                itself if node.request_calls[itself as usize] == node.made_calls[call] => {
                    none += share
                }
                request => parents.push((request, share)),
            }
        }
        parents.sort_by(|one, other| other.1.total_cmp(&one.1));
        parents.truncate(MAX_PARENTS);
        parents.retain(|(_, share)| *share >= MIN_PROBABILITY || none < MIN_PROBABILITY);
        parents.retain_mut(|(request, _)| {
            let last =
                made.last_received(calls, node, *request, call as u32, node.calls[call].begin);
            last.map(|(message, _)| *request = message).is_some()
        });
        // The remaining parents share the probability of those left out.
        let sum: f64 = parents.iter().map(|(_, share)| share).sum();
        let caused = if sum > 0.0 { (1.0 - none).clamp(0.0, 1.0) } else { 0.0 };
        parents.iter_mut().for_each(|(_, share)| *share = *share / sum * caused);
        parents.retain(|(_, share)| *share > 0.0);
        link(row, &parents, 1.0 - caused);
    }
    for (request, span) in node.requests.iter().enumerate() {
        // No response to a delivery is expected.
        if node.request_calls[request] & DELIVERY != 0 {
            continue;
        }
        let call = node.request_calls[request] as usize;
        let (Some(asked), Some(answer)) = (calls.request(call), calls.response(call)) else {
            continue;
        };
        if span.end == OPEN || span.end < span.begin {
            continue;
        }
        parents.clear();
        match made.last_received(calls, node, request as u32, NONE, span.end) {
            Some((row, of)) if of != NONE => {
                let sure =
                    likeliest_request(shares(of as usize)).map_or(1.0, |(_, share)| share.min(1.0));
                parents.extend([(row, sure), (asked as u32, 1.0 - sure)]);
            }
            _ => parents.push((asked as u32, 1.0)),
        }
        parents.retain(|(_, share)| *share > 0.0);
        link(answer, &parents, 0.0);
    }
}

/// The request that a call was most likely made for, unless it was likelier made for none.
fn likeliest_request(shares: impl Iterator<Item = (u32, f64)>) -> Option<(u32, f64)> {
    shares.max_by(|one, other| one.1.total_cmp(&other.1)).filter(|(request, _)| *request != NONE)
}

/// The last calls for a request, as far as they are examined.
pub(super) fn recent_calls(made: &[u32]) -> &[u32] {
    made.split_at(made.len().saturating_sub(CALLS_BACK)).1
}

impl CallsByRequest {
    /// Groups the calls by `owner`, the request of a call, or [`NONE`].
    fn new(node: NodeCalls<'_>, owner: impl Fn(usize) -> u32) -> CallsByRequest {
        let owner: Vec<u32> = (0..node.calls.len()).map(owner).collect();
        let mut bounds = vec![0; node.requests.len() + 1];
        let owned = || owner.iter().enumerate().filter(|(_, request)| **request != NONE);
        owned().for_each(|(_, request)| bounds[*request as usize + 1] += 1);
        (1..bounds.len()).for_each(|at| bounds[at] += bounds[at - 1]);
        let mut calls = vec![0; owned().count()];
        let mut next = bounds.clone();
        for (call, request) in owned() {
            let slot = &mut next[*request as usize];
            calls[*slot as usize] = call as u32;
            *slot += 1;
        }
        CallsByRequest { bounds, calls }
    }

    /// The message that was received last for a request until a time, considering calls before
    /// `before`, and the call that it responds to. A call to the node itself is not for its own
    /// request.
    fn last_received(
        &self,
        calls: &Calls,
        node: NodeCalls<'_>,
        request: u32,
        before: u32,
        time: i64,
    ) -> Option<(u32, u32)> {
        let [first, end] =
            [request as usize, request as usize + 1].map(|at| self.bounds[at] as usize);
        let made = &self.calls[first..end];
        let made = &made[..made.partition_point(|call| *call < before)];
        let own = node.request_calls[request as usize];
        let ended =
            recent_calls(made).iter().filter(|call| node.calls[**call as usize].end <= time);
        let ended = ended.filter(|call| node.made_calls[**call as usize] != own);
        let response = ended.max_by_key(|call| node.calls[**call as usize].end).and_then(|call| {
            Some((calls.response(node.made_calls[*call as usize] as usize)?, *call))
        });
        match response {
            Some((row, call)) => Some((row as u32, call)),
            None if own & DELIVERY != 0 => {
                let call = (own & !DELIVERY) as usize;
                Some((calls.response(call).or(calls.request(call))? as u32, NONE))
            }
            None => Some((calls.request(own as usize)? as u32, NONE)),
        }
    }
}

#[cfg(test)]
#[path = "call_links_tests.rs"]
mod tests;
