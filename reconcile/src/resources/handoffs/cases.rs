//! Cases worked by hand, and properties of arbitrary signals and waits.

use proptest::prelude::*;

use super::{
    AmountMatcher, HandoffEvent, HandoffOutcome, HandoffSignal, HandoffWait, RecordedThread,
    WaiterMatcher,
};
use crate::indices::ProcessIndex;

const ALL: u64 = u64::MAX;

/// A signal of thread `thread` at `time`, which takes no time.
fn signal(time: i64, thread: i32, amount: u64) -> HandoffEvent {
    let by = RecordedThread { process: ProcessIndex::default(), thread };
    HandoffEvent::Signal(HandoffSignal { time, end: time, by, amount })
}

fn wait(begin: i64, end: i64, thread: i32) -> HandoffEvent {
    taking(begin, end, thread, 1)
}

fn taking(begin: i64, end: i64, thread: i32, amount: u64) -> HandoffEvent {
    let of = RecordedThread { process: ProcessIndex::default(), thread };
    HandoffEvent::Wait(HandoffWait { begin, end, of, gave_up: false, amount })
}

fn given_up(begin: i64, end: i64, thread: i32) -> HandoffEvent {
    let of = RecordedThread { process: ProcessIndex::default(), thread };
    HandoffEvent::Wait(HandoffWait { begin, end, of, gave_up: true, amount: 1 })
}

fn waiters(keeps: bool, handoff_events: &[HandoffEvent]) -> Vec<HandoffOutcome> {
    let (mut waiters, mut found) = (WaiterMatcher::new(keeps), Vec::new());
    for handoff_event in handoff_events {
        match *handoff_event {
            HandoffEvent::Signal(signal) => waiters.add_signal(signal, &mut |one| found.push(one)),
            HandoffEvent::Wait(wait) => waiters.add_wait(wait, &mut |one| found.push(one)),
        }
    }
    waiters.finish_matching(&mut |one| found.push(one));
    found
}

fn amounts(takes_all: bool, handoff_events: &[HandoffEvent]) -> Vec<HandoffOutcome> {
    let (mut amounts, mut found) = (AmountMatcher::new(takes_all), Vec::new());
    for handoff_event in handoff_events {
        match *handoff_event {
            HandoffEvent::Signal(signal) => amounts.add_signal(signal, &mut |one| found.push(one)),
            HandoffEvent::Wait(wait) => amounts.add_wait(wait, &mut |one| found.push(one)),
        }
    }
    amounts.finish_matching(&mut |one| found.push(one));
    found
}

/// Time of the signal and thread of the wait of each hand-off, sorted.
fn handed(found: &[HandoffOutcome]) -> Vec<(i64, i32)> {
    let one = |one: &HandoffOutcome| match one {
        HandoffOutcome::HandOff(signal, wait) => Some((signal.time, wait.of.thread)),
        _ => None,
    };
    let mut all: Vec<_> = found.iter().filter_map(one).collect();
    all.sort_unstable();
    all
}

/// Threads that continued for an unknown reason, sorted.
fn unknown(found: &[HandoffOutcome]) -> Vec<i32> {
    let one = |one: &HandoffOutcome| match one {
        HandoffOutcome::Woken(wait, None) => Some(wait.of.thread),
        _ => None,
    };
    let mut all: Vec<_> = found.iter().filter_map(one).collect();
    all.sort_unstable();
    all
}

/// Times of signals that woke no thread, sorted.
fn unreceived(found: &[HandoffOutcome]) -> Vec<i64> {
    let one = |one: &HandoffOutcome| match one {
        HandoffOutcome::Unreceived(signal) => Some(signal.time),
        _ => None,
    };
    let mut all: Vec<_> = found.iter().filter_map(one).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_signal_wakes_the_thread_that_waited_longest() {
    let found = waiters(
        false,
        &[
            wait(1, 12, 5),
            wait(2, 22, 6),
            wait(3, 32, 7),
            signal(10, 9, 1),
            signal(20, 9, 1),
            signal(30, 8, 1),
        ],
    );
    assert_eq!(handed(&found), [(10, 5), (20, 6), (30, 7)]);
    assert_eq!((unknown(&found), unreceived(&found)), (vec![], vec![]));
}

#[test]
fn a_signal_belongs_to_the_thread_that_continued() {
    // Thread 6 came second and continued at 12, when only the first signal had been sent.
    let found =
        waiters(false, &[wait(1, 22, 5), wait(2, 12, 6), signal(10, 9, 1), signal(20, 9, 1)]);
    assert_eq!(handed(&found), [(10, 6), (20, 5)]);
    // A chain of three: 7 takes the signal of 5, which then gets the signal of 6.
    let found = waiters(
        false,
        &[
            wait(1, 33, 5),
            wait(2, 22, 6),
            wait(3, 12, 7),
            signal(10, 9, 1),
            signal(20, 9, 1),
            signal(30, 9, 1),
        ],
    );
    assert_eq!(handed(&found), [(10, 7), (20, 6), (30, 5)]);
}

#[test]
fn a_broadcast_wakes_all_that_wait() {
    let found = waiters(
        false,
        &[
            wait(1, 12, 5),
            wait(2, 13, 6),
            given_up(3, 11, 7),
            signal(10, 9, ALL),
            wait(14, 30, 5),
            signal(20, 9, 1),
        ],
    );
    assert_eq!(handed(&found), [(10, 5), (10, 6), (20, 5)]);
    assert_eq!(unknown(&found), [7], "it gave up");
}

#[test]
fn a_signal_without_a_waiter_is_lost_by_a_condition_and_kept_by_a_semaphore() {
    let handoff_events = [signal(10, 9, 1), wait(20, 21, 5)];
    let condition = waiters(false, &handoff_events);
    assert_eq!((handed(&condition), unknown(&condition)), (vec![], vec![5]));
    assert_eq!(unreceived(&condition), [10]);
    let semaphore = waiters(true, &handoff_events);
    assert_eq!((handed(&semaphore), unknown(&semaphore)), (vec![(10, 5)], vec![]));
    assert_eq!(unreceived(&semaphore), [] as [i64; 0]);
    // In the order in which they were given, and one for each.
    let given = [signal(1, 8, 1), signal(2, 9, 1), wait(3, 4, 5), wait(5, 6, 6), wait(7, 8, 7)];
    let found = waiters(true, &given);
    assert_eq!((handed(&found), unknown(&found)), (vec![(1, 5), (2, 6)], vec![7]));
}

#[test]
fn a_futex_wakes_as_many_threads_as_the_kernel_reports() {
    let found = waiters(
        false,
        &[
            wait(1, 12, 5),
            wait(2, 13, 6),
            wait(3, 33, 7),
            signal(10, 9, 2),
            signal(20, 9, 0),
            signal(30, 9, 1),
        ],
    );
    assert_eq!(handed(&found), [(10, 5), (10, 6), (30, 7)]);
    assert_eq!(unreceived(&found), [20]);
}

#[test]
fn a_wait_that_began_while_the_signal_was_being_given_can_have_it() {
    let by = RecordedThread { process: ProcessIndex::default(), thread: 9 };
    let slow = HandoffEvent::Signal(HandoffSignal { time: 10, end: 15, by, amount: 1 });
    assert_eq!(handed(&waiters(false, &[slow, wait(12, 20, 5)])), [(10, 5)]);
    let late = waiters(false, &[slow, wait(16, 20, 5)]);
    assert_eq!((handed(&late), unreceived(&late)), (vec![], vec![10]));
}

#[test]
fn bytes_of_a_pipe_come_from_their_writers() {
    // 3 bytes of thread 8 and 2 of thread 9, read as 4 and 1.
    let found =
        amounts(false, &[signal(1, 8, 3), signal(2, 9, 2), taking(3, 4, 5, 4), taking(5, 6, 6, 1)]);
    assert_eq!(handed(&found), [(1, 5), (2, 5), (2, 6)]);
}

#[test]
fn a_pipe_with_an_unrecorded_writer_is_unknown_until_it_was_empty() {
    let found = amounts(
        false,
        &[
            signal(1, 8, 1),
            taking(2, 3, 5, 2),
            signal(4, 8, 1),
            taking(5, 6, 5, 1),
            // The reader waited 50 microseconds: there was nothing before.
            signal(57_000, 8, 1),
            taking(8_000, 58_000, 6, 1),
        ],
    );
    assert_eq!((handed(&found), unknown(&found)), (vec![(57_000, 6)], vec![5, 5]));
}

#[test]
fn a_read_of_an_event_counter_comes_from_all_that_added() {
    let found = amounts(
        true,
        &[
            signal(1, 7, 1),
            signal(2, 8, 1),
            taking(3, 4, 5, 2),
            signal(5, 9, 1),
            taking(6, 7, 5, 8),
        ],
    );
    // The counter began at 7, or an unrecorded thread added 7: the recorded signals are attributed
    // all the same.
    assert_eq!(handed(&found), [(1, 5), (2, 5), (5, 5)]);
}

/// Arbitrary signals and waits, in the order in which the matching takes them.
fn handoff_events() -> impl Strategy<Value = Vec<HandoffEvent>> {
    let one = (any::<bool>(), 0..300i64, 0..40i64, 0..6i32, 0..4u64, any::<bool>());
    let handoff_event = one.prop_map(|(is_signal, time, took, thread, amount, gave_up)| {
        let caller = RecordedThread { process: ProcessIndex::default(), thread };
        match is_signal {
            true => HandoffEvent::Signal(HandoffSignal {
                time,
                end: time + took / 8,
                by: caller,
                amount: if amount == 3 { ALL } else { amount },
            }),
            false => HandoffEvent::Wait(HandoffWait {
                begin: time,
                end: time + took,
                of: caller,
                gave_up: gave_up && thread == 0,
                amount,
            }),
        }
    });
    proptest::collection::vec(handoff_event, 0..40)
}

fn begin(handoff_event: &HandoffEvent) -> i64 {
    match handoff_event {
        HandoffEvent::Signal(signal) => signal.time,
        HandoffEvent::Wait(wait) => wait.begin,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_signal_reaches_as_many_waiting_threads_as_it_can(
        mut all in handoff_events(), keeps in any::<bool>(),
    ) {
        all.sort_by_key(begin);
        let found = waiters(keeps, &all);
        let waits = all.iter().filter(|one| matches!(one, HandoffEvent::Wait(_))).count();
        let woken = found.iter().filter(|one| matches!(one, HandoffOutcome::Woken(..))).count();
        prop_assert_eq!(woken, waits, "each wait once");
        for one in &found {
            if let HandoffOutcome::HandOff(signal, wait) = one {
                prop_assert!(!wait.gave_up);
                prop_assert!(signal.time <= wait.end);
                prop_assert!(keeps || signal.end >= wait.begin);
            }
        }
        for handoff_event in &all {
            let HandoffEvent::Signal(signal) = handoff_event else { continue };
            let equal = all.iter().filter(|other| *other == handoff_event).count() as u64;
            let given = found.iter().filter(|one| {
                matches!(one, HandoffOutcome::HandOff(of, _) if of == signal)
            });
            let given = given.count() as u64;
            prop_assert!(given <= signal.amount.saturating_mul(equal));
        }
    }

    /// Threads of a pool wait and are woken in any order; the ground truth has which thread woke
    /// which. Waits that only one signal can have ended are all found.
    #[test]
    fn a_wait_with_only_one_possible_signal_is_found(
        starts in proptest::collection::vec((1..50i64, 1..9i64), 1..30),
    ) {
        let mut all = Vec::new();
        let mut now = 0;
        for (number, (rest, took)) in (0..).zip(&starts) {
            let begin = now;
            now += rest;
            all.push(signal(now, 100 + number, 1));
            all.push(wait(begin, now + took, number));
            now += took + 1;
        }
        all.sort_by_key(begin);
        let found = waiters(false, &all);
        prop_assert_eq!(handed(&found).len(), starts.len());
        prop_assert!(unknown(&found).is_empty() && unreceived(&found).is_empty());
    }

    #[test]
    fn no_more_is_taken_than_was_given(mut all in handoff_events(), takes_all in any::<bool>()) {
        all.retain(|one| !matches!(one, HandoffEvent::Signal(signal) if signal.amount == ALL));
        all.sort_by_key(|one| match one {
            HandoffEvent::Signal(signal) => signal.time,
            HandoffEvent::Wait(wait) => wait.end,
        });
        let found = amounts(takes_all, &all);
        let waits = all.iter().filter(|one| matches!(one, HandoffEvent::Wait(_))).count();
        let woken = found.iter().filter(|one| matches!(one, HandoffOutcome::Woken(..))).count();
        prop_assert_eq!(woken, waits, "each wait once");
        for one in &found {
            if let HandoffOutcome::HandOff(signal, wait) = one {
                prop_assert!(signal.time <= wait.end && wait.amount > 0);
            }
        }
    }
}
