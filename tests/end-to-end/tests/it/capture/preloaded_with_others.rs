//! Other preloaded libraries together with sockcap's: they fake the time, wrap functions that it
//! needs itself, or are another copy of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{
    ReadLog, TestRecording, copy_program, preloaded_library, program_path, resources_library,
    run_successfully,
};
use end_to_end::{repository, sockcap_program};
use rustix::time::{ClockId, clock_gettime};
use socket_log::LogRecord;
use socket_log::encode::Direction::{Receive, Send};

/// A program that sends messages to itself and to a child; compiled, so that no test waits for an
/// interpreter.
fn compile_talk(recording: &TestRecording) -> PathBuf {
    recording.compile_program("forked_talk")
}

/// Preload list of these libraries.
fn preload_list(libraries: &[&Path]) -> String {
    let libraries: Vec<_> = libraries.iter().map(|path| path.to_str().unwrap()).collect();
    libraries.join(":")
}

/// Nanoseconds of the machine's own clock, whatever a library says.
fn machine_time() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Number of messages in each direction.
fn count_messages(logs: &[ReadLog]) -> [usize; 2] {
    [Send, Receive].map(|wanted| {
        let of = |log: &ReadLog| {
            log.complete_records()
                .filter(|record| {
                    matches!(record, LogRecord::Transfer { direction, .. } if *direction == wanted)
                })
                .count()
        };
        logs.iter().map(of).sum()
    })
}

/// Compares all times of the logs with the machine's clock.
#[track_caller]
fn check_times(logs: &[ReadLog], began: i64) {
    let ended = machine_time();
    for log in logs {
        let start = log.log.header().start.realtime;
        assert!((began..=ended).contains(&start), "{start} is not in {began}..{ended}");
        let clock = log.log.clock();
        for entry in &log.entries {
            let time = clock.realtime(entry.ticks);
            assert!((began..=ended).contains(&time), "{entry:?}: {time} not in {began}..{ended}");
        }
    }
}

/// Library of a C program of `tests/programs`.
fn compile_library(recording: &TestRecording, name: &str) -> PathBuf {
    let made = recording.file_path(&format!("{name}.so"));
    let source = repository().join("tests/programs").join(format!("{name}.c"));
    let mut compiler = Command::new(program_path("cc"));
    compiler.args(["-O1", "-shared", "-fPIC", "-Wall", "-o"]).arg(&made).arg(source);
    run_successfully(&mut compiler);
    made
}

#[test]
fn a_faked_clock_does_not_reach_the_log() {
    let recording = TestRecording::new();
    let program = compile_talk(&recording);
    let fakes: [&[&str]; 5] = [
        &["faketime", "+3 days"],
        &["faketime", "-f", "-400d"],
        &["faketime", "-f", "@2030-01-01 00:00:00 x10"],
        &["faketime", "-f", "2030-01-01 00:00:00"],
        &["datefudge", "2020-01-01"],
    ];
    for fake in fakes {
        for clock in ["", "monotonic"] {
            let recording = TestRecording::new();
            let began = machine_time();
            let mut command =
                recording.recorded_command(end_to_end::capture::program_path(fake[0]));
            command.args(&fake[1..]).arg(&program).env("SOCKCAP_CLOCK", clock);
            run_successfully(&mut command);
            let logs = recording.read_logs();
            assert_eq!(count_messages(&logs), [4, 4], "{fake:?}");
            check_times(&logs, began);
        }
    }
}

#[test]
fn a_recording_within_a_faked_clock_says_what_it_recorded() {
    let recording = TestRecording::new();
    let mut command = Command::new(program_path("faketime"));
    command
        .args(["-f", "+3d"])
        .arg(sockcap_program())
        .args(["record", "-d"])
        .arg(recording.data_dir());
    let output = command.arg("--").arg(compile_talk(&recording)).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("sockcap: 2 processes, "), "{said}");
}

#[test]
fn the_library_itself_does_not_call_functions_of_other_libraries() {
    let recording = TestRecording::new();
    let program = compile_talk(&recording);
    let interposed = compile_library(&recording, "interposed_clock");
    for ours in [preloaded_library(), resources_library()] {
        for order in [[ours, &interposed], [&interposed, ours]] {
            let recording = TestRecording::new();
            let began = machine_time();
            let mut command = recording.recorded_command(&program);
            // The system call for a thread's id is not permitted, so libc is called instead.
            command.env("LD_PRELOAD", preload_list(&order)).arg("confined");
            run_successfully(&mut command);
            let logs = recording.read_logs();
            assert_eq!(count_messages(&logs), [4, 4], "{order:?}");
            check_times(&logs, began);
        }
    }
}

#[test]
fn of_two_copies_in_a_process_the_second_is_idle() {
    let recording = TestRecording::new();
    let program = compile_talk(&recording);
    let copy = recording.file_path("libsockcap.so");
    let renamed = recording.file_path("another.so");
    copy_program(preloaded_library(), &copy);
    copy_program(preloaded_library(), &renamed);
    let copies: [&[&Path]; 8] = [
        &[preloaded_library(), &copy],
        &[&copy, preloaded_library()],
        &[preloaded_library(), &renamed],
        &[&renamed, preloaded_library()],
        &[preloaded_library(), resources_library()],
        &[resources_library(), preloaded_library()],
        &[&renamed, &copy, preloaded_library(), resources_library()],
        &[preloaded_library(), preloaded_library()],
    ];
    for libraries in copies {
        let recording = TestRecording::new();
        let mut command = recording.recorded_command(&program);
        run_successfully(command.env("LD_PRELOAD", preload_list(libraries)));
        let logs = recording.read_logs();
        assert_eq!(logs.len(), 2, "one log for each process: {libraries:?}");
        assert_eq!(count_messages(&logs), [4, 4], "{libraries:?}");
        let is_first_with_resources = libraries[0] == resources_library();
        assert!(logs.iter().all(|log| log.log.header().resources == is_first_with_resources));
    }
}

#[test]
fn a_copy_preloaded_by_the_user_is_idle_if_the_recorder_has_one() {
    let recording = TestRecording::new();
    let renamed = recording.file_path("another.so");
    copy_program(preloaded_library(), &renamed);
    let mut command = Command::new(sockcap_program());
    command.args(["record", "-d"]).arg(recording.data_dir()).args(["--host", "host", "--"]);
    // A child gets an environment of its own, with only the copy.
    let script = "import os, sys\n\
                  os.spawnve(os.P_WAIT, sys.argv[1], [sys.argv[1]], {'LD_PRELOAD': sys.argv[2]})";
    command.arg(end_to_end::capture::python_path()).args(["-c", script]);
    command.arg(compile_talk(&recording)).arg(&renamed).env("LD_PRELOAD", &renamed);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(count_messages(&recording.read_logs()), [4, 4]);
}
