//! Goroutines that were started for a request, as servers of HTTP/2 do: one reads what comes on a
//! connection and starts another one for each request, a third one writes what they answer. So the
//! one that is started holds the request, though it has neither received it nor answers it itself.
//!
//! Who was started for which request, their order tells
//! ([`in_order`](super::super::in_order)). That they are started for requests at all shows in the
//! answers: they write these, or let those go on who do, if these wait.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::in_order::{ReaderBehaviour, TimedIds, pairs, times_within};
use crate::infer::auto::service::{OPEN, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{MIN_ANSWERING, MIN_FOLLOWED};

/// What the starts of goroutines tell.
#[derive(Default)]
pub(super) struct StartedGoroutines {
    /// The goroutines that were started for requests, each with its own.
    pub(super) found: Vec<(u32, u32)>,
    /// Goroutines whose request is not known.
    pub(super) unknown: FxHashSet<u32>,
    /// Goroutines that read requests for others, or write the answers of others.
    pub(super) serving: FxHashSet<u32>,
}

/// What the `starts` tell of the goroutines of a service. `from` are those whom each one let go on,
/// and `receivers` those that receive and answer several requests at once.
pub(super) fn from_starts(
    service: &Service,
    starts: &FxHashMap<u32, TimedIds>,
    from: &FxHashMap<u32, TimedIds>,
    receivers: &FxHashSet<u32>,
) -> StartedGoroutines {
    let mut result = StartedGoroutines::default();
    for (receiver, received) in received_requests(service, starts) {
        let Some(starts) = starts.get(&receiver) else { continue };
        // Who is waited for where it begins has nothing to do with a request, as the workers that
        // the runtime starts to collect garbage.
        let own = from.get(&receiver).map_or(&[][..], Vec::as_slice);
        let next = |time: i64| {
            let next =
                |of: &[(i64, u32)]| of.get(of.partition_point(|(at, _)| *at <= time)).copied();
            let next = [next(starts), next(own), next(&received)].into_iter().flatten();
            next.map(|(at, _)| at).min().unwrap_or(i64::MAX)
        };
        let is_waited_for = |(time, started): &(i64, u32)| {
            // Who answers all requests that it receives is waited for with each answer.
            if receivers.contains(&receiver) {
                return false;
            }
            let lets =
                from.get(started).map_or(&[][..], |own| times_within(own, *time, next(*time)));
            lets.iter().any(|(_, to)| *to == receiver)
        };
        // Of goroutines some are started for other reasons, and some requests take none.
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
        // Who receives may answer some requests itself.
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

/// The requests by who acts on them, in order. Who only begins to read a connection and then starts
/// another one that goes on with it, leaves to that one what it has read.
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
