//! Goroutines that were started for a request, as in HTTP/2 servers: one reads a connection and
//! starts another one for each request, and a third one writes their responses. So the started
//! goroutine is bound to the request, though it neither receives nor answers the request itself.
//!
//! A started goroutine that answers a single request was started for that request. For others, the
//! order of the starts shows which goroutine was started for which request
//! ([`in_order`](super::super::in_order)). That they are started for requests at all is shown by
//! the responses: the started goroutines write these, or wake the writers, if those are waiting.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::in_order::{ReaderBehaviour, TimedIds, pairs, times_within};
use crate::infer::auto::service::{OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{MIN_ANSWERING, MIN_FOLLOWED};

/// Results from the starts of goroutines.
#[derive(Default)]
pub(super) struct StartedGoroutines {
    /// The goroutines that were started for requests, each with its request.
    pub(super) found: Vec<(u32, RequestId)>,
    /// Goroutines that were started for an unknown request.
    pub(super) unknown: FxHashSet<u32>,
    /// Goroutines that read requests for others, or write the responses of others.
    pub(super) serving: FxHashSet<u32>,
}

/// Matches the `starts` of goroutines, by the goroutine that started them, with the requests of a
/// service. `from` are the goroutines that each goroutine woke, and `receivers` are those that
/// receive and answer several concurrent requests.
pub(super) fn from_starts(
    service: &Service,
    starts: &FxHashMap<u32, TimedIds>,
    from: &FxHashMap<u32, TimedIds>,
    receivers: &FxHashSet<u32>,
) -> StartedGoroutines {
    let mut result = StartedGoroutines::default();
    let answered = single_answers(service);
    for (receiver, received) in received_requests(service, starts) {
        let Some(starts) = starts.get(&receiver) else { continue };
        // A goroutine that the receiver waits for at its start is unrelated to requests, such as
        // the workers that the runtime starts for garbage collection.
        let own = from.get(&receiver).map_or(&[][..], Vec::as_slice);
        let next = |time: i64| {
            let times = [next_time(starts, time), next_time(own, time), next_time(&received, time)];
            times.into_iter().flatten().min().unwrap_or(i64::MAX)
        };
        let is_waited_for = |(time, started): &(i64, u32)| {
            // A receiver that answers all its requests is woken by each response.
            if receivers.contains(&receiver) {
                return false;
            }
            let woken =
                from.get(started).map_or(&[][..], |own| times_within(own, *time, next(*time)));
            woken.iter().any(|(_, to)| *to == receiver)
        };
        // Some goroutines are started for other reasons, and some requests start none.
        let reader = match receivers.contains(&receiver) {
            true => ReaderBehaviour::ActsOnSome,
            false => ReaderBehaviour::ActsOnAll,
        };
        let started_for = |(time, started): &(i64, u32)| {
            let request = *answered.get(started)?;
            let span = service.requests[request.index()];
            let is_received = service.request_threads[request.index()][0] == receiver;
            (is_received && (span.begin..=span.end).contains(time)).then_some((*started, request))
        };
        let mut own: Vec<(u32, RequestId)> = starts.iter().filter_map(started_for).collect();
        let bound: FxHashSet<RequestId> = own.iter().map(|(_, request)| *request).collect();
        let others: TimedIds<RequestId> =
            received.iter().filter(|(_, request)| !bound.contains(request)).copied().collect();
        let done = |first: i64, until: i64| {
            let starts = times_within(starts, first, until).iter();
            let others = starts.filter(|start| started_for(start).is_none());
            others.filter(|start| !is_waited_for(start)).copied().collect()
        };
        let begun = pairs(reader, &others, done, |_, _| true);
        own.extend(begun.into_iter().map(|(request, (_, started))| (started, request)));
        // The receiver may answer some requests itself.
        own.retain(|(_, request)| {
            let [receiver, answerer] = service.request_threads[request.index()];
            let may_delegate = receiver != answerer || receivers.contains(&receiver);
            may_delegate && service.requests[request.index()].end != OPEN
        });
        let answers = own.iter().filter(|(started, request)| {
            let [_, answerer] = service.request_threads[request.index()];
            let span = service.requests[request.index()];
            let wakes_answerer = || {
                times_within(from.get(started)?, span.begin, span.end)
                    .iter()
                    .find(|(_, to)| *to == answerer)
            };
            *started == answerer || wakes_answerer().is_some()
        });
        let is_rule = own.len() as f64 >= MIN_FOLLOWED * received.len() as f64
            && answers.count() as f64 >= MIN_ANSWERING * own.len() as f64;
        if is_rule {
            let started = starts.iter().filter(|start| !is_waited_for(start));
            result.unknown.extend(started.map(|(_, started)| *started));
            let threads = own.iter().flat_map(|(started, request)| {
                let threads = service.request_threads[request.index()];
                threads.into_iter().filter(move |thread| thread != started)
            });
            result.serving.extend(threads);
            result.serving.insert(receiver);
            result.found.append(&mut own);
        }
    }
    for (started, _) in &result.found {
        result.unknown.remove(started);
    }
    result
}

/// For each thread that answered exactly one request, that request.
fn single_answers(service: &Service) -> FxHashMap<u32, RequestId> {
    let mut answered: FxHashMap<u32, Option<RequestId>> = FxHashMap::default();
    for (index, (span, [_, answerer])) in
        service.requests.iter().zip(&service.request_threads).enumerate()
    {
        if span.end != OPEN && *answerer != UNKNOWN_THREAD {
            let request = RequestId::from_index(index);
            answered.entry(*answerer).and_modify(|one| *one = None).or_insert(Some(request));
        }
    }
    answered.into_iter().filter_map(|(thread, request)| Some((thread, request?))).collect()
}

/// The first of these times after `time`.
fn next_time<Id>(times: &[(i64, Id)], time: i64) -> Option<i64> {
    times.get(times.partition_point(|(at, _)| *at <= time)).map(|(at, _)| *at)
}

/// The requests that each goroutine acts on, in order. If a goroutine only begins to read a
/// connection, and then starts another one that continues to read it, the other one acts on all
/// requests of the connection.
fn received_requests(
    service: &Service,
    starts: &FxHashMap<u32, TimedIds>,
) -> FxHashMap<u32, TimedIds<RequestId>> {
    let mut received: FxHashMap<u32, TimedIds<RequestId>> = FxHashMap::default();
    for (request, (span, [receiver, _])) in
        RequestId::ids().zip(service.requests.iter().zip(&service.request_threads))
    {
        if *receiver != UNKNOWN_THREAD {
            received.entry(*receiver).or_default().push((span.begin, request));
        }
    }
    received.values_mut().for_each(|items| items.sort_unstable());
    let left = received.iter().filter_map(|(receiver, items)| {
        let continues = |started: &u32| {
            let own = starts.contains_key(started).then(|| received.get(started)).flatten();
            let first = own.and_then(|own| own.first());
            items.last().zip(first).is_some_and(|(last, first)| last < first)
        };
        let started = starts.get(receiver)?.iter().map(|(_, started)| *started);
        let mut ones = started.filter(continues);
        Some((*receiver, ones.next()?)).filter(|_| ones.next().is_none())
    });
    let left: Vec<(u32, u32)> = left.collect();
    for (receiver, one) in left {
        let items = received.remove(&receiver).unwrap_or_default();
        let own = received.entry(one).or_default();
        own.splice(0..0, items);
    }
    received
}
