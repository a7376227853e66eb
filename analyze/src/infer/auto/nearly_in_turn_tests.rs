use super::*;
use crate::infer::auto::service::NodeSpan;
use crate::infer::auto::strict;
use crate::infer::auto::strict::tests::{ServingOrder, event_loop};
use crate::infer::auto::tests::{lot, requests};

/// Two requests with a call each. The second call ends, and the second request is answered, at
/// these times. In FIFO order the first call is for the first request.
fn two(second_ends: i64, answered: i64) -> (Service, RejectedFifo) {
    let span = |begin, end, kind| NodeSpan { begin, end, kind };
    let service = Service {
        requests: vec![span(0, 100, 9), span(10, answered, 9)],
        calls: vec![span(20, 50, 1), span(30, second_ends, 1)],
        window: 1_000,
        ..Service::default()
    };
    let plans = std::iter::once((9, vec![1])).collect();
    (service, RejectedFifo { plans, request_of_call: requests([0, 1]) })
}

/// The only chains of that service.
fn chains<'a>(service: &'a Service, tried: &RejectedFifo) -> RequestChains<'a> {
    let mut all = RequestChains::from_service(service, tried, RECEIPT_POWER);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn costs_of_an_exchange_match_handwritten_values() {
    let (service, tried) = two(60, 110);
    let mut both = chains(&service, &tried);
    assert_eq!((both.len(), both.steps(), both.share_of_all()), (2, 1, 1.0));
    // Each is one place off in the order of receipts, which counts twice, and in the order of
    // responses.
    let costs = both.exchange(0, [0, 1], false);
    assert!((costs - 6.0 * 2f64.ln()).abs() < 1e-9, "{costs}");
    let links = both.links().map(|(call, request)| (call.index(), request.index()));
    assert_eq!(links.collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    let back = both.exchange(0, [0, 1], true);
    assert!((back + costs).abs() < 1e-9, "{back}");
    // The second call ends after the response to the first request, and cannot be for it.
    let (service, tried) = two(105, 110);
    let costs = chains(&service, &tried).exchange(0, [0, 1], false);
    assert!((costs - 6.0 * 2f64.ln() - 30.0).abs() < 1e-9, "{costs}");
}

#[test]
fn samples_are_as_frequent_as_they_are_likely() {
    // The second request is answered first: either one overtakes the other before its call, which
    // costs 4 ln 2, or after it, which costs 2 ln 2. That is one to four.
    let (service, tried) = two(60, 90);
    let likely = sampling::sample_exchanges(&mut chains(&service, &tried));
    for (call, seen) in &likely {
        let all: u32 = seen.iter().map(|(_, times)| times).sum();
        let own = seen.iter().find(|(request, _)| request.index() == call.index());
        let own = own.map_or(0, |(_, times)| *times);
        let share = f64::from(own) / f64::from(all);
        assert!((share - 0.8).abs() < 0.1, "{call:?}: {seen:?}");
    }
    assert_eq!(likely.len(), 2);
}

#[test]
fn kinds_of_calls_made_twice_or_by_other_requests_are_left_out() {
    let (service, mut tried) = two(60, 110);
    tried.plans.insert(9, vec![1, 1]);
    assert!(RequestChains::from_service(&service, &tried, WAKE_UP_POWER).is_empty());
    tried.plans = [(9, vec![1]), (8, vec![2, 1])].into_iter().collect();
    assert!(RequestChains::from_service(&service, &tried, WAKE_UP_POWER).is_empty());
    // Two kinds of requests with the same kinds of calls are examined together.
    tried.plans = [(9, vec![1]), (8, vec![1])].into_iter().collect();
    assert_eq!(chains(&service, &tried).len(), 2);
    // A request without its call does not count.
    tried.request_of_call[1] = None;
    let one = chains(&service, &tried);
    assert_eq!((one.len(), one.share_of_all()), (1, 0.5));
}

/// Number of right calls, of 300, number of calls with a probability of 0.9 or more, and how many
/// of these are right. With `together` calls are coalesced writes; with `guessed` the model knows
/// only the number of calls of a request and assigns all of them to the next request.
fn commit_and_score(order: ServingOrder, together: bool, guessed: bool) -> (usize, [usize; 2]) {
    let (mut service, truth) = event_loop(30, 150, order);
    let first = service.calls[0].begin;
    service.shared_writes = if together { vec![[first, first + 300]] } else { Vec::new() };
    let owner = requests(truth.iter().map(|request| (request.unwrap().index() + 1) % 150));
    let own = if guessed { 0.6 } else { 0.8 };
    let shares = owner.iter().map(|request| vec![(*request, own), (None, 1.0 - own)]).collect();
    let mut found = Assignment { request_of_call: owner, shares };
    let tried = strict::commit_fifo(&service, &mut found).expect("the order is not kept");
    commit_near_fifo(&service, &tried, &mut found);
    let mut sure = [0; 2];
    for (shares, truth) in found.shares.iter().zip(&truth) {
        assert!((shares.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9);
        if let Some((request, _)) = shares.iter().find(|(_, share)| *share >= 0.9) {
            sure[0] += 1;
            sure[1] += usize::from(request == truth);
        }
    }
    (found.request_of_call.iter().zip(&truth).filter(|(one, other)| one == other).count(), sure)
}

/// With probability 1/3 the second waiting request goes first.
const NEARLY: ServingOrder = |number, waiting| usize::from(lot(number, 3) == 0).min(waiting - 1);

#[test]
fn both_ends_resolve_a_nearly_fifo_service() {
    let (right, [sure, sure_right]) = commit_and_score(NEARLY, true, true);
    assert!(right >= 220, "{right} of 300");
    assert!(sure >= 8 && sure_right as f64 >= 0.9 * sure as f64, "{sure_right} of {sure}");
}

#[test]
fn another_order_is_not_certain() {
    // A random waiting request.
    let (_, [sure, sure_right]) =
        commit_and_score(|number, waiting| lot(number, waiting as i64) as usize, true, true);
    assert!(sure <= 60 && sure_right as f64 >= 0.8 * sure as f64, "{sure_right} of {sure}");
    // The last one, which is far from FIFO.
    assert_eq!(commit_and_score(|_, waiting| waiting - 1, true, true), (0, [0, 0]));
}

#[test]
fn the_model_decides_if_it_is_certain_or_writes_are_not_coalesced() {
    assert_eq!(commit_and_score(NEARLY, false, true), (0, [0, 0]));
    assert_eq!(commit_and_score(NEARLY, true, false), (0, [0, 0]));
}
