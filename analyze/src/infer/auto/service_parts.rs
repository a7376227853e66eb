//! Adds requests and calls to a service one by one, and extracts parts of it.

use rustc_hash::FxHashMap;

use super::service::{MadeCallId, Service};
use crate::calls::CallId;
use crate::infer::call_links::WorkItem;
use crate::infer::span::NodeSpan;
use crate::tuning::auto::services::service::MAX_CALLS_PER_REQUEST;

/// A request of a service, in one row of its columns.
pub(super) struct RequestRow {
    pub(super) span: NodeSpan,
    /// The threads that received the request, and that answered it.
    pub(super) threads: [u32; 2],
    /// The size of the request, and of its response, in bytes.
    pub(super) bytes: [i64; 2],
    /// Nanoseconds for which the response was being sent.
    pub(super) answering: i64,
    /// The request or delivery in the trace.
    pub(super) item: WorkItem,
}

/// A call of a service, in one row of its columns.
pub(super) struct CallRow {
    pub(super) span: NodeSpan,
    /// The threads that made the call, and that received its response.
    pub(super) threads: [u32; 2],
    /// The size of the call, and of its response, in bytes.
    pub(super) bytes: [i64; 2],
    /// The previous call on the same connection.
    pub(super) before: Option<MadeCallId>,
    /// Whether it is ambiguous which response the call has.
    pub(super) is_unsure: bool,
    /// The call in the trace.
    pub(super) call: CallId,
}

impl Service {
    /// Adds a request.
    pub(super) fn add_request(&mut self, request: RequestRow) {
        let RequestRow { span, threads, bytes, answering, item } = request;
        self.requests.push(span);
        self.request_threads.push(threads);
        self.request_sizes.push(bytes);
        self.answering.push(answering);
        self.request_calls.push(item);
    }

    /// Adds a call.
    pub(super) fn add_call(&mut self, made: CallRow) {
        let CallRow { span, threads, bytes, before, is_unsure, call } = made;
        self.calls.push(span);
        self.call_threads.push(threads);
        self.call_sizes.push(bytes);
        self.call_before.push(before);
        self.call_unsure.push(is_unsure);
        self.made_calls.push(call);
    }

    /// Records that the call at `time` was sent by the same system call as the call before it,
    /// which has a time a nanosecond earlier.
    pub(super) fn add_to_write(&mut self, time: i64) {
        match self.shared_writes.last_mut() {
            Some([_, last]) if *last == time - 1 => *last = time,
            _ => self.shared_writes.push([time - 1, time]),
        }
    }

    /// The beginning of the service, of about `size` requests and as many calls, but not many times
    /// as many calls.
    pub(super) fn prefix_of_size(&self, size: usize) -> Service {
        if size >= self.requests.len() && MAX_CALLS_PER_REQUEST * size >= self.calls.len() {
            return self.prefix_until(self.requests.len(), self.calls.len(), None);
        }
        let at =
            |spans: &[NodeSpan], place: usize| spans.get(place).map_or(i64::MAX, |span| span.begin);
        let enough = at(&self.requests, size).max(at(&self.calls, size));
        let until = enough.min(at(&self.calls, MAX_CALLS_PER_REQUEST * size));
        let before = |spans: &[NodeSpan], least: usize| {
            spans.partition_point(|span| span.begin < until).max(least.min(spans.len()))
        };
        self.prefix_until(before(&self.requests, 1), before(&self.calls, size), Some(until))
    }

    /// Keeps the calls at these places, which need not be in order.
    pub(super) fn keep_calls(&mut self, places: &[u32]) {
        let mut place_of = vec![None; self.calls.len()];
        for (at, call) in places.iter().zip(MadeCallId::ids()) {
            place_of[*at as usize] = Some(call);
        }
        pick(&mut self.calls, places);
        pick(&mut self.made_calls, places);
        pick(&mut self.call_threads, places);
        pick(&mut self.call_sizes, places);
        pick(&mut self.call_before, places);
        pick(&mut self.call_unsure, places);
        for before in &mut self.call_before {
            *before = before.and_then(|before| place_of[before.index()]);
        }
    }

    /// Keeps the requests at these places, which need not be in order.
    pub(super) fn keep_requests(&mut self, places: &[u32]) {
        pick(&mut self.requests, places);
        pick(&mut self.request_calls, places);
        pick(&mut self.request_threads, places);
        pick(&mut self.request_sizes, places);
        pick(&mut self.answering, places);
    }

    /// The first `requests` requests and `calls` calls of the service, up to the time `until`.
    pub(super) fn prefix_until(
        &self,
        requests: usize,
        calls: usize,
        until: Option<i64>,
    ) -> Service {
        Service {
            requests: self.requests[..requests].to_vec(),
            calls: self.calls[..calls].to_vec(),
            request_threads: self.request_threads.iter().take(requests).copied().collect(),
            call_threads: self.call_threads.iter().take(calls).copied().collect(),
            request_sizes: self.request_sizes.iter().take(requests).copied().collect(),
            call_sizes: self.call_sizes.iter().take(calls).copied().collect(),
            answering: self.answering.iter().take(requests).copied().collect(),
            call_before: self.call_before.iter().take(calls).copied().collect(),
            call_after: self.call_after.iter().take(calls).copied().collect(),
            call_unsure: self.call_unsure.iter().take(calls).copied().collect(),
            bound_to: self.bound_to.iter().take(calls).copied().collect(),
            alternative_job: self.alternative_job.iter().take(calls).copied().collect(),
            attributed_to: FxHashMap::default(),
            shown_by: FxHashMap::default(),
            alternative_request: FxHashMap::default(),
            traced_for: FxHashMap::default(),
            request_traces: self.request_traces.iter().take(requests).copied().collect(),
            call_traces: self.call_traces.iter().take(calls).copied().collect(),
            word_claims: FxHashMap::default(),
            rivals: self.rivals.iter().take(requests).copied().collect(),
            request_calls: self.request_calls.iter().take(requests).copied().collect(),
            made_calls: self.made_calls.iter().take(calls).copied().collect(),
            timer_calls: Vec::new(),
            one_way: self.one_way,
            is_loop: self.is_loop,
            has_unanswered_kinds: self.has_unanswered_kinds,
            window: self.window,
            patience: self.patience.clone(),
            linger: self.linger,
            after_answer: self.after_answer.clone(),
            unwaited: self.unwaited.clone(),
            until,
            evidence: self.evidence,
            active_at: self.active_at.clone(),
            shared_writes: self.shared_writes.clone(),
            usual: self.usual.clone(),
        }
    }
}

/// Keeps the values at these places, in their order; an empty column stays empty.
fn pick<T: Copy>(column: &mut Vec<T>, places: &[u32]) {
    *column = places.iter().filter_map(|at| column.get(*at as usize).copied()).collect();
}
