//! Whether requests wait before their calls or after them. An overloaded service lets requests wait
//! in a queue, and answers when their last call has returned. Reversed in time, the same events
//! mean that each request is processed as soon as it arrives, and that its response then waits for
//! as long. Delays fit both directions equally well, so this is the only evidence for which one is
//! likely.

use super::events::calls_by_request;
use super::service::{OPEN, RequestId, Service};

/// Share of the waiting time of answered requests that comes after their last call, from 0 to 1;
/// the rest comes before their first. A request without calls waits for its response all the time.
/// 0 if the ends of some kinds of requests are estimated, since their waiting times are not known.
pub(super) fn after_last_call(service: &Service, request_of_call: &[Option<RequestId>]) -> f64 {
    if service.has_unanswered_kinds {
        return 0.0;
    }
    let (mut before, mut after) = (0.5, 0.5);
    for (request, made) in service.requests.iter().zip(calls_by_request(service, request_of_call)) {
        let calls = || made.iter().map(|call| service.calls[call.index()]);
        let returned = |end: i64| end != OPEN && end <= request.end;
        if request.end == OPEN || !calls().all(|call| returned(call.end)) {
            continue;
        }
        let first = calls().map(|call| call.begin).min().unwrap_or(request.begin);
        // Without any call all of it is waiting for the response.
        let last = calls().map(|call| call.end).max().unwrap_or(request.begin);
        before += first.saturating_sub(request.begin).max(0) as f64;
        after += request.end.saturating_sub(last).max(0) as f64;
    }
    after / (before + after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::service::NodeSpan;
    use crate::infer::auto::tests;

    #[test]
    fn immediate_work_with_a_late_response_waits_after_its_last_call() {
        let requests = [(0, 100), (50, 150)].map(|(begin, end)| NodeSpan { begin, end, kind: 9 });
        let calls = [(60, 95), (110, 145)].map(|(begin, end)| NodeSpan { begin, end, kind: 1 });
        let service =
            Service { requests: requests.to_vec(), calls: calls.to_vec(), ..Service::default() };
        // 60 and 60 before, 5 and 5 after; and a half of each as prior.
        assert!((after_last_call(&service, &tests::requests([0, 1])) - 10.5 / 131.0).abs() < 1e-9);
        // The first call for the second request: 10 before, 55 after; the other has none that
        // returned in time.
        assert!((after_last_call(&service, &tests::requests([1, 0])) - 55.5 / 66.0).abs() < 1e-9);
        // Without calls only the response is awaited.
        assert!((after_last_call(&service, &[None; 2]) - 200.5 / 201.0).abs() < 1e-9);
        assert!((after_last_call(&Service::default(), &[]) - 0.5).abs() < 1e-9);
    }
}
