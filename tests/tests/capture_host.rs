//! Nothing reaches the host: a program does the same with the library as without, in whatever corner it is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use end_to_end::capture::{Recording, library, python, successful};
use socket_log::Record;

/// Runs a C program without the library and then with it; it must succeed and print the same.
fn unharmed(recording: &Recording, name: &str, arguments: &[&str]) -> String {
    let program = recording.compile(name);
    let plain = successful(Command::new(&program).args(arguments));
    let printed = successful(recording.command(&program).args(arguments));
    assert_eq!(printed, plain, "{name} {arguments:?}");
    printed
}

#[test]
fn children_are_made_where_there_is_little_stack() {
    for place in ["thread", "handler"] {
        for way in ["fork", "fork-exec", "fork-exec-empty", "spawn", "spawn-empty", "vfork-empty"] {
            let recording = Recording::new();
            assert_eq!(unharmed(&recording, "small_stack", &[place, way]), "unharmed\n");
            // A child that is replaced leaves a log behind.
            let logs = if way.starts_with("fork-exec") { 3 } else { 2 };
            assert_eq!(recording.logs().len(), logs, "{place} {way}");
        }
    }
}

/// What a child of a child sees of the preload list, and whether it is recorded.
const ELSEWHERE: &str = "import os, subprocess\n\
    os.chdir('/')\n\
    show = ['/bin/sh', '-c', 'echo \"$LD_PRELOAD\"']\n\
    for way in (None, {}, {'LD_PRELOAD': './lib/libsockcap.so'}, {'LD_PRELOAD': 'libm.so.6 ./lib/libsockcap.so'}):\n    \
        print(subprocess.run(show, env=way, capture_output=True, text=True, check=True).stdout, end='')";

#[test]
fn a_library_named_by_a_relative_path_is_found_by_children_elsewhere() {
    let recording = Recording::new();
    fs::create_dir(recording.file("lib")).unwrap();
    symlink(library(), recording.file("lib/libsockcap.so")).unwrap();
    let mut command = recording.command(python());
    let printed = successful(command.env("LD_PRELOAD", "./lib/libsockcap.so").args(["-c", ELSEWHERE]));
    let own = fs::canonicalize(recording.file("")).unwrap().join("./lib/libsockcap.so").display().to_string();
    assert_eq!(printed, format!("{own}\n{own}\n{own}\nlibm.so.6:{own}\n"));
    assert_eq!(recording.logs().len(), 5);
}

#[test]
fn a_directory_that_is_relative_to_nowhere_is_not_used() {
    let recording = Recording::new();
    fs::create_dir(recording.file("gone")).unwrap();
    // By absolute paths alone, since there is no working directory.
    let script = "cd gone && rmdir ../gone && for dir in '' logs; do \
                  LD_PRELOAD=\"$1\" SOCKCAP_DIR=$dir SOCKCAP_HOST=h /bin/sh -c '/bin/echo \"$SOCKCAP_DIR\"'; done";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh"]).arg(library()).current_dir(recording.file(""));
    assert_eq!(successful(&mut command), "\nlogs\n");
    assert!(!Path::new("/sockcap.data").exists() && !Path::new("/logs").exists());
}

#[test]
fn wrong_pointers_are_errors_and_not_the_end() {
    let recording = Recording::new();
    let printed = unharmed(&recording, "wrong_pointers", &[]);
    assert!(printed.matches("Bad address").count() > 40, "{printed}");
    let log = recording.log();
    let errors = log.records().filter(|record| matches!(record, Record::Failure { errno: 14, .. })).count();
    assert!(errors > 40, "and are logged: {errors}");
}
