//! Delegated replies: responses that other threads write for workers. A worker of a server with
//! several requests per connection delegates some responses to the thread that writes to the
//! connection. So the calls between two of its own responses may be for several requests.
//!
//! The responses that workers write themselves show which calls a request of each kind makes. With
//! these plans the calls between two own responses are cut into runs: the last run belongs to the
//! response after it, and the other runs to requests that other threads answered. Delegated
//! responses are sent FIFO ([`signals`]). If there are as many runs with delegated responses as
//! responses by other threads, the cut is right.

mod signals;

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::{AttributedCall, WorkerRun};
use super::stretches::WorkerWindow;
use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{MadeCallId, OPEN, RequestId, Service};
use crate::tuning::auto::workers::passed_on::{MAX_SURPLUS, MIN_USUAL, RIVALS_SHARE};
use signals::WorkerSignals;

/// The calls of the runs with delegated responses. They are removed from `windows`. Nothing is
/// removed if the windows cannot be cut into runs.
pub(super) fn find_delegated_calls(
    service: &Service,
    windows: &mut [WorkerWindow],
    hand_offs: &[ServiceHandoff],
) -> Vec<AttributedCall> {
    let plans = plans(service, windows);
    let kinds = || plans.values();
    // If one plan is a prefix of another one, the end of a run is ambiguous.
    let is_same =
        |one: &Vec<u32>, other: &Vec<u32>| !std::ptr::eq(one, other) && other.starts_with(one);
    if kinds().any(|one| kinds().any(|other| is_same(one, other))) {
        return Vec::new();
    }
    let cuts: Vec<Vec<(u32, usize)>> =
        windows.iter().map(|window| cut(service, &plans, window)).collect();
    let mut runs: FxHashMap<u32, Vec<WorkerRun>> = FxHashMap::default();
    for (window, cuts) in windows.iter().zip(&cuts) {
        let mut begin = 0;
        for (kind, count) in cuts {
            let calls = window.calls[begin..begin + count].to_vec();
            begin += count;
            runs.entry(*kind).or_default().push(run(service, window.thread, calls));
        }
    }
    let mut delegated = answered_by_others(service, windows);
    let is_odd = |(kind, runs): (&u32, &Vec<WorkerRun>)| {
        let answers = delegated.get(kind).map_or(0, Vec::len);
        runs.len().abs_diff(answers) as f64 > MAX_SURPLUS * answers as f64
    };
    if runs.iter().any(is_odd) {
        return Vec::new();
    }
    let signals = WorkerSignals::from_handoffs(service, windows, hand_offs);
    for (window, cuts) in windows.iter_mut().zip(cuts) {
        window.calls.drain(..cuts.iter().map(|(_, count)| count).sum::<usize>());
    }
    let mut found = Vec::new();
    for (kind, mut runs) in runs {
        runs.sort_by_cached_key(|run| (signals.delegated_at(run), run.thread));
        found.extend(match_in_fifo(service, runs, delegated.remove(&kind).unwrap_or_default()));
    }
    found
}

/// The kinds of the calls of a request, in their order, by the kind of the request, according to
/// most own responses.
fn plans(service: &Service, windows: &[WorkerWindow]) -> FxHashMap<u32, Vec<u32>> {
    let mut seen: FxHashMap<u32, FxHashMap<Vec<u32>, usize>> = FxHashMap::default();
    for window in windows {
        let Some(request) = window.answer else { continue };
        let kind = service.requests[request.index()].kind;
        *seen.entry(kind).or_default().entry(kinds(service, &window.calls)).or_default() += 1;
    }
    let usual = |(kind, seen): (u32, FxHashMap<Vec<u32>, usize>)| {
        let all: usize = seen.values().sum();
        let (plan, count) =
            seen.into_iter().max_by(|one, other| (one.1, &one.0).cmp(&(other.1, &other.0)))?;
        (count as f64 >= MIN_USUAL * all as f64 && !plan.is_empty()).then_some((kind, plan))
    };
    seen.into_iter().filter_map(usual).collect()
}

/// The kind of each of `calls`.
fn kinds(service: &Service, calls: &[MadeCallId]) -> Vec<u32> {
    calls.iter().map(|call| service.calls[call.index()].kind).collect()
}

/// The requests with calls in the window before the calls of the own response, in their order: the
/// kind of each request, and the number of its calls. Empty if the calls cannot be cut.
fn cut(
    service: &Service,
    plans: &FxHashMap<u32, Vec<u32>>,
    window: &WorkerWindow,
) -> Vec<(u32, usize)> {
    let kinds = kinds(service, &window.calls);
    let own = window.answer.and_then(|of| plans.get(&service.requests[of.index()].kind));
    let Some(mut rest) = kinds.strip_suffix(own.map_or(&[][..], Vec::as_slice)) else {
        return Vec::new();
    };
    let is_of_none = |kind: &u32| !plans.values().any(|plan| plan.contains(kind));
    let mut cuts = Vec::new();
    loop {
        // Calls that no kind of request makes regularly, such as the first calls of a new
        // connection, belong to the work that follows them.
        let before = rest.iter().take_while(|kind| is_of_none(kind)).count();
        rest = rest.get(before..).unwrap_or_default();
        if rest.is_empty() {
            return cuts;
        }
        let Some((kind, plan)) = plans.iter().find(|(_, plan)| rest.starts_with(plan)) else {
            return Vec::new();
        };
        cuts.push((*kind, before + plan.len()));
        rest = rest.get(plan.len()..).unwrap_or_default();
    }
}

/// The run of `thread` that consists of `calls`.
fn run(service: &Service, thread: u32, calls: Vec<MadeCallId>) -> WorkerRun {
    let spans = || calls.iter().map(|call| service.calls[call.index()]);
    let begin = spans().map(|span| span.begin).min().unwrap_or(OPEN);
    let ends = spans().filter(|span| span.end != OPEN).map(|span| span.end);
    let end = ends.max().unwrap_or(begin);
    WorkerRun { thread, begin, done: end, end, calls }
}

/// The requests that were answered by no worker of `windows`, by kind.
fn answered_by_others(
    service: &Service,
    windows: &[WorkerWindow],
) -> FxHashMap<u32, Vec<RequestId>> {
    let own: FxHashSet<RequestId> = windows.iter().filter_map(|window| window.answer).collect();
    let mut others: FxHashMap<u32, Vec<RequestId>> = FxHashMap::default();
    for (request, span) in RequestId::ids().zip(&service.requests) {
        if span.end != OPEN && !own.contains(&request) {
            others.entry(span.kind).or_default().push(request);
        }
    }
    others
}

/// Matches runs of delegated responses with requests of the same kind, first in, first out: assigns
/// the calls of each run, in the order of `runs`, to a request that was received before the run and
/// answered after it. Of several such requests that are not assigned yet it is the one that was
/// answered first.
fn match_in_fifo(
    service: &Service,
    runs: Vec<WorkerRun>,
    mut requests: Vec<RequestId>,
) -> Vec<AttributedCall> {
    requests.sort_by_key(|request| (service.requests[request.index()].end, *request));
    let span = |request: &RequestId| service.requests[request.index()];
    let contains = |request: &RequestId, run: &WorkerRun| {
        let span = span(request);
        span.begin <= run.begin && run.end <= span.end
    };
    // A request that ends more than `longest` after the beginning of a run begins after it.
    let longest = requests.iter().map(span).map(|span| span.end - span.begin).max().unwrap_or(0);
    let mut is_left = vec![true; requests.len()];
    let mut found = Vec::new();
    let mut before = None;
    for run in runs {
        let first = requests.partition_point(|request| span(request).end < run.end);
        let mut candidates = (first..)
            .zip(requests.iter().skip(first))
            .take_while(|(_, request)| span(request).end <= run.begin.saturating_add(longest))
            .filter(|(place, request)| is_left[*place] && contains(request, &run));
        let Some((place, request)) = candidates.next().map(|(place, of)| (place, *of)) else {
            continue;
        };
        let next = candidates.next().map(|(_, request)| *request);
        let rival = next.or(before.filter(|request| contains(request, &run)));
        let rival = rival.map(|rival| (rival, RIVALS_SHARE));
        before = Some(request);
        is_left[place] = false;
        let attribute =
            |call: &MadeCallId| AttributedCall { call: *call, request, rival, is_recorded: false };
        found.extend(run.calls.iter().map(attribute));
    }
    found
}

#[cfg(test)]
#[path = "passed_on_tests.rs"]
mod tests;
