//! Static programs that a library must not be put into run as without it, and the reason why they
//! are not recorded is reported.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use end_to_end::capture::{TestRecording, program_path, run_successfully};
use end_to_end::command::to_text;
use end_to_end::{repository, sockcap_program};
use socket_log::encode::Direction;
use test_support::code::changed_code;

use super::attach::{ServerProcess, assert_refused};
use super::inject::{bytes_in_direction, logs_of_program, record_injected};

/// Reason why an emulator is not recorded.
const EMULATOR: &str = "it runs code of other programs itself (QEMU), with registers that the \
                        library needs";

/// Compiles a program of the folder.
fn compile_program(recording: &TestRecording, name: &str, flags: &[&str]) -> PathBuf {
    let binary = recording.file_path(name);
    let mut compiler = Command::new(program_path("gcc"));
    compiler.args(["-O1", "-pthread", "-Wall", "-o"]).arg(&binary);
    compiler.arg(repository().join(format!("tests/programs/{name}.c"))).args(flags);
    run_successfully(&mut compiler);
    binary
}

/// Compiles a program of the folder statically, records it, by itself and started by a shell, and
/// returns the recorder's messages. The program must end with this status and its own output, and
/// nothing of it is recorded.
fn record_program(name: &str, libraries: &[&str], ended: i32) -> Vec<String> {
    let recording = TestRecording::new();
    let binary = compile_program(&recording, name, &[&["-static"], libraries].concat());
    let alone = Command::new(&binary).output().unwrap();
    assert_eq!(alone.status.code(), Some(ended), "{alone:?}");
    let path = binary.to_str().unwrap();
    let by_shell = ["sh", "-c", "\"$0\"; exit $?", path];
    let record = |words: &[&str]| {
        let mut command = Command::new(sockcap_program());
        command.args(["record", "--inject", "--host", "host", "-d"]).arg(recording.data_dir());
        let Output { status, stdout, stderr } = command.arg("--").args(words).output().unwrap();
        let errors = to_text(&stderr);
        assert_eq!(status.code(), Some(ended), "{words:?}: {errors}");
        assert_eq!(to_text(&stdout), to_text(&alone.stdout), "{words:?}: {errors}");
        let nothing = "nothing was recorded: the library could not be put into the programs named \
                       above";
        assert!(errors.contains(nothing), "{words:?}: {errors}");
        errors
    };
    let all = vec![record(&[path]), record(&by_shell)];
    assert_eq!(recording.read_logs().len(), 0);
    all
}

#[test]
fn a_program_that_sets_the_gs_base_is_left_alone() {
    for errors in record_program("sets_gs", &[], 0) {
        assert!(errors.contains("sets_gs is not recorded: it sets the GS register"), "{errors}");
    }
}

#[test]
fn a_program_whose_collector_stops_threads_is_left_alone() {
    let why = "collected is not recorded: its garbage collector (Boehm's) stops threads by signals";
    for errors in record_program("collected", &["-lgc"], 0) {
        assert!(errors.contains(why), "{errors}");
    }
}

#[test]
fn a_program_that_runs_code_of_other_programs_is_left_alone() {
    for errors in record_program("emulates", &[], 6) {
        assert!(errors.contains(&format!("emulates is not recorded: {EMULATOR}")), "{errors}");
    }
}

/// The preloaded library needs no registers of its threads.
#[test]
fn a_program_that_runs_code_of_other_programs_and_loads_the_library_is_recorded() {
    let recording = TestRecording::new();
    let binary = compile_program(&recording, "emulates", &[]);
    let script = "\"$0\"; test $? = 6";
    let printed = record_injected(&recording, &["sh", "-c", script, binary.to_str().unwrap()]);
    assert_eq!(printed, "unharmed\n");
    let logs = recording.read_logs();
    let of_program = logs_of_program(&logs, "emulates");
    assert_eq!(of_program.len(), 1);
    for direction in [Direction::Send, Direction::Receive] {
        assert_eq!(bytes_in_direction(of_program[0], direction), 500);
    }
}

#[test]
fn a_running_program_that_runs_code_of_other_programs_is_left_alone() {
    for flags in [&["-static"][..], &[]] {
        let recording = TestRecording::new();
        let mut command = Command::new(compile_program(&recording, "emulates", flags));
        command.arg("wait").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut emulator = ServerProcess(command.spawn().unwrap());
        let mut output = BufReader::new(emulator.0.stdout.take().unwrap());
        let mut printed = String::new();
        output.read_line(&mut printed).unwrap();
        assert_eq!(printed, "ready\n");
        let process = emulator.0.id();
        let said = assert_refused(&recording, process);
        assert!(said.contains(&format!("process {process}: {EMULATOR}")), "{said}");
        assert!(changed_code(process).is_empty());
        // It begins with its work now.
        drop(emulator.0.stdin.take());
        output.read_to_string(&mut printed).unwrap();
        assert_eq!(printed, "ready\nunharmed\n");
        assert_eq!(emulator.0.wait().unwrap().code(), Some(6), "{flags:?}");
        assert_eq!(recording.read_logs().len(), 0);
    }
}
