//! Event loops with requests that overtake each other at random. The assumption of FIFO order must
//! not confirm itself.

use super::estimate::estimate;
use super::service::{NodeSpan, RequestId, Service};
use super::tests::{MS, lot, requests};
use crate::calls::CallId;
use crate::infer::call_links::WorkItem;

/// An event loop that receives a request every `apart` nanoseconds on average, and the request of
/// each call. It makes its call `least` to `least + spread` nanoseconds after the request, and
/// responds after as long a delay from the response to the call.
fn at_random(apart: i64, least: i64, spread: i64) -> (Service, Vec<Option<RequestId>>) {
    let mut service = Service { window: 1_000 * MS, ..Service::default() };
    let mut calls: Vec<(NodeSpan, u32)> = Vec::new();
    for request in 0..400_i64 {
        let begin = request * apart + lot(request, apart / 3);
        let call = begin + least + lot(request + 1_000, spread);
        let back = call + least + lot(request + 2_000, 3 * spread);
        calls.push((NodeSpan { begin: call, end: back, kind: 1 }, request as u32));
        let end = back + least + lot(request + 3_000, spread);
        service.requests.push(NodeSpan { begin, end, kind: 9 });
        service.request_threads.push([0, 0]);
        service.request_calls.push(WorkItem::request_at(2 * request as usize));
    }
    calls.sort_by_key(|(span, _)| span.begin);
    service.calls = calls.iter().map(|(span, _)| *span).collect();
    service.call_threads = vec![[0, 0]; calls.len()];
    service.made_calls = (0..calls.len()).map(|call| CallId::from_index(2 * call + 1)).collect();
    service.prepare();
    (service, requests(calls.into_iter().map(|(_, request)| request as usize)))
}

/// Number of calls with a probability of 0.9 or more, and how many of them are right.
fn sure(apart: i64, least: i64, spread: i64) -> (usize, usize) {
    let (service, truth) = at_random(apart, least, spread);
    assert!(service.is_event_loop());
    let (found, _) = estimate(&service, None);
    let sure = |(shares, right): (&Vec<(Option<RequestId>, f64)>, &Option<RequestId>)| {
        shares.iter().find(|(_, share)| *share >= 0.9).map(|(request, _)| request == right)
    };
    let sure: Vec<bool> = found.shares.iter().zip(&truth).filter_map(sure).collect();
    (sure.len(), sure.iter().filter(|is_right| **is_right).count())
}

#[test]
fn requests_that_overtake_at_random_are_not_certain() {
    // Without the restart that does not assume FIFO, 383 of 400 calls are sure and 1 is right in
    // the first case, 127 and 62 in the second, 207 and 114 in the third.
    let micros = MS / 1_000;
    for (apart, least, spread) in [(125, 3_000, 250), (125, 250, 500), (1_000, 1_000, 4_000)] {
        let (said, right) = sure(apart * micros, least * micros, spread * micros);
        assert!(said < 20 || 10 * right >= 9 * said, "{apart}: {right} of {said} sure calls");
    }
}

#[test]
fn requests_served_fifo_are_certain() {
    let (said, right) = sure(MS, MS / 4, MS);
    assert!(said > 380 && 100 * right >= 99 * said, "{right} of {said} sure calls");
}

/// A service that works on one request at a time, for eight clients that each send the next request
/// as soon as they have a response, and the request of each call. It works up to `work` nanoseconds
/// before a call that takes `call` to twice that, and up to `after` once that has returned.
fn one_place(work: i64, call: i64, after: i64) -> (Service, Vec<Option<RequestId>>) {
    let mut service = Service { window: 10_000 * MS, ..Service::default() };
    let count = 300;
    let mut begins: Vec<i64> = (0..8).map(|at| lot(at, MS)).collect();
    begins.sort_unstable();
    let mut free = 0;
    for request in 0..count as i64 {
        let taken = begins[request as usize].max(free);
        let begin = taken + lot(request + 1_000, work);
        let end = begin + call + lot(request + 2_000, call);
        free = end + lot(request + 3_000, after);
        service.calls.push(NodeSpan { begin, end, kind: 1 });
        service.requests.push(NodeSpan { begin: begins[request as usize], end: free, kind: 9 });
        service.request_threads.push([0, 0]);
        service.request_calls.push(WorkItem::request_at(2 * request as usize));
        service.made_calls.push(CallId::from_index(2 * request as usize + 1));
        begins.push(free + lot(request + 4_000, MS / 2));
    }
    service.call_threads = vec![[0, 0]; count];
    service.prepare();
    (service, requests(0..count))
}

#[test]
fn requests_wait_before_their_calls_and_not_for_their_response() {
    // If the time before the call is more predictable than the time after it, delays favour a
    // service that calls immediately and responds late: without `waits.rs` 2 of 300 are right.
    for (work, call, after) in [(2, 10, 4), (2, 16, 8), (4, 16, 8)] {
        let (service, truth) = one_place(work * MS, call * MS, after * MS);
        let (found, _) = estimate(&service, None);
        let right =
            found.request_of_call.iter().zip(&truth).filter(|(one, other)| one == other).count();
        assert!(
            right > 295,
            "{work} ms before, {call} ms in, {after} ms after the call: {right} of 300"
        );
    }
}

/// An overloaded event loop for `clients` clients that each send the next request as soon as they
/// have a response, and the request of each call. It reads all events that have arrived, and then
/// handles them one after the other. Each request makes `most` calls of `kinds` kinds.
fn busy(
    requests: usize,
    work: i64,
    clients: usize,
    most: u32,
    kinds: u32,
) -> (Service, Vec<Option<RequestId>>) {
    const NEW: usize = usize::MAX;
    let mut service = Service { window: 10_000 * MS, ..Service::default() };
    let mut made = Vec::new();
    // Events that have arrived but were not read: time, request, and number of calls that it has
    // made.
    let mut come: Vec<(i64, usize, u32)> = (0..clients).map(|at| (at as i64, NEW, 0)).collect();
    let (mut now, mut number) = (0, 0);
    while !come.is_empty() {
        come.sort_unstable();
        now = now.max(come[0].0);
        let read = come.partition_point(|(at, _, _)| *at <= now);
        let mut batch: Vec<_> = come.drain(..read).collect();
        for (_, request, _) in &mut batch {
            now += MS / 200;
            if *request == NEW {
                *request = service.requests.len();
                service.requests.push(NodeSpan { begin: now, end: now, kind: 9 });
            } else {
                let last =
                    made.iter_mut().rev().find(|(_, of): &&mut (NodeSpan, usize)| of == request);
                last.into_iter().for_each(|(span, _)| span.end = now);
            }
        }
        for (_, request, calls) in batch {
            number += 1;
            now += work / 10 + lot(number, work) * (lot(number + 70_000, 100) / 80 * 5 + 1);
            let back = now + MS / 20 + lot(number + 30_000, 2 * work);
            if calls < most {
                made.push((NodeSpan { begin: now, end: now, kind: calls % kinds + 1 }, request));
                come.push((back, request, calls + 1));
            } else {
                service.requests[request].end = now;
                if service.requests.len() + clients < requests {
                    come.push((back, NEW, 0));
                }
            }
        }
    }
    in_time_order(service, made)
}

/// The service with its requests and `made` calls in the order of time, and the request of each
/// call.
fn in_time_order(
    mut service: Service,
    made: Vec<(NodeSpan, usize)>,
) -> (Service, Vec<Option<RequestId>>) {
    service.request_threads = vec![[0, 0]; service.requests.len()];
    service.request_calls =
        (0..service.requests.len()).map(|request| WorkItem::request_at(2 * request)).collect();
    service.call_threads = vec![[0, 0]; made.len()];
    service.made_calls = (0..made.len()).map(|call| CallId::from_index(2 * call + 1)).collect();
    service.calls = made.iter().map(|(span, _)| *span).collect();
    service.prepare();
    (service, requests(made.into_iter().map(|(_, request)| request)))
}

/// Fails if one request of an overloaded thread is assigned the calls of others.
fn gives_each_request_its_calls(requests: usize, calls: u32, kinds: u32) {
    let (service, truth) = busy(requests, MS, 8, calls, kinds);
    assert!(service.is_event_loop());
    let (found, _) = estimate(&service, None);
    let right =
        found.request_of_call.iter().zip(&truth).filter(|(one, other)| one == other).count();
    assert!(100 * right >= 97 * truth.len(), "{calls} calls: {right} of {}", truth.len());
}

#[test]
fn an_overloaded_thread_does_not_give_one_request_the_calls_of_many() {
    gives_each_request_its_calls(150, 5, 2);
}

#[test]
#[ignore = "takes a minute: `scripts/test --all` runs it"]
fn a_long_overloaded_thread_does_not_give_one_request_the_calls_of_many() {
    // With delays measured from the trigger of each call, 378 of 1970 are right, and 531 of 3546.
    for (calls, kinds) in [(5, 2), (9, 3)] {
        gives_each_request_its_calls(400, calls, kinds);
    }
}
