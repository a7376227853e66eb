//! Malformed, damaged and hostile bytes in every protocol, with heads kept (`SOCKCAP_PROTOCOLS`):
//! programs do what they do without, their logs are whole, and names can be put in place of what
//! was kept.

use std::process::Command;

use end_to_end::capture::{Recording, library, python, resources_library, successful};
use end_to_end::command::succeeds;
use end_to_end::repository;
use socket_log::Record;
use socket_log::layout::head;

/// Number of damaged conversations of each protocol.
const CONVERSATIONS: &str = "20";

/// What the two ends of the damaged conversations of this seed print: what they heard.
fn heard(command: &mut Command, seed: &str) -> Vec<String> {
    let program = repository().join("tests/programs/hostile.py");
    let said = successful(command.arg(program).args([seed, CONVERSATIONS]));
    let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines.len(), 2, "{said}");
    lines
}

/// Records them with this library and these settings, and checks that nobody noticed. Returns what
/// was recorded.
fn recorded(library: &std::path::Path, seed: &str, settings: &[(&str, &str)]) -> Recording {
    let recording = Recording::new();
    let mut command = recording.command(python());
    command.env("LD_PRELOAD", library).env("SOCKCAP_PROTOCOLS", "1");
    command.envs(settings.iter().copied());
    assert_eq!(heard(&mut command, seed), heard(&mut Command::new(python()), seed));
    recording
}

/// Number of bytes of heads in the logs that are no zeros, of each class.
fn kept(recording: &Recording) -> [usize; 4] {
    let logs = recording.logs();
    assert_eq!(logs.len(), 2, "the client's and the server's");
    let mut kept = [0; 4];
    for log in &logs {
        assert_eq!(log.damage, [], "{:?}", log.log.path());
        for entry in &log.entries {
            if let Record::Head(head) = &entry.record {
                let bytes = head.bytes.iter().filter(|byte| **byte != 0);
                kept[usize::from(head.class)] += bytes.count();
            }
        }
    }
    kept
}

/// Puts names in place of heads, and checks that none is left and that there are names.
fn named(recording: &Recording) {
    let data = recording.data();
    succeeds(&["names", "-d", data.to_str().unwrap()], recording.file("").as_path());
    assert_eq!(kept(recording), [0; 4]);
    let told = recording.logs().iter().map(|log| operations_beside(log.log.path())).sum::<u64>();
    assert!(told > 10_000, "{told} bytes of operations");
}

/// Size of the file of operations beside a log.
fn operations_beside(log: &std::path::Path) -> u64 {
    let file = log.with_extension("operations");
    std::fs::metadata(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).len()
}

#[test]
fn hostile_bytes_change_nothing() {
    for seed in ["1", "2"] {
        let recording = recorded(library(), seed, &[]);
        recording.logs().iter().for_each(|log| assert!(log.records().count() > 1000));
        let kept = kept(&recording);
        for class in [head::HTTP1, head::HTTP2, head::OTHER] {
            assert!(kept[usize::from(class)] > 5000, "{kept:?}");
        }
        named(&recording);
    }
}

#[test]
fn hostile_bytes_change_nothing_with_resources() {
    let recording = recorded(resources_library(), "3", &[]);
    assert!(recording.logs().iter().all(|log| log.records().count() > 1000));
    named(&recording);
}

#[test]
fn hostile_bytes_change_nothing_where_a_log_forgets() {
    let settings = [("SOCKCAP_WHEN_FULL", "newest"), ("SOCKCAP_MAX_BYTES", "512K")];
    let recording = recorded(library(), "4", &settings);
    assert!(kept(&recording).iter().sum::<usize>() > 5000);
    named(&recording);
}
