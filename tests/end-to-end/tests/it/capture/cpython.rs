//! A program that uses sockets in every possible way behaves the same with and without the library:
//! CPython's own tests of `socket` and `asyncio` have the same outcomes, test by test.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;

use end_to_end::capture::{TestRecording, python_path};
use message_trace::DataDir;
use socket_log::{OpenError, SocketLog};

/// The outcome of each test, by its id.
type TestOutcomes = BTreeMap<String, String>;

/// Runs `tests` by `command`, which is Python, for at most 20 minutes.
fn run_tests(command: &mut Command, tests: &[&str]) -> TestOutcomes {
    let suite = end_to_end::repository().join("tests/programs/suite.py");
    let output = command.arg(suite).args(tests).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    assert!(!errors.contains("cannot be preloaded"), "{errors}");
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(outcome, _)| ["ok", "skipped", "failed", "failed-as-expected"].contains(outcome))
        .map(|(outcome, test)| (test.to_owned(), outcome.to_owned()))
        .collect()
}

fn run_plain(tests: &[&str]) -> TestOutcomes {
    run_tests(Command::new("timeout").arg("1200").arg(python_path()), tests)
}

fn run_recorded(recording: &TestRecording, tests: &[&str]) -> TestOutcomes {
    run_tests(recording.recorded_command("timeout").arg("1200").arg(python_path()), tests)
}

/// Runs tests with the library and without, and fails if an outcome differs, or if fewer than
/// `processes` processes have a log. Returns the tests that pass without the library.
fn compare_outcomes(tests: &[&str], processes: usize) -> Vec<String> {
    let import = ["-c", "import test.test_socket, test.test_asyncio"];
    let package = Command::new(python_path()).args(import).output().unwrap();
    assert!(
        package.status.success(),
        "this test needs the package libpython3.N-testsuite of python3's version: install it"
    );
    let recording = TestRecording::new();
    let (without, with) = thread::scope(|scope| {
        let without = scope.spawn(|| run_plain(tests));
        let with = run_recorded(&recording, tests);
        (without.join().unwrap(), with)
    });
    assert_eq!(without.keys().collect::<Vec<_>>(), with.keys().collect::<Vec<_>>());
    // Some depend on other work of the machine. Run alone, they must have the same outcome.
    for (test, outcome) in without.iter().filter(|(test, outcome)| with.get(*test) != Some(outcome))
    {
        let agree = (0..3).any(|_| run_plain(&[test]) == run_recorded(&recording, &[test]));
        assert!(agree, "{test}: {outcome} without the library, {:?} under it", with.get(test));
    }
    // Some of the tests kill a process right after its start, possibly before it began its log.
    let mut begun = 0;
    let mut not_begun = Vec::new();
    for path in DataDir::new(recording.data_dir()).log_paths().unwrap() {
        match SocketLog::open(&path) {
            Ok(_) => begun += 1,
            Err(OpenError::NotALog { .. })
                if fs::read(&path).unwrap().iter().take(8).all(|byte| *byte == 0) =>
            {
                not_begun.push(path);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(begun >= processes && not_begun.len() < 10, "{begun}, and not begun {not_begun:?}");
    without.into_iter().filter(|(_, outcome)| outcome == "ok").map(|(test, _)| test).collect()
}

#[test]
#[ignore = "takes minutes: `scripts/test --all` runs it"]
fn the_tests_of_socket_and_asyncio_have_the_same_outcomes() {
    let passed = compare_outcomes(&["test.test_socket", "test.test_asyncio"], 6).len();
    assert!(passed > 2500, "only {passed} pass without the library");
}

/// The names of `tests/programs/cpython_gate.txt`.
fn gate_tests() -> Vec<&'static str> {
    let lines = include_str!("../../../../programs/cpython_gate.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn tests_of_sockets_loops_signals_threads_and_children_have_the_same_outcomes() {
    let names = gate_tests();
    let passed = compare_outcomes(&names, 1);
    // A name without a test would fail with the library and without.
    for name in names {
        let of_name = |test: &String| {
            test.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        assert!(passed.iter().any(of_name), "{name}: none of its tests passes");
    }
    assert!(passed.len() > 400, "only {} pass without the library", passed.len());
}
