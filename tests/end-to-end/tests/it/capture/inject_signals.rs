//! Static programs that constantly receive signals, recorded by `sockcap record --inject`: what
//! they read and write is in their logs, and their children of `vfork` are recorded too.

use std::process::Command;

use end_to_end::capture::{TestRecording, program_path, run_successfully};
use end_to_end::repository;
use socket_log::encode::Direction;

use super::inject::{bytes_in_direction, logs_of_program, parse_totals, record_injected};

/// Sends the program this number of signals, one after the other.
fn send_signals(compiler: &str, signals: u32) {
    let recording = TestRecording::new();
    let binary = recording.file_path("signalled");
    let source = repository().join("tests/programs/signalled.c");
    let mut command = Command::new(program_path(compiler));
    command.args(["-O1", "-pthread", "-Wall", "-static", "-o"]).arg(&binary).arg(source);
    run_successfully(&mut command);
    let printed = record_injected(&recording, &[binary.to_str().unwrap(), &signals.to_string()]);
    assert!(printed.ends_with(&format!(" signals {signals}\n")), "{printed}");
    let logs = recording.read_logs();
    let of_program = logs_of_program(&logs, "signalled");
    assert!(printed.contains(&format!(" children {} ", of_program.len() - 1)), "{printed}");
    let recorded = [Direction::Receive, Direction::Send].map(|direction| {
        of_program.iter().map(|log| bytes_in_direction(log, direction)).sum::<u64>()
    });
    assert_eq!(recorded, parse_totals(&printed));
}

#[test]
fn no_byte_is_lost_under_signals() {
    send_signals("gcc", 20_000);
    send_signals("musl-gcc", 20_000);
}

#[test]
#[ignore = "takes a minute: `scripts/test --all` runs it"]
fn no_byte_is_lost_under_a_million_and_a_half_of_signals() {
    send_signals("gcc", 1_500_000);
    send_signals("musl-gcc", 1_500_000);
}
