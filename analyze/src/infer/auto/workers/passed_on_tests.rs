//! Synthetic servers with workers that answer most requests themselves.

use super::*;
use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::UNKNOWN_THREAD;
use crate::infer::auto::workers::own_answers;
use crate::infer::span::NodeSpan;

const MS: i64 = 1_000_000;
/// The thread that receives, the one that writes for others, and the first worker.
const READER: u32 = 1;
const WRITER: u32 = 2;
const WORKERS: u32 = 10;
/// The kinds of requests, each with the kinds of its calls.
const LOOK: (u32, &[u32]) = (8, &[1]);
const RESERVE: (u32, &[u32]) = (9, &[2, 3]);
/// A call that prepares a worker.
const SETUP: u32 = 7;

/// A piece of work: its request, its calls, and whether another thread answers.
struct PieceOfWork {
    kind: u32,
    calls: Vec<u32>,
    is_delegated: bool,
}

/// A service with four workers that do one item each in a round of 100 ms, and the request of each
/// call. Workers begin a millisecond after each other, call for 8 ms at 10, 20, ... ms and answer 5
/// ms after the last call. The writer answers delegated items 4 ms later. Each worker signals twice
/// after its calls, and once more after its response.
fn served(
    rounds: i64,
    work: impl Fn(i64, u32) -> PieceOfWork,
) -> (Service, Vec<ServiceHandoff>, Vec<u32>) {
    let mut service = Service { window: 1000 * MS, ..Service::default() };
    let mut hand_offs = Vec::new();
    let mut calls: Vec<(NodeSpan, u32, u32)> = Vec::new();
    for round in 0..rounds {
        for worker in 0..4_u32 {
            let PieceOfWork { kind, calls: kinds, is_delegated: is_passed_on } =
                work(round, worker);
            let (thread, request) = (WORKERS + worker, service.requests.len() as u32);
            let base = (100 * round + i64::from(worker)) * MS;
            let mut at = base;
            for kind in kinds {
                at += 10 * MS;
                calls.push((NodeSpan { begin: at, end: at + 8 * MS, kind }, thread, request));
            }
            let end = at + 13 * MS + if is_passed_on { 4 * MS } else { 0 };
            service.requests.push(NodeSpan { begin: base, end, kind });
            service.request_threads.push([READER, if is_passed_on { WRITER } else { thread }]);
            let signals = [9, 10, 14].map(|ms| ServiceHandoff {
                signalled: at + ms * MS,
                woken: at + ms * MS,
                from: thread,
                to: UNKNOWN_THREAD,
                object: 5,
            });
            hand_offs.extend(signals);
        }
    }
    calls.sort_by_key(|(span, ..)| span.begin);
    for (span, thread, _) in &calls {
        service.calls.push(*span);
        service.call_threads.push([*thread; 2]);
    }
    (service, hand_offs, calls.into_iter().map(|(.., request)| request).collect())
}

fn of_kind((kind, calls): (u32, &[u32]), is_passed_on: bool) -> PieceOfWork {
    PieceOfWork { kind, calls: calls.to_vec(), is_delegated: is_passed_on }
}

/// Looks by two workers and reservations by the others. One item of every second round is
/// delegated, and in every sixth round another one of the same kind.
fn usual(round: i64, worker: u32) -> PieceOfWork {
    let chosen = round / 2 % 4;
    let is_chosen =
        i64::from(worker) == chosen || round % 6 == 0 && i64::from(worker) == (chosen + 2) % 4;
    let is_passed_on = round % 2 == 0 && is_chosen;
    of_kind(if worker.is_multiple_of(2) { LOOK } else { RESERVE }, is_passed_on)
}

/// Number of calls attributed to the right request, to a wrong one, and with a rival.
fn counted(found: &[AttributedCall], truth: &[u32]) -> [usize; 3] {
    let is_right =
        |found: &&AttributedCall| truth[found.call.index()] as usize == found.request.index();
    let right = found.iter().filter(is_right).count();
    let rivals = found.iter().filter(|found| found.rival.is_some()).count();
    [right, found.len() - right, rivals]
}

fn worker_replies(service: &Service, hand_offs: &[ServiceHandoff]) -> Option<Vec<AttributedCall>> {
    own_answers::find_worker_replies(service, hand_offs, &FxHashSet::default())
}

#[test]
fn responses_by_others_are_matched_by_their_order() {
    let (service, hand_offs, truth) = served(24, usual);
    // Each of two in a round can be for the request of the other: two pairs of one call each, and
    // two of two calls.
    let all = counted(&worker_replies(&service, &[]).unwrap(), &truth);
    assert_eq!(all, [truth.len(), 0, 2 * 2 + 2 * 4]);
    assert_eq!(counted(&worker_replies(&service, &hand_offs).unwrap(), &truth), all);
}

#[test]
fn preparation_of_a_worker_belongs_to_the_work_after_it() {
    let (service, _, truth) = served(24, |round, worker| {
        let mut work = usual(round, worker);
        if round == 1 + i64::from(worker) {
            work.calls.insert(0, SETUP);
        }
        work
    });
    assert_eq!(counted(&worker_replies(&service, &[]).unwrap(), &truth)[..2], [truth.len(), 0]);
}

#[test]
fn varying_work_is_not_cut() {
    // Every fourth request makes its call twice, as in a loop.
    let (service, _, truth) = served(40, |round, worker| {
        let mut work = of_kind(LOOK, false);
        if (round + i64::from(worker)) % 4 == 0 {
            work.calls.push(1);
        }
        work
    });
    assert_eq!(counted(&worker_replies(&service, &[]).unwrap(), &truth), [truth.len(), 0, 0]);
    // If the calls of one kind of request are a prefix of another's, some calls have no request.
    let begins_alike = |round: i64, worker: u32| {
        let work = usual(round, worker);
        let calls = if work.kind == LOOK.0 { vec![1] } else { vec![1, 2] };
        PieceOfWork { calls, ..work }
    };
    let (service, ..) = served(24, begins_alike);
    assert!(worker_replies(&service, &[]).is_none());
}

#[test]
fn signals_show_when_a_response_was_delegated() {
    // In one round two looks are delegated, and the first of these waits for a lock, so that the
    // second is answered before it.
    let (mut service, mut hand_offs, truth) = served(24, usual);
    let round = 12;
    let [first, second] = [0, 2].map(|worker| (4 * round + worker) as u32);
    let late = service.requests[second as usize].end + MS;
    service.requests[first as usize].end = late;
    let begin = 100 * round * MS;
    let held_up = |hand_off: &&mut ServiceHandoff| {
        hand_off.from == WORKERS && (begin..begin + 90 * MS).contains(&hand_off.signalled)
    };
    let of_first = hand_offs.iter_mut().filter(held_up).skip(1);
    of_first.for_each(|hand_off| hand_off.signalled += 5 * MS);
    let wrong = |hand_offs: &[ServiceHandoff]| {
        counted(&worker_replies(&service, hand_offs).unwrap(), &truth)[1]
    };
    assert_eq!(wrong(&hand_offs), 0);
    assert_eq!(wrong(&[]), 2, "by the ends of calls alone");
    // If the number of signals varies, it is no evidence: a quarter of the rounds, not including
    // this one, lack one.
    let of_round = |hand_off: &ServiceHandoff| hand_off.signalled / (100 * MS);
    let mut others: Vec<ServiceHandoff> = hand_offs
        .chunks(3)
        .flat_map(|signals| signals[usize::from(of_round(&signals[0]) % 4 == 1)..].to_vec())
        .collect();
    assert!(others.len() < hand_offs.len());
    others.sort_by_key(|hand_off| hand_off.signalled);
    assert_eq!(wrong(&others), 2);
}
