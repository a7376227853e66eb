//! Runs of workers that leave the response to other threads, and how runs are separated.

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::WorkerRun;
use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::observe::CONNECTING;
use crate::infer::auto::service::{MadeCallId, OPEN, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{
    MAX_EXCEPTIONS, MAX_OBJECTS, MAX_OUTSIDE, REQUESTS_PER_EXCEPTION,
};

/// Signals of workers, each by the worker's place and the time.
type SignalTimes = Vec<(usize, i64)>;

/// The calls of each thread that neither receives nor answers requests, in the order of time, if
/// nearly all calls are made by these threads.
pub(super) fn workers(service: &Service) -> Option<Vec<(u32, Vec<MadeCallId>)>> {
    let others: FxHashSet<u32> = service.request_threads.iter().flatten().copied().collect();
    let mut of_threads: FxHashMap<u32, Vec<MadeCallId>> = FxHashMap::default();
    let mut count = 0;
    for call in service.call_ids() {
        let thread = service.calling_thread(call);
        if thread != UNKNOWN_THREAD && !others.contains(&thread) {
            of_threads.entry(thread).or_default().push(call);
            count += 1;
        }
    }
    let outside = service.calls.len() - count;
    if count == 0 || outside as f64 > MAX_OUTSIDE * service.calls.len() as f64 {
        return None;
    }
    let mut workers: Vec<(u32, Vec<MadeCallId>)> = of_threads.into_iter().collect();
    workers.sort_unstable();
    Some(workers)
}

/// The runs of `workers` for this number of `requests`, separated in several ways, the likeliest
/// first, and for each way whether recorded signals separate the runs.
pub(super) fn split_runs(
    service: &Service,
    workers: &[(u32, Vec<MadeCallId>)],
    hand_offs: &[ServiceHandoff],
    requests: usize,
) -> Vec<(Vec<WorkerRun>, bool)> {
    let by_signals = by_signals(service, workers, hand_offs, requests);
    let by_signals = by_signals.into_iter().map(|runs| (runs, true));
    by_signals.chain(by_kinds(service, workers, requests).map(|runs| (runs, false))).collect()
}

/// Returns whether `count` is about the number of requests.
fn is_one_each(count: usize, requests: usize) -> bool {
    REQUESTS_PER_EXCEPTION * count.abs_diff(requests) <= requests
}

/// Runs whose boundaries are the signals of the worker at an object. A run ends with the signal if
/// the worker passes its work to the next thread, and begins with it if the worker signals that
/// there is space in the queue from which it took the work.
fn by_signals(
    service: &Service,
    workers: &[(u32, Vec<MadeCallId>)],
    hand_offs: &[ServiceHandoff],
    requests: usize,
) -> Vec<Vec<WorkerRun>> {
    let threads: FxHashMap<u32, usize> =
        workers.iter().enumerate().map(|(at, (thread, _))| (*thread, at)).collect();
    let mut of_objects: FxHashMap<i64, SignalTimes> = FxHashMap::default();
    for hand_off in hand_offs {
        if let Some(worker) = threads.get(&hand_off.from) {
            of_objects.entry(hand_off.object).or_default().push((*worker, hand_off.signalled));
        }
    }
    let mut objects: Vec<(usize, i64, SignalTimes)> = Vec::new();
    for (object, mut signals) in of_objects {
        signals.sort_unstable();
        // One signal may wake several threads.
        signals.dedup();
        if is_one_each(signals.len(), requests) {
            objects.push((signals.len().abs_diff(requests), object, signals));
        }
    }
    objects.sort_unstable();
    objects.truncate(MAX_OBJECTS);
    let variants =
        objects.into_iter().filter_map(|(_, _, signals)| cut(service, workers, &signals));
    variants.collect()
}

/// The runs between signals of each worker; `None` if calls are open across signals.
fn cut(
    service: &Service,
    workers: &[(u32, Vec<MadeCallId>)],
    signals: &[(usize, i64)],
) -> Option<Vec<WorkerRun>> {
    let begins = |call: &MadeCallId| service.calls[call.index()].begin;
    let signals_of = |worker: usize| {
        let first = signals.partition_point(|(of, _)| *of < worker);
        let rest = &signals[first..];
        &rest[..rest.partition_point(|(of, _)| *of == worker)]
    };
    // If most workers signal before their first call, they signal when they take work; otherwise
    // when they have done it.
    let is_first = |(worker, (_, calls)): (usize, &(u32, Vec<MadeCallId>))| {
        let asks = calls.iter().find(|call| service.calls[call.index()].kind < CONNECTING);
        let signal = signals_of(worker).first();
        signal.zip(asks).is_some_and(|((_, signal), call)| *signal < begins(call))
    };
    let first = workers.iter().enumerate().filter(|worker| is_first(*worker)).count();
    let at_beginning = 2 * first > workers.len();
    let (mut runs, mut broken, mut all) = (Vec::new(), 0, 0);
    for (worker, (thread, calls)) in workers.iter().enumerate() {
        let mut calls = calls.as_slice();
        let times: Vec<i64> = signals_of(worker).iter().map(|(_, time)| *time).collect();
        if at_beginning {
            let before =
                times.first().map_or(0, |time| calls.partition_point(|at| begins(at) < *time));
            calls = &calls[before..];
        }
        for (at, time) in times.iter().enumerate() {
            let until = if at_beginning { times.get(at + 1).copied() } else { Some(*time) };
            let next =
                until.map_or(calls.len(), |until| calls.partition_point(|at| begins(at) < until));
            let (own, rest) = calls.split_at(next);
            let until = until.unwrap_or(i64::MAX);
            all += own.len();
            broken += own.iter().filter(|call| is_cut(service, **call, until)).count();
            let mut run = run(service, *thread, own);
            if at_beginning {
                (run.begin, run.end) = (*time, run.end.max(*time));
            } else {
                (run.begin, run.end) = (run.begin.min(*time), *time);
                run.done = run.done.min(*time);
            }
            if own.is_empty() {
                run.done = *time;
            }
            runs.push(run);
            calls = rest;
        }
    }
    (broken as f64 <= MAX_EXCEPTIONS * all as f64).then_some(runs)
}

/// Returns whether a call continues after the time `until`.
fn is_cut(service: &Service, call: MadeCallId, until: i64) -> bool {
    let span = service.calls[call.index()];
    span.end != OPEN && span.end > until && !service.is_unsure(call)
}

/// A run of these calls. It begins with the first call that does not make a connection, since a
/// worker may make one before there is work.
fn run(service: &Service, thread: u32, calls: &[MadeCallId]) -> WorkerRun {
    let spans = || calls.iter().map(|call| service.calls[call.index()]);
    let asked = spans().find(|span| span.kind < CONNECTING).or(spans().next());
    let end = spans().map(|span| if span.end == OPEN { span.begin } else { span.end }).max();
    let end = end.unwrap_or(i64::MIN);
    WorkerRun {
        thread,
        begin: asked.map_or(i64::MAX, |span| span.begin),
        done: end,
        end,
        calls: calls.to_vec(),
    }
}

/// Runs that each begin with one kind of call: among the kinds that occur once for each request,
/// the one with which most workers begin.
fn by_kinds(
    service: &Service,
    workers: &[(u32, Vec<MadeCallId>)],
    requests: usize,
) -> Option<Vec<WorkerRun>> {
    let kind = |call: &MadeCallId| service.calls[call.index()].kind;
    let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
    for call in workers.iter().flat_map(|(_, calls)| calls) {
        *counts.entry(kind(call)).or_default() += 1;
    }
    counts.retain(|kind, count| *kind < CONNECTING && is_one_each(*count, requests));
    let mut first: FxHashMap<u32, usize> = FxHashMap::default();
    for (_, calls) in workers {
        if let Some(call) = calls.iter().find(|call| counts.contains_key(&kind(call))) {
            *first.entry(kind(call)).or_default() += 1;
        }
    }
    let begins = first.into_iter().max_by_key(|(kind, count)| (*count, *kind))?.0;
    let (mut runs, mut broken, mut all) = (Vec::new(), 0, 0);
    for (thread, calls) in workers {
        let places: Vec<usize> =
            (0..calls.len()).filter(|at| kind(&calls[*at]) == begins).collect();
        for (at, place) in places.iter().enumerate() {
            let next = places.get(at + 1);
            let own = &calls[*place..next.map_or(calls.len(), |next| *next)];
            let until = next.map_or(i64::MAX, |next| service.calls[calls[*next].index()].begin);
            all += own.len();
            broken += own.iter().filter(|call| is_cut(service, **call, until)).count();
            runs.push(run(service, *thread, own));
        }
    }
    (broken as f64 <= MAX_EXCEPTIONS * all as f64).then_some(runs)
}
