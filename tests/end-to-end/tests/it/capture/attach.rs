//! `sockcap record -p`: running processes are recorded for a while, and are afterwards as they were
//! before.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use end_to_end::capture::{ReadLog, TestRecording, program_path, python_path, run_successfully};
use end_to_end::{repository, sockcap_program};
use rustix::process::{Pid, Signal, kill_process};
use socket_log::LogRecord;
use socket_log::encode::Direction;
use socket_log::layout::state;
use test_support::code::changed_code;

use super::inject;

/// A recording of running processes.
pub(super) struct AttachedRecorder {
    child: Child,
    errors: BufReader<ChildStderr>,
    /// Its messages until the recording began.
    pub(super) said_first: String,
}

impl AttachedRecorder {
    /// Starts a recorder, and waits until the processes have the library.
    pub(super) fn begin_recording(recording: &TestRecording, process: u32) -> AttachedRecorder {
        let mut command = Command::new(sockcap_program());
        command.args(["record", "--host", "host", "-d"]).arg(recording.data_dir());
        command.args(["-p", &process.to_string()]).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said_first = String::new();
        while !said_first.contains("paused for at most") {
            assert_ne!(errors.read_line(&mut said_first).unwrap(), 0, "{said_first}");
        }
        AttachedRecorder { child, errors, said_first }
    }

    /// The id of its process.
    pub(super) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, as Ctrl-C does, and returns its messages.
    #[track_caller]
    pub(super) fn end_recording(self) -> String {
        let said = self.end_with_or_without_warning();
        assert!(!said.contains("warning"), "{said}");
        said
    }

    /// The same if it has to warn.
    #[track_caller]
    pub(super) fn end_with_warning(self) -> String {
        let said = self.end_with_or_without_warning();
        assert!(said.contains("warning"), "{said}");
        said
    }

    /// The same whatever its messages.
    #[track_caller]
    pub(super) fn end_with_or_without_warning(mut self) -> String {
        send_signal(self.child.id(), Signal::INT);
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }

    /// Kills it.
    pub(super) fn kill_recorder(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub(super) fn send_signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process as i32).unwrap(), signal).unwrap();
}

/// Bytes of all transfers and datagrams of a log in one direction.
fn bytes_in_direction(log: &ReadLog, wanted: Direction) -> u64 {
    let moved = log.complete_records().filter_map(|record| match record {
        LogRecord::Transfer { direction, bytes, .. }
        | LogRecord::Datagram { direction, bytes, .. }
            if *direction == wanted =>
        {
            Some(*bytes)
        }
        _ => None,
    });
    moved.sum()
}

/// Addresses of the other ends in a log.
fn peer_addresses(log: &ReadLog) -> Vec<String> {
    let named = log.complete_records().filter_map(|record| match record {
        LogRecord::Endpoints { peer: Some(peer), .. } => Some(peer.to_string()),
        _ => None,
    });
    named.collect()
}

/// A connection that sends requests and receives responses.
pub(super) struct AskingClient(TcpStream);

impl AskingClient {
    pub(super) fn connect(port: u16) -> AskingClient {
        let stream = (0..200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        AskingClient(stream.unwrap())
    }

    /// Sends a request repeatedly, and returns the number of bytes.
    pub(super) fn ask_repeatedly(&mut self, question: &[u8], answer: &[u8], times: u64) -> u64 {
        let mut got = vec![0; answer.len()];
        for _ in 0..times {
            self.0.write_all(question).unwrap();
            self.0.read_exact(&mut got).unwrap();
            assert_eq!(got, answer);
        }
        question.len() as u64 * times
    }

    /// Its own address.
    fn address(&self) -> String {
        self.0.local_addr().unwrap().to_string()
    }
}

/// A server that ends with its test.
pub(super) struct ServerProcess(pub(super) Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Records calls twice, with calls before, between and after, and compares the logs with them.
/// `waited`: bytes of the request that a thread waits for as the recording begins; that call is not
/// recorded.
fn recorded_twice(
    server: &ServerProcess,
    client: &mut AskingClient,
    question: &[u8],
    answer: &[u8],
    waited: usize,
) {
    let recording = TestRecording::new();
    let process = server.0.id();
    client.ask_repeatedly(question, answer, 10);
    let mut asked = Vec::new();
    for times in [500, 300] {
        let recorder = AttachedRecorder::begin_recording(&recording, process);
        assert_eq!(changed_code(process).len(), 1);
        asked.push(client.ask_repeatedly(question, answer, times) - waited as u64);
        let said = recorder.end_recording();
        assert!(said.contains("1 process"), "{said}");
        assert!(changed_code(process).is_empty());
        client.ask_repeatedly(question, answer, 10);
    }
    let logs = recording.read_logs();
    let got: Vec<u64> =
        logs.iter().map(|log| bytes_in_direction(log, Direction::Receive)).collect();
    assert_eq!(got, asked);
    for log in &logs {
        let header = log.log.header();
        assert_eq!((header.lost_records(), header.state), (0, state::LEFT));
        assert!(peer_addresses(log).contains(&client.address()), "{:?}", peer_addresses(log));
    }
}

/// Compiles and starts the server with threads that wait.
pub(super) fn waiting_server(recording: &TestRecording, flags: &[&str]) -> (ServerProcess, u16) {
    let binary = recording.file_path("attached");
    let source = repository().join("tests/programs/attached.c");
    let mut compiler = Command::new(program_path("gcc"));
    compiler.args(["-O1", "-pthread", "-Wall"]).args(flags).arg("-o").arg(&binary).arg(source);
    run_successfully(&mut compiler);
    let mut command = Command::new(&binary);
    command.arg("6").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = ServerProcess(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().strip_prefix("port ").unwrap().parse().unwrap();
    (server, port)
}

/// Ends the server, which must have seen no call fail.
pub(super) fn end_server(mut server: ServerProcess) {
    drop(server.0.stdin.take());
    let mut said = String::new();
    server.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("failed 0"), "{said}");
    assert!(server.0.wait().unwrap().success());
}

#[test]
fn a_static_server_with_threads_that_wait_is_recorded_twice() {
    let files = TestRecording::new();
    let (server, port) = waiting_server(&files, &["-static"]);
    let mut client = AskingClient::connect(port);
    recorded_twice(&server, &mut client, b"question", b"question", 8);
    end_server(server);
}

/// The mappings of a process, except its heap and its stack, which may grow.
fn mapped_files(process: u32) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let stays = |line: &&str| !line.ends_with("[heap]") && !line.ends_with("[stack]");
    maps.lines().filter(stays).map(str::to_owned).collect()
}

#[test]
fn nothing_of_the_library_stays_mapped() {
    for flags in [&["-static"][..], &[]] {
        let files = TestRecording::new();
        let (server, port) = waiting_server(&files, flags);
        let process = server.0.id();
        let mut clients: Vec<_> = (0..6).map(|_| AskingClient::connect(port)).collect();
        let mut ask = |times| {
            for client in &mut clients {
                client.ask_repeatedly(b"question", b"question", times);
            }
        };
        ask(10);
        let before = mapped_files(process);
        for _ in 0..2 {
            let recording = TestRecording::new();
            let recorder = AttachedRecorder::begin_recording(&recording, process);
            // The log grows beyond its first parts.
            ask(20_000);
            recorder.end_recording();
            assert_eq!(mapped_files(process), before);
            ask(10);
        }
        drop(clients);
        end_server(server);
    }
}

#[test]
fn redis_is_recorded_twice() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(program_path("redis-server"));
    command.args(["--save", "", "--port", &port.to_string()]).stdout(Stdio::null());
    let files = TestRecording::new();
    command.current_dir(files.data_dir().parent().unwrap());
    let server = ServerProcess(command.spawn().unwrap());
    let mut client = AskingClient::connect(port);
    recorded_twice(&server, &mut client, b"SET key value\r\n", b"+OK\r\n", 0);
}

/// Parent and child are connected before; on request, the parent starts another program.
const FAMILY: &str = r#"
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    while got := theirs.recv(100): theirs.sendall(got)
    os._exit(0)
theirs.close()
print("ready", flush=True)
for line in sys.stdin:
    ours.sendall(b"12345")
    assert ours.recv(100) == b"12345"
    if line == "begin\n":
        talk = "import socket; a, b = socket.socketpair(); a.sendall(b'1234567'); b.recv(100)"
        subprocess.run([sys.executable, "-c", talk], check=True)
    print("done", flush=True)
"#;

#[test]
fn existing_and_future_children_are_recorded() {
    let recording = TestRecording::new();
    let mut command = Command::new(python_path());
    command.args(["-c", FAMILY]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut family = ServerProcess(command.spawn().unwrap());
    let mut output = BufReader::new(family.0.stdout.take().unwrap());
    let mut says = |expected: &str| {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), expected);
    };
    says("ready");
    let recorder = AttachedRecorder::begin_recording(&recording, family.0.id());
    let mut tell =
        |what: &str| family.0.stdin.as_mut().unwrap().write_all(what.as_bytes()).unwrap();
    tell("begin\n");
    says("done");
    recorder.end_recording();
    tell("go on\n");
    says("done");
    drop(family.0.stdin.take());
    assert!(family.0.wait().unwrap().success());
    let mut sent: Vec<u64> =
        recording.read_logs().iter().map(|log| bytes_in_direction(log, Direction::Send)).collect();
    sent.sort_unstable();
    assert_eq!(sent, [5, 5, 7]);
}

#[test]
fn a_go_server_under_load_is_recorded_and_continues() {
    let recording = TestRecording::new();
    let binary = inject::compile_go(&recording, "1.27.3");
    let mut command = Command::new(&binary);
    command.args(["20", "300", "until-input-ends"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let process = child.id();
    for _ in 0..2 {
        let recorder = AttachedRecorder::begin_recording(&recording, process);
        std::thread::sleep(Duration::from_millis(500));
        recorder.end_recording();
        assert!(changed_code(process).is_empty());
    }
    // Its input ends here.
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let [read, written] = inject::parse_totals(&said);
    assert_eq!(read, written, "{said}");
    let of_it = |log: &&ReadLog| log.log.header().pid == process;
    let logs = recording.read_logs();
    let logs: Vec<&ReadLog> = logs.iter().filter(of_it).collect();
    assert_eq!(logs.len(), 2);
    for log in logs {
        assert!(log.damage.is_empty(), "{:?}", log.damage);
        assert!(bytes_in_direction(log, Direction::Receive) > 10_000);
    }
}

/// Asserts that the recorder refuses to record a process, and returns its messages.
#[track_caller]
pub(super) fn assert_refused(recording: &TestRecording, process: u32) -> String {
    let mut command = Command::new(sockcap_program());
    command.args(["record", "-p", &process.to_string(), "-d"]).arg(recording.data_dir());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn unrecordable_processes_are_reported() {
    let recording = TestRecording::new();
    // More than the largest possible id.
    assert!(assert_refused(&recording, 4_194_305).contains("there is no process 4194305"));
    let mut preloaded = recording.recorded_command(program_path("sleep"));
    let preloaded = ServerProcess(preloaded.arg("100").spawn().unwrap());
    let maps = format!("/proc/{}/maps", preloaded.0.id());
    while !fs::read_to_string(&maps).unwrap().contains("libsockcap") {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(assert_refused(&recording, preloaded.0.id()).contains("records it already"));
    assert!(Path::new(&maps).exists());
}
