//! The request that the thread of a call is bound to. In a server with one thread per request,
//! which does all of its work and answers it, a call was made for the request that its thread has
//! received and not answered yet. No search can find more. The trace itself shows whether a service
//! has one thread per request: no thread receives a request while it is bound to another one, the
//! thread that receives a request answers it, and calls are made by bound threads and end before
//! these answer. Requests must overlap for this to be visible. An event loop, which has one thread
//! for all requests, fails immediately.

use rustc_hash::FxHashMap;

use super::events::{ServiceEvent, events};
use super::service::{OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::tuning::auto::services::holders::{MAX_EXCEPTIONS, MAX_OUTSIDE, MIN_OVERLAPS};

/// The request that the thread of each call of `service` is bound to, if any; empty if the service
/// does not have one thread per request.
pub(super) fn bound_requests(service: &Service) -> Vec<Option<RequestId>> {
    if service.call_threads.is_empty() {
        return Vec::new();
    }
    let mut bound: FxHashMap<u32, RequestId> = FxHashMap::default();
    let mut requests = vec![None; service.calls.len()];
    let (mut open, mut overlaps, mut broken, mut cases, mut outside) =
        (0_usize, 0, 0_usize, 0_usize, 0_usize);
    for (time, event) in events(service) {
        match event {
            ServiceEvent::Receipt(request) => {
                open += 1;
                overlaps += usize::from(open > 1);
                let [receiver, answerer] = service.request_threads[request.index()];
                if receiver == UNKNOWN_THREAD {
                    return Vec::new();
                }
                cases += 1;
                let answered_by_another = answerer != UNKNOWN_THREAD && answerer != receiver;
                // Work for a request after its response ends before its thread is bound to another
                // one.
                let before = bound.insert(receiver, request);
                let is_unanswered = |before: RequestId| {
                    service.request_end(&service.requests[before.index()]) > time
                };
                broken += usize::from(before.is_some_and(is_unanswered) || answered_by_another);
            }
            ServiceEvent::Answer(_) => {}
            ServiceEvent::Reply(request) => {
                open = open.saturating_sub(1);
                let [receiver, _] = service.request_threads[request.index()];
                if bound.get(&receiver) == Some(&request) {
                    bound.remove(&receiver);
                }
            }
            ServiceEvent::Call(call) if open > 0 => {
                match bound.get(&service.calling_thread(call)) {
                    Some(request) => {
                        requests[call.index()] = Some(*request);
                        let is_unsure = service.is_unsure(call);
                        let [request, call] =
                            [service.requests[request.index()], service.calls[call.index()]];
                        cases += 1;
                        let is_cut =
                            !is_unsure && call.begin <= request.end && request.end < call.end;
                        broken += usize::from(call.end != OPEN && is_cut);
                    }
                    None => outside += 1,
                }
            }
            ServiceEvent::Call(_) => {}
        }
    }
    let is_rule = overlaps >= MIN_OVERLAPS
        && broken as f64 <= MAX_EXCEPTIONS * cases as f64
        && outside as f64 <= MAX_OUTSIDE * requests.len() as f64;
    if is_rule { requests } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::service::NodeSpan;
    use crate::infer::auto::tests;

    /// Two requests at a time, each with a call; `thread` returns the thread of the receipt, the
    /// call and the reply of a request.
    fn service(thread: impl Fn(u32, usize) -> u32) -> Service {
        let mut service = Service { window: 1_000_000, ..Service::default() };
        for request in 0..60_u32 {
            let begin = 50 * i64::from(request);
            service.requests.push(NodeSpan { begin, end: begin + 90, kind: 9 });
            service.request_threads.push([thread(request, 0), thread(request, 2)]);
            service.calls.push(NodeSpan { begin: begin + 60, end: begin + 80, kind: 1 });
            service.call_threads.push([thread(request, 1); 2]);
        }
        service
    }

    #[test]
    fn a_thread_per_request_is_bound_to_it() {
        let requests = bound_requests(&service(|request, _| request % 3));
        assert_eq!(requests, tests::requests(0..60));
    }

    #[test]
    fn event_loops_and_hand_overs_have_no_bound_threads() {
        assert!(bound_requests(&service(|_, _| 1)).is_empty(), "one thread for all");
        assert!(
            bound_requests(&service(|request, part| request % 3 + 10 * part as u32)).is_empty(),
            "a hand-over"
        );
        assert!(
            bound_requests(&service(|request, part| if part == 1 { 99 } else { request % 3 }))
                .is_empty(),
            "a pool"
        );
        assert!(bound_requests(&service(|_, _| UNKNOWN_THREAD)).is_empty());
    }

    #[test]
    fn calls_with_ambiguous_responses_do_not_break_the_rule() {
        let mut service = service(|request, _| request % 3);
        service.calls.iter_mut().step_by(7).for_each(|call| call.end += 50);
        assert!(bound_requests(&service).is_empty(), "calls that end after their requests");
        service.call_unsure = (0..service.calls.len()).map(|call| call % 7 == 0).collect();
        assert_eq!(bound_requests(&service).len(), 60);
    }

    #[test]
    fn requests_in_sequence_are_no_evidence() {
        let mut alone = service(|_, _| 1);
        for at in 0..60 {
            let begin = 1000 * at as i64;
            alone.requests[at] = NodeSpan { begin, end: begin + 90, kind: 9 };
            alone.calls[at] = NodeSpan { begin: begin + 60, end: begin + 80, kind: 1 };
        }
        assert!(bound_requests(&alone).is_empty());
    }
}
