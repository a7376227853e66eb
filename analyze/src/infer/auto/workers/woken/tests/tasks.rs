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
