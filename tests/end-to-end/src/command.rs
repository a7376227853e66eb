//! `sockcap` as a user starts it in a directory, for the tests of the command line.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::sockcap_program;

/// Runs `sockcap`; the test decides whether the command has to succeed.
pub fn run_sockcap(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(sockcap_program());
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.output().expect("sockcap starts")
}

/// Output of a command that must succeed.
pub fn assert_succeeds(arguments: &[&str], directory: &Path) -> String {
    let output = run_sockcap(arguments, directory);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    to_text(&output.stdout)
}

/// Checks that the command fails with this status, with all of these words on standard error.
pub fn assert_fails(arguments: &[&str], directory: &Path, status: i32, words: &[&str]) {
    let output = run_sockcap(arguments, directory);
    let error = to_text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
    for word in words {
        assert!(error.contains(word), "{arguments:?} does not say '{word}': {error}");
    }
}

/// Text that a program printed.
pub fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
