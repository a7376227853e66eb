//! Calls that fit no request at all. If there are many, requests are missing from the trace, and
//! the assignment of the other calls is doubtful, too.

use rustc_hash::FxHashMap;

use super::events::{ServiceEvent, events};
use super::service::{MadeCallId, NodeSpan, OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::tuning::auto::services::fits::MAX_PREPARING_CALLS;

/// How a call fits the requests of its service.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestMatch {
    /// Whether requests were open when the call was made, and all of them were answered at some
    /// time.
    pub(super) are_answered: bool,
    /// Whether one of these requests lasted until the call was answered.
    pub(super) is_covered: bool,
    /// Whether the calling thread was working on a request when it made the call.
    is_thread_at_work: bool,
}

impl Service {
    /// Number of calls that no request covers: no request that was ever answered was open when they
    /// were made and lasted until they were answered. A request that is never answered covers
    /// everything after it, and so proves nothing, unless the calling thread works on it, having
    /// received it last. Calls of a thread before its first request are preparation, and for no
    /// request.
    pub(super) fn unmatched_calls(&self) -> usize {
        let prepares = self.made_in_preparation();
        let unfit = |(fit, prepares): &(RequestMatch, bool)| {
            !fit.is_covered && !fit.is_thread_at_work && !prepares
        };
        self.match_requests().into_iter().zip(prepares).filter(unfit).count()
    }

    /// Returns whether a thread that has received nothing since `request` still works on it when it
    /// makes `call`: the request is not answered, or was answered no longer ago than it took.
    fn is_still_working(&self, request: RequestId, call: MadeCallId) -> bool {
        let (is_itself, begin) = (self.is_itself(request, call), self.calls[call.index()].begin);
        let NodeSpan { begin: received, end, .. } = self.requests[request.index()];
        !is_itself && (end == OPEN || begin.saturating_sub(end) <= end.saturating_sub(received))
    }

    /// Returns for each call whether its thread made it before the first request that it received,
    /// in preparation for requests.
    fn made_in_preparation(&self) -> Vec<bool> {
        let mut first: FxHashMap<u32, i64> = FxHashMap::default();
        for ([receiver, _], request) in self.request_threads.iter().zip(&self.requests) {
            let first = first.entry(*receiver).or_insert(i64::MAX);
            *first = request.begin.min(*first);
        }
        first.remove(&UNKNOWN_THREAD);
        let is_before = |(call, span): (MadeCallId, &NodeSpan)| {
            let caller = self.calling_thread(call);
            first.get(&caller).filter(|first| span.begin < **first).map(|_| caller)
        };
        let before: Vec<Option<u32>> = MadeCallId::ids().zip(&self.calls).map(is_before).collect();
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        for caller in before.iter().flatten() {
            *counts.entry(*caller).or_default() += 1;
        }
        before
            .iter()
            .map(|of| of.is_some_and(|caller| counts[&caller] <= MAX_PREPARING_CALLS))
            .collect()
    }

    /// Matches each call with the requests.
    pub(super) fn match_requests(&self) -> Vec<RequestMatch> {
        let mut open: Vec<RequestId> = Vec::new();
        // The request that each thread received last.
        let mut last: FxHashMap<u32, RequestId> = FxHashMap::default();
        let mut fits = vec![RequestMatch::default(); self.calls.len()];
        for (_, event) in events(self) {
            match event {
                ServiceEvent::Receipt(request) => {
                    open.push(request);
                    if let Some([receiver, _]) = self.request_threads.get(request.index()) {
                        last.insert(*receiver, request);
                    }
                }
                ServiceEvent::Answer(_) => {}
                ServiceEvent::Reply(request) => open.retain(|open| *open != request),
                ServiceEvent::Call(call) => {
                    let lasts = |request: &RequestId| {
                        self.requests[request.index()].end != OPEN && self.outlasts(*request, call)
                    };
                    // A call may be for a request that is never answered, however long that stays
                    // open.
                    let is_answered =
                        |request: &RequestId| self.requests[request.index()].end != OPEN;
                    let are_answered = !open.is_empty() && open.iter().all(is_answered);
                    // The calling thread has received no other request since.
                    let thread = self.calling_thread(call);
                    let of_thread = last.get(&thread).filter(|_| thread != UNKNOWN_THREAD);
                    let is_thread_at_work =
                        of_thread.is_some_and(|last| self.is_still_working(*last, call));
                    fits[call.index()] = RequestMatch {
                        are_answered,
                        is_covered: open.iter().any(lasts),
                        is_thread_at_work,
                    };
                }
            }
        }
        fits
    }
}
