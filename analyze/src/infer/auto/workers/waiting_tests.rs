//! Synthetic servers with threads that do all work of a request, except for calls that one thread
//! writes for all.

use super::*;
use crate::infer::auto::service::NodeSpan;
use crate::infer::auto::service::UNKNOWN_THREAD;

const MS: i64 = 1_000_000;
/// The lock that threads pass to each other whenever they wait, and the object that wakes polling
/// threads.
const LOCK: i64 = 7;
const POLL: i64 = 8;
/// The object on which a thread waits for its response.
const WAKE: i64 = 10;
/// A thread that is bound to no request, and writes for all.
const WRITER: u32 = 9;

/// Rounds in which each of three threads serves a request: a call of kind 1 from 10 to 40 ms after
/// the round begins, one of kind 2 from 50 to 80 ms, and the response at 90 ms. The threads are a
/// millisecond apart.
fn served(rounds: i64) -> (Service, Vec<ServiceHandoff>) {
    let mut service = Service { window: 1000 * MS, ..Service::default() };
    let mut hand_offs = Vec::new();
    for round in 0..rounds {
        for thread in 0..3_u32 {
            let at = |ms: i64| (100 * round + ms + i64::from(thread)) * MS;
            service.requests.push(NodeSpan { begin: at(0), end: at(90), kind: 5 });
            service.request_threads.push([thread; 2]);
            for (begin, end, kind) in [(10, 40, 1), (50, 80, 2)] {
                service.calls.push(NodeSpan { begin: at(begin), end: at(end), kind });
                service.call_threads.push([thread; 2]);
            }
            let signals = [(9, LOCK), (25, POLL), (42, LOCK), (47, LOCK), (70, POLL), (85, LOCK)];
            hand_offs.extend(signals.map(|(ms, object)| signal(thread, at(ms), object)));
        }
    }
    (service, hand_offs)
}

fn signal(from: u32, signalled: i64, object: i64) -> ServiceHandoff {
    ServiceHandoff { signalled, woken: signalled, from, to: UNKNOWN_THREAD, object }
}

/// The calls of kind 2 of two threads in the last round, written together by another thread when
/// the later one was due, that of the second thread first.
fn written_by_another(service: &mut Service) -> [MadeCallId; 2] {
    let all = service.calls.len();
    let [first, second] = [all - 5, all - 3].map(MadeCallId::from_index);
    let begin = service.calls[second.index()].begin;
    for (call, later, end) in [(first, 0, 30), (second, 1, 31)] {
        let span = &mut service.calls[call.index()];
        (span.begin, span.end) = (begin + later, begin + end * MS);
        service.call_threads[call.index()] = [WRITER; 2];
    }
    [first, second]
}

/// The request that a call was assigned to, and the alternative one.
fn request(found: &[AttributedCall], call: MadeCallId) -> Option<(RequestId, Option<RequestId>)> {
    let found = found.iter().find(|found| found.call == call)?;
    Some((found.request, found.rival.map(|(request, _)| request)))
}

#[test]
fn the_longest_waiting_thread_has_the_first_delegated_write() {
    let (mut service, mut hand_offs) = served(20);
    let [one, other] = written_by_another(&mut service);
    // The requests of the last round, by their threads.
    let [first, second] = [57, 58].map(RequestId::from_index);
    let found = find_delegated_writes(&service, &hand_offs).unwrap();
    // Both threads wait: since 47 and 48 ms.
    assert_eq!(request(&found, one), Some((first, Some(second))));
    assert_eq!(request(&found, other), Some((second, Some(first))));
    // The first is active until 49 ms, and then has waited for less time than the second.
    hand_offs.push(signal(0, (100 * 19 + 49) * MS, LOCK));
    let found = find_delegated_writes(&service, &hand_offs).unwrap();
    assert_eq!(request(&found, one), Some((second, Some(first))));
}

#[test]
fn a_thread_that_acts_meanwhile_does_not_wait() {
    let (mut service, mut hand_offs) = served(20);
    let [one, other] = written_by_another(&mut service);
    let [first, second] = [57, 58].map(RequestId::from_index);
    hand_offs.push(signal(0, (100 * 19 + 60) * MS, LOCK));
    let found = find_delegated_writes(&service, &hand_offs).unwrap();
    assert_eq!(request(&found, one), Some((second, None)));
    assert_eq!(request(&found, other), None);
    // Signals of waiting threads are no evidence, and neither are signals within a millisecond.
    for (tenths, object) in [(600, POLL), (515, LOCK)] {
        hand_offs.pop();
        hand_offs.push(signal(0, (1000 * 19 + tenths) * MS / 10, object));
        let found = find_delegated_writes(&service, &hand_offs).unwrap();
        let waits = found.iter().any(|found| found.request == first);
        assert!(waits, "{object} at {tenths}");
    }
}

#[test]
fn a_call_has_its_place_among_the_known_ones() {
    let spans = [(10, 40, 1), (80, 90, 3), (45, 70, 2), (30, 70, 2), (45, 85, 2), (45, 70, 1)];
    let mut service = Service::default();
    service.requests.push(NodeSpan { begin: 0, end: 100, kind: 9 });
    service.calls = spans.map(|(begin, end, kind)| NodeSpan { begin, end, kind }).to_vec();
    let place = |service: &Service, calls: &[(u32, Option<usize>)], call: usize| {
        let known = |of: Option<usize>| of.map(MadeCallId::from_index);
        let calls = calls.iter().map(|(kind, call)| (*kind, known(*call))).collect();
        let request = RequestId::from_index(0);
        PlannedCalls { of_requests: vec![calls] }.place(
            service,
            request,
            MadeCallId::from_index(call),
        )
    };
    let calls = [(1, Some(0)), (2, None), (3, Some(1))];
    assert_eq!(place(&service, &calls, 2), Some(1));
    // One begins before the previous call is answered, one ends after the next one is made, and the
    // call of the last one's kind is known.
    assert_eq!([3, 4, 5].map(|call| place(&service, &calls, call)), [None; 3]);
    // Of two of one kind it is the missing one.
    service.calls.iter_mut().for_each(|call| call.kind = 1);
    assert_eq!(place(&service, &[(1, Some(0)), (1, None)], 2), Some(1));
    assert_eq!(place(&service, &[(1, None), (1, Some(1))], 2), Some(0));
}

#[test]
fn calls_sent_before_the_first_response_are_ambiguous() {
    let (mut service, hand_offs) = served(20);
    let [one, other] = written_by_another(&mut service);
    let shares = |service: &Service| -> Vec<f64> {
        let found = find_delegated_writes(service, &hand_offs).unwrap();
        [one, other]
            .map(|call| {
                let found = found.iter().find(|found| found.call == call).unwrap();
                found.rival.map_or(0.0, |(_, share)| share)
            })
            .to_vec()
    };
    assert_eq!(shares(&service), [RIVALS_SHARE; 2]);
    // Both calls are the first ones of a connection; all other calls go over another one.
    let before = |call: usize| call.checked_sub(1).map(MadeCallId::from_index);
    service.call_before = (0..service.calls.len()).map(before).collect();
    service.call_before[one.index()] = None;
    service.call_before[other.index()] = Some(one);
    service.call_before[other.index() - 1] = before(one.index());
    service.call_before[other.index() + 1] = before(other.index());
    assert_eq!(shares(&service), [FIRST_RIVALS_SHARE; 2]);
}

/// A wake-up of a thread of the last round, `after` microseconds after a call's response.
fn wake(service: &Service, thread: u32, call: MadeCallId, after: i64) -> ServiceHandoff {
    let signalled = service.calls[call.index()].end + 1000 * after;
    ServiceHandoff { to: thread, ..signal(WRITER, signalled, WAKE) }
}

#[test]
fn the_thread_that_a_response_resumes_has_the_call() {
    let (mut service, mut hand_offs) = served(20);
    let [one, other] = written_by_another(&mut service);
    let [first, second] = [57, 58].map(RequestId::from_index);
    // The first waits longest, but is woken last.
    hand_offs.push(wake(&service, 1, one, 30));
    hand_offs.push(wake(&service, 0, other, 30));
    let found = find_delegated_writes(&service, &hand_offs).unwrap();
    assert_eq!(request(&found, one), Some((second, Some(first))));
    assert_eq!(request(&found, other), Some((first, Some(second))));
    // The other 118 responses were read by the callers.
    let wrong = found.iter().map(|found| found.rival.unwrap().1);
    assert_eq!(wrong.collect::<Vec<_>>(), [1.0 / 119.0; 2]);
    // A thread that is woken again before it acts was woken for another reason before. Passing the
    // lock is no evidence of responses.
    hand_offs.push(wake(&service, 0, one, 10));
    let passed_on = signal(2, service.calls[other.index()].end + 2 * MS, LOCK);
    hand_offs.push(ServiceHandoff { to: 0, ..passed_on });
    let found = find_delegated_writes(&service, &hand_offs).unwrap();
    assert_eq!(request(&found, one), Some((second, Some(first))));
    assert_eq!(request(&found, other), Some((first, Some(second))));
    let wrong = found.iter().map(|found| found.rival.unwrap().1);
    assert_eq!(wrong.collect::<Vec<_>>(), [1.0 / 119.0; 2]);
    // Two responses of one read are in the order of the wake-ups.
    let end = service.calls[one.index()].end;
    service.calls[other.index()].end = end + 1;
    for (threads, requests) in [([1, 0], [second, first]), ([0, 1], [first, second])] {
        let of_read = threads.into_iter().zip([30, 40]);
        hand_offs.retain(|hand_off| hand_off.object != WAKE);
        hand_offs.extend(of_read.map(|(thread, after)| wake(&service, thread, one, after)));
        let found = find_delegated_writes(&service, &hand_offs).unwrap();
        let told = [one, other].map(|call| request(&found, call).unwrap().0);
        assert_eq!(told, requests, "woken in the order {threads:?}");
    }
}

#[test]
fn wake_ups_that_contradict_known_calls_are_no_evidence() {
    let (mut service, mut hand_offs) = served(20);
    let [one, other] = written_by_another(&mut service);
    hand_offs.push(wake(&service, 1, one, 30));
    hand_offs.push(wake(&service, 0, other, 30));
    // All other responses are read by one thread, which wakes a thread other than the caller.
    for call in MadeCallId::ids().take(one.index()) {
        let thread = service.call_threads[call.index()][0];
        service.call_threads[call.index()][1] = WRITER;
        hand_offs.push(wake(&service, (thread + 1) % 3, call, 30));
    }
    let [first, second] = [57, 58].map(RequestId::from_index);
    let found = find_delegated_writes(&service, &hand_offs).unwrap();
    assert_eq!(request(&found, one), Some((first, Some(second))));
}

#[test]
fn a_thread_writes_its_own_call_and_one_of_another_thread_together() {
    let (mut service, mut hand_offs) = served(20);
    let [one, other] = written_by_another(&mut service);
    let begin = service.calls[one.index()].begin;
    service.shared_writes = vec![[begin, begin + 1]];
    for call in [one, other] {
        service.call_threads[call.index()] = [0, WRITER];
    }
    let second = RequestId::from_index(58);
    let bound = holders::bound_requests(&service);
    let bound = bound[one.index()..].iter().map(|request| request.map(RequestId::index));
    assert_eq!(bound.collect::<Vec<_>>(), [57, 58, 57, 59, 59].map(Some));
    hand_offs.push(wake(&service, 0, one, 30));
    hand_offs.push(wake(&service, 1, other, 30));
    let found = find_delegated_writes(&service, &hand_offs).unwrap();
    assert_eq!(request(&found, one), None, "it is held");
    assert_eq!(request(&found, other), Some((second, None)));
}

#[test]
fn nothing_is_attributed_if_requests_differ_or_signals_show_nothing() {
    let (mut service, hand_offs) = served(20);
    written_by_another(&mut service);
    assert!(find_delegated_writes(&service, &[]).is_none());
    let polls: Vec<ServiceHandoff> =
        hand_offs.iter().filter(|hand_off| hand_off.object == POLL).copied().collect();
    assert!(find_delegated_writes(&service, &polls).is_none(), "waiting threads do this, too");
    // Every third request makes one call only, of another kind.
    for at in (1..service.calls.len() - 6).step_by(6) {
        service.calls[at].kind = 3;
    }
    assert!(find_delegated_writes(&service, &hand_offs).is_none(), "requests differ");
}
