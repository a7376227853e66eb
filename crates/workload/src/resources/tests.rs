//! Tests of the classification of each moment of a step on handwritten cases, and that the times
//! add up.

mod adding_up;
mod recording_builder;

use recording_builder::{RecordingBuilder, call_step, root_step};
use request_flow::{Step, StepThreads, WaitTimes};

use super::moment_sums::MomentSums;

/// Sums of a step that waited for none of its calls.
fn processor_sums(processor_ns: i64, waits: WaitTimes) -> MomentSums {
    MomentSums { processor_ns, waits, ..MomentSums::default() }
}

const NONE: WaitTimes =
    WaitTimes { runnable_ns: 0, disk_ns: 0, lock_ns: 0, peer_ns: 0, asleep_ns: 0, unknown_ns: 0 };

#[test]
fn a_thread_that_runs_computes() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0], &[]);
    assert_eq!(made.sums_of_steps(&[root_step(10, 30, 1)]), [Some(processor_sums(20, NONE))]);
}

#[test]
fn a_preempted_thread_is_runnable() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0, 19], &[]);
    made.add_event(1, "sched/Out", 12, &[("preempted", 1)]);
    assert_eq!(
        made.sums_of_steps(&[root_step(10, 30, 1)]),
        [Some(processor_sums(13, WaitTimes { runnable_ns: 7, ..NONE }))]
    );
}

#[test]
fn a_blocked_thread_waits_for_its_call() {
    let calls = [
        ("sockcap/Sleep", 0, WaitTimes { asleep_ns: 8, ..NONE }),
        ("sockcap/FileSync", 0, WaitTimes { disk_ns: 8, ..NONE }),
        ("sockcap/Lock", 0, WaitTimes { lock_ns: 8, ..NONE }),
        ("sockcap/Receive", 0, WaitTimes { peer_ns: 8, ..NONE }),
        ("sockcap/Send", 0, WaitTimes { peer_ns: 8, ..NONE }),
        ("sockcap/Poll", 1, WaitTimes { peer_ns: 8, ..NONE }),
        // Nothing arrived: the thread waited until the time-out.
        ("sockcap/Poll", 0, WaitTimes { asleep_ns: 8, ..NONE }),
    ];
    for (kind, result, waits) in calls {
        let mut made = RecordingBuilder::default();
        made.add_scheduling(1, &[0, 21], &[13]);
        made.add_event(1, kind, 22, &[("duration", 10), ("result", result)]);
        // From 12 to 13 and from 21 to 22 it runs within the call.
        assert_eq!(
            made.sums_of_steps(&[root_step(10, 30, 1)]),
            [Some(processor_sums(12, waits))],
            "{kind}"
        );
        // Without scheduler events the whole call is a wait, and nothing else is known.
        let mut made = RecordingBuilder::default();
        made.add_event(1, kind, 22, &[("duration", 8), ("result", result)]);
        let waits = WaitTimes { unknown_ns: 12, ..waits };
        assert_eq!(
            made.sums_of_steps(&[root_step(10, 30, 1)]),
            [Some(processor_sums(0, waits))],
            "{kind}"
        );
    }
}

#[test]
fn a_wait_in_no_known_call_is_unknown() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0, 21], &[13]);
    assert_eq!(
        made.sums_of_steps(&[root_step(10, 30, 1)]),
        [Some(processor_sums(12, WaitTimes { unknown_ns: 8, ..NONE }))]
    );
}

#[test]
fn bytes_of_files_are_counted_where_the_thread_worked_for_the_step() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0], &[]);
    made.add_event(1, "sockcap/FileRead", 9, &[("duration", 2), ("bytes", 1)]);
    made.add_event(1, "sockcap/FileRead", 22, &[("duration", 2), ("bytes", 100)]);
    made.add_event(1, "sockcap/FileWrite", 22, &[("duration", 0), ("bytes", 20)]);
    made.add_event(1, "sockcap/Receive", 23, &[("duration", 0), ("bytes", 3_000)]);
    let expected = MomentSums { disk_bytes: 120, ..processor_sums(20, NONE) };
    assert_eq!(made.sums_of_steps(&[root_step(10, 30, 1)]), [Some(expected)]);
}

#[test]
fn a_signalled_thread_only_needs_a_processor() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0, 23], &[12]);
    made.add_event(1, "sockcap/Wake", 24, &[("duration", 13), ("signalled", 20), ("by", 9)]);
    let waits = WaitTimes { lock_ns: 8, runnable_ns: 3, ..NONE };
    assert_eq!(made.sums_of_steps(&[root_step(10, 30, 1)]), [Some(processor_sums(9, waits))]);
}

#[test]
fn a_poll_that_another_thread_ended_was_a_wait_only_until_it_signalled() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0, 23], &[12]);
    made.add_event(1, "sockcap/Poll", 24, &[("duration", 12), ("result", 1)]);
    made.add_event(1, "sockcap/Wake", 25, &[("duration", 1), ("signalled", 20), ("by", 9)]);
    let waits = WaitTimes { peer_ns: 8, runnable_ns: 3, ..NONE };
    assert_eq!(made.sums_of_steps(&[root_step(10, 30, 1)]), [Some(processor_sums(9, waits))]);
}

#[test]
fn a_step_waits_for_its_calls_and_work_wins_over_them() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0, 40, 60], &[22, 45]);
    made.add_event(1, "sockcap/Poll", 41, &[("duration", 20), ("result", 1)]);
    made.add_event(1, "sockcap/FileRead", 60, &[("duration", 18), ("bytes", 5)]);
    // Two calls overlap, and both are open while the thread works from 20 to 22 and from 40 to 45.
    let calls = [call_step(1, 20, 50), call_step(1, 30, 65)];
    let steps = [root_step(10, 100, 1), calls[0], calls[1]];
    let of = made.sums_of_steps(&steps);
    // Open from 20 to 65; processor 10-22, 40-45, 60-100; disk 45-60; calls 22-40.
    let expected = MomentSums {
        processor_ns: 12 + 5 + 40,
        children_ns: 18,
        disk_bytes: 5,
        waits: WaitTimes { disk_ns: 15, ..NONE },
    };
    assert_eq!(of[0], Some(expected));
    // The called node was not recorded.
    assert_eq!(of[1..], [None, None]);
}

#[test]
fn a_hand_off_leads_from_the_thread_that_received_to_the_one_that_sent() {
    let mut made = RecordingBuilder::default();
    // 1 receives, signals 2 at 15; 2 wakes, signals 3 at 40; 3 is woken from its poll and sends.
    made.add_scheduling(1, &[0], &[16]);
    made.add_scheduling(2, &[18], &[2, 45]);
    made.add_event(2, "sockcap/Wake", 19, &[("duration", 18), ("signalled", 15), ("by", 1)]);
    made.add_scheduling(3, &[43], &[5]);
    made.add_event(3, "sockcap/Poll", 44, &[("duration", 40), ("result", 1)]);
    made.add_event(3, "sockcap/Wake", 46, &[("duration", 0), ("signalled", 40), ("by", 2)]);
    let threads = StepThreads { end: Some(3), ..root_step(0, 0, 1).threads };
    let of = made.sums_of_steps(&[Step { threads, ..root_step(10, 50, 1) }]);
    // 10-15 thread 1; 15-18 waking; 18-40 thread 2; 40-43 waking; 43-50 thread 3.
    assert_eq!(of, [Some(processor_sums(5 + 22 + 7, WaitTimes { runnable_ns: 6, ..NONE }))]);
}

#[test]
fn without_a_chain_of_hand_offs_the_time_is_unknown() {
    for (by, signalled) in [(9, 15), (1, 5)] {
        let mut made = RecordingBuilder::default();
        made.add_scheduling(1, &[0], &[16]);
        made.add_scheduling(2, &[18], &[2]);
        // Thread 1 did not signal, or did so before it had received.
        let wake = [("duration", 18), ("signalled", signalled), ("by", by)];
        made.add_event(2, "sockcap/Wake", 19, &wake);
        let threads = StepThreads { end: Some(2), ..root_step(0, 0, 1).threads };
        let of = made.sums_of_steps(&[Step { threads, ..root_step(10, 50, 1) }]);
        assert_eq!(of, [Some(processor_sums(0, WaitTimes { unknown_ns: 40, ..NONE }))]);
    }
}

#[test]
fn a_signalled_thread_works_for_the_thread_that_waits_for_it() {
    let run = |objects: [i64; 2]| {
        let mut made = RecordingBuilder::default();
        made.add_scheduling(1, &[0, 42], &[16]);
        made.add_scheduling(2, &[18], &[2, 41]);
        let wake = [("duration", 17), ("signalled", 15), ("by", 1), ("object", objects[0])];
        made.add_event(2, "sockcap/Wake", 19, &wake);
        let wake = [("duration", 26), ("signalled", 40), ("by", 2), ("object", objects[1])];
        made.add_event(1, "sockcap/Wake", 42, &wake);
        made.sums_of_steps(&[root_step(10, 50, 1)])
    };
    // 10-15 thread 1; 15-18 waking; 18-40 thread 2; 40-42 waking; 42-50 thread 1.
    assert_eq!(
        run([1, 2]),
        [Some(processor_sums(5 + 22 + 8, WaitTimes { runnable_ns: 5, ..NONE }))]
    );
    // A lock that goes back and forth is a wait: 16-40.
    let waits = WaitTimes { lock_ns: 24, runnable_ns: 2, ..NONE };
    assert_eq!(run([1, 1]), [Some(processor_sums(6 + 8, waits))]);
}

#[test]
fn a_new_thread_works_for_the_step_of_the_one_that_made_it() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0], &[16]);
    made.add_event(2, "sched/Start", 15, &[("parent", 1)]);
    made.add_scheduling(2, &[18], &[]);
    let threads = StepThreads { end: Some(2), ..root_step(0, 0, 1).threads };
    let of = made.sums_of_steps(&[Step { threads, ..root_step(10, 50, 1) }]);
    assert_eq!(of, [Some(processor_sums(5 + 32, WaitTimes { runnable_ns: 3, ..NONE }))]);
}

#[test]
fn a_thread_of_many_steps_works_for_the_step_of_its_last_message() {
    let run = |answered: i64| {
        let mut made = RecordingBuilder::default();
        made.add_scheduling(1, &[0], &[]);
        // The loop polls from 18 to 20, serves the other step from 21 to 30, and polls until 40.
        made.add_event(1, "sockcap/Poll", 20, &[("duration", 2), ("result", 1)]);
        made.add_event(1, "sockcap/Poll", 40, &[("duration", 8), ("result", 1)]);
        made.add_request(&[root_step(21, 30, 1)]);
        made.sums_of_steps(&[root_step(10, 50, 1), call_step(1, 15, answered)])[0]
    };
    // The step's own time: 10-18 and 40-50. Its wait counts as call time while the call is open.
    assert_eq!(run(42), Some(MomentSums { children_ns: 22, ..processor_sums(18, NONE) }));
    assert_eq!(run(17), Some(processor_sums(18, WaitTimes { unknown_ns: 22, ..NONE })));
    // A message that belongs to two requests does not separate them.
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0], &[]);
    made.add_request(&[root_step(10, 50, 1), call_step(1, 15, 35)]);
    let steps = [root_step(10, 60, 1), call_step(1, 15, 35)];
    assert_eq!(made.sums_of_steps(&steps)[0], Some(processor_sums(50, NONE)));
}

#[test]
fn a_thread_that_was_busy_turns_to_the_step_when_it_takes_the_signal() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0], &[]);
    made.add_scheduling(2, &[0], &[]);
    made.add_event(2, "sockcap/Wake", 30, &[("duration", 0), ("signalled", 15), ("by", 1)]);
    let threads = StepThreads { end: Some(2), ..root_step(0, 0, 1).threads };
    let of = made.sums_of_steps(&[Step { threads, ..root_step(10, 50, 1) }]);
    assert_eq!(of, [Some(processor_sums(5 + 20, WaitTimes { unknown_ns: 15, ..NONE }))]);
}

#[test]
fn a_step_with_unknown_threads_or_times_has_no_resources() {
    let of = |step: Step| {
        let mut made = RecordingBuilder::default();
        made.add_scheduling(1, &[0], &[]);
        made.sums_of_steps(&[step])
    };
    let known = root_step(10, 50, 1);
    assert_eq!(of(Step { end: None, ..known }), [None]);
    assert_eq!(of(root_step(10, 50, 5)), [None]);
    assert_eq!(
        of(Step { threads: StepThreads { process: None, ..known.threads }, ..known }),
        [None]
    );
}

#[test]
fn a_recording_begins_with_threads_that_run() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[], &[25]);
    assert_eq!(
        made.sums_of_steps(&[root_step(10, 30, 1)]),
        [Some(processor_sums(15, WaitTimes { unknown_ns: 5, ..NONE }))]
    );
}

#[test]
fn lost_time_is_unknown_until_the_next_scheduler_event() {
    let mut made = RecordingBuilder::default();
    made.add_scheduling(1, &[0, 26], &[]);
    made.add_event(1, "sched/Unknown", 15, &[]);
    assert_eq!(
        made.sums_of_steps(&[root_step(10, 30, 1)]),
        [Some(processor_sums(9, WaitTimes { unknown_ns: 11, ..NONE }))]
    );
}
