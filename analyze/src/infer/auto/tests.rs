//! Whole services by hand, and the links that come of them.

use message_trace::{MessageTrace, Nodes};

use super::Auto;
use super::estimate::estimate;
use super::search::Found;
use super::service::{OPEN, Service, Span};
use crate::fixture::Fixture;
use crate::infer::{Inference, Links};
use crate::naming::Naming;
use crate::options::Options;

const MS: i64 = 1_000_000;

fn service(requests: Vec<(i64, i64, u32)>, calls: Vec<(i64, i64, u32)>) -> Service {
    let spans = |mut all: Vec<(i64, i64, u32)>| {
        all.sort_unstable();
        all.into_iter().map(|(begin, end, kind)| Span { begin, end, kind }).collect()
    };
    Service { requests: spans(requests), calls: spans(calls), window: 1000 * MS, ..Service::default() }
}

/// The request that each call is most likely for, and how probable that is.
fn likeliest(found: &Found) -> Vec<(u32, f64)> {
    let best = |shares: &Vec<(u32, f64)>| {
        shares.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)).expect("a share")
    };
    found.shares.iter().map(best).collect()
}

/// A number that looks as if it were drawn by lot, below `bound`.
fn lot(at: i64, bound: i64) -> i64 {
    (at.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f) >> 33).rem_euclid(bound)
}

#[test]
fn requests_that_overlap_are_told_apart_by_what_is_usual() {
    // Each request calls 1 after 1 ms and 2 when that has answered, half a millisecond later; every other one comes
    // while the one before is being worked on.
    let (mut requests, mut calls) = (Vec::new(), Vec::new());
    for at in 0..400 {
        let begin = 20 * MS * (at / 2) + at % 2 * (1 + lot(at, 7)) * MS / 2 + lot(at, 100);
        let back = begin + MS + (3 + lot(at + 1000, 4)) * MS;
        calls.push((begin + MS + lot(at, 50_000), back, 1));
        calls.push((back + MS / 2 + lot(at, 40_000), back + 3 * MS, 2));
        requests.push((begin, back + 3 * MS + MS / 10, 9));
    }
    let service = service(requests, calls);
    let found = estimate(&service);
    let wrong = likeliest(&found)
        .into_iter()
        .enumerate()
        .filter(|(call, (request, _))| {
            let (call, request) = (service.calls[*call], service.requests[*request as usize]);
            let since = call.begin - request.begin;
            if call.kind == 1 { !(MS..MS + 60_000).contains(&since) } else { request.end < call.end }
        })
        .count();
    assert_eq!(wrong, 0);
    let sums = found.shares.iter().map(|shares| shares.iter().map(|(_, share)| share).sum::<f64>());
    // What is hardly possible is left out.
    sums.for_each(|sum| assert!((0.99..1.0 + 1e-9).contains(&sum), "{sum}"));
}

#[test]
fn a_service_that_serves_in_turn_is_recognised() {
    // Two requests at one moment; one worker takes them in turn, after times that scatter widely.
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
    let found = estimate(&service);
    let right = likeliest(&found).into_iter().enumerate().filter(|(call, (request, _))| {
        truth.contains(&(service.calls[*call].begin, service.requests[*request as usize].begin))
    });
    assert_eq!(right.count(), 600);
}

#[test]
fn what_nobody_asked_for_is_for_none_and_what_is_never_answered_is_given_up() {
    let mut requests: Vec<_> = (0..50).map(|at| (100 * MS * at, 100 * MS * at + 10 * MS, 9)).collect();
    let mut calls: Vec<_> = (0..50).map(|at| (100 * MS * at + MS, 100 * MS * at + 5 * MS, 1)).collect();
    // Long after all of them.
    requests.push((9_000 * MS, OPEN, 9));
    calls.push((9_001 * MS, 9_002 * MS, 1));
    calls.push((20_000 * MS, 20_001 * MS, 1));
    let found = likeliest(&estimate(&service(requests, calls)));
    assert!((0..51).all(|call| found[call].0 == call as u32), "{found:?}");
    assert_eq!(found[51].0, super::NONE);
}

#[test]
fn two_that_cannot_be_told_apart_are_as_likely() {
    let mut requests: Vec<_> = (0..100).map(|at| (100 * MS * at, 100 * MS * at + 10 * MS, 9)).collect();
    let mut calls: Vec<_> = (0..100).map(|at| (100 * MS * at + MS, 100 * MS * at + 5 * MS, 1)).collect();
    requests.extend([(50_000 * MS, 50_010 * MS, 9), (50_000 * MS, 50_010 * MS, 9)]);
    calls.extend([(50_001 * MS, 50_005 * MS, 1), (50_001 * MS, 50_005 * MS, 1)]);
    let found = estimate(&service(requests, calls));
    assert!(found.shares[50].iter().any(|(request, share)| *request == 50 && *share > 0.99));
    for call in [100, 101] {
        let share =
            |of: u32| found.shares[call].iter().find(|(request, _)| *request == of).map_or(0.0, |it| it.1);
        assert!(
            (share(100) - 0.5).abs() < 0.01 && (share(101) - 0.5).abs() < 0.01,
            "{:?}",
            found.shares[call]
        );
    }
}

fn infer(trace: &MessageTrace) -> Links {
    let options = Options::default();
    Auto.infer(trace, &Naming::new(trace, &options), &options, &())
}

/// The most likely parent of each message.
fn parents(links: &Links) -> Vec<Option<u32>> {
    let parent = |child: usize| links.most_likely(child).and_then(|place| links.parents(child).nth(place));
    (0..links.messages()).map(|child| parent(child).map(|(parent, _)| parent)).collect()
}

#[test]
fn the_parent_is_what_was_received_last_for_the_same_request() {
    let mut fixture = Fixture::new();
    for round in 0..40 {
        let begin = 100 * MS * round;
        let call = |fixture: &mut Fixture, from: &str, to: &str, times: [i64; 2], back: bool, flow: i64| {
            let sent = fixture.send(from, to, begin + times[0] * MS / 10, begin + times[1] * MS / 10);
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
    assert_eq!(parents(&infer(&trace)), expected.collect::<Vec<_>>());
}

#[test]
fn nothing_gives_nothing() {
    assert_eq!(infer(&MessageTrace::new(Nodes::default())).messages(), 0);
}
