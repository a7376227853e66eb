//! Static programs that are sent signals all the time, recorded by `sockcap record --inject`: what
//! they read and write is in their logs, and their children of `vfork` are recorded too.

use std::process::Command;

use end_to_end::capture::{Recording, program, successful};
use end_to_end::repository;
use socket_log::encode::Direction;

use super::inject::{bytes, of, record, said};

/// Sends the program as many signals, one after the other.
fn signalled(compiler: &str, signals: u32) {
    let recording = Recording::new();
    let binary = recording.file("signalled");
    let source = repository().join("tests/programs/signalled.c");
    let mut command = Command::new(program(compiler));
    command.args(["-O1", "-pthread", "-Wall", "-static", "-o"]).arg(&binary).arg(source);
    successful(&mut command);
    let printed = record(&recording, &[binary.to_str().unwrap(), &signals.to_string()]);
    assert!(printed.ends_with(&format!(" signals {signals}\n")), "{printed}");
    let logs = recording.logs();
    let of_program = of(&logs, "signalled");
    assert!(printed.contains(&format!(" children {} ", of_program.len() - 1)), "{printed}");
    let recorded = [Direction::Receive, Direction::Send]
        .map(|direction| of_program.iter().map(|log| bytes(log, direction)).sum::<u64>());
    assert_eq!(recorded, said(&printed));
}

#[test]
fn no_byte_is_lost_under_signals() {
    signalled("gcc", 20_000);
    signalled("musl-gcc", 20_000);
}

#[test]
#[ignore = "takes a minute: `scripts/test --all` runs it"]
fn no_byte_is_lost_under_a_million_and_a_half_of_signals() {
    signalled("gcc", 1_500_000);
    signalled("musl-gcc", 1_500_000);
}
