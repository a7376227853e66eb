//! Programs that were compiled with sanitizers, or run under valgrind.

use std::path::PathBuf;
use std::process::Command;

use end_to_end::capture::{Recording, library, program, successful};
use end_to_end::{repository, sockcap};
use socket_log::Record;

/// Compiles the program that talks with a child, with more flags.
fn compile(recording: &Recording, flags: &[&str]) -> PathBuf {
    let made = recording.file("sanitized");
    let source = repository().join("tests/programs/forked_talk.c");
    successful(Command::new(program("gcc")).args(["-g", "-o"]).arg(&made).arg(source).args(flags));
    made
}

/// Number of messages that were sent and received.
fn messages(recording: &Recording) -> usize {
    let is_message = |record: &&Record| matches!(record, Record::Transfer { .. });
    recording.logs().iter().map(|log| log.records().filter(is_message).count()).sum()
}

/// A command of `sockcap record`.
fn record(recording: &Recording) -> Command {
    let mut command = Command::new(sockcap());
    command.args(["record", "--host", "host", "-d"]).arg(recording.data());
    command.arg("--").current_dir(recording.file(""));
    command
}

/// Path of gcc's runtime library of AddressSanitizer.
fn runtime() -> String {
    let mut asked = Command::new(program("gcc"));
    successful(asked.arg("-print-file-name=libasan.so")).trim().to_owned()
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
        let recording = Recording::new();
        let sanitized = compile(&recording, flags);
        let said = successful(record(&recording).arg(&sanitized));
        assert_eq!((said.as_str(), messages(&recording)), ("", 8), "{flags:?}");
    }
}

#[test]
fn a_program_with_address_sanitizer_is_recorded_as_a_child_too() {
    let recording = Recording::new();
    let sanitized = compile(&recording, &["-fsanitize=address"]);
    let sanitized = sanitized.display();
    // By exec of a shell, by posix_spawn of Python, and with an environment that has nothing.
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
        let recording = Recording::new();
        successful(record(&recording).args(["sh", "-c", &script]));
        assert_eq!(messages(&recording), 8 * children, "{script}");
    }
}

#[test]
fn a_runtime_that_is_preloaded_is_no_hindrance() {
    let recording = Recording::new();
    let plain = compile(&recording, &[]);
    let (runtime, plain) = (runtime(), plain.display());
    for preloaded in
        [format!("LD_PRELOAD={runtime}"), format!("LD_PRELOAD={runtime}:{}", library().display())]
    {
        let recording = Recording::new();
        let mut command = record(&recording);
        command.args(["env", &preloaded, "ASAN_OPTIONS=detect_leaks=0"]).arg(plain.to_string());
        successful(&mut command);
        assert_eq!(messages(&recording), 8, "{preloaded}");
        // Beside the recorder's own.
        let recording = Recording::new();
        let mut command = record(&recording);
        let (name, value) = preloaded.split_once('=').unwrap();
        command.arg(plain.to_string()).env(name, value).env("ASAN_OPTIONS", "detect_leaks=0");
        // `sockcap` itself has the runtime, too.
        assert!(command.output().unwrap().status.success(), "{preloaded}");
        assert_eq!(messages(&recording), 8, "{preloaded}");
    }
}

#[test]
fn a_programs_own_options_of_the_sanitizer_are_its_own() {
    let recording = Recording::new();
    let source = recording.file("error.c");
    let text =
        "#include <stdlib.h>\nint main(void) { char *p = malloc(8); free(p); return p[1]; }\n";
    std::fs::write(&source, text).unwrap();
    let made = recording.file("error");
    let mut compiler = Command::new(program("gcc"));
    successful(compiler.args(["-g", "-fsanitize=address", "-o"]).arg(&made).arg(&source));
    let mut command = record(&recording);
    let output = command.arg(&made).env("ASAN_OPTIONS", "exitcode=77").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(77), "{said}");
    assert!(said.contains("heap-use-after-free"), "{said}");
    assert!(said.contains("ended with status 77; "), "{said}");
}

#[test]
fn a_program_that_is_asked_itself_says_what_is_wrong_and_so_does_the_recorder() {
    let recording = Recording::new();
    let options = recording.file("options.c");
    let text = "const char *__asan_default_options(void) { return \"detect_leaks=0\"; }\n";
    std::fs::write(&options, text).unwrap();
    let sanitized = compile(&recording, &["-fsanitize=address", options.to_str().unwrap()]);
    let output = record(&recording).arg(&sanitized).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("does not come first") && said.contains("ended with status 1; "),
        "{said}"
    );
    let mut command = record(&recording);
    let said = successful(command.arg(&sanitized).env("ASAN_OPTIONS", "verify_asan_link_order=0"));
    assert_eq!((said.as_str(), messages(&recording)), ("", 8));
}

#[test]
fn valgrind_is_recorded() {
    let recording = Recording::new();
    let plain = compile(&recording, &[]);
    successful(record(&recording).args(["valgrind", "-q", "--error-exitcode=9"]).arg(&plain));
    assert_eq!(messages(&recording), 8);
}
