use super::*;
use crate::infer::auto::service::NodeSpan;
use crate::infer::auto::tests::{self, MS, lot};

/// The order in which the thread of a service processes waiting requests: returns the place of the
/// next one, given the number of the event and the number of waiting requests.
pub(in crate::infer::auto) type ServingOrder = fn(i64, usize) -> usize;

/// An event loop for `clients` clients that each send the next request as soon as they have a
/// response: for each request a call of kind 1, then one of kind 2, then the response. Also returns
/// the request of each call.
pub(in crate::infer::auto) fn event_loop(
    clients: u32,
    requests: u32,
    order: ServingOrder,
) -> (Service, Vec<Option<RequestId>>) {
    const NEW: usize = usize::MAX;
    let mut service = Service { window: 10_000 * MS, ..Service::default() };
    // The time of each arriving event, its request, and how many calls that has made.
    let mut come: Vec<(i64, usize, u32)> =
        (0..clients).map(|client| (lot(client.into(), MS), NEW, 0)).collect();
    let mut waiting: Vec<(usize, u32)> = Vec::new();
    let (mut now, mut owner, mut number, mut asked) = (0, Vec::new(), 0, clients);
    while !(come.is_empty() && waiting.is_empty()) {
        come.sort_unstable();
        if waiting.is_empty() {
            now = now.max(come[0].0);
        }
        let read = come.partition_point(|(at, ..)| *at <= now);
        for (_, mut request, made) in come.drain(..read) {
            now += 1_000;
            if request == NEW {
                request = service.requests.len();
                service.requests.push(NodeSpan { begin: now, end: OPEN, kind: 9 });
            } else {
                let last = owner.iter().rposition(|of| *of == request).unwrap();
                service.calls[last].end = now;
            }
            waiting.push((request, made));
        }
        number += 1;
        let (request, made) = waiting.remove(order(number, waiting.len()));
        now += MS / 10 + lot(number, MS / 10);
        let back = now + MS + lot(number + 1_000_000, 3 * MS);
        if made < 2 {
            service.calls.push(NodeSpan { begin: now, end: OPEN, kind: made + 1 });
            owner.push(request);
            come.push((back, request, made + 1));
        } else {
            service.requests[request].end = now;
            if asked < requests {
                asked += 1;
                come.push((back, NEW, 0));
            }
        }
    }
    service.request_threads = vec![[0, 0]; service.requests.len()];
    service.call_threads = vec![[0, 0]; service.calls.len()];
    (service, tests::requests(owner))
}

/// Commits an assignment that has every fifth call wrong: returns the number of right calls, and
/// the least probability.
fn commit_and_score(service: &Service, truth: &[Option<RequestId>]) -> (usize, f64) {
    let wrong = |at: usize, request: usize| if at % 5 == 3 { request.max(1) - 1 } else { request };
    let truths = truth.iter().map(|request| request.unwrap().index());
    let owner = tests::requests(truths.enumerate().map(|(at, request)| wrong(at, request)));
    let other = |request: &Option<RequestId>| {
        request.map(|request| RequestId::from_index(request.index() + 7))
    };
    let shares = owner.iter().map(|request| vec![(*request, 0.4), (other(request), 0.6)]).collect();
    let mut found = Assignment { request_of_call: owner, shares };
    commit_fifo(service, &mut found);
    let right = found.request_of_call.iter().zip(truth).filter(|(one, other)| one == other).count();
    let own = |(shares, owner): (&Vec<(Option<RequestId>, f64)>, &Option<RequestId>)| {
        let share = shares.iter().find(|(request, _)| request == owner).map_or(0.0, |of| of.1);
        let all: f64 = shares.iter().map(|of| of.1).sum();
        assert!((all - 1.0).abs() < 1e-9, "{shares:?}");
        share
    };
    (right, found.shares.iter().zip(&found.request_of_call).map(own).fold(1.0, f64::min))
}

#[test]
fn a_fifo_service_needs_no_model() {
    let (service, truth) = event_loop(30, 300, |_, _| 0);
    let (right, least) = commit_and_score(&service, &truth);
    assert_eq!(right, 600);
    assert!(least > 0.99, "{least}");
}

#[test]
fn an_order_that_is_not_kept_is_left_to_the_model() {
    let orders: [ServingOrder; 3] = [
        // The request that was woken last, one of two at random, and occasionally the second one.
        |_, waiting| waiting - 1,
        |number, waiting| lot(number, 2) as usize % waiting,
        |number, waiting| usize::from(number % 20 == 0).min(waiting - 1),
    ];
    for (at, order) in orders.into_iter().enumerate() {
        let (service, truth) = event_loop(30, 300, order);
        let (right, least) = commit_and_score(&service, &truth);
        assert!(right <= 490 && least < 0.5, "{at}: {right} of 600, {least}");
    }
}

#[test]
fn counts_of_calls_give_the_plans_if_the_model_does_not() {
    /// Commits an assignment that gives all calls to the first request: returns the number of right
    /// calls.
    fn right(service: &Service, truth: &[Option<RequestId>]) -> usize {
        let first = tests::requests([0])[0];
        let shares = truth.iter().map(|_| vec![(first, 1.0)]).collect();
        let mut found = Assignment { request_of_call: vec![first; truth.len()], shares };
        commit_fifo(service, &mut found);
        found.request_of_call.iter().zip(truth).filter(|(one, other)| one == other).count()
    }
    let (mut service, mut truth) = event_loop(30, 300, |_, _| 0);
    assert_eq!(right(&service, &truth), 600);
    // A connection begins with calls that no request makes.
    for begin in 0..3 {
        service.calls.insert(0, NodeSpan { begin: -begin, end: 0, kind: 77 });
        service.call_threads.push([0, 0]);
        truth.insert(0, None);
    }
    assert_eq!(right(&service, &truth), 600);
    // The request that was answered last proceeds first.
    let (service, truth) = event_loop(30, 300, |_, waiting| waiting - 1);
    assert_eq!(right(&service, &truth), 2);
    let (mut service, truth) = event_loop(30, 300, |_, _| 0);
    service.calls.iter_mut().for_each(|call| call.kind = 1);
    assert_eq!(right(&service, &truth), 2, "two of a kind");
}

#[test]
fn a_few_responses_do_not_prove_an_order() {
    let (service, truth) = event_loop(30, 40, |_, _| 0);
    assert!(commit_and_score(&service, &truth).0 < 70);
    // One request at a time is never in another order.
    let (service, truth) = event_loop(1, 300, |_, _| 0);
    assert!(commit_and_score(&service, &truth).0 < 500);
}
