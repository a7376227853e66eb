//! The events of a service in the order of time, as the search processes them.

use super::service::{MadeCallId, RequestId, Service};

/// An event at a service that affects which call belongs to which request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ServiceEvent {
    /// A request was received.
    Receipt(RequestId),
    /// A call was made.
    Call(MadeCallId),
    /// A request was answered, but calls may still be made for it.
    Answer(RequestId),
    /// A request is closed: it was answered or abandoned, and no more calls are made for it.
    Reply(RequestId),
}

/// All events of `service` by time. At equal times requests come first, and replies last.
pub(super) fn events(service: &Service) -> Vec<(i64, ServiceEvent)> {
    let mut events = Vec::with_capacity(2 * service.requests.len() + service.calls.len());
    for (at, request) in RequestId::ids().zip(&service.requests) {
        events.push((request.begin, ServiceEvent::Receipt(at)));
        let (over, closed) = (service.request_end(request), service.closed_at(at));
        if closed > over {
            events.push((over, ServiceEvent::Answer(at)));
        }
        events.push((closed, ServiceEvent::Reply(at)));
    }
    events.extend(
        MadeCallId::ids()
            .zip(&service.calls)
            .map(|(at, call)| (call.begin, ServiceEvent::Call(at))),
    );
    events.sort_unstable();
    events
}

/// The calls of each request in the order of time, by the request that each call is assigned to.
pub(super) fn calls_by_request(
    service: &Service,
    request_of_call: &[Option<RequestId>],
) -> Vec<Vec<MadeCallId>> {
    let mut made = vec![Vec::new(); service.requests.len()];
    for (call, request) in MadeCallId::ids().zip(request_of_call) {
        if let Some(request) = request {
            made[request.index()].push(call);
        }
    }
    made
}
