//! Calls that fit a request, and calls that fit none: by times, and by the activity of their
//! threads.

use super::estimate::estimate;
use super::service::OPEN;
use super::tests::{MS, likeliest, lot, service};

#[test]
fn a_call_across_two_requests_belongs_to_the_first() {
    // A mail is received line by line: during the first line another call begins, and its response
    // comes during the second.
    let (mut requests, mut calls) = (Vec::new(), Vec::new());
    for at in 0..40 {
        let begin = 20 * MS * at + lot(at, MS);
        requests.push((begin, begin + 2 * MS, 9));
        requests.push((begin + 3 * MS, begin + 7 * MS, 9));
        calls.push((begin + MS, begin + 6 * MS + lot(at, MS / 2), 1));
    }
    let mut service = service(requests, calls);
    service.prepare();
    let found = estimate(&service, None).0;
    let wrong = (0..)
        .zip(likeliest(&found))
        .filter(|(call, (request, _))| Some(2 * call) != *request)
        .count();
    assert_eq!(wrong, 0);
    assert_eq!(service.unmatched_calls(), 40, "they are warned of");
}

#[test]
fn a_call_fits_the_last_request_of_its_thread_even_if_that_is_never_answered() {
    // Data comes on a connection of its own and is not answered; the thread that received it makes
    // a call for it.
    let (mut requests, mut calls) = (Vec::new(), Vec::new());
    for at in 0..40 {
        let begin = 20 * MS * at;
        requests.extend([(begin, begin + 2 * MS, 9), (begin + 3 * MS, OPEN, 8)]);
        calls.push((begin + 5 * MS, begin + 6 * MS, 1));
    }
    let mut service = service(requests, calls);
    assert_eq!(service.unmatched_calls(), 40, "by unknown threads");
    service.request_threads = vec![[7, 7]; service.requests.len()];
    service.call_threads = vec![[7, 7]; service.calls.len()];
    assert_eq!(service.unmatched_calls(), 0);
    service.call_threads = vec![[8, 8]; service.calls.len()];
    assert_eq!(service.unmatched_calls(), 40, "another thread makes them");
}

#[test]
fn a_call_fits_the_request_that_its_thread_has_just_answered() {
    // Each request takes 2 ms; 1 ms or 3 ms after its response the thread makes a call.
    let after = |ms: i64| {
        let begin = |at: i64| 20 * MS * at;
        let requests = (0..40).map(|at| (begin(at), begin(at) + 2 * MS, 9)).collect();
        let calls =
            (0..40).map(|at| (begin(at) + (2 + ms) * MS, begin(at) + (3 + ms) * MS, 1)).collect();
        let mut service = service(requests, calls);
        service.request_threads = vec![[7, 7]; 40];
        service.call_threads = vec![[7, 7]; 40];
        service.unmatched_calls()
    };
    assert_eq!((after(1), after(3)), (0, 40));
}

#[test]
fn calls_of_a_thread_before_its_first_request_are_for_none() {
    // Forty processes that each open their connections first and then receive one request.
    let (mut requests, mut calls) = (Vec::new(), Vec::new());
    for at in 0..40 {
        let begin = 20 * MS * at;
        calls.extend([
            (begin, begin + MS, 1),
            (begin + MS, begin + 2 * MS, 2),
            (begin + 6 * MS, begin + 7 * MS, 3),
        ]);
        requests.push((begin + 5 * MS, begin + 8 * MS, 9));
    }
    let mut service = service(requests, calls);
    assert_eq!(service.unmatched_calls(), 80, "by unknown threads");
    service.request_threads = (0..40).map(|thread| [thread, thread]).collect();
    service.call_threads = (0..120).map(|call| [call / 3, call / 3]).collect();
    assert_eq!(service.unmatched_calls(), 0);
    // A process that makes 80 calls without a request has requests that were not recorded.
    service.call_threads = vec![[39, 39]; 120];
    assert_eq!(service.unmatched_calls(), 80);
}
