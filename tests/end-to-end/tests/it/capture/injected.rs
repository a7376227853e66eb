//! The library as it is injected into programs that load none: its entries, in a program that is
//! laid out like a patched one and loads the library by itself (`tests/programs/injected.c`).
//!
//! That program compares all registers and the memory below its stack pointer at each system call,
//! and the bytes that it sends with those that it receives.

use std::process::Command;

use end_to_end::capture::{
    ReadLog, TestRecording, injected_library, program_path, run_successfully,
};
use end_to_end::repository;
use socket_log::LogRecord;
use socket_log::encode::Direction;

/// Runs a scenario of the program, and returns its logs.
fn run_scenario(scenario: &str) -> Vec<ReadLog> {
    let recording = TestRecording::new();
    let binary = recording.file_path("injected");
    let source = repository().join("tests/programs/injected.c");
    run_successfully(
        Command::new(program_path("gcc"))
            .args(["-O1", "-static", "-pthread", "-masm=intel", "-Wall", "-o"])
            .arg(&binary)
            .arg(source),
    );
    let mut command = recording.recorded_command(&binary);
    let printed = run_successfully(command.arg(injected_library()).arg(scenario));
    assert_eq!(printed, "unharmed\n");
    let logs = recording.read_logs();
    for log in &logs {
        assert!(log.damage.is_empty(), "{:?}", log.damage);
    }
    logs
}

/// Bytes of each transfer in one direction, in the order of the log.
fn transfer_sizes(log: &ReadLog, wanted: Direction) -> Vec<u64> {
    let moved = log.entries.iter().filter_map(|entry| match &entry.record {
        LogRecord::Transfer { direction, bytes, .. }
        | LogRecord::Datagram { direction, bytes, .. }
            if *direction == wanted =>
        {
            Some(*bytes)
        }
        _ => None,
    });
    moved.collect()
}

/// Both directions of a log.
fn both_directions(log: &ReadLog) -> [Vec<u64>; 2] {
    [Direction::Send, Direction::Receive].map(|direction| transfer_sizes(log, direction))
}

#[test]
fn it_needs_no_dynamic_linker() {
    let readelf = |what: &str| {
        run_successfully(
            Command::new(program_path("readelf")).args(["-W", what]).arg(injected_library()),
        )
    };
    let dynamic = readelf("-d");
    assert!(dynamic.contains("(RELA)") && !dynamic.contains("(NEEDED)"), "{dynamic}");
    let relocations = readelf("-r");
    let kinds = relocations.lines().filter(|line| line.contains("R_X86_64_"));
    let others: Vec<&str> = kinds.filter(|line| !line.contains("R_X86_64_RELATIVE")).collect();
    assert!(relocations.contains("R_X86_64_RELATIVE") && others.is_empty(), "{others:?}");
    assert!(!readelf("-l").contains(" TLS "));
}

/// The only log, in which nothing is lost.
fn whole_log(mut logs: Vec<ReadLog>) -> ReadLog {
    assert_eq!(logs.len(), 1, "one process, one log");
    let log = logs.remove(0);
    assert_eq!(log.log.header().lost_records(), 0);
    log
}

#[test]
fn each_transfer_has_a_record_and_each_datagram_its_full_size() {
    let log = whole_log(run_scenario("talk"));
    let mut expected = vec![7; 10];
    // Of ten bytes, four were received.
    expected.push(10);
    assert_eq!(both_directions(&log), [expected.clone(), expected]);
    let truncated =
        |record: &&LogRecord| matches!(record, LogRecord::Datagram { truncated: true, .. });
    assert_eq!(log.complete_records().filter(truncated).count(), 1);
}

#[test]
fn each_call_on_a_stream_has_the_right_record() {
    let log = whole_log(run_scenario("streams"));
    // Peeked bytes are in no record, and failed transfers have no bytes.
    let expected = vec![5, 7, 6, 8, 9];
    assert_eq!(both_directions(&log), [expected.clone(), expected]);
    let count = |wanted: fn(&LogRecord) -> bool| {
        log.complete_records().filter(|record| wanted(record)).count()
    };
    assert_eq!(count(|record| matches!(record, LogRecord::EndOfFile { .. })), 1);
    assert_eq!(count(|record| matches!(record, LogRecord::Failure { .. })), 0);
    assert_eq!(count(|record| matches!(record, LogRecord::Duplicate { new: 100, .. })), 1);
    assert_eq!(count(|record| matches!(record, LogRecord::Close { fd: 100, .. })), 1);
}

#[test]
fn each_thread_has_a_place_of_its_own() {
    let log = whole_log(run_scenario("threads"));
    assert_eq!(both_directions(&log), [vec![5; 24_000], vec![5; 24_000]]);
    let threads: std::collections::BTreeSet<u32> =
        log.entries.iter().map(|entry| entry.tid).collect();
    // The first thread starts the others, and ends the process.
    assert_eq!(threads.len(), 25);
}

/// A thread may start with the slot of one that has ended, and with its memory.
#[test]
fn a_thread_that_reuses_a_slot_is_distinguished_from_the_earlier_one() {
    let log = whole_log(run_scenario("heirs"));
    let expected = [vec![1; 10], vec![2; 10]].concat();
    assert_eq!(both_directions(&log), [expected.clone(), expected]);
    let of = |wanted: u64| {
        let moved = log.entries.iter().filter(
            move |entry| matches!(entry.record, LogRecord::Transfer { bytes, .. } if bytes == wanted),
        );
        moved.map(|entry| entry.tid).collect::<std::collections::BTreeSet<u32>>()
    };
    assert_eq!((of(1).len(), of(2).len()), (1, 1));
    assert!(of(1).is_disjoint(&of(2)));
}

/// Messages of the program itself have three bytes, those of the handler two.
fn check_interrupted(scenario: &str) {
    let logs = run_scenario(scenario);
    let [sent, received] = both_directions(&logs[0]);
    let lost = logs[0].log.header().lost_records() as usize;
    let of = |list: &[u64], size| list.iter().filter(|bytes| **bytes == size).count();
    assert_eq!(of(&sent, 3), of(&received, 3));
    assert!(of(&sent, 3) >= 1000 && of(&sent, 3) % 1000 == 0, "{}", of(&sent, 3));
    // A handler that interrupts a hook is not recorded but counted. It sends and receives.
    let of_handler = of(&sent, 2) + of(&received, 2) + lost;
    assert!(of_handler >= 2 * 299, "{of_handler}");
    assert_eq!(sent.len() - of(&sent, 2), of(&sent, 3));
}

#[test]
fn a_handler_makes_calls_while_a_call_waits() {
    check_interrupted("signals");
}

#[test]
fn a_handler_on_a_stack_of_its_own_is_unharmed() {
    check_interrupted("alternate");
}

#[test]
fn a_handler_may_jump_out_of_a_call() {
    let [sent, received] = both_directions(&whole_log(run_scenario("jumps")));
    assert_eq!((sent.len(), &sent), (900, &received));
}

#[test]
fn a_child_has_a_log_of_its_own() {
    let logs = run_scenario("forks");
    let all: Vec<[Vec<u64>; 2]> = logs.iter().map(both_directions).collect();
    let child = [vec![6; 100], vec![6; 100]];
    assert_eq!(all, [[vec![1; 2], vec![1; 2]], child.clone(), child.clone(), child]);
}

/// A program without the library is recorded by the process that starts it, once: the child that
/// follows does not record it again.
#[test]
fn an_unrecorded_program_is_noted_once() {
    let logs = run_scenario("notes");
    assert_eq!(logs.iter().map(both_directions).count(), 2);
    let noted = logs.iter().map(|log| {
        log.complete_records().filter(|record| matches!(record, LogRecord::Unseen { .. })).count()
    });
    assert_eq!(noted.collect::<Vec<_>>(), [1, 0]);
}
