//! The same library under another libc: it needs no symbol that musl lacks.

use std::process::Command;

use end_to_end::capture::{TestRecording, preloaded_library, program_path, run_successfully};
use end_to_end::repository;
use socket_log::LogRecord;
use socket_log::encode::Direction::{Receive, Send};

#[test]
fn a_program_of_musl_is_recorded() {
    let recording = TestRecording::new();
    let binary = recording.file_path("musl");
    let source = repository().join("tests/programs/musl.c");
    // From Debian's musl-tools.
    run_successfully(
        Command::new(program_path("musl-gcc")).args(["-O1", "-o"]).arg(&binary).arg(source),
    );
    let printed = run_successfully(recording.recorded_command(&binary).env("SOCKCAP_WAITS", "1"));
    assert_eq!(printed, "unharmed\n");
    let logs = recording.read_logs();
    assert_eq!(
        logs.len(),
        2,
        "the program and its child, but not what it becomes, which uses no socket"
    );
    let bytes = |index: usize, wanted| -> Vec<u64> {
        let moved = logs[index].complete_records().filter_map(|record| match record {
            LogRecord::Transfer { direction, bytes, .. }
            | LogRecord::Datagram { direction, bytes, .. }
                if *direction == wanted =>
            {
                Some(*bytes)
            }
            _ => None,
        });
        moved.collect()
    };
    let sorted = |mut all: Vec<u64>| {
        all.sort_unstable();
        all
    };
    assert_eq!(sorted(bytes(0, Send)), [6, 8, 8]);
    assert_eq!(sorted(bytes(0, Receive)), [6, 8, 8, 10]);
    assert_eq!(bytes(1, Send), [10]);
    assert!(
        logs[0]
            .complete_records()
            .any(|record| matches!(record, LogRecord::Wait { result: 1, .. }))
    );
}

#[test]
fn every_symbol_that_the_library_needs_is_in_musl() {
    // Weak symbols may be missing.
    let is_weak = |line: &str| line.contains(" w ") || line.contains(" v ");
    let symbols = |file: &std::path::Path, which: &str| -> Vec<String> {
        let listed =
            run_successfully(Command::new(program_path("nm")).args(["-D", which]).arg(file));
        let names = listed.lines().filter(|line| !is_weak(line)).filter_map(|line| {
            let name = line.rsplit(' ').next()?.split('@').next()?;
            Some(name.to_owned())
        });
        names.collect()
    };
    let machine = std::env::consts::ARCH;
    let musl = symbols(format!("/lib/ld-musl-{machine}.so.1").as_ref(), "--defined-only");
    let needed = symbols(preloaded_library(), "--undefined-only");
    assert!(musl.len() > 1000 && needed.iter().any(|name| name == "getauxval"));
    for name in needed {
        assert!(musl.contains(&name), "{name}");
    }
}
