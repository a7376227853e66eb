//! The size of a log: a few bytes per message, a fraction of strace's output, and little for a
//! process that does little.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, program_path, python_path, run_successfully};
use end_to_end::oracle::StracedRecording;
use socket_log::LogRecord;
use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES};

/// A server and a client that exchange messages over TCP: 40,000 messages of 100 bytes and 10 of
/// 50,000.
const ECHO: &str = r#"
import os, socket
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    client = socket.create_connection(listener.getsockname())
    for n in range(10000):
        client.sendall(b"q" * 100); assert len(client.recv(100, socket.MSG_WAITALL)) == 100
    for n in range(10):
        client.sendall(b"q" * 50000)
    os._exit(0)
server, _ = listener.accept()
for n in range(10000):
    assert len(server.recv(100, socket.MSG_WAITALL)) == 100; server.sendall(b"r" * 100)
for n in range(10):
    server.recv(50000, socket.MSG_WAITALL)
os.wait()
"#;

/// strace's options for the comparison.
const STRACE: [&str; 4] = ["-f", "-ttt", "-e", "trace=network,read,write"];

/// The bytes of the chunks that were used.
fn used_bytes(log: &ReadLog) -> u64 {
    log.log.chunks().count() as u64 * CHUNK_BYTES as u64
}

#[test]
fn a_message_takes_less_than_sixteen_bytes_and_a_log_an_eighth_of_what_strace_writes() {
    let recording = TestRecording::new();
    recording.run_python(ECHO);
    let (mut messages, mut bytes, mut disk) = (0, 0, 0);
    for log in recording.read_logs() {
        messages += log
            .complete_records()
            .filter(|record| matches!(record, LogRecord::Transfer { .. }))
            .count() as u64;
        bytes += used_bytes(&log) + HEADER_BYTES as u64;
        disk += fs::metadata(log.log.path()).unwrap().blocks() * 512;
    }
    assert_eq!(messages, 40_020);
    assert!(bytes <= 16 * messages, "{bytes} bytes for {messages} messages");
    assert!(disk <= 16 * messages, "{disk} bytes on the disk for {messages} messages");

    let trace = recording.file_path("trace");
    let mut strace = Command::new(program_path("strace"));
    strace.args(STRACE).arg("-o").arg(&trace);
    run_successfully(strace.arg(python_path()).args(["-c", ECHO]));
    let text = fs::metadata(trace).unwrap().len();
    assert!(bytes * 8 <= text, "{bytes} bytes, where strace wrote {text}");
    assert!(disk * 8 <= text, "{disk} bytes on the disk, where strace wrote {text}");
}

/// Messages of all processes, the used bytes of their logs, and strace's output for them.
fn log_sizes(witnessed: &StracedRecording) -> [u64; 3] {
    let logs = witnessed.recording.read_logs();
    let messages = |log: &ReadLog| {
        log.complete_records().filter(|record| matches!(record, LogRecord::Transfer { .. })).count()
            as u64
    };
    let text = witnessed.traces.iter().map(|trace| fs::metadata(trace).unwrap().len());
    [
        logs.iter().map(messages).sum(),
        logs.iter().map(|log| used_bytes(log) + HEADER_BYTES as u64).sum(),
        text.sum(),
    ]
}

#[test]
fn an_event_loop_and_its_load_take_an_eighth() {
    let mut witnessed = StracedRecording::with_options(&STRACE);
    witnessed.run_redis(10_000, 20);
    let [messages, bytes, text] = log_sizes(&witnessed);
    println!("{bytes} bytes for {messages} messages, where strace wrote {text}");
    assert!(messages > 4 * 2 * 10_000 && bytes <= 16 * messages && bytes * 8 <= text);
}

/// Threads that each send from time to time. (Each has a chunk of at least 4 KiB, however little it
/// sends.)
#[test]
fn slow_threads_take_an_eighth() {
    let mut witnessed = StracedRecording::with_options(&STRACE);
    let script = r#"
import socket, threading, time
def work():
    a, b = socket.socketpair()
    for n in range(1200): a.send(b"x" * 100); b.recv(200); time.sleep(0.003)
threads = [threading.Thread(target=work) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"#;
    let mut command = witnessed.recording.recorded_command(python_path());
    command.args(["-c", script]);
    witnessed.run_command(&command);
    let [messages, bytes, text] = log_sizes(&witnessed);
    println!("{bytes} bytes for {messages} messages, where strace wrote {text}");
    assert!(
        messages == 4 * 2 * 1200 && bytes <= 16 * messages && bytes * 8 <= text,
        "{bytes} bytes, where strace wrote {text}"
    );
}

#[test]
fn a_process_that_does_little_has_a_small_log() {
    let recording = TestRecording::new();
    let script = "import os, socket\nfor n in range(20):\n  if os.fork() == 0:\n    socket.socketpair()[0].send(b'x')\n    \
        os._exit(0)\n  os.wait()";
    recording.run_python(script);
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 20, "those that used a socket");
    for log in logs {
        assert_eq!(log.log.length() as usize, HEADER_BYTES + CHUNK_BYTES);
    }
}
