//! Tasks of Tokio: the task of each record, and the wake-ups between tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, run_successfully};
use socket_log::LogRecord;
use socket_log::layout::goroutine;

/// The output of the program, recorded or not.
const SAID: &str = "answered true, whole true\n";

/// The tasks that each task started, and those that it woke, each by the id that it has in place of
/// a thread's.
fn queued_tasks(log: &ReadLog) -> [BTreeMap<u32, Vec<u32>>; 2] {
    let mut found = [BTreeMap::new(), BTreeMap::new()];
    log.log.for_each(|entry| {
        if let LogRecord::Ready { number, started } = entry.record {
            let of: &mut Vec<u32> =
                found[usize::from(!started)].entry(entry.tid).or_insert_with(Vec::new);
            of.push(goroutine::thread_id(number));
        }
    });
    found
}

#[test]
fn each_request_has_the_task_that_was_started_for_it() {
    let program = env!("CARGO_BIN_EXE_tasks");
    assert_eq!(run_successfully(&mut Command::new(program)), SAID);
    for command in [TestRecording::recorded_command, TestRecording::resources_command] {
        let recording = TestRecording::new();
        assert_eq!(run_successfully(&mut command(&recording, program)), SAID);
        check_tasks(&recording.only_log());
    }
}

/// Requests are read by one task, which has started a task for each request.
fn check_tasks(log: &ReadLog) {
    let [started, woken] = queued_tasks(log);
    // The task that reads has started a task for each request, and before these the task that
    // writes responses.
    let (reader, tasks) = started.iter().max_by_key(|(_, tasks)| tasks.len()).unwrap();
    assert!(goroutine::is_goroutine(*reader));
    assert_eq!(tasks.len(), 101, "{started:?}");
    let tasks: BTreeSet<u32> = tasks.iter().copied().collect();
    assert_eq!(tasks.len(), 101, "each is started once");
    // The task that calls the back end wakes each task that waits for the response; one that is
    // just about to wait continues by itself.
    let most = woken.values().map(|all| all.iter().filter(|one| tasks.contains(one)).count());
    assert!(most.max().unwrap() >= 80, "{woken:?}");
    // Bytes are sent and received by tasks: the one that reads, the one that calls, and the one
    // that answers.
    let mut of_tasks = BTreeSet::new();
    log.log.for_each(|entry| {
        if matches!(entry.record, LogRecord::Transfer { .. }) && goroutine::is_goroutine(entry.tid)
        {
            of_tasks.insert(entry.tid);
        }
    });
    assert_eq!(of_tasks.len(), 3, "{of_tasks:?}");
    assert!(of_tasks.contains(reader));
}

#[test]
fn a_program_without_its_names_is_left_as_it_is() {
    let recording = TestRecording::new();
    let program = recording.file_path("tasks");
    fs::copy(env!("CARGO_BIN_EXE_tasks"), &program).unwrap();
    run_successfully(Command::new("strip").arg(&program));
    let said = run_successfully(&mut recording.recorded_command(&program));
    assert!(said.starts_with("answered true"), "{said}");
    assert_eq!(queued_tasks(&recording.only_log()), [BTreeMap::new(), BTreeMap::new()]);
}

#[test]
fn a_runtime_that_the_user_left_out_is_not_followed() {
    for value in ["0", "-python,-tokio"] {
        let recording = TestRecording::new();
        let mut command = recording.recorded_command(env!("CARGO_BIN_EXE_tasks"));
        assert_eq!(run_successfully(command.env("SOCKCAP_RUNTIMES", value)), SAID);
        let found = queued_tasks(&recording.only_log());
        assert_eq!(found, [BTreeMap::new(), BTreeMap::new()], "{value}");
    }
}
