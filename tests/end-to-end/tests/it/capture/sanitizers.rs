//! Programs that were compiled with sanitizers, or run under valgrind.

use std::path::PathBuf;
use std::process::Command;

use end_to_end::capture::{TestRecording, preloaded_library, program_path, run_successfully};
use end_to_end::{repository, sockcap_program};
use socket_log::LogRecord;

/// Compiles the program that exchanges messages with a child, with more flags.
fn compile_with(recording: &TestRecording, flags: &[&str]) -> PathBuf {
    let made = recording.file_path("sanitized");
    let source = repository().join("tests/programs/forked_talk.c");
    run_successfully(
        Command::new(program_path("gcc")).args(["-g", "-o"]).arg(&made).arg(source).args(flags),
    );
    made
}

/// Number of messages that were sent and received.
fn count_messages(recording: &TestRecording) -> usize {
    let is_message = |record: &&LogRecord| matches!(record, LogRecord::Transfer { .. });
    recording.read_logs().iter().map(|log| log.complete_records().filter(is_message).count()).sum()
}

/// A command of `sockcap record`.
fn record_command(recording: &TestRecording) -> Command {
    let mut command = Command::new(sockcap_program());
    command.args(["record", "--host", "host", "-d"]).arg(recording.data_dir());
    command.arg("--").current_dir(recording.file_path(""));
    command
}

/// Path of gcc's runtime library of AddressSanitizer.
fn sanitizer_runtime() -> String {
    let mut asked = Command::new(program_path("gcc"));
    run_successfully(asked.arg("-print-file-name=libasan.so")).trim().to_owned()
}

#[test]
fn programs_with_sanitizers_are_recorded() {
    let all: [&[&str]; 7] = [
        &["-fsanitize=address"],
        &["-fsanitize=address,undefined"],
        &["-fsanitize=address", "-static-libasan"],
        &["-fsanitize=thread"],
        &["-fsanitize=undefined"],
        &["-fsanitize=leak"],
        &["-fsanitize=address", "-Wl,-z,now"],
    ];
    for flags in all {
        let recording = TestRecording::new();
        let sanitized = compile_with(&recording, flags);
        let said = run_successfully(record_command(&recording).arg(&sanitized));
        assert_eq!((said.as_str(), count_messages(&recording)), ("", 8), "{flags:?}");
    }
}

#[test]
fn a_program_with_address_sanitizer_is_recorded_as_a_child_too() {
    let recording = TestRecording::new();
    let sanitized = compile_with(&recording, &["-fsanitize=address"]);
    let sanitized = sanitized.display();
    // By exec of a shell, by posix_spawn of Python, and with an empty environment.
    for (script, children) in [
        (format!("{sanitized}; exec {sanitized}"), 2),
        (format!("exec env -i {sanitized}"), 1),
        (
            format!(
                "python3 -c 'import os; os.posix_spawn(\"{sanitized}\", [\"x\"], {{}}); os.wait()'"
            ),
            1,
        ),
        (
            format!(
                "python3 -c 'import subprocess; subprocess.run([\"{sanitized}\"], env={{}}, check=True)'"
            ),
            1,
        ),
    ] {
        let recording = TestRecording::new();
        run_successfully(record_command(&recording).args(["sh", "-c", &script]));
        assert_eq!(count_messages(&recording), 8 * children, "{script}");
    }
}

#[test]
fn a_preloaded_runtime_is_no_obstacle() {
    let recording = TestRecording::new();
    let plain = compile_with(&recording, &[]);
    let (runtime, plain) = (sanitizer_runtime(), plain.display());
    for preloaded in [
        format!("LD_PRELOAD={runtime}"),
        format!("LD_PRELOAD={runtime}:{}", preloaded_library().display()),
    ] {
        let recording = TestRecording::new();
        let mut command = record_command(&recording);
        command.args(["env", &preloaded, "ASAN_OPTIONS=detect_leaks=0"]).arg(plain.to_string());
        run_successfully(&mut command);
        assert_eq!(count_messages(&recording), 8, "{preloaded}");
        // In addition to the recorder's own.
        let recording = TestRecording::new();
        let mut command = record_command(&recording);
        let (name, value) = preloaded.split_once('=').unwrap();
        command.arg(plain.to_string()).env(name, value).env("ASAN_OPTIONS", "detect_leaks=0");
        // `sockcap` itself has the runtime, too.
        assert!(command.output().unwrap().status.success(), "{preloaded}");
        assert_eq!(count_messages(&recording), 8, "{preloaded}");
    }
}

#[test]
fn a_programs_own_options_of_the_sanitizer_are_its_own() {
    let recording = TestRecording::new();
    let source = recording.file_path("error.c");
    let text =
        "#include <stdlib.h>\nint main(void) { char *p = malloc(8); free(p); return p[1]; }\n";
    std::fs::write(&source, text).unwrap();
    let made = recording.file_path("error");
    let mut compiler = Command::new(program_path("gcc"));
    run_successfully(compiler.args(["-g", "-fsanitize=address", "-o"]).arg(&made).arg(&source));
    let mut command = record_command(&recording);
    let output = command.arg(&made).env("ASAN_OPTIONS", "exitcode=77").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(77), "{said}");
    assert!(said.contains("heap-use-after-free"), "{said}");
    assert!(said.contains("ended with status 77; "), "{said}");
}

#[test]
fn a_directly_run_program_reports_the_problem_and_so_does_the_recorder() {
    let recording = TestRecording::new();
    let options = recording.file_path("options.c");
    let text = "const char *__asan_default_options(void) { return \"detect_leaks=0\"; }\n";
    std::fs::write(&options, text).unwrap();
    let sanitized = compile_with(&recording, &["-fsanitize=address", options.to_str().unwrap()]);
    let output = record_command(&recording).arg(&sanitized).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("does not come first") && said.contains("ended with status 1; "),
        "{said}"
    );
    let mut command = record_command(&recording);
    let said =
        run_successfully(command.arg(&sanitized).env("ASAN_OPTIONS", "verify_asan_link_order=0"));
    assert_eq!((said.as_str(), count_messages(&recording)), ("", 8));
}

#[test]
fn valgrind_is_recorded() {
    let recording = TestRecording::new();
    let plain = compile_with(&recording, &[]);
    run_successfully(
        record_command(&recording).args(["valgrind", "-q", "--error-exitcode=9"]).arg(&plain),
    );
    assert_eq!(count_messages(&recording), 8);
}
