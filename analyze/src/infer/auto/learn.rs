//! Learns the model of a service from an assignment of its calls to its requests: the counting half
//! of expectation maximisation. The trigger of each kind of call is chosen here: the trigger after
//! which the delay is most predictable, that is, has the least entropy.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::density::{Axis, Density};
use super::fit::{NO_DELAY, before_answer};
use super::model::{CallDelay, ServiceModel};
use super::request_state::RequestState;
use super::service::REPLY;
use super::service::{MadeCallId, OPEN, RequestId, Service, recent_calls};
use super::shapes::Shapes;
use super::threads::{self, ThreadEvidence};
use super::trigger::{Trigger, open_calls};
use crate::evidence::Evidence;
use crate::tuning::auto::learning::learn::{
    ALWAYS_SHARE, LAST_EVENT_PREFERENCE, MAX_SHAPES_OF_KIND, MIN_SAMPLES, UNSEEN_CALLS,
};
use crate::tuning::auto::model::fit::SLOTS;

/// The samples of one kind of call for one kind of request.
#[derive(Default)]
struct CallSamples {
    /// The request and the call of each sample; `None` for the reply.
    of: Vec<(RequestId, Option<MadeCallId>)>,
    /// Delays by trigger: the call, its delay, and the time from the receipt to the trigger, in
    /// nanoseconds.
    after: FxHashMap<Trigger, Vec<(u32, i64, i64)>>,
    /// Number of samples with 0, 1, 2, and 3 or more other open calls.
    open: [f64; 4],
    threads: Vec<threads::ThreadSample>,
}

impl CallSamples {
    /// Adds the `call` (or, without one, the reply) of a request that had made the calls `made`
    /// before `time`.
    fn add(
        &mut self,
        service: &Service,
        request: RequestId,
        call: Option<MadeCallId>,
        made: &[MadeCallId],
        time: i64,
    ) {
        let at = self.of.len() as u32;
        let begin = service.requests[request.index()].begin;
        self.of.push((request, call));
        let mut add = |trigger: Trigger| {
            if let Some(since) = trigger.time(service, request, made, time) {
                let delay = time.saturating_sub(service.free_since(since, time));
                self.after.entry(trigger).or_default().push((
                    at,
                    delay,
                    since.saturating_sub(begin),
                ));
            }
        };
        [Trigger::Receipt, Trigger::Last, Trigger::LastEnd].into_iter().for_each(&mut add);
        if service.goes_on_after_answers() && call.is_some() {
            add(Trigger::Answer);
        }
        let mut kinds: Vec<u32> =
            made.iter().map(|call| service.calls[call.index()].kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            add(Trigger::Start(kind));
            add(Trigger::End(kind));
        }
        self.open[open_calls(service, made, time)] += 1.0;
    }

    /// The trigger after which delays have the least entropy.
    fn trigger(&self, axis: Axis) -> Trigger {
        let mut best = (Trigger::Last, f64::INFINITY);
        let mut triggers: Vec<_> = self.after.iter().collect();
        triggers.sort_unstable_by_key(|(trigger, _)| **trigger);
        for (trigger, after) in triggers {
            if (after.len() as f64) < ALWAYS_SHARE * self.of.len() as f64 {
                continue;
            }
            let preferred = if *trigger == Trigger::Last { LAST_EVENT_PREFERENCE } else { 0.0 };
            let entropy = axis.entropy(after.iter().map(|(_, delay, _)| *delay)) - preferred;
            if entropy < best.1 {
                best = (*trigger, entropy);
            }
        }
        best.0
    }

    /// The delay of these calls after their trigger. The delay of each sample is recorded in
    /// `learned`. `has_context`: it may depend on the time from the receipt to the trigger.
    fn delay(&self, axis: Axis, has_context: bool, learned: &mut LearnedDelays) -> CallDelay {
        let trigger = self.trigger(axis);
        let none = Vec::new();
        let after = self.after.get(&trigger).unwrap_or(&none);
        let delays: Vec<i64> = after.iter().map(|(_, delay, _)| *delay).collect();
        let known: Vec<i64> = after.iter().map(|(_, _, known)| *known).collect();
        let conditional = has_context && trigger != Trigger::Receipt && delays.len() >= MIN_SAMPLES;
        for (at, delay, _) in after {
            let (request, call) = self.of[*at as usize];
            match call {
                None => learned.replies[request.index()] = *delay,
                Some(call) => learned.calls[call.index()] = (Some(request), *delay),
            }
        }
        let total: f64 = self.open.iter().sum::<f64>() + 1.2;
        CallDelay {
            trigger,
            density: Density::from_delays(axis, &delays, conditional.then_some(&known)),
            open: self.open.map(|count| ((count + 0.3) / total).ln()),
        }
    }
}

/// Delays of the calls and replies from which the model is learned, in nanoseconds.
struct LearnedDelays {
    /// The request of each call, and its delay.
    calls: Vec<(Option<RequestId>, i64)>,
    replies: Vec<i64>,
}

/// Learns a model from the calls `made` for each request, restricted to the requests that
/// `is_used`.
pub(super) fn learn(
    service: &Service,
    made: &[Vec<MadeCallId>],
    is_used: impl Fn(usize) -> bool,
    shapes: &mut Shapes,
    axis: Axis,
) -> ServiceModel {
    let mut model = ServiceModel {
        threads: ThreadEvidence::from_service(service),
        usual: service.usual.clone(),
        ..ServiceModel::default()
    };
    let mut learned = LearnedDelays {
        calls: vec![(None, NO_DELAY); service.calls.len()],
        replies: vec![NO_DELAY; service.requests.len()],
    };
    let mut samples: FxHashMap<(u32, u32, u32), CallSamples> = FxHashMap::default();
    let mut ended: Vec<(u32, u32)> = Vec::new();
    // The end of a request that was still open when this part of the service ended is not known.
    let is_complete = |request: usize| {
        service.until.is_none_or(|until| service.request_end(&service.requests[request]) <= until)
    };
    let is_any_complete = (0..made.len()).any(|request| is_used(request) && is_complete(request));
    let is_used = |request: usize| is_used(request) && (is_complete(request) || !is_any_complete);
    for (request, made) in
        RequestId::ids().zip(made).filter(|(request, _)| is_used(request.index()))
    {
        let span = service.requests[request.index()];
        let mut shape = 0;
        for (at, call) in made.iter().enumerate() {
            let Some((before, _)) = made.split_at_checked(at) else { continue };
            let of = service.calls[call.index()];
            let slot = shapes.count(shape, of.kind).min(SLOTS - 1);
            if service.goes_on_after_answers() {
                let is_after = usize::from(of.begin > span.end);
                model.after_answer.entry((span.kind, of.kind)).or_insert([0.5; 2])[is_after] += 1.0;
            }
            let samples = samples.entry((span.kind, of.kind, slot)).or_default();
            samples.add(service, request, Some(*call), recent_calls(before), of.begin);
            let at = RequestState { request, made: recent_calls(before), shape };
            let thread = service.calling_thread(*call);
            samples.threads.extend(model.threads.sample(service, &at, of.kind, thread, of.begin));
            let next = model.next.entry((span.kind, shape)).or_default();
            match next.iter_mut().find(|(kind, _)| *kind == of.kind) {
                Some((_, count)) => *count += 1.0,
                None => next.push((of.kind, 1.0)),
            }
            shape = shapes.with_call(shape, of.kind);
        }
        let (kind, all) = (span.kind, shape);
        if span.end != OPEN {
            let made = before_answer(service, request, made);
            let samples = samples.entry((span.kind, REPLY, 0)).or_default();
            samples.add(service, request, None, recent_calls(made), span.end);
            let at = RequestState { request, made: recent_calls(made), shape };
            let thread = service.answering_thread(request);
            samples.threads.extend(model.threads.sample(service, &at, REPLY, thread, span.end));
        }
        ended.push((kind, all));
    }
    for counts in model.after_answer.values_mut() {
        let all: f64 = counts.iter().sum();
        *counts = counts.map(|count| count / all);
    }
    let mut keys: Vec<_> = samples.keys().copied().collect();
    keys.sort_unstable();
    learn_threads(&mut model.threads, &samples, &keys);
    for key in keys {
        let delay =
            samples[&key].delay(axis, service.evidence.contains(Evidence::Context), &mut learned);
        model.triggers.push(delay.trigger);
        model.delays.insert(key, Arc::new(delay));
    }
    (model.learned_calls, model.learned_replies) =
        (Arc::new(learned.calls), Arc::new(learned.replies));
    model.triggers.sort_unstable();
    model.triggers.dedup();
    model.triggers.retain(|trigger| !matches!(trigger, Trigger::Last | Trigger::Receipt));
    count_shapes(&mut model, shapes, ended);
    count_spontaneous(&mut model, service, made);
    model
}

/// Learns the evidence of threads, by the kinds of request and call of all `keys`, which are
/// sorted.
fn learn_threads(
    threads: &mut ThreadEvidence,
    samples: &FxHashMap<(u32, u32, u32), CallSamples>,
    keys: &[(u32, u32, u32)],
) {
    for same in keys.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let of_kinds: Vec<threads::ThreadSample> =
            same.iter().flat_map(|key| &samples[key].threads).copied().collect();
        threads.learn(same[0].0, same[0].1, &of_kinds);
    }
}

/// Counts the final shapes of the requests of each kind; `ended` has the kind and the shape of each
/// request.
fn count_shapes(model: &mut ServiceModel, shapes: &Shapes, mut ended: Vec<(u32, u32)>) {
    ended.sort_unstable();
    model.own_requests = if ended.len() < 2 { 0.0 } else { 1.0 };
    let requests = ended.len() as f64;
    for of_kind in ended.chunk_by(|one, other| one.0 == other.0) {
        let kind = of_kind[0].0;
        let mut finals: Vec<(u32, f64)> = of_kind
            .chunk_by(|one, other| one == other)
            .map(|same| (same[0].1, same.len() as f64))
            .collect();
        let mut kinds: Vec<u32> = finals
            .iter()
            .flat_map(|(shape, _)| shapes.counts(*shape))
            .map(|(call, _)| *call)
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        let counts = kinds.into_iter().map(|call| {
            let mut counts: Vec<f64> = Vec::new();
            for (shape, requests) in &finals {
                let count = shapes.count(*shape, call) as usize;
                counts.resize(counts.len().max(count + 1), 0.0);
                counts[count] += requests;
            }
            (call, counts)
        });
        let counts: Vec<(u32, Vec<f64>)> = counts.collect();
        for (call, counts) in &counts {
            let of_all = model.counts_of_all.entry(*call).or_default();
            of_all.resize(of_all.len().max(counts.len()), 0.0);
            of_all.iter_mut().zip(counts).for_each(|(of_all, count)| *of_all += count);
        }
        model.counts.insert(kind, counts);
        // Requests with rarer shapes are treated as requests of any shape.
        finals.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        finals.truncate(MAX_SHAPES_OF_KIND);
        model.finals.insert(kind, finals);
    }
    // Requests of kinds that make no calls of a kind made none.
    for counts in model.counts_of_all.values_mut() {
        counts[0] += requests - counts.iter().sum::<f64>();
    }
}

/// Learns how often calls are made for no request, for the kinds with a known delay.
fn count_spontaneous(model: &mut ServiceModel, service: &Service, made: &[Vec<MadeCallId>]) {
    let times = || service.requests.iter().chain(&service.calls).map(|span| span.begin);
    let span =
        times().max().zip(times().min()).map_or(1, |(last, first)| last.saturating_sub(first));
    let mut counts: FxHashMap<u32, f64> = FxHashMap::default();
    service.calls.iter().for_each(|call| *counts.entry(call.kind).or_default() += 1.0);
    for call in made.iter().flatten() {
        *counts.entry(service.calls[call.index()].kind).or_default() -= 1.0;
    }
    for (_, call, _) in model.delays.keys() {
        if let Some(count) = counts.get(call) {
            model.spontaneous.insert(*call, ((count + UNSEEN_CALLS) / span.max(1) as f64).ln());
        }
    }
}
