//! The library as it is injected into programs that load none: its entries, on a program that is
//! laid out as a patched one and loads the library by itself (`tests/programs/injected.c`).
//!
//! That program compares all registers and what lies below its stack pointer at each system call,
//! and the bytes that it sends with those that it receives.

use std::process::Command;

use end_to_end::capture::{Recorded, Recording, injected_library, program, successful};
use end_to_end::repository;
use socket_log::Record;
use socket_log::encode::Direction;

/// Runs a scenario of the program, and returns its logs.
fn run(scenario: &str) -> Vec<Recorded> {
    let recording = Recording::new();
    let binary = recording.file("injected");
    let source = repository().join("tests/programs/injected.c");
    successful(
        Command::new(program("gcc"))
            .args(["-O1", "-static", "-pthread", "-masm=intel", "-Wall", "-o"])
            .arg(&binary)
            .arg(source),
    );
    let mut command = recording.command(&binary);
    let printed = successful(command.arg(injected_library()).arg(scenario));
    assert_eq!(printed, "unharmed\n");
    let logs = recording.logs();
    for log in &logs {
        assert!(log.damage.is_empty(), "{:?}", log.damage);
    }
    logs
}

/// Bytes of each transfer in one direction, in the order of the log.
fn bytes(log: &Recorded, wanted: Direction) -> Vec<u64> {
    let moved = log.entries.iter().filter_map(|entry| match &entry.record {
        Record::Transfer { direction, bytes, .. } | Record::Datagram { direction, bytes, .. }
            if *direction == wanted =>
        {
            Some(*bytes)
        }
        _ => None,
    });
    moved.collect()
}

/// Both directions of a log.
fn both(log: &Recorded) -> [Vec<u64>; 2] {
    [Direction::Send, Direction::Receive].map(|direction| bytes(log, direction))
}

#[test]
fn it_needs_no_dynamic_linker() {
    let readelf = |what: &str| {
        successful(Command::new(program("readelf")).args(["-W", what]).arg(injected_library()))
    };
    let dynamic = readelf("-d");
    assert!(dynamic.contains("(RELA)") && !dynamic.contains("(NEEDED)"), "{dynamic}");
    let relocations = readelf("-r");
    let kinds = relocations.lines().filter(|line| line.contains("R_X86_64_"));
    let others: Vec<&str> = kinds.filter(|line| !line.contains("R_X86_64_RELATIVE")).collect();
    assert!(relocations.contains("R_X86_64_RELATIVE") && others.is_empty(), "{others:?}");
    assert!(!readelf("-l").contains(" TLS "));
}

/// The one log, in which nothing is lost.
fn whole(mut logs: Vec<Recorded>) -> Recorded {
    assert_eq!(logs.len(), 1, "one process, one log");
    let log = logs.remove(0);
    assert_eq!(log.log.header().total_lost(), 0);
    log
}

#[test]
fn each_transfer_has_a_record_and_a_datagram_its_true_size() {
    let log = whole(run("talk"));
    let mut expected = vec![7; 10];
    // Of ten bytes, four were received.
    expected.push(10);
    assert_eq!(both(&log), [expected.clone(), expected]);
    let truncated = |record: &&Record| matches!(record, Record::Datagram { truncated: true, .. });
    assert_eq!(log.records().filter(truncated).count(), 1);
}

#[test]
fn each_call_on_a_stream_has_the_record_that_it_should_have() {
    let log = whole(run("streams"));
    // What was only looked at is in no record, and what failed in none of bytes.
    let expected = vec![5, 7, 6, 8, 9];
    assert_eq!(both(&log), [expected.clone(), expected]);
    let count = |wanted: fn(&Record) -> bool| log.records().filter(|record| wanted(record)).count();
    assert_eq!(count(|record| matches!(record, Record::EndOfFile { .. })), 1);
    assert_eq!(count(|record| matches!(record, Record::Failure { .. })), 0);
    assert_eq!(count(|record| matches!(record, Record::Duplicate { new: 100, .. })), 1);
    assert_eq!(count(|record| matches!(record, Record::Close { fd: 100, .. })), 1);
}

#[test]
fn each_thread_has_a_place_of_its_own() {
    let log = whole(run("threads"));
    assert_eq!(both(&log), [vec![5; 24_000], vec![5; 24_000]]);
    let threads: std::collections::BTreeSet<u32> =
        log.entries.iter().map(|entry| entry.tid).collect();
    // The first thread starts the others, and ends the process.
    assert_eq!(threads.len(), 25);
}

/// A thread may begin with the slot of one that has ended, and with its memory.
#[test]
fn a_thread_that_begins_with_the_slot_of_another_is_not_taken_for_it() {
    let log = whole(run("heirs"));
    let expected = [vec![1; 10], vec![2; 10]].concat();
    assert_eq!(both(&log), [expected.clone(), expected]);
    let of = |wanted: u64| {
        let moved = log.entries.iter().filter(
            move |entry| matches!(entry.record, Record::Transfer { bytes, .. } if bytes == wanted),
        );
        moved.map(|entry| entry.tid).collect::<std::collections::BTreeSet<u32>>()
    };
    assert_eq!((of(1).len(), of(2).len()), (1, 1));
    assert!(of(1).is_disjoint(&of(2)));
}

/// Messages of the program itself have three bytes, those of the handler two.
fn interrupted(scenario: &str) {
    let logs = run(scenario);
    let [sent, received] = both(&logs[0]);
    let lost = logs[0].log.header().total_lost() as usize;
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
    interrupted("signals");
}

#[test]
fn a_handler_on_a_stack_of_its_own_is_unharmed() {
    interrupted("alternate");
}

#[test]
fn a_handler_may_jump_out_of_a_call() {
    let [sent, received] = both(&whole(run("jumps")));
    assert_eq!((sent.len(), &sent), (900, &received));
}

#[test]
fn a_child_has_a_log_of_its_own() {
    let logs = run("forks");
    let all: Vec<[Vec<u64>; 2]> = logs.iter().map(both).collect();
    let child = [vec![6; 100], vec![6; 100]];
    assert_eq!(all, [[vec![1; 2], vec![1; 2]], child.clone(), child.clone(), child]);
}

/// A program that nothing is put into is noted by the process that begins it, once: the child that
/// comes behind it does not say so again.
#[test]
fn a_program_that_is_not_seen_is_noted_once() {
    let logs = run("notes");
    assert_eq!(logs.iter().map(both).count(), 2);
    let noted = logs
        .iter()
        .map(|log| log.records().filter(|record| matches!(record, Record::Unseen { .. })).count());
    assert_eq!(noted.collect::<Vec<_>>(), [1, 0]);
}
