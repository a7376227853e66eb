//! The events of a service in the order of time, as the search processes them.

use super::NONE;
use super::service::Service;

/// An event at a service that affects which call belongs to which request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ServiceEvent {
    /// A request was received.
    Receipt(u32),
    /// A call was made.
    Call(u32),
    /// A request was answered, but calls may still be made for it.
    Answer(u32),
    /// A request is closed: it was answered or abandoned, and no more calls are made for it.
    Reply(u32),
}

/// All events of `service` by time. At equal times requests come first, and replies last.
pub(super) fn events(service: &Service) -> Vec<(i64, ServiceEvent)> {
    let mut events = Vec::with_capacity(2 * service.requests.len() + service.calls.len());
    for (at, request) in service.requests.iter().enumerate() {
        events.push((request.begin, ServiceEvent::Receipt(at as u32)));
        let (over, closed) = (service.request_end(request), service.closed_at(at as u32));
        if closed > over {
            events.push((over, ServiceEvent::Answer(at as u32)));
        }
        events.push((closed, ServiceEvent::Reply(at as u32)));
    }
    events.extend(
        service
            .calls
            .iter()
            .enumerate()
            .map(|(at, call)| (call.begin, ServiceEvent::Call(at as u32))),
    );
    events.sort_unstable();
    events
}

/// The calls of each request in the order of time, by the request that each call is assigned to.
pub(super) fn calls_by_request(service: &Service, owner: &[u32]) -> Vec<Vec<u32>> {
    let mut made = vec![Vec::new(); service.requests.len()];
    for (call, owner) in owner.iter().enumerate().filter(|(_, owner)| **owner != NONE) {
        made[*owner as usize].push(call as u32);
    }
    made
}
