//! Log-likelihood of the calls and the response of a request under the model of its service.

use super::model::{CallDelay, ServiceModel, StepScores};
use super::request_state::RequestState;
use super::service::{MadeCallId, OPEN, REPLY, RequestId, Service, recent_calls};
use super::shapes::Shapes;
use super::trigger::{Trigger, open_calls};
use crate::evidence::Evidence;
use crate::tuning::auto::model::fit::{
    ANY_DELAY, MIN_NEXT, MIN_OPEN, MIN_SHAPED, NO_TRIGGER, NOT_COVERED, ORDER_WEIGHT, UNKNOWN_CALL,
};

/// Value of an absent delay.
pub(super) const NO_DELAY: i64 = i64::MIN;

impl ServiceModel {
    /// Log-likelihood of an action (a call or the response) at `time` for a request in the state
    /// `at`, if it comes after a delay that is distributed as `delay`. `triggered` is the time of
    /// its trigger; `own` is the delay in nanoseconds if this very action was a sample, or
    /// [`NO_DELAY`].
    fn timing(
        &self,
        service: &Service,
        at: &RequestState<'_>,
        delay: &CallDelay,
        triggered: Option<i64>,
        time: i64,
        own: i64,
    ) -> f64 {
        let begin = service.requests[at.request.index()].begin;
        let (since, missing) = match triggered {
            Some(since) => (since, 0.0),
            None => {
                let last = Trigger::Last.time(service, at.request, at.made, time);
                (last.unwrap_or(begin), NO_TRIGGER)
            }
        };
        let took = time.saturating_sub(service.free_since(since, time));
        let density = match service.evidence.contains(Evidence::Delays) {
            true => delay.density.log(took, since.saturating_sub(begin), own == took),
            false => ANY_DELAY,
        };
        density + missing + delay.open[open_calls(service, at.made, time)]
    }

    /// Log-likelihood of `call` for a request in the state `at`.
    pub(super) fn call(
        &mut self,
        service: &Service,
        shapes: &mut Shapes,
        at: &RequestState<'_>,
        call: MadeCallId,
    ) -> f64 {
        self.score_call(service, shapes, at, call).0
    }

    /// Time since which a request in the state `at` has been waiting to make `call`; `None`: it is
    /// not waiting.
    pub(super) fn waiting_since(
        &mut self,
        service: &Service,
        shapes: &mut Shapes,
        at: &RequestState<'_>,
        call: MadeCallId,
    ) -> Option<i64> {
        self.score_call(service, shapes, at, call).1
    }

    /// Log-likelihood of `call` for a request in the state `at`, and the time since which the
    /// request has been waiting to make it; `None` if it is not waiting.
    pub(super) fn score_call(
        &mut self,
        service: &Service,
        shapes: &mut Shapes,
        at: &RequestState<'_>,
        call: MadeCallId,
    ) -> (f64, Option<i64>) {
        let span = service.calls[call.index()];
        let kind = service.requests[at.request.index()].kind;
        let step = self.step(shapes, kind, at.shape, span.kind);
        let step = &self.memo.steps[step];
        let Some(delay) = &step.delay else { return (UNKNOWN_CALL, None) };
        let is_covered = service.covers(at.request, call);
        let triggered = delay.trigger.time(service, at.request, at.made, span.begin);
        let waiting =
            triggered.filter(|_| is_covered && step.waits(service, at, delay, span.begin));
        if !step.is_known {
            return (UNKNOWN_CALL, waiting);
        }
        let learned = self
            .learned_calls
            .get(call.index())
            .filter(|(request, _)| *request == Some(at.request));
        let own = learned.map_or(NO_DELAY, |(_, delay)| *delay);
        let sizes = self.sizes.odds(service, at.request, call, learned.is_some());
        let uncovered = if is_covered { 0.0 } else { NOT_COVERED };
        let shaped = if service.evidence.contains(Evidence::Shapes) { step.shaped } else { 0.0 };
        let order = if service.evidence.contains(Evidence::Order) { ORDER_WEIGHT } else { 0.0 };
        let score = shaped
            + self.timing(service, at, delay, triggered, span.begin, own)
            + order * step.next
            + uncovered
            + self.post_reply_score(service, at.request, call)
            + sizes
            + self.by_thread(service, at, span.kind, service.calling_thread(call), span.begin);
        (score, waiting)
    }

    /// Log-probability that a call of this kind is made after the response of the request, if
    /// `call` is; otherwise that it is made before the response.
    fn post_reply_score(&self, service: &Service, request: RequestId, call: MadeCallId) -> f64 {
        if !service.goes_on_after_answers() {
            return 0.0;
        }
        let (request, call) = (service.requests[request.index()], service.calls[call.index()]);
        let [before, after] =
            self.after_answer.get(&(request.kind, call.kind)).copied().unwrap_or([0.5; 2]);
        if call.begin > request.end { after.ln() } else { before.ln() }
    }

    /// Lookahead: evidence from the end of the call for the request.
    pub(super) fn lookahead(&self, service: &Service, request: RequestId, call: MadeCallId) -> f64 {
        let learned = self
            .learned_calls
            .get(call.index())
            .is_some_and(|(sampled, _)| *sampled == Some(request));
        self.lookaheads.lookahead(service, request, call, learned)
    }

    /// Log-likelihood that a request in the state `at` makes no further calls, and that its
    /// response comes at its time.
    pub(super) fn reply(
        &mut self,
        service: &Service,
        shapes: &Shapes,
        at: &RequestState<'_>,
    ) -> f64 {
        self.finish(service, shapes, at) + self.answer(service, at)
    }

    /// Log-likelihood of a request with exactly these calls, in the order of time, and of its
    /// response at its time.
    pub(super) fn request(
        &mut self,
        service: &Service,
        shapes: &mut Shapes,
        request: RequestId,
        made: &[MadeCallId],
    ) -> f64 {
        let (mut sum, mut shape) = (0.0, 0);
        for (at, call) in made.iter().enumerate() {
            let before = recent_calls(made.get(..at).unwrap_or_default());
            sum +=
                self.call(service, shapes, &RequestState { request, made: before, shape }, *call);
            shape = shapes.with_call(shape, service.calls[call.index()].kind);
        }
        sum + self.reply(
            service,
            shapes,
            &RequestState { request, made: recent_calls(made), shape },
        )
    }

    /// Log-likelihood that a request in the state `at` makes no further calls.
    pub(super) fn finish(
        &mut self,
        service: &Service,
        shapes: &Shapes,
        at: &RequestState<'_>,
    ) -> f64 {
        let kind = service.requests[at.request.index()].kind;
        let [least, just] = self.shape_log_probabilities(shapes, kind, at.shape);
        if service.evidence.contains(Evidence::Shapes) { just - least } else { 0.0 }
    }

    /// Log-likelihood of the time of the response to a request in the state `at`.
    pub(super) fn answer(&self, service: &Service, at: &RequestState<'_>) -> f64 {
        let request = service.requests[at.request.index()];
        if request.end == OPEN {
            return 0.0;
        }
        let own = self.learned_replies.get(at.request.index()).copied().unwrap_or(NO_DELAY);
        let at = &RequestState { made: before_answer(service, at.request, at.made), ..*at };
        let timing = self.delay_of(request.kind, REPLY, 0).map_or(UNKNOWN_CALL, |delay| {
            let triggered = delay.trigger.time(service, at.request, at.made, request.end);
            self.timing(service, at, delay, triggered, request.end, own)
        });
        timing
            + self.by_thread(service, at, REPLY, service.answering_thread(at.request), request.end)
    }

    /// Log-odds that `thread` makes a call of the kind `call`, or the reply, for the request rather
    /// than for another one.
    fn by_thread(
        &self,
        service: &Service,
        at: &RequestState<'_>,
        call: u32,
        thread: u32,
        time: i64,
    ) -> f64 {
        let kind = service.requests[at.request.index()].kind;
        self.threads.odds(kind, call, self.threads.sample(service, at, call, thread, time))
    }

    /// Log-likelihood of a call of this kind that is made for no request.
    pub(super) fn spontaneous(&self, kind: u32) -> f64 {
        self.spontaneous.get(&kind).copied().unwrap_or(UNKNOWN_CALL - 1.0)
    }
}

impl StepScores {
    /// Returns whether a request in the state `at` is waiting at `time` to make a call of this
    /// step, as it could have done since the call was triggered.
    fn waits(
        &self,
        service: &Service,
        at: &RequestState<'_>,
        delay: &CallDelay,
        time: i64,
    ) -> bool {
        self.shaped >= MIN_SHAPED
            && (!service.has_thread_time() || self.next >= MIN_NEXT)
            && delay.open[open_calls(service, at.made, time)] >= MIN_OPEN
    }
}

/// The calls `made` for a request, in their order, before its response.
pub(super) fn before_answer<'made>(
    service: &Service,
    request: RequestId,
    made: &'made [MadeCallId],
) -> &'made [MadeCallId] {
    let end = service.requests[request.index()].end;
    if !service.goes_on_after_answers() {
        return made;
    }
    let before = made.partition_point(|call| service.calls[call.index()].begin <= end);
    made.get(..before).unwrap_or(made)
}
