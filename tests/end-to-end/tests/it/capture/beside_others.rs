//! Other preloaded libraries beside sockcap's: they fake the time, stand before functions that it
//! needs itself, or are another copy of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{
    Recorded, Recording, copy_program, library, program, resources_library, successful,
};
use end_to_end::{repository, sockcap};
use rustix::time::{ClockId, clock_gettime};
use socket_log::Record;
use socket_log::encode::Direction::{Receive, Send};

/// A program that talks to itself and to a child; a plain one, so that no test waits for an
/// interpreter.
fn talk(recording: &Recording) -> PathBuf {
    recording.compile("forked_talk")
}

/// Preload list of these libraries.
fn list(libraries: &[&Path]) -> String {
    let libraries: Vec<_> = libraries.iter().map(|path| path.to_str().unwrap()).collect();
    libraries.join(":")
}

/// Nanoseconds of the machine's own clock, whatever a library says.
fn now() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Number of messages in each direction.
fn messages(logs: &[Recorded]) -> [usize; 2] {
    [Send, Receive].map(|wanted| {
        let of = |log: &Recorded| {
            log.records()
                .filter(|record| {
                    matches!(record, Record::Transfer { direction, .. } if *direction == wanted)
                })
                .count()
        };
        logs.iter().map(of).sum()
    })
}

/// Holds all times of the logs against the machine's clock.
#[track_caller]
fn check_times(logs: &[Recorded], began: i64) {
    let ended = now();
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
fn compile_library(recording: &Recording, name: &str) -> PathBuf {
    let made = recording.file(&format!("{name}.so"));
    let source = repository().join("tests/programs").join(format!("{name}.c"));
    let mut compiler = Command::new(program("cc"));
    compiler.args(["-O1", "-shared", "-fPIC", "-Wall", "-o"]).arg(&made).arg(source);
    successful(&mut compiler);
    made
}

#[test]
fn a_faked_clock_does_not_reach_the_log() {
    let recording = Recording::new();
    let program = talk(&recording);
    let fakes: [&[&str]; 5] = [
        &["faketime", "+3 days"],
        &["faketime", "-f", "-400d"],
        &["faketime", "-f", "@2030-01-01 00:00:00 x10"],
        &["faketime", "-f", "2030-01-01 00:00:00"],
        &["datefudge", "2020-01-01"],
    ];
    for fake in fakes {
        for clock in ["", "monotonic"] {
            let recording = Recording::new();
            let began = now();
            let mut command = recording.command(end_to_end::capture::program(fake[0]));
            command.args(&fake[1..]).arg(&program).env("SOCKCAP_CLOCK", clock);
            successful(&mut command);
            let logs = recording.logs();
            assert_eq!(messages(&logs), [4, 4], "{fake:?}");
            check_times(&logs, began);
        }
    }
}

#[test]
fn a_recording_within_a_faked_clock_says_what_it_recorded() {
    let recording = Recording::new();
    let mut command = Command::new(program("faketime"));
    command.args(["-f", "+3d"]).arg(sockcap()).args(["record", "-d"]).arg(recording.data());
    let output = command.arg("--").arg(talk(&recording)).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("sockcap: 2 processes, "), "{said}");
}

#[test]
fn functions_of_other_libraries_are_not_called_for_the_library_itself() {
    let recording = Recording::new();
    let program = talk(&recording);
    let beside = compile_library(&recording, "beside_clock");
    for ours in [library(), resources_library()] {
        for order in [[ours, &beside], [&beside, ours]] {
            let recording = Recording::new();
            let began = now();
            let mut command = recording.command(&program);
            // The system call that asks for a thread's id is given up, so that libc is asked.
            command.env("LD_PRELOAD", list(&order)).arg("confined");
            successful(&mut command);
            let logs = recording.logs();
            assert_eq!(messages(&logs), [4, 4], "{order:?}");
            check_times(&logs, began);
        }
    }
}

#[test]
fn of_two_copies_in_a_process_the_second_is_idle() {
    let recording = Recording::new();
    let program = talk(&recording);
    let copy = recording.file("libsockcap.so");
    let renamed = recording.file("another.so");
    copy_program(library(), &copy);
    copy_program(library(), &renamed);
    let copies: [&[&Path]; 8] = [
        &[library(), &copy],
        &[&copy, library()],
        &[library(), &renamed],
        &[&renamed, library()],
        &[library(), resources_library()],
        &[resources_library(), library()],
        &[&renamed, &copy, library(), resources_library()],
        &[library(), library()],
    ];
    for libraries in copies {
        let recording = Recording::new();
        let mut command = recording.command(&program);
        successful(command.env("LD_PRELOAD", list(libraries)));
        let logs = recording.logs();
        assert_eq!(logs.len(), 2, "one log for each process: {libraries:?}");
        assert_eq!(messages(&logs), [4, 4], "{libraries:?}");
        let is_first_with_resources = libraries[0] == resources_library();
        assert!(logs.iter().all(|log| log.log.header().resources == is_first_with_resources));
    }
}

#[test]
fn a_copy_that_the_user_preloads_is_idle_beside_that_of_the_recorder() {
    let recording = Recording::new();
    let renamed = recording.file("another.so");
    copy_program(library(), &renamed);
    let mut command = Command::new(sockcap());
    command.args(["record", "-d"]).arg(recording.data()).args(["--host", "host", "--"]);
    // A child is given an environment of its own, with the copy alone.
    let script = "import os, sys\n\
                  os.spawnve(os.P_WAIT, sys.argv[1], [sys.argv[1]], {'LD_PRELOAD': sys.argv[2]})";
    command.arg(end_to_end::capture::python()).args(["-c", script]);
    command.arg(talk(&recording)).arg(&renamed).env("LD_PRELOAD", &renamed);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(messages(&recording.logs()), [4, 4]);
}
