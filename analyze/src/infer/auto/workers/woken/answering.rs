//! Goroutines that answer requests which others have received: a task for each connection, or for
//! each request, which is woken by the reader of the connection. A goroutine that answers its
//! requests one after the other is bound to each from its receipt to its response. So is a
//! goroutine that was started after the receipt and has started the answering one, itself or
//! through others, unless it has also started one that answers another request.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::in_order::TimedIds;
use crate::infer::auto::service::{OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{MAX_EXCEPTIONS, MAX_STEPS};

/// The goroutines that are bound to requests by answering them, each with a request that another
/// goroutine received. `to` are the goroutines that woke or started each one, and `only_started`
/// those that were started once and never woken.
pub(super) fn from_answers(
    service: &Service,
    to: &FxHashMap<u32, TimedIds>,
    only_started: &FxHashSet<u32>,
) -> Vec<(u32, RequestId)> {
    let mut answered: FxHashMap<u32, Vec<RequestId>> = FxHashMap::default();
    for (request, (span, [_, answerer])) in
        RequestId::ids().zip(service.requests.iter().zip(&service.request_threads))
    {
        if span.end != OPEN && *answerer != UNKNOWN_THREAD {
            answered.entry(*answerer).or_default().push(request);
        }
    }
    answered.retain(|_, requests| are_in_sequence(service, requests));
    let mut bound: Vec<(u32, RequestId)> = Vec::new();
    let mut above: FxHashMap<u32, Option<RequestId>> = FxHashMap::default();
    for (answerer, requests) in &answered {
        for request in requests {
            let [receiver, _] = service.request_threads[request.index()];
            if receiver != *answerer {
                bound.push((*answerer, *request));
            }
            for starter in starters(service, *answerer, *request, to, only_started) {
                let known = above.entry(starter).or_insert(Some(*request));
                if *known != Some(*request) {
                    *known = None;
                }
            }
        }
    }
    let others = above.into_iter().filter(|(starter, _)| !answered.contains_key(starter));
    bound.extend(others.filter_map(|(starter, request)| Some((starter, request?))));
    bound.sort_unstable();
    bound
}

/// Returns whether hardly any of these requests, which are in the order of their receipts, was
/// received before the response to an earlier one.
fn are_in_sequence(service: &Service, requests: &[RequestId]) -> bool {
    let mut latest = i64::MIN;
    let overlapping = requests.iter().filter(|request| {
        let span = service.requests[request.index()];
        let is_open = span.begin < latest;
        latest = latest.max(span.end);
        is_open
    });
    overlapping.count() as f64 <= MAX_EXCEPTIONS * requests.len() as f64
}

/// The goroutines that started the one that answers a request, itself or through others, and were
/// themselves started after its receipt.
fn starters(
    service: &Service,
    answerer: u32,
    request: RequestId,
    to: &FxHashMap<u32, TimedIds>,
    only_started: &FxHashSet<u32>,
) -> Vec<u32> {
    let begin = service.requests[request.index()].begin;
    let start = |thread: u32| {
        let starts = to.get(&thread).filter(|_| only_started.contains(&thread))?;
        starts.first().copied().filter(|(time, _)| *time >= begin)
    };
    let mut found = Vec::new();
    let mut current = answerer;
    while let Some((_, starter)) = start(current).filter(|_| found.len() < MAX_STEPS) {
        if start(starter).is_some() {
            found.push(starter);
        }
        current = starter;
    }
    found
}
