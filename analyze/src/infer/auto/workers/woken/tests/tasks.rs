//! Differences of Tokio tasks from goroutines.

use super::*;

/// One task reads all requests in pairs, starts one for each, which makes a call, and writes the
/// responses.
fn received_and_answered() -> (Service, Vec<ServiceHandoff>) {
    let service = pairs(|_| [READERS; 2], |request| [BOUND + request; 2]);
    let mut hand_offs = Vec::new();
    for (request, span) in (0..60_u32).zip(&service.requests) {
        let start = lets_go_on(span.begin + 10, READERS, BOUND + request);
        hand_offs.push(ServiceHandoff { object: STARTED, ..start });
        hand_offs.push(lets_go_on(span.end - 20, BOUND + request, READERS));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    (service, hand_offs)
}

#[test]
fn a_task_that_serves_several_requests_is_bound_to_none() {
    let (service, hand_offs) = received_and_answered();
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 60]);
    // A task with an unknown start wakes the reader, which has read another request since.
    let (mut service, mut hand_offs) = received_and_answered();
    hand_offs.retain(|hand_off| hand_off.to != BOUND + 20);
    let begin = service.requests[20].begin;
    service.calls[20].end = begin + 60;
    hand_offs.push(lets_go_on(begin + 65, BOUND + 20, READERS));
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 58]);
    // A task that need not wait continues immediately, and wakes the reader.
    let (service, mut hand_offs) = received_and_answered();
    hand_offs.push(lets_go_on(service.requests[20].begin + 12, BOUND + 20, READERS));
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 60]);
}

#[test]
fn a_reader_may_read_everything_available_before_it_acts() {
    let (service, mut hand_offs) = on_one_connection();
    // The previous pair is woken after the next read, too.
    for hand_off in &mut hand_offs {
        let (pair, behind) = ((hand_off.signalled - 500) / 200, (hand_off.signalled - 500) % 200);
        if hand_off.from == READERS && pair % 2 == 0 {
            let later = 200 * pair + 701 + behind / 10;
            (hand_off.signalled, hand_off.woken) = (later, later);
        }
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
}

#[test]
fn a_task_without_a_request_waits_for_no_response() {
    let (service, mut hand_offs) = on_one_connection();
    for pair in 0..30 {
        hand_offs.push(lets_go_on(200 * pair + 535, READERS, WORKERS));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
}

/// The beginning of a response is for a task that wakes the one bound to the request. The rest of
/// the response wakes that one again.
#[test]
fn a_task_that_continues_a_response_waits_for_none() {
    let (service, mut hand_offs) = on_one_connection();
    for pair in (0..30_u32).step_by(2) {
        let (time, holder) = (200 * i64::from(pair), BOUND + 2 * pair);
        hand_offs.retain(|act| act.from != READERS || act.signalled != time + 510);
        for hand_off in &mut hand_offs {
            if hand_off.from == READERS && hand_off.signalled == time + 530 {
                hand_off.to = WORKERS + pair;
            }
        }
        hand_offs.push(lets_go_on(time + 532, WORKERS + pair, holder));
        hand_offs.push(lets_go_on(time + 535, READERS, holder));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, true]; 60]);
}

/// One thread receives all requests and starts a context for each, which makes a call and answers.
/// The thread starts a context for each response that it receives, too.
fn answered_by_contexts() -> (Service, Vec<ServiceHandoff>) {
    let service = pairs(|request| [READERS, BOUND + request], |request| [BOUND + request, READERS]);
    let mut hand_offs = Vec::new();
    for (request, span) in (0..60_u32).zip(&service.requests) {
        let starts = |time, to| ServiceHandoff { object: STARTED, ..lets_go_on(time, READERS, to) };
        // The first two contexts of a pair are started in the wrong order.
        let after = if request % 2 == 0 { 20 } else { 10 };
        hand_offs.push(starts(span.begin + after, BOUND + request));
        hand_offs.push(starts(span.begin + 15, WORKERS + request));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    (service, hand_offs)
}

#[test]
fn a_context_is_bound_to_the_only_request_that_it_answers() {
    let (service, hand_offs) = answered_by_contexts();
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(checked_calls(&service, &hand_offs, &truth), [[true, false, false]; 60]);
    // A context that answers several requests writes for others.
    let (mut service, hand_offs) = answered_by_contexts();
    for [_, answerer] in &mut service.request_threads {
        *answerer = WRITERS;
    }
    assert!(find_woken_calls(&service, &hand_offs).is_none());
}

/// A connection's context starts a task for each request, which answers it. The task makes a call,
/// and starts another one that makes two calls, one after the other. Responses are received by
/// contexts of the connections. No wake-up is recorded.
fn in_contexts() -> (Service, Vec<ServiceHandoff>, Vec<u32>) {
    let mut service = Service { window: 1_000_000, ..Service::default() };
    let (mut hand_offs, mut calls) = (Vec::new(), Vec::new());
    let starts = |time, from, to| ServiceHandoff { object: STARTED, ..lets_go_on(time, from, to) };
    for request in 0..60_u32 {
        let begin = 100 * i64::from(request);
        let (connection, task, other) = (READERS + request % 7, BOUND + request, WORKERS + request);
        service.requests.push(NodeSpan { begin, end: begin + 500, kind: 9 });
        service.request_threads.push([connection, task]);
        service.request_calls.push(WorkItem::request_at(request as usize));
        hand_offs.push(starts(begin + 10, connection, task));
        hand_offs.push(starts(begin + 20, task, other));
        for (made, answered, by) in [(30, 450, task), (50, 100, other), (150, 200, other)] {
            let span = NodeSpan { begin: begin + made, end: begin + answered, kind: 1 };
            calls.push((span, [by, WRITERS + request % 5], request));
        }
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

#[test]
fn all_calls_of_a_task_that_only_its_starter_woke_are_of_its_starter() {
    let (service, hand_offs, truth) = in_contexts();
    // Calls of the request's own task need no hand-off.
    assert_eq!(right(&service, &hand_offs, &truth), [180, 120]);
    // A task that others wake may do their work from then on.
    let (service, mut hand_offs, truth) = in_contexts();
    for request in 0..60 {
        let time = 100 * i64::from(request) + 40;
        hand_offs.push(lets_go_on(time, BOUND + request, WORKERS + request));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    assert_eq!(right(&service, &hand_offs, &truth), [120, 60], "not the second of its calls");
}

/// Requests over six connections, each with a context that receives its requests and another one
/// that answers them, one after the other, by `answerer`. `caller` makes a call for each request.
/// Contexts are started, `starts`, at times after the receipt.
fn answered_by_others(
    answerer: impl Fn(u32) -> u32,
    caller: impl Fn(u32) -> u32,
    starts: impl Fn(u32) -> Vec<(i64, u32, u32)>,
) -> (Service, Vec<ServiceHandoff>) {
    let mut service = Service { window: 1_000_000, ..Service::default() };
    let mut hand_offs = Vec::new();
    for request in 0..60_u32 {
        let begin = 100 * i64::from(request);
        service.requests.push(NodeSpan { begin, end: begin + 500, kind: 9 });
        service.request_threads.push([READERS + request % 6, answerer(request)]);
        service.request_calls.push(WorkItem::request_at(request as usize));
        service.calls.push(NodeSpan { begin: begin + 50, end: begin + 450, kind: 1 });
        service.call_threads.push([caller(request), WRITERS + request % 5]);
        service.made_calls.push(CallId::from_index(100 + request as usize));
        hand_offs.extend(starts(request).into_iter().map(|(after, from, to)| ServiceHandoff {
            object: STARTED,
            ..lets_go_on(begin + after, from, to)
        }));
    }
    hand_offs.sort_by_key(|hand_off| hand_off.signalled);
    (service, hand_offs)
}

/// As in aiohttp: the task of a connection answers, and has another one make the call.
#[test]
fn a_context_that_answers_in_sequence_is_bound_to_what_others_receive() {
    let task = |request| BOUND + request % 6;
    let starts = |request| vec![(20, task(request), WORKERS + request)];
    let (service, hand_offs) = answered_by_others(task, |request| WORKERS + request, starts);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(right(&service, &hand_offs, &truth), [60, 60]);
    // Two connections have one context that answers.
    let shared = |request| BOUND + request % 3;
    let starts = |request| vec![(20, shared(request), WORKERS + request)];
    let (service, hand_offs) = answered_by_others(shared, |request| WORKERS + request, starts);
    assert!(find_woken_calls(&service, &hand_offs).is_none());
}

/// A response that is streamed by a context of its own.
#[test]
fn a_context_that_started_the_answering_one_is_bound_to_its_request() {
    const STREAMS: u32 = 5000;
    let starts = |request| {
        let connection = WORKERS + request % 6;
        vec![(10, connection, BOUND + request), (460, BOUND + request, STREAMS + request)]
    };
    let (service, hand_offs) =
        answered_by_others(|request| STREAMS + request, |request| BOUND + request, starts);
    let truth: Vec<u32> = (0..60).collect();
    assert_eq!(right(&service, &hand_offs, &truth), [60, 0]);
}
