//! Whole services in handwritten traces, and the resulting links.

use message_trace::{MessageId, MessageTrace, NodeList};
use proptest::prelude::*;

use super::AutoAlgorithm;
use super::assignment::Assignment;
use super::estimate::estimate;
use super::service::{NodeSpan, OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::fixture::Fixture;
use crate::infer::{Inference, InferenceInput, Links};
use crate::naming::Naming;
use crate::options::Options;

pub(super) const MS: i64 = 1_000_000;

/// A service with these requests and calls: begin, end and kind of each.
pub(super) fn service(requests: Vec<(i64, i64, u32)>, calls: Vec<(i64, i64, u32)>) -> Service {
    let spans = |mut all: Vec<(i64, i64, u32)>| {
        all.sort_unstable();
        all.into_iter().map(|(begin, end, kind)| NodeSpan { begin, end, kind }).collect()
    };
    Service {
        requests: spans(requests),
        calls: spans(calls),
        window: 1000 * MS,
        ..Service::default()
    }
}

/// The requests with these indices, as those of calls.
pub(super) fn requests(indices: impl IntoIterator<Item = usize>) -> Vec<Option<RequestId>> {
    indices.into_iter().map(|index| Some(RequestId::from_index(index))).collect()
}

/// The index of the likeliest request of each call, with its probability.
pub(super) fn likeliest(found: &Assignment) -> Vec<(Option<usize>, f64)> {
    let best = |shares: &Vec<(Option<RequestId>, f64)>| {
        shares.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)).expect("a share")
    };
    let best = found.shares.iter().map(best);
    best.map(|(request, share)| (request.map(RequestId::index), share)).collect()
}

/// A pseudorandom number below `bound`.
pub(super) fn lot(at: i64, bound: i64) -> i64 {
    let mixed = at.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    ((mixed ^ mixed >> 29).wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).rem_euclid(bound)
}

#[test]
fn overlapping_requests_are_distinguished_by_usual_delays() {
    // Each request calls 1 after 1 ms, and 2 half a millisecond after the response; every second
    // one arrives while the previous one is being processed.
    let (mut requests, mut calls) = (Vec::new(), Vec::new());
    for at in 0..400 {
        let begin = 20 * MS * (at / 2) + at % 2 * (1 + lot(at, 7)) * MS / 2 + lot(at, 100);
        let back = begin + MS + (3 + lot(at + 1000, 4)) * MS;
        calls.push((begin + MS + lot(at, 50_000), back, 1));
        calls.push((back + MS / 2 + lot(at, 40_000), back + 3 * MS, 2));
        requests.push((begin, back + 3 * MS + MS / 10, 9));
    }
    let service = service(requests, calls);
    let found = estimate(&service, None).0;
    let wrong = likeliest(&found)
        .into_iter()
        .enumerate()
        .filter(|(call, (request, _))| {
            let (call, request) = (service.calls[*call], service.requests[request.unwrap()]);
            let since = call.begin - request.begin;
            if call.kind == 1 {
                !(MS..MS + 60_000).contains(&since)
            } else {
                request.end < call.end
            }
        })
        .count();
    assert_eq!(wrong, 0);
    let sums = found.shares.iter().map(|shares| shares.iter().map(|(_, share)| share).sum::<f64>());
    // Shares of hardly possible requests are left out.
    sums.for_each(|sum| assert!((0.99..1.0 + 1e-9).contains(&sum), "{sum}"));
}

#[test]
fn a_fifo_service_is_recognised() {
    // Two requests at one moment; one worker processes them FIFO, after times that scatter widely.
    let (mut requests, mut calls, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..300 {
        let begin = 100 * MS * at;
        let late = (2 + lot(at, 9)) * MS;
        for place in 0..2 {
            let call = begin + late + place * (1 + lot(at + place, 6)) * MS;
            requests.push((begin + place * MS, begin + 60 * MS, 9));
            calls.push((call, begin + 50 * MS, 1));
            truth.push((call, begin + place * MS));
        }
    }
    let service = service(requests, calls);
    let found = estimate(&service, None).0;
    let right = likeliest(&found).into_iter().enumerate().filter(|(call, (request, _))| {
        truth.contains(&(service.calls[*call].begin, service.requests[request.unwrap()].begin))
    });
    assert_eq!(right.count(), 600);
}

#[test]
fn background_calls_are_for_none_and_unanswered_requests_are_dropped() {
    let mut requests: Vec<_> =
        (0..50).map(|at| (100 * MS * at, 100 * MS * at + 10 * MS, 9)).collect();
    let mut calls: Vec<_> =
        (0..50).map(|at| (100 * MS * at + MS, 100 * MS * at + 5 * MS, 1)).collect();
    // Long after all of them.
    requests.push((9_000 * MS, OPEN, 9));
    calls.push((9_001 * MS, 9_002 * MS, 1));
    calls.push((20_000 * MS, 20_001 * MS, 1));
    let found = likeliest(&estimate(&service(requests, calls), None).0);
    assert!((0..51).all(|call| found[call].0 == Some(call)), "{found:?}");
    assert_eq!(found[51].0, None);
}

#[test]
fn two_indistinguishable_requests_are_equally_likely() {
    let mut requests: Vec<_> =
        (0..100).map(|at| (100 * MS * at, 100 * MS * at + 10 * MS, 9)).collect();
    let mut calls: Vec<_> =
        (0..100).map(|at| (100 * MS * at + MS, 100 * MS * at + 5 * MS, 1)).collect();
    requests.extend([(50_000 * MS, 50_010 * MS, 9), (50_000 * MS, 50_010 * MS, 9)]);
    calls.extend([(50_001 * MS, 50_005 * MS, 1), (50_001 * MS, 50_005 * MS, 1)]);
    let found = estimate(&service(requests, calls), None).0;
    let [fifty, first, second] = [50, 100, 101].map(|request| Some(RequestId::from_index(request)));
    assert!(found.shares[50].iter().any(|(request, share)| *request == fifty && *share > 0.99));
    for call in [100, 101] {
        let share = |of: Option<RequestId>| {
            found.shares[call].iter().find(|(request, _)| *request == of).map_or(0.0, |it| it.1)
        };
        assert!(
            (share(first) - 0.5).abs() < 0.01 && (share(second) - 0.5).abs() < 0.01,
            "{:?}",
            found.shares[call]
        );
    }
}

pub(super) fn infer(trace: &MessageTrace) -> Links {
    let options = Options::default();
    AutoAlgorithm::default().infer_links(&InferenceInput::without_progress(
        trace,
        &Naming::new(trace, &options),
        &options,
    ))
}

/// The most likely parent of each message.
pub(super) fn parents(links: &Links) -> Vec<Option<MessageId>> {
    links.ids().map(|child| links.likeliest_parent(child)?.0.here()).collect()
}

#[test]
fn the_parent_is_the_last_message_received_for_the_same_request() {
    let mut fixture = Fixture::new();
    for round in 0..40 {
        let begin = 100 * MS * round;
        let call = |fixture: &mut Fixture,
                    from: &str,
                    to: &str,
                    times: [i64; 2],
                    back: bool,
                    flow: i64| {
            let sent =
                fixture.send(from, to, begin + times[0] * MS / 10, begin + times[1] * MS / 10);
            if back {
                sent.accepting().ports(80, 40_000).on(flow)
            } else {
                sent.on(flow)
            };
        };
        call(&mut fixture, "client", "web", [0, 10], false, 3 * round);
        call(&mut fixture, "web", "cache", [20, 30], false, 3 * round + 1);
        call(&mut fixture, "cache", "web", [40, 50], true, 3 * round + 1);
        call(&mut fixture, "web", "store", [60, 70], false, 3 * round + 2);
        call(&mut fixture, "store", "web", [80, 90], true, 3 * round + 2);
        call(&mut fixture, "web", "client", [100, 110], true, 3 * round);
    }
    let trace = fixture.trace();
    let expected = (0..40).flat_map(|round| {
        let first = 6 * round;
        [None, Some(first), Some(first + 1), Some(first + 2), Some(first + 3), Some(first + 4)]
    });
    let expected = expected.map(|parent| parent.map(MessageId::from_index));
    assert_eq!(parents(&infer(&trace)), expected.collect::<Vec<_>>());
}

/// A pool of threads that perform the events of requests: `thread` returns the thread by the number
/// of the request and the turn, which is 0 for the receipt, 1 and 2 for two calls of one kind, the
/// first soon and the other at a random time, and 3 for the reply. A dozen requests are open at any
/// time. Returns the share of calls that are assigned to their requests.
fn with_threads(thread: impl Fn(i64, i64) -> u32) -> f64 {
    let mut requests = Vec::new();
    let mut calls = Vec::new();
    for number in 0..150 {
        let begin = MS * number;
        let at = [200 + lot(7 * number, 600), 3000 + lot(11 * number, 8000)].map(|at| 1000 * at);
        requests.push((
            NodeSpan { begin, end: begin + 12 * MS, kind: 9 },
            [thread(number, 0), thread(number, 3)],
        ));
        for (turn, at) in (1..).zip(at) {
            let by = thread(number, turn);
            calls.push((
                NodeSpan { begin: begin + at, end: begin + at + MS / 2, kind: 1 },
                [by, by],
                Some(number as usize),
            ));
        }
    }
    calls.sort_by_key(|(call, _, _)| call.begin);
    let service = Service {
        requests: requests.iter().map(|(request, _)| *request).collect(),
        request_threads: requests.iter().map(|(_, threads)| *threads).collect(),
        calls: calls.iter().map(|(call, _, _)| *call).collect(),
        call_threads: calls.iter().map(|(_, threads, _)| *threads).collect(),
        window: 1000 * MS,
        ..Service::default()
    };
    let found = likeliest(&estimate(&service, None).0);
    let right = found.iter().zip(&calls).filter(|((request, _), (_, _, of))| request == of).count();
    right as f64 / calls.len() as f64
}

#[test]
fn threads_count_as_far_as_they_are_evidence() {
    let pool = |number: i64| (number % 16) as u32;
    let unknown = with_threads(|_, _| UNKNOWN_THREAD);
    assert!(unknown < 0.75, "{unknown}");
    // A thread for each request, from the pool.
    let own = with_threads(|number, _| pool(number));
    assert!(own > 0.99, "{own}");
    // One thread receives all requests, and hands over to one of a pool that makes all calls: the
    // second call is by the thread of the first.
    let handed = with_threads(|number, turn| if turn == 0 { 99 } else { pool(number) });
    assert!(handed > 0.95, "{handed}");
    // Any free thread performs the next event: that proves nothing, and does no harm.
    let any = with_threads(|number, turn| lot(4 * number + turn, 16) as u32);
    assert!(any > unknown - 0.03, "{any} {unknown}");
}

#[test]
fn calls_of_a_node_to_itself_are_for_another_request() {
    let mut fixture = Fixture::new();
    for round in 0..40 {
        let begin = 20 * MS * round;
        fixture.send("client", "web", begin, begin).on(2 * round);
        // On a clock so coarse that messages are sent and received at the same time.
        fixture.send("web", "web", begin + MS, begin + MS).on(2 * round + 1);
        let back = fixture.send("web", "web", begin + 2 * MS, begin + 2 * MS);
        back.accepting().ports(80, 40_000).on(2 * round + 1);
        fixture
            .send("web", "client", begin + 10 * MS, begin + 10 * MS)
            .accepting()
            .ports(80, 40_000)
            .on(2 * round);
    }
    let trace = fixture.trace();
    let parents = parents(&infer(&trace));
    let is_right = |round: &usize| parents[4 * round + 1] == Some(MessageId::from_index(4 * round));
    let right = (0..40).filter(is_right).count();
    assert_eq!(right, 40, "{parents:?}");
}

#[test]
fn a_server_with_a_slow_clock_has_its_calls_nevertheless() {
    let mut fixture = Fixture::new();
    for round in 0..40 {
        // The server's clock is a second slow.
        let [begin, slow] = [1000 * MS, 0].map(|clock| clock + 10 * MS * round);
        fixture.send("client", "web", begin, slow + MS).on(2 * round);
        fixture.send("web", "store", slow + 2 * MS, begin + 3 * MS).on(2 * round + 1);
        let back = fixture.send("store", "web", begin + 4 * MS, slow + 5 * MS);
        back.accepting().ports(80, 40_000).on(2 * round + 1);
        let back = fixture.send("web", "client", slow + 6 * MS, begin + 7 * MS);
        back.accepting().ports(80, 40_000).on(2 * round);
    }
    let trace = fixture.trace();
    let links = infer(&trace);
    for child in trace.ids() {
        let is_root = trace.message(child).src.index() == 0;
        assert_eq!(links.is_likely_spontaneous(child), is_root, "{child:?}");
    }
}

#[test]
fn calls_that_fit_no_request_make_a_warning() {
    // The requests are answered immediately or never, and calls continue for long after them.
    let trace = |is_answered: bool, late: i64| {
        let mut fixture = Fixture::new();
        for round in 0..60 {
            let begin = 100 * MS * round;
            fixture.send("client", "web", begin, begin + MS).on(2 * round);
            fixture.send("web", "store", begin + late, begin + late + MS).on(2 * round + 1);
            let back = fixture.send("store", "web", begin + late + 2 * MS, begin + late + 3 * MS);
            back.accepting().ports(80, 40_000).on(2 * round + 1);
            if is_answered || round % 4 < 2 {
                let response = fixture.send("web", "client", begin + 10 * MS, begin + 11 * MS);
                response.accepting().ports(80, 40_000).on(2 * round);
            }
        }
        fixture.trace()
    };
    let doubts = |trace: &MessageTrace| {
        let (options, mut auto) = (Options::default(), AutoAlgorithm::default());
        let links = auto.infer_links(&InferenceInput::without_progress(
            trace,
            &Naming::new(trace, &options),
            &options,
        ));
        let sure = trace.ids().filter(|row| links.parents(*row).any(|(_, p)| p > 0.9));
        (auto.warnings(), sure.count())
    };
    let (warnings, sure) = doubts(&trace(true, 4 * MS));
    assert!(warnings.is_empty() && sure == 180, "{warnings:?} {sure}");
    let (warnings, sure) = doubts(&trace(false, 4 * MS));
    assert!(warnings.len() == 1 && warnings[0].warning_text().contains("web"), "{warnings:?}");
    assert!(sure < 180 - 60, "{sure}");
}

#[test]
fn an_empty_trace_gives_no_links() {
    assert_eq!(infer(&MessageTrace::new(NodeList::default())).message_count(), 0);
}

/// A web server that receives many requests simultaneously and asks a store once for each, all at
/// these milliseconds after the beginning; as messages on connections of their own.
fn at_once(requests: i64) -> MessageTrace {
    let mut fixture = Fixture::new();
    for at in 0..requests {
        let (web, store) = (2 * at, 2 * at + 1);
        fixture.send("client", "web", 0, MS).on(web);
        fixture.send("web", "store", 5 * MS, 6 * MS).on(store);
        fixture.send("store", "web", 7 * MS, 8 * MS).accepting().ports(80, 40_000).on(store);
        fixture.send("web", "client", 9 * MS, 10 * MS).accepting().ports(80, 40_000).on(web);
    }
    fixture.trace()
}

#[test]
fn a_call_with_many_candidates_is_no_background_call() {
    for requests in [7, 300] {
        let trace = at_once(requests);
        let links = infer(&trace);
        for child in trace.ids() {
            let sum: f64 = links.parents(child).map(|(_, share)| share).sum();
            assert!(
                (sum + links.spontaneous_probability(child) - 1.0).abs() < 1e-9,
                "{requests}: {sum}"
            );
            let is_root = trace.message(child).src.index() == 0;
            assert_eq!(links.is_likely_spontaneous(child), is_root, "{requests}: {child:?}");
        }
    }
}

#[test]
fn calls_that_begin_late_in_a_busy_trace_are_learned() {
    // A thousand requests without a call, a microsecond apart, before the first with one.
    let requests = (0..1400).map(|at| (1000 * at, 1000 * at + 900, 9)).collect();
    let calls = (1000..1400).map(|at| (1000 * at + 300, 1000 * at + 600, 1)).collect();
    let found = likeliest(&estimate(&service(requests, calls), None).0);
    assert!(
        found.iter().enumerate().all(|(call, (request, _))| *request == Some(1000 + call)),
        "{found:?}"
    );
}

#[test]
fn times_at_the_ends_of_the_range_do_not_overflow() {
    for times in [[i64::MIN, i64::MAX - 10], [i64::MAX - 100, i64::MIN + 7], [0, 0]] {
        let all: Vec<_> =
            (0..60).map(|at| (times[at % 2].saturating_add(at as i64), times[1], 1)).collect();
        let found = estimate(&service(all.clone(), all), None).0;
        assert_eq!(found.shares.len(), 60);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Nodes that also call themselves, on a clock so coarse that most events are simultaneous.
    #[test]
    fn no_message_causes_itself(
        messages in prop::collection::vec((0..3usize, 0..3usize, 0..4i64, any::<bool>(), 0..6i64, 0..2i64), 0..60),
    ) {
        let mut fixture = Fixture::new();
        for (src, dst, flow, back, time, took) in messages {
            let names = ["a", "b", "c"];
            let (src, dst) = (names[src], names[dst]);
            let sent = fixture.send(src, dst, time * MS, (time + took) * MS).on(flow);
            if back {
                sent.accepting().ports(80, 40_000);
            }
        }
        let trace = fixture.trace();
        let mut links = infer(&trace);
        links.break_cycles(&(0..trace.len()));
        let parents = parents(&links);
        for child in trace.ids() {
            let all: Vec<MessageId> = links.parents_here(child).map(|(parent, _)| parent).collect();
            prop_assert!(all.iter().all(|parent| *parent != child));
            prop_assert!(all.iter().collect::<std::collections::BTreeSet<_>>().len() == all.len(), "{all:?}");
            // The path to the root ends.
            let mut at = Some(child);
            let steps = std::iter::from_fn(|| {
                at = parents[at?.index()];
                at
            });
            prop_assert!(steps.take(trace.len() + 1).count() <= trace.len());
        }
    }
}

#[test]
fn a_model_learned_in_one_batch_counts_in_the_next() {
    // On its own, a handful of overlapping requests does not show the delays of calls.
    let spans = |count: i64, gap: i64| -> Service {
        let request = |at: i64| (at * gap, at * gap + 9_000_000, 0);
        let call = |at: i64| (at * gap + 4_000_000, at * gap + 5_000_000, 1);
        service((0..count).map(request).collect(), (0..count).map(call).collect())
    };
    let (_, known) = estimate(&spans(400, 20_000_000), None);
    let few = spans(6, 1_300_000);
    let (found, known) = estimate(&few, Some(known));
    for (own, shares) in requests(0..6).iter().zip(&found.shares) {
        assert!(shares.iter().any(|(request, share)| request == own && *share > 0.9), "{shares:?}");
    }
    // On their own they give less certain results, whatever the initial assignment.
    let (alone, _) = estimate(&few, None);
    assert_ne!(alone.shares, found.shares);
    // Requests of another kind are learned separately, though their calls are of the known kind.
    let request = |at: i64| (at * 20_000_000, at * 20_000_000 + 9_000_000, 7);
    let call = |at: i64| (at * 20_000_000 + 1_000_000, at * 20_000_000 + 2_000_000, 1);
    let other = service((0..400).map(request).collect(), (0..400).map(call).collect());
    let (found, _) = estimate(&other, Some(known));
    assert!(found.shares.iter().all(|shares| shares.iter().any(|(_, share)| *share > 0.9)));
}
