//! Evidence from responses that are forwarded FIFO, in handwritten traces.

use super::*;
use crate::infer::auto::events::events;
use crate::infer::auto::tests::requests;
use crate::infer::span::NodeSpan;

/// Requests that wait together, each with one call. The second request makes its call first and is
/// answered first.
fn overtaken() -> (Service, Vec<Option<RequestId>>) {
    let mut service = Service { window: 1_000, ..Service::default() };
    for at in 0..20 {
        let end = if at == 1 { 50 } else { 100 + 10 * at };
        service.requests.push(NodeSpan { begin: at, end, kind: 9 });
        let request = [1, 0].get(at as usize).copied().unwrap_or(at);
        let end = if request == 1 { 45 } else { 95 + 10 * request };
        service.calls.push(NodeSpan { begin: 30 + at, end, kind: 1 });
    }
    (service, requests([1, 0].into_iter().chain(2..20)))
}

#[test]
fn a_skipped_request_shifts_all_later_ones_unless_calls_are_taken_by_their_ends() {
    let (service, truth) = overtaken();
    let found = |choice| assign_by_rule(&service, &events(&service), choice);
    assert_eq!(found(InitialRule::Delegated), truth);
    let in_turn = found(InitialRule::Fifo);
    let right = in_turn.iter().zip(&truth).filter(|(one, other)| one == other).count();
    assert!(right <= 1, "{in_turn:?}");
}

#[test]
fn a_call_that_outlasts_all_requests_is_for_the_latest_one() {
    let (mut service, _) = overtaken();
    service.calls.push(NodeSpan { begin: 60, end: 9_000, kind: 1 });
    service.calls.push(NodeSpan { begin: -5, end: 40, kind: 1 });
    let found = assign_by_rule(&service, &events(&service), InitialRule::Delegated);
    assert_eq!(found[20..], [requests([19])[0], None], "the other one was made before any request");
    let bound = Some(RequestId::from_index(8));
    service.bound_to = vec![None; 22];
    service.bound_to[5] = bound;
    assert_eq!(
        assign_by_rule(&service, &events(&service), InitialRule::Delegated)[5],
        bound,
        "its thread is bound to it"
    );
}

#[test]
fn the_first_response_is_forwarded_first() {
    let span = |begin, end, kind| NodeSpan { begin, end, kind };
    let service = Service {
        requests: vec![span(0, 100, 9), span(1, 90, 9)],
        calls: vec![span(30, 80, 1), span(31, 70, 1)],
        window: 1_000,
        ..Service::default()
    };
    // In the order of their beginnings, the first call would be for the second request, which is
    // answered first.
    let found = assign_by_rule(&service, &events(&service), InitialRule::Delegated);
    assert_eq!(found, requests([0, 1]));
}
