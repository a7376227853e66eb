//! Static programs that a library must not be put into run as without it, and the reason why they
//! are not recorded is reported.

use std::process::{Command, Output};

use end_to_end::capture::{TestRecording, program_path, run_successfully};
use end_to_end::{repository, sockcap_program};

/// Compiles a program of the folder statically, records it, and returns its output and the
/// recorder's. It must succeed.
fn record_program(name: &str, libraries: &[&str], arguments: &[&str]) -> (String, String) {
    let recording = TestRecording::new();
    let binary = recording.file_path(name);
    let mut compiler = Command::new(program_path("gcc"));
    compiler.args(["-O1", "-static", "-pthread", "-Wall", "-o"]).arg(&binary);
    compiler.arg(repository().join(format!("tests/programs/{name}.c"))).args(libraries);
    run_successfully(&mut compiler);
    let alone = run_successfully(Command::new(&binary).args(arguments));
    let mut command = Command::new(sockcap_program());
    command.args(["record", "--inject", "-d"]).arg(recording.data_dir()).arg("--");
    let Output { status, stdout, stderr } = command
        .args(["sh", "-c", "\"$0\" \"$@\"; exit $?"])
        .arg(&binary)
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (said, errors) = (text(stdout), text(stderr));
    assert!(status.success(), "{status}: {said} {errors}");
    assert_eq!(said, alone);
    (said, errors)
}

#[test]
fn a_program_that_sets_the_gs_base_is_left_alone() {
    let (_, errors) = record_program("sets_gs", &[], &[]);
    assert!(errors.contains("sets_gs is not recorded: it sets the GS register"), "{errors}");
}

#[test]
fn a_program_whose_collector_stops_threads_is_left_alone() {
    let (_, errors) = record_program("collected", &["-lgc"], &[]);
    let why = "collected is not recorded: its garbage collector (Boehm's) stops threads by signals";
    assert!(errors.contains(why), "{errors}");
}
