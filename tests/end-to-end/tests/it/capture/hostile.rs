//! Malformed, damaged and hostile bytes in every protocol, with snippets kept
//! (`SOCKCAP_PROTOCOLS`): programs behave as without it, their logs are complete, and names can
//! replace the snippets.

use std::process::Command;

use end_to_end::capture::{
    TestRecording, preloaded_library, python_path, resources_library, run_successfully,
};
use end_to_end::command::assert_succeeds;
use end_to_end::repository;
use socket_log::LogRecord;
use socket_log::layout::snippet;

/// Number of damaged conversations of each protocol.
const CONVERSATIONS: &str = "20";

/// The output of the two ends of the damaged conversations of this seed: what they received.
fn received_lines(command: &mut Command, seed: &str) -> Vec<String> {
    let program = repository().join("tests/programs/hostile.py");
    let said = run_successfully(command.arg(program).args([seed, CONVERSATIONS]));
    let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines.len(), 2, "{said}");
    lines
}

/// Records the two ends with this library and these settings, and checks that the programs were not
/// affected. Returns the recording.
fn record_seed(library: &std::path::Path, seed: &str, settings: &[(&str, &str)]) -> TestRecording {
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(python_path());
    command.env("LD_PRELOAD", library).env("SOCKCAP_PROTOCOLS", "1");
    command.envs(settings.iter().copied());
    assert_eq!(
        received_lines(&mut command, seed),
        received_lines(&mut Command::new(python_path()), seed)
    );
    recording
}

/// Number of nonzero bytes of snippets in the logs, by class.
fn count_kept(recording: &TestRecording) -> [usize; 4] {
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 2, "the client's and the server's");
    let mut kept = [0; 4];
    for log in &logs {
        assert_eq!(log.damage, [], "{:?}", log.log.path());
        for entry in &log.entries {
            if let LogRecord::Head(head) = &entry.record {
                let bytes = head.bytes.iter().filter(|byte| **byte != 0);
                kept[usize::from(head.class)] += bytes.count();
            }
        }
    }
    kept
}

/// Puts names in place of snippets, and checks that no snippets are left and that there are names.
fn name_operations(recording: &TestRecording) {
    let data = recording.data_dir();
    assert_succeeds(&["names", "-d", data.to_str().unwrap()], recording.file_path("").as_path());
    assert_eq!(count_kept(recording), [0; 4]);
    let bytes_of_operations =
        recording.read_logs().iter().map(|log| operations_size(log.log.path())).sum::<u64>();
    assert!(bytes_of_operations > 10_000, "{bytes_of_operations} bytes of operations");
}

/// Size of the file of operations next to a log.
fn operations_size(log: &std::path::Path) -> u64 {
    let file = log.with_extension("operations");
    std::fs::metadata(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).len()
}

#[test]
fn hostile_bytes_change_nothing() {
    for seed in ["1", "2"] {
        let recording = record_seed(preloaded_library(), seed, &[]);
        recording.read_logs().iter().for_each(|log| assert!(log.complete_records().count() > 1000));
        let kept = count_kept(&recording);
        for class in [snippet::HTTP1, snippet::HTTP2, snippet::OTHER] {
            assert!(kept[usize::from(class)] > 5000, "{kept:?}");
        }
        name_operations(&recording);
    }
}

#[test]
fn hostile_bytes_change_nothing_with_resources() {
    let recording = record_seed(resources_library(), "3", &[]);
    assert!(recording.read_logs().iter().all(|log| log.complete_records().count() > 1000));
    name_operations(&recording);
}

#[test]
fn hostile_bytes_change_nothing_with_a_flight_recorder() {
    let settings = [("SOCKCAP_WHEN_FULL", "newest"), ("SOCKCAP_MAX_BYTES", "512K")];
    let recording = record_seed(preloaded_library(), "4", &settings);
    assert!(count_kept(&recording).iter().sum::<usize>() > 5000);
    name_operations(&recording);
}
