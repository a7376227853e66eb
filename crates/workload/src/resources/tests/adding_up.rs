//! In every case, the moments of a step add up to its duration.

use proptest::prelude::*;
use request_flow::{Step, StepThreads};

use super::recording_builder::{RecordingBuilder, call_step, root_step};

const KINDS: [&str; 9] = [
    "sched/In",
    "sched/Out",
    "sched/Start",
    "sockcap/Send",
    "sockcap/FileRead",
    "sockcap/Poll",
    "sockcap/Sleep",
    "sockcap/Lock",
    "sockcap/Wake",
];

/// Kind, thread, time, duration, another number, another thread, and the used object.
type GeneratedEvent = (usize, i32, i64, i64, i64, i32, i64);

fn any_event() -> impl Strategy<Value = GeneratedEvent> {
    (0..KINDS.len(), 1..4i32, 0..100i64, 0..30i64, 0..2i64, 0..4i32, 0..3i64)
}

fn any_call() -> impl Strategy<Value = Step> {
    (1..5i32, 1..5i32, 0..110i64, 0..60i64).prop_map(|(from, to, begin, took)| {
        let call = call_step(from, begin, begin + took);
        Step { threads: StepThreads { caller_end: Some(to), ..call.threads }, ..call }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_moments_of_a_step_add_up_to_its_duration(
        events in proptest::collection::vec(any_event(), 0..40),
        (begin, took, first, last) in (0..60i64, 0..60i64, 1..4i32, 1..4i32),
        calls in proptest::collection::vec(any_call(), 0..4),
        others in proptest::collection::vec((0..90i64, 0..20i64, 1..4i32), 0..4),
    ) {
        let mut made = RecordingBuilder::default();
        for (kind, thread, time, duration, other, by, object) in events {
            let of = [
                ("duration", duration),
                ("signalled", time - duration / 2),
                ("by", i64::from(by)),
                ("parent", i64::from(by)),
                ("preempted", other),
                ("result", other),
                ("object", object),
                ("bytes", other),
            ];
            made.add_event(thread, KINDS[kind], time, &of);
        }
        for (begin, took, thread) in others {
            made.add_request(&[root_step(begin, begin + took, thread)]);
        }
        let root = root_step(begin, begin + took, first);
        let root = Step { threads: StepThreads { end: Some(last), ..root.threads }, ..root };
        let steps: Vec<Step> = [root].into_iter().chain(calls).collect();
        if let Some(sums) = &made.sums_of_steps(&steps)[0] {
            let parts = [
                sums.processor_ns,
                sums.children_ns,
                sums.waits.runnable_ns,
                sums.waits.disk_ns,
                sums.waits.lock_ns,
                sums.waits.peer_ns,
                sums.waits.asleep_ns,
                sums.waits.unknown_ns,
            ];
            prop_assert!(parts.iter().all(|part| *part >= 0), "{sums:?}");
            prop_assert_eq!(parts.iter().sum::<i64>(), took, "{:?}", sums);
        }
    }
}
