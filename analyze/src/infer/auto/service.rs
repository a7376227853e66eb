//! A service: the requests that one node received and answered, and the calls that it made, all in
//! nanoseconds on its own clock. Everything is inferred for one service at a time, from these times
//! and kinds alone.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::call_evidence::CallEvidence;
use crate::calls::CallId;
use crate::evidence::{EnabledEvidence, Evidence};
pub(super) use crate::infer::call_links::recent_calls;
pub(super) use crate::infer::call_links::{MadeCallId, RequestId};
use crate::infer::call_links::{NodeCalls, WorkItem};
pub(super) use crate::infer::span::{NodeSpan, OPEN};
use crate::infer::words::WordClaim;
use crate::tuning::auto::services::service::{EVENTS_PER_OTHER_THREAD, TOGETHER_SHARE};

/// The requests and calls of one node, each by time.
#[derive(Debug, Default)]
pub(super) struct Service {
    pub(super) requests: Vec<NodeSpan>,
    pub(super) calls: Vec<NodeSpan>,
    /// The threads that received and that answered each request, by their numbers.
    /// [`UNKNOWN_THREAD`] if one is not known; empty if none is.
    pub(super) request_threads: Vec<[u32; 2]>,
    /// The threads that made each call and that received its response, likewise.
    pub(super) call_threads: Vec<[u32; 2]>,
    /// Sizes of each request and its response, in bytes; [`UNKNOWN_SIZE`] if one is not known.
    /// Empty if none is.
    pub(super) request_sizes: Vec<[i64; 2]>,
    /// Sizes of each call and its response, likewise.
    pub(super) call_sizes: Vec<[i64; 2]>,
    /// Time for which each response was being sent, from its first byte to its last, in
    /// nanoseconds. Empty if all are zero.
    pub(super) answering: Vec<i64>,
    /// The call before each call on the same connection. Empty if no connection is known.
    pub(super) call_before: Vec<Option<MadeCallId>>,
    /// The call after each call on the same connection. Empty if no connection is known.
    pub(super) call_after: Vec<Option<MadeCallId>>,
    /// Whether it is ambiguous which response each call has, and so when it ended.
    pub(super) call_unsure: Vec<bool>,
    /// The request that the thread of each call is bound to, if any. Empty if threads prove
    /// nothing.
    pub(super) bound_to: Vec<Option<RequestId>>,
    /// The alternative job of each call of a pool, besides the one that its thread seems to do.
    /// Empty if there is no pool.
    pub(super) alternative_job: Vec<Option<RequestId>>,
    /// The request of each call that was found to be delegated or early work, or that shares a rare
    /// word with this request. Both are given as in the trace.
    pub(super) attributed_to: FxHashMap<CallId, WorkItem>,
    /// What shows the request of a call in `attributed_to`, if the request is not ambiguous.
    pub(super) shown_by: FxHashMap<CallId, CallEvidence>,
    /// The alternative request of each call with an ambiguous request, with its probability. Both
    /// are given as in the trace.
    pub(super) alternative_request: FxHashMap<CallId, (WorkItem, f64)>,
    /// The requests that a call may have been made for according to a tracer, for each call that
    /// the tracer recorded. All are given as in our own trace.
    pub(super) traced_for: FxHashMap<CallId, Vec<WorkItem>>,
    /// The id of the tracer's trace of each request, 0 if it is not known. Empty if no call has
    /// one.
    pub(super) request_traces: Vec<u64>,
    /// The id of the tracer's trace of each call, likewise.
    pub(super) call_traces: Vec<u64>,
    /// The requests that share rare words with each call. Calls are given as in the trace.
    pub(super) word_claims: FxHashMap<CallId, Arc<WordClaim>>,
    /// For each request, another request that may have caused its work instead. Empty if no work
    /// starts before its announcement.
    pub(super) rivals: Vec<Option<RequestId>>,
    /// The request or delivery that each request is in the trace.
    pub(super) request_calls: Vec<WorkItem>,
    /// Each call in the trace.
    pub(super) made_calls: Vec<CallId>,
    /// Further calls of the trace that the node made by a timer or to ask for work, for no request.
    pub(super) timer_calls: Vec<CallId>,
    /// Whether no message is answered here, and requests end when the work that they cause is
    /// likely done.
    pub(super) one_way: bool,
    /// Whether this is an event loop. `Some` only for pooled processes; otherwise
    /// [`Service::is_event_loop`] derives it from the threads.
    pub(super) is_loop: Option<bool>,
    /// Whether some kinds of requests are never answered: these end when the work that they cause
    /// is likely done.
    pub(super) has_unanswered_kinds: bool,
    /// Time after which a request without a response is closed, in nanoseconds.
    pub(super) window: i64,
    /// Time after which a request of a kind is closed without a response, in nanoseconds, if the
    /// usual duration of the kind is known.
    pub(super) patience: FxHashMap<u32, i64>,
    /// Time after its response for which calls may still be made for a request, in nanoseconds.
    pub(super) linger: i64,
    /// The kinds of calls that are seen after responses, sorted.
    pub(super) after_answer: Vec<u32>,
    /// The kinds of calls with responses that requests do not wait for, sorted.
    pub(super) unwaited: Vec<u32>,
    /// Time at which this part of the service ends, in nanoseconds; `None` in the last part.
    pub(super) until: Option<i64>,
    /// Kinds of evidence that are enabled.
    pub(super) evidence: EnabledEvidence,
    /// Times at which the only thread acted, sorted, if delays are measured in thread time
    /// ([`super::thread_time`]). Otherwise empty.
    pub(super) active_at: Vec<i64>,
    /// The times of the first and the last call that one system call sent, for each system call
    /// that sent several, in order.
    pub(super) shared_writes: Vec<[i64; 2]>,
    /// Usual number of calls of each kind for a request, if there are coalesced writes.
    pub(super) usual: FxHashMap<u32, u32>,
}

/// The kind of the reply, as if it were a call.
pub(super) const REPLY: u32 = u32::MAX;
/// The number of an unknown thread.
pub(super) const UNKNOWN_THREAD: u32 = u32::MAX;
/// The size of an unseen message.
pub(super) const UNKNOWN_SIZE: i64 = -1;

impl Service {
    /// All requests, in order.
    pub(super) fn request_ids(&self) -> impl Iterator<Item = RequestId> + Clone + use<> {
        RequestId::ids().take(self.requests.len())
    }

    /// All calls, in order.
    pub(super) fn call_ids(&self) -> impl Iterator<Item = MadeCallId> + Clone + use<> {
        MadeCallId::ids().take(self.calls.len())
    }

    /// Returns whether the call can have been made for the request and, if requests wait for such
    /// calls, ended before the request was answered.
    #[inline]
    pub(super) fn covers(&self, request: RequestId, call: MadeCallId) -> bool {
        let is_unwaited = || self.unwaited.binary_search(&self.calls[call.index()].kind).is_ok();
        self.outlasts(request, call)
            || !self.unwaited.is_empty()
                && is_unwaited()
                && !self.is_itself(request, call)
                && !self.are_of_two_traces(request, call)
                && self.requests[request.index()].end >= self.calls[call.index()].begin
    }

    /// Returns whether the request lasted until the call had ended, or the call can be post-reply
    /// work of the request.
    #[inline]
    pub(super) fn outlasts(&self, request: RequestId, call: MadeCallId) -> bool {
        let (is_itself, is_unsure) = (self.is_itself(request, call), self.is_unsure(call));
        if self.are_of_two_traces(request, call) {
            return false;
        }
        let closed = self.closed_at(request);
        let (request, call) = (self.requests[request.index()], self.calls[call.index()]);
        if call.begin > request.end {
            return !is_itself && call.begin <= closed;
        }
        let by_its_begin =
            is_unsure || call.end == OPEN || !self.evidence.contains(Evidence::Nesting);
        !is_itself && request.end >= if by_its_begin { call.begin } else { call.end }
    }

    /// Returns whether it is ambiguous when the call ended.
    #[inline]
    pub(super) fn is_unsure(&self, call: MadeCallId) -> bool {
        self.call_unsure.get(call.index()).copied().unwrap_or(false)
    }

    /// The request that the thread of the call is bound to.
    #[inline]
    pub(super) fn bound_request(&self, call: MadeCallId) -> Option<RequestId> {
        self.bound_to.get(call.index()).copied().flatten()
    }

    /// The previous call on its connection.
    #[inline]
    pub(super) fn previous_call(&self, call: MadeCallId) -> Option<MadeCallId> {
        self.call_before.get(call.index()).copied().flatten()
    }

    /// Time of the next call on the connection of `call`, if that is after `time` and before the
    /// request is closed.
    pub(super) fn next_call_time(
        &self,
        call: MadeCallId,
        request: RequestId,
        time: i64,
    ) -> Option<i64> {
        let next = self.call_after.get(call.index()).copied().flatten()?;
        let next = self.calls.get(next.index())?;
        (next.begin > time && next.begin <= self.closed_at(request)).then_some(next.begin)
    }

    /// The thread that made the call.
    #[inline]
    pub(super) fn calling_thread(&self, call: MadeCallId) -> u32 {
        self.call_threads.get(call.index()).map_or(UNKNOWN_THREAD, |[thread, _]| *thread)
    }

    /// The thread that answered the request.
    #[inline]
    pub(super) fn answering_thread(&self, request: RequestId) -> u32 {
        self.request_threads.get(request.index()).map_or(UNKNOWN_THREAD, |[_, thread]| *thread)
    }

    /// Returns whether one thread receives all requests, makes all calls and receives their
    /// responses: an event loop, which processes events in the order in which they arrive.
    pub(super) fn is_event_loop(&self) -> bool {
        if let Some(is_loop) = self.is_loop {
            return is_loop;
        }
        let receivers = self.request_threads.iter().map(|[receiver, _]| receiver);
        let threads = receivers.chain(self.call_threads.iter().flatten());
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        for thread in threads.filter(|thread| **thread != UNKNOWN_THREAD) {
            *counts.entry(*thread).or_default() += 1;
        }
        let (all, most) = (counts.values().sum::<usize>(), counts.values().max());
        most.is_some_and(|most| (all - most) * EVENTS_PER_OTHER_THREAD <= *most)
    }

    /// Returns whether the service has a single order: an event loop processes events FIFO, and a
    /// writer that sends several calls together takes them from one queue, whichever thread put
    /// them there.
    pub(super) fn is_fifo(&self) -> bool {
        self.is_event_loop() || self.has_coalesced_writes()
    }

    /// Returns whether many calls were sent together with others by one system call.
    pub(super) fn has_coalesced_writes(&self) -> bool {
        let first = self.calls.first().map_or(0, |call| call.begin);
        let last = self.calls.last().map_or(0, |call| call.begin);
        let of = self.shared_writes.iter().filter(|[begin, _]| (first..=last).contains(begin));
        let together: i64 = of.map(|[first, last]| last - first + 1).sum();
        together as f64 >= TOGETHER_SHARE * self.calls.len() as f64 && together > 0
    }

    /// Time of the first call sent by the system call that sent the call at `time`, if it sent
    /// several. None of these calls triggers another one.
    #[inline]
    pub(super) fn shared_write(&self, time: i64) -> Option<i64> {
        let place = self.shared_writes.partition_point(|[_, last]| *last < time);
        self.shared_writes.get(place).map(|[first, _]| *first).filter(|first| *first <= time)
    }

    /// Returns whether the request and the call are the two ends of one call that the node makes to
    /// itself.
    #[inline]
    pub(super) fn is_itself(&self, request: RequestId, call: MadeCallId) -> bool {
        let request = self.request_calls.get(request.index());
        let request = request.and_then(|item| item.requesting_call());
        request.is_some() && request.as_ref() == self.made_calls.get(call.index())
    }

    /// Returns whether this is a service of calls: there are requests, and at least half of them,
    /// and of the requests and calls together, have responses. A service with deliveries, or only
    /// with one-way messages, counts as answered, since no response to these is expected. The calls
    /// of all other services are not assigned to requests, but left to message linking.
    pub(super) fn is_answered(&self) -> bool {
        if self.one_way || self.request_calls.iter().any(|item| item.is_delivery()) {
            return true;
        }
        let answered = |spans: &[NodeSpan]| spans.iter().filter(|span| span.end != OPEN).count();
        let [requests, calls] =
            [&self.requests, &self.calls].map(|spans| (answered(spans), spans.len()));
        // A few messages without responses are tolerated, such as unsolicited messages of a server.
        requests.1 > 0
            && 2 * requests.0 >= requests.1
            && 2 * (requests.0 + calls.0) >= requests.1 + calls.1
    }

    /// The resolution of the times in nanoseconds: the largest power of ten that divides all of
    /// them, from a microsecond, below which there is no causal information, to a millisecond.
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

    /// The requests and calls from which the links of the service are made.
    pub(super) fn node_calls(&self) -> NodeCalls<'_> {
        NodeCalls {
            requests: &self.requests,
            request_calls: &self.request_calls,
            calls: &self.calls,
            made_calls: &self.made_calls,
        }
    }

    /// The end of the request.
    #[inline]
    pub(super) fn request_end(&self, request: &NodeSpan) -> i64 {
        let patience = || self.patience.get(&request.kind).copied().unwrap_or(self.window);
        let end = if request.end == OPEN {
            request.begin.saturating_add(patience())
        } else {
            request.end
        };
        end.max(request.begin)
    }

    /// Time after which no more calls are made for the request.
    #[inline]
    pub(super) fn closed_at(&self, request: RequestId) -> i64 {
        let span = &self.requests[request.index()];
        let linger = if span.end == OPEN {
            0
        } else {
            self.linger.saturating_add(self.response_send_time(request))
        };
        self.request_end(span).saturating_add(linger)
    }

    /// Time for which the response to the request was being sent.
    #[inline]
    pub(super) fn response_send_time(&self, request: RequestId) -> i64 {
        self.answering.get(request.index()).copied().unwrap_or(0)
    }

    /// Returns whether calls may be made for requests during or after their responses.
    #[inline]
    pub(super) fn goes_on_after_answers(&self) -> bool {
        self.linger > 0 || !self.answering.is_empty()
    }
}
