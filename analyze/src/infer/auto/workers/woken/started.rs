//! Goroutines that were started for a request, as in HTTP/2 servers: one reads a connection and
//! starts another one for each request, and a third one writes their responses. So the started one
//! is bound to the request, though it neither receives nor answers it itself.
//!
//! The order of the starts shows which goroutine was started for which request
//! ([`in_order`](super::super::in_order)). That they are started for requests at all is shown by
//! the responses: the started goroutines write these, or wake the writers, if those are waiting.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::in_order::{ReaderBehaviour, TimedIds, pairs, times_within};
use crate::infer::auto::service::{OPEN, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{MIN_ANSWERING, MIN_FOLLOWED};

/// Results from the starts of goroutines.
#[derive(Default)]
pub(super) struct StartedGoroutines {
    /// The goroutines that were started for requests, each with its request.
    pub(super) found: Vec<(u32, u32)>,
    /// Goroutines with an unknown request.
    pub(super) unknown: FxHashSet<u32>,
    /// Goroutines that read requests for others, or write the responses of others.
    pub(super) serving: FxHashSet<u32>,
}

/// Matches the `starts` with the requests of a service. `from` are the goroutines that each one
/// woke, and `receivers` those that receive and answer several concurrent requests.
pub(super) fn from_starts(
    service: &Service,
    starts: &FxHashMap<u32, TimedIds>,
    from: &FxHashMap<u32, TimedIds>,
    receivers: &FxHashSet<u32>,
) -> StartedGoroutines {
    let mut result = StartedGoroutines::default();
    for (receiver, received) in received_requests(service, starts) {
        let Some(starts) = starts.get(&receiver) else { continue };
        // A goroutine that the receiver waits for at its start is unrelated to requests, such as
        // the workers that the runtime starts for garbage collection.
        let own = from.get(&receiver).map_or(&[][..], Vec::as_slice);
        let next = |time: i64| {
            let next =
                |of: &[(i64, u32)]| of.get(of.partition_point(|(at, _)| *at <= time)).copied();
            let next = [next(starts), next(own), next(&received)].into_iter().flatten();
            next.map(|(at, _)| at).min().unwrap_or(i64::MAX)
        };
        let is_waited_for = |(time, started): &(i64, u32)| {
            // A receiver that answers all its requests is woken by each response.
            if receivers.contains(&receiver) {
                return false;
            }
            let lets =
                from.get(started).map_or(&[][..], |own| times_within(own, *time, next(*time)));
            lets.iter().any(|(_, to)| *to == receiver)
        };
        // Some goroutines are started for other reasons, and some requests start none.
        let reader = match receivers.contains(&receiver) {
            true => ReaderBehaviour::ActsOnSome,
            false => ReaderBehaviour::ActsOnAll,
        };
        let done = |first: i64, until: i64| {
            let starts = times_within(starts, first, until).iter();
            starts.filter(|start| !is_waited_for(start)).copied().collect()
        };
        let begun = pairs(reader, &received, done, |_, _| true);
        let mut own: Vec<(u32, u32)> =
            begun.into_iter().map(|(request, (_, started))| (started, request)).collect();
        // The receiver may answer some requests itself.
        own.retain(|(_, request)| {
            let [receiver, answerer] = service.request_threads[*request as usize];
            let is_other = receiver != answerer || receivers.contains(&receiver);
            is_other && service.requests[*request as usize].end != OPEN
        });
        let answers = own.iter().filter(|(started, request)| {
            let [_, answerer] = service.request_threads[*request as usize];
            let span = service.requests[*request as usize];
            let lets = || {
                times_within(from.get(started)?, span.begin, span.end)
                    .iter()
                    .find(|(_, to)| *to == answerer)
            };
            *started == answerer || lets().is_some()
        });
        let is_rule = own.len() as f64 >= MIN_FOLLOWED * received.len() as f64
            && answers.count() as f64 >= MIN_ANSWERING * own.len() as f64;
        if is_rule {
            let started = starts.iter().filter(|start| !is_waited_for(start));
            result.unknown.extend(started.map(|(_, started)| *started));
            let threads = own.iter().flat_map(|(started, request)| {
                let threads = service.request_threads[*request as usize];
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

/// The requests by the goroutine that acts on them, in order. A goroutine that only begins to read
/// a connection, and then starts another one that continues, leaves the requests that it has read
/// to the other one.
fn received_requests(
    service: &Service,
    starts: &FxHashMap<u32, TimedIds>,
) -> FxHashMap<u32, TimedIds> {
    let mut received: FxHashMap<u32, TimedIds> = FxHashMap::default();
    for (request, (span, [receiver, _])) in
        (0..).zip(service.requests.iter().zip(&service.request_threads))
    {
        if *receiver != UNKNOWN_THREAD {
            received.entry(*receiver).or_default().push((span.begin, request));
        }
    }
    received.values_mut().for_each(|items| items.sort_unstable());
    let left = received.iter().filter_map(|(receiver, items)| {
        let goes_on = |started: &u32| {
            let own = starts.contains_key(started).then(|| received.get(started)).flatten();
            let first = own.and_then(|own| own.first());
            items.last().zip(first).is_some_and(|(last, first)| last < first)
        };
        let started = starts.get(receiver)?.iter().map(|(_, started)| *started);
        let mut ones = started.filter(goes_on);
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
