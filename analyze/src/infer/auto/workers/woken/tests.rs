//! Synthetic services of goroutines with the known request of each call.

use super::*;
use crate::calls::CallId;
use crate::infer::call_links::WorkItem;
use crate::infer::span::NodeSpan;

mod tasks;

/// The first of the goroutines that are bound to requests, of those that write to connections, of
/// those that read from connections, and of workers.
const BOUND: u32 = 1000;
const WRITERS: u32 = 2000;
const READERS: u32 = 3000;
const WORKERS: u32 = 4000;

fn lets_go_on(time: i64, from: u32, to: u32) -> ServiceHandoff {
    ServiceHandoff { signalled: time, woken: time, from, to, object: GOROUTINE }
}

/// A service with overlapping requests. Each makes a call over a connection that others write to
/// and read from, and then has one of two workers, which are always busy, make another call. With
/// `locks` workers that have just taken their work release a lock to an unrelated goroutine.
fn synthetic_service(locks: bool) -> (Service, Vec<ServiceHandoff>, Vec<u32>) {
    let mut service = Service { window: 1_000_000, ..Service::default() };
    let mut hand_offs = Vec::new();
    let mut calls: Vec<(NodeSpan, [u32; 2], u32)> = Vec::new();
    for request in 0..60_u32 {
        let begin = 100 * i64::from(request);
        let holder = BOUND + request % 7;
        service.requests.push(NodeSpan { begin, end: begin + 500, kind: 9 });
        service.request_threads.push([holder; 2]);
        service.request_calls.push(WorkItem::request_at(request as usize));
        let (writer, reader) = (WRITERS + request % 5, READERS + request % 5);
        let asked = NodeSpan { begin: begin + 12, end: begin + 200, kind: 1 };
        calls.push((asked, [writer, reader], request));
        hand_offs.push(lets_go_on(begin + 10, holder, writer));
        hand_offs.push(lets_go_on(begin + 201, reader, holder));
        let worker = WORKERS + request % 2;
        let work = NodeSpan { begin: begin + 250, end: begin + 420, kind: 2 };
        calls.push((work, [worker; 2], request));
        if locks {
            // A goroutine that waits for the response of another worker.
            hand_offs.push(lets_go_on(begin + 251, worker, BOUND + (request + 6) % 7));
        }
        hand_offs.push(lets_go_on(begin + 421, worker, holder));
    }
    calls.sort_by_key(|(span, ..)| span.begin);
    for (made, (span, threads, _)) in (100..).zip(&calls) {
        service.calls.push(*span);
        service.call_threads.push(*threads);
        service.made_calls.push(CallId::from_index(made));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    (service, hand_offs, calls.iter().map(|(.., request)| *request).collect())
}

/// How many calls are assigned to the right request, and how many of these are recorded.
fn right(service: &Service, hand_offs: &[ServiceHandoff], truth: &[u32]) -> [usize; 2] {
    let found = find_woken_calls(service, hand_offs).unwrap_or_default();
    let right =
        found.iter().filter(|found| truth[found.call.index()] as usize == found.request.index());
    [right.clone().count(), right.filter(|found| found.is_recorded).count()]
}

#[test]
fn calls_lead_to_the_goroutines_that_wait_for_them() {
    let (service, hand_offs, truth) = synthetic_service(false);
    // Calls over connections have evidence in both directions, calls of workers at both ends.
    assert_eq!(right(&service, &hand_offs, &truth), [120, 120]);
    // Threads are handled differently, since not all of their wake-ups are recorded.
    let threads: Vec<ServiceHandoff> =
        hand_offs.iter().map(|hand_off| ServiceHandoff { object: 77, ..*hand_off }).collect();
    assert_eq!(find_woken_calls(&service, &threads), None);
    assert_eq!((thread_handoffs(&threads).len(), thread_handoffs(&hand_offs).len()), (180, 0));
}

#[test]
fn a_lock_released_to_an_unrelated_goroutine_is_outvoted() {
    let (service, hand_offs, truth) = synthetic_service(true);
    let found = right(&service, &hand_offs, &truth);
    // The unrelated request is not open all the time.
    assert_eq!(found, [120, 120]);
}

/// For each call whether its request is right, whether its rival is, and whether it is recorded.
fn checked_calls(service: &Service, hand_offs: &[ServiceHandoff], truth: &[u32]) -> Vec<[bool; 3]> {
    let found = find_woken_calls(service, hand_offs).unwrap_or_default();
    let of = |found: &AttributedCall| {
        let truth = RequestId::from_index(truth[found.call.index()] as usize);
        let is_rival = found.rival.is_some_and(|(rival, _)| rival == truth);
        [found.request == truth, is_rival, found.is_recorded]
    };
    found.iter().map(of).collect()
}

#[test]
fn a_hand_off_found_from_both_ends_counts_once() {
    let (service, mut hand_offs, truth) = synthetic_service(false);
    // Workers wait for their work, and release a lock to an unrelated goroutine before they reply.
    for (call, (span, [worker, _])) in service.calls.iter().zip(&service.call_threads).enumerate() {
        let stranger = BOUND + (truth[call] + 1) % 7;
        if *worker >= WORKERS {
            let holder = BOUND + truth[call] % 7;
            hand_offs.push(lets_go_on(span.begin - 1, holder, *worker));
            hand_offs.push(lets_go_on(span.end, *worker, stranger));
        }
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let found = checked_calls(&service, &hand_offs, &truth);
    assert_eq!(found, [[true, false, true]; 120]);
}

/// One goroutine sends for all requests and another one reads all responses, for three together.
#[test]
fn calls_sent_or_answered_together_are_not_all_of_one_request() {
    let (mut service, mut hand_offs, truth) = synthetic_service(false);
    hand_offs.retain(|hand_off| hand_off.from >= WORKERS);
    let of_calls = service.calls.iter_mut().zip(&mut service.call_threads).zip(&truth);
    for ((call, threads), request) in of_calls.filter(|((_, [maker, _]), _)| *maker < WORKERS) {
        let first = 100 * i64::from(request - request % 3);
        (call.begin, call.end) = (first + 212, first + 290);
        *threads = [WRITERS, READERS];
        let holder = BOUND + request % 7;
        if request % 3 == 0 {
            hand_offs.push(lets_go_on(first + 211, holder, WRITERS));
        }
        hand_offs.push(lets_go_on(first + 291 + i64::from(request % 3), READERS, holder));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let found = checked_calls(&service, &hand_offs, &truth);
    // Only the calls of the workers.
    assert_eq!(found, [[true, false, true]; 60]);
}

/// One goroutine sends for all requests, and is woken only if it waits.
#[test]
fn a_sender_that_was_not_woken_works_for_another_request() {
    let (mut service, mut hand_offs, truth) = synthetic_service(false);
    hand_offs.retain(|hand_off| hand_off.to < WRITERS);
    let mut calls: Vec<(&NodeSpan, &mut [u32; 2])> =
        service.calls.iter().zip(&mut service.call_threads).collect();
    calls.retain(|(_, [maker, _])| *maker < WORKERS);
    for (call, threads) in calls {
        threads[0] = WRITERS;
        if call.begin % 300 == 12 {
            let holder = BOUND + (call.begin / 100 % 7) as u32;
            hand_offs.push(lets_go_on(call.begin - 1, holder, WRITERS));
        }
    }
    // Wake-ups by responses are removed.
    hand_offs.retain(|hand_off| !(READERS..WORKERS).contains(&hand_off.from));
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let found = checked_calls(&service, &hand_offs, &truth);
    assert_eq!(found, [[true, false, true]; 80]);
}

/// Workers with queued jobs, from goroutines that had waited to submit them; only the last one is
/// already waiting for its response.
#[test]
fn queued_jobs_belong_to_the_goroutine_that_submitted_them() {
    let mut service = Service { window: 1_000_000, ..Service::default() };
    let mut hand_offs = Vec::new();
    for request in 0..60_u32 {
        let begin = 10 * i64::from(request);
        service.requests.push(NodeSpan { begin: 0, end: 10_000, kind: 9 });
        service.request_threads.push([BOUND + request; 2]);
        service.request_calls.push(WorkItem::request_at(request as usize));
        service.calls.push(NodeSpan { begin: begin + 5, end: begin + 9, kind: 2 });
        service.call_threads.push([WORKERS; 2]);
        service.made_calls.push(CallId::from_index(100 + request as usize));
        hand_offs.push(lets_go_on(begin + 4, WORKERS, BOUND + request));
    }
    hand_offs.push(lets_go_on(600, WORKERS, BOUND + 59));
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
}

#[test]
fn a_worker_with_a_later_call_works_for_another_request() {
    let (service, mut hand_offs, truth) = synthetic_service(false);
    // Workers were woken once, for their first work.
    let first =
        |worker: u32| lets_go_on(100 * i64::from(worker) + 1, BOUND + worker, WORKERS + worker);
    hand_offs.extend([0, 1].map(first));
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    assert_eq!(right(&service, &hand_offs, &truth), [120, 120]);
}

#[test]
fn a_request_answered_before_a_call_is_not_its_request() {
    let (mut service, hand_offs, _) = synthetic_service(false);
    service.requests.iter_mut().for_each(|request| request.end = request.begin + 11);
    assert_eq!(find_woken_calls(&service, &hand_offs), None);
}

/// Two requests begin every 200 ns, and each makes a call. Messages that are read together are a
/// nanosecond apart.
fn pairs(receiver: impl Fn(u32) -> [u32; 2], caller: impl Fn(u32) -> [u32; 2]) -> Service {
    let mut service = Service { window: 1_000_000, ..Service::default() };
    for request in 0..60_u32 {
        let begin = 200 * i64::from(request / 2) + i64::from(request % 2);
        service.requests.push(NodeSpan { begin, end: begin + 900, kind: 9 });
        service.request_threads.push(receiver(request));
        service.request_calls.push(WorkItem::request_at(request as usize));
        service.calls.push(NodeSpan { begin: begin + 50, end: begin + 500, kind: 1 });
        service.call_threads.push(caller(request));
        service.made_calls.push(CallId::from_index(100 + request as usize));
    }
    service
}

/// One goroutine sends all calls on a connection, and another one reads the responses in pairs and
/// wakes the goroutines that wait for them, and the sender.
fn on_one_connection() -> (Service, Vec<ServiceHandoff>) {
    let mut service = pairs(|request| [BOUND + request; 2], |_| [WRITERS, READERS]);
    service.call_before =
        (0..60).map(|call: usize| call.checked_sub(1).map(MadeCallId::from_index)).collect();
    let mut hand_offs = Vec::new();
    for request in (0..60_u32).step_by(2) {
        let begin = 100 * i64::from(request);
        // The sender waited for the first of them; its next wake-up is for another request.
        hand_offs.push(lets_go_on(begin + 40, BOUND + request, WRITERS));
        hand_offs.push(lets_go_on(begin + 60, WRITERS, BOUND + request.saturating_sub(4)));
        hand_offs.push(lets_go_on(begin + 510, READERS, BOUND + request));
        hand_offs.push(lets_go_on(begin + 520, READERS, WRITERS));
        hand_offs.push(lets_go_on(begin + 530, READERS, BOUND + request));
        hand_offs.push(lets_go_on(begin + 540, READERS, BOUND + request + 1));
    }
    (service, hand_offs)
}

#[test]
fn responses_read_together_wake_their_waiters_in_order() {
    let (service, mut hand_offs) = on_one_connection();
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
    // A goroutine that did not wait yet was not woken.
    hand_offs.retain(|hand_off| hand_off.to != BOUND + 21);
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 58]);
}

/// A goroutine that waits for a response is woken by its beginning, and again by its end, which
/// came with the next read.
#[test]
fn a_goroutine_woken_twice_by_a_response_waits_for_it_once() {
    let (mut service, mut hand_offs) = on_one_connection();
    // One of the two with responses in that read has made its call since.
    service.calls[21].begin = 2400;
    hand_offs.push(lets_go_on(2505, READERS, BOUND + 18));
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
}

#[test]
fn a_response_may_end_in_the_next_read_where_another_wakes_twice() {
    let (service, mut hand_offs) = on_one_connection();
    for hand_off in &mut hand_offs {
        if hand_off.from == READERS && hand_off.to == BOUND + 21 {
            (hand_off.signalled, hand_off.woken) = (2705, 2705);
        }
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
}

#[test]
fn a_goroutine_that_waits_for_a_response_had_its_request_before() {
    let truth: Vec<u32> = (0..60).collect();
    let (mut service, mut hand_offs) = on_one_connection();
    service.calls[24].begin = 2600;
    // Two wait, and between them another one is woken for a different reason.
    hand_offs.push(lets_go_on(2535, READERS, BOUND + 24));
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
    // Only one of the two waits, so as many are woken as responses were read.
    hand_offs.retain(|hand_off| {
        let is_reader = hand_off.from == READERS && (2500..2700).contains(&hand_off.signalled);
        !is_reader || hand_off.to == BOUND + 24 || hand_off.signalled == 2540
    });
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 58]);
}

#[test]
fn a_sender_for_several_requests_is_no_evidence() {
    let (mut service, mut hand_offs) = on_one_connection();
    // Each call is sent alone.
    service.calls.iter_mut().skip(1).step_by(2).for_each(|call| call.begin += 5);
    hand_offs.retain(|hand_off| hand_off.from != READERS);
    assert_eq!(find_woken_calls(&service, &hand_offs), None);
}

/// One goroutine reads all requests in pairs and starts one for each, which makes a call, and wakes
/// another one that writes all responses.
fn started() -> (Service, Vec<ServiceHandoff>) {
    let service = pairs(|_| [READERS, WRITERS], |request| [BOUND + request; 2]);
    let mut hand_offs = Vec::new();
    for (request, span) in (0..60_u32).zip(&service.requests) {
        let start = lets_go_on(span.begin + 10, READERS, BOUND + request);
        hand_offs.push(ServiceHandoff { object: STARTED, ..start });
        if request % 6 == 0 {
            hand_offs.push(lets_go_on(span.end - 20, BOUND + request, WRITERS));
        }
    }
    (service, hand_offs)
}

#[test]
fn a_goroutine_started_after_a_request_is_bound_to_it() {
    let (service, mut hand_offs) = started();
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 60]);
    // A start that was not recorded.
    hand_offs.retain(|hand_off| hand_off.to != BOUND + 21);
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 58]);
}

#[test]
fn a_first_reader_leaves_its_requests_to_the_goroutine_it_starts() {
    let (mut service, mut hand_offs) = started();
    service.request_threads[..2].fill([WORKERS, WRITERS]);
    let start = lets_go_on(5, WORKERS, READERS);
    hand_offs.push(ServiceHandoff { object: STARTED, ..start });
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 60]);
}

/// Requests come on one connection and calls are made on another one.
#[test]
fn a_goroutine_that_serves_requests_waits_for_no_response() {
    const SERVER: [u32; 2] = [5000, 5001];
    let (mut service, mut hand_offs) = on_one_connection();
    service.request_threads.fill(SERVER);
    hand_offs.retain(|hand_off| hand_off.from == READERS && hand_off.signalled % 100 >= 20);
    for (request, span) in (0..60_u32).zip(&service.requests) {
        let start = lets_go_on(span.begin + 10, SERVER[0], BOUND + request);
        hand_offs.push(ServiceHandoff { object: STARTED, ..start });
        hand_offs.push(lets_go_on(span.end - 20, BOUND + request, SERVER[1]));
        hand_offs.push(lets_go_on(span.begin + 535, READERS, SERVER[(request % 2) as usize]));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
}

#[test]
fn a_goroutine_awaited_at_its_start_was_not_started_for_a_request() {
    let (service, mut hand_offs) = started();
    let time = service.requests[20].begin + 10;
    // Between the two that are started for requests.
    let start = ServiceHandoff { object: STARTED, ..lets_go_on(time + 1, READERS, WORKERS) };
    hand_offs.iter_mut().filter(|hand_off| hand_off.to == BOUND + 21).for_each(|second| {
        (second.signalled, second.woken) = (time + 5, time + 5);
    });
    hand_offs.extend([start, lets_go_on(time + 2, WORKERS, READERS)]);
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 60]);
}

#[test]
fn a_goroutine_started_for_an_unknown_request_is_no_evidence() {
    let (service, mut hand_offs) = started();
    let truth: Vec<u32> = (0..60).collect();
    let two = service.requests[20].begin;
    hand_offs.push(ServiceHandoff { object: STARTED, ..lets_go_on(two + 11, READERS, WORKERS) });
    // Each releases a lock to an unrelated goroutine after its call.
    for (request, span) in (0..60_u32).zip(&service.calls) {
        hand_offs.push(lets_go_on(span.end + 1, BOUND + request, BOUND + (request + 58) % 60));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 58]);
}

#[test]
fn a_goroutine_without_part_in_a_response_was_not_started_for_it() {
    let (service, mut hand_offs) = started();
    hand_offs.retain(|hand_off| hand_off.object == STARTED);
    assert_eq!(find_woken_calls(&service, &hand_offs), None);
}
