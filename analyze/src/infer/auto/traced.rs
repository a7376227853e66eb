//! Trace ids of tracers (`traceparent`, b3) in messages: a call was made for a request of the same
//! trace. If the node received one request of the trace, the call was made for it, and nothing is
//! inferred. If the node received several, the call was made for one of them: the one with the same
//! span, if the node forwarded the header unchanged. A call is never for a request of another
//! trace. Messages without ids are treated as without tracers.

use rustc_hash::FxHashMap;

use super::service::{MadeCallId, RequestId, Service};
use crate::calls::{CallId, Calls};
use crate::infer::call_links::WorkItem;
use message_trace::{MessageTrace, OperationFacts, OperationRole};

/// Value for a missing trace id.
const NO_TRACE: u64 = 0;

/// The operation of the request of a call, if it belongs to a trace.
fn traced_operation(trace: &MessageTrace, calls: &Calls, call: CallId) -> Option<OperationFacts> {
    let row = calls.request(call)?;
    trace
        .operations(row)
        .filter(|operation| operation.role != OperationRole::Response && operation.trace.is_some())
}

impl Service {
    /// Finds the requests of calls by their traces.
    pub(super) fn find_traced(&mut self, trace: &MessageTrace, calls: &Calls) {
        if !trace.has_operations() {
            return;
        }
        let mut received: FxHashMap<u64, Vec<(RequestId, Option<u64>)>> = FxHashMap::default();
        for (request, item) in RequestId::ids().zip(&self.request_calls) {
            if let Some(OperationFacts { trace: Some(id), span, .. }) =
                item.requesting_call().and_then(|call| traced_operation(trace, calls, call))
            {
                received.entry(id).or_default().push((request, span));
            }
        }
        for (call, made) in MadeCallId::ids().zip(&self.made_calls) {
            let Some(OperationFacts { trace: Some(id), span, .. }) =
                traced_operation(trace, calls, *made)
            else {
                continue;
            };
            let begin = self.calls[call.index()].begin;
            let possible = |request: RequestId| {
                self.requests[request.index()].begin <= begin && !self.is_itself(request, call)
            };
            let of_trace = received.get(&id).into_iter().flatten();
            let of_trace: Vec<&(RequestId, Option<u64>)> =
                of_trace.filter(|(request, _)| possible(*request)).collect();
            let is_forwarded =
                |(_, other): &&(RequestId, Option<u64>)| span.is_some() && *other == span;
            let forwarded = of_trace.iter().copied().filter(is_forwarded);
            let forwarded: Vec<RequestId> = forwarded.map(|(request, _)| *request).collect();
            let among = match forwarded.is_empty() {
                true => of_trace.iter().map(|(request, _)| *request).collect(),
                false => forwarded,
            };
            let among: Vec<WorkItem> =
                among.iter().map(|request| self.request_calls[request.index()]).collect();
            if let [only] = among[..] {
                self.attributed_to.insert(*made, only);
                self.alternative_request.remove(made);
            }
            if !among.is_empty() {
                self.traced_for.insert(*made, among);
            }
        }
    }

    /// Records the trace id of each request and each call. If no call has one, nothing is recorded.
    pub(super) fn record_traces(&mut self, trace: &MessageTrace, calls: &Calls) {
        if !trace.has_operations() {
            return;
        }
        let of = |call: CallId| {
            traced_operation(trace, calls, call).and_then(|operation| operation.trace)
        };
        let traces = self.made_calls.iter().map(|call| of(*call).unwrap_or(NO_TRACE));
        self.call_traces = traces.collect();
        match self.call_traces.iter().all(|trace| *trace == NO_TRACE) {
            true => self.call_traces = Vec::new(),
            false => {
                let traces = self.request_calls.iter();
                let traces = traces.map(|item| item.requesting_call().and_then(of));
                self.request_traces = traces.map(|id| id.unwrap_or(NO_TRACE)).collect();
            }
        }
    }

    /// Returns whether the request and the call are of two traces.
    #[inline]
    pub(super) fn are_of_two_traces(&self, request: RequestId, call: MadeCallId) -> bool {
        let Some(call) = self.call_traces.get(call.index()) else { return false };
        let Some(request) = self.request_traces.get(request.index()) else { return false };
        *call != NO_TRACE && *request != NO_TRACE && call != request
    }
}

/// Removes from `shares` the candidate requests of each call that do not belong to the trace of the
/// call.
pub(super) fn restrict_to_traces(service: &Service, shares: &mut [Vec<(Option<RequestId>, f64)>]) {
    if service.call_traces.is_empty() {
        return;
    }
    let places: FxHashMap<WorkItem, RequestId> =
        service.request_calls.iter().copied().zip(RequestId::ids()).collect();
    for ((call, made), shares) in MadeCallId::ids().zip(&service.made_calls).zip(shares) {
        let among = service.traced_for.get(made).map_or(&[][..], Vec::as_slice);
        let among: Vec<RequestId> = among.iter().filter_map(|of| places.get(of).copied()).collect();
        match among[..] {
            [] => shares.retain(|(request, _)| {
                request.is_none_or(|request| !service.are_of_two_traces(request, call))
            }),
            [only] => *shares = vec![(Some(only), 1.0)],
            [.., last] => {
                shares
                    .retain(|(request, _)| request.is_some_and(|request| among.contains(&request)));
                if shares.is_empty() {
                    // Any of these is as good: all belong to the trace of the call.
                    shares.push((Some(last), 1.0));
                }
            }
        }
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        match sum > 0.0 {
            true => shares.iter_mut().for_each(|(_, share)| *share /= sum),
            false => *shares = vec![(None, 1.0)],
        }
    }
}
