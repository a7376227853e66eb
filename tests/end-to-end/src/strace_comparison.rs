//! A program that `sockcap record --inject` records, with strace attached: the recorder has
//! detached by then, so both see the same calls, and must report the same messages on each
//! connection.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use socket_log::encode::Direction;
use socket_log::{LogRecord, SocketName};

use crate::capture::{ReadLog, TestRecording, program_path};
use crate::oracle::wait_until_idle;
use crate::sockcap_program;
use crate::strace::{self, ConnectionDirection};

/// A recorded program with strace attached.
pub struct StracedProgram {
    recorder: Child,
    process: u32,
    port: u16,
    strace: Child,
    trace: PathBuf,
    /// The address of the test's end of a connection. Calls from this connection on are seen by
    /// both the recorder and strace.
    mark: SocketAddr,
}

impl StracedProgram {
    /// Records a server, waits until it accepts connections at this port, and attaches strace to
    /// it. Connections from then on are seen from their beginning.
    pub fn begin_recording(
        recording: &TestRecording,
        command: &[&str],
        port: u16,
    ) -> StracedProgram {
        let errors =
            fs::File::create(recording.file_path(&format!("errors-{port}"))).expect("a file");
        let mut recorder = Command::new(sockcap_program())
            .args(["record", "--inject", "--host", "host", "-d"])
            .arg(recording.data_dir())
            .arg("--")
            .args(command)
            .current_dir(recording.file_path(""))
            // Some programs end when their input does.
            .stdin(Stdio::piped())
            .stdout(errors.try_clone().expect("a file"))
            .stderr(errors)
            .spawn()
            .expect("sockcap starts");
        await_port(port, &mut recorder);
        let recorder_id = recorder.id();
        let children =
            fs::read_to_string(format!("/proc/{recorder_id}/task/{recorder_id}/children"));
        let process = children.ok().and_then(|children| children.trim().parse().ok());
        let process: u32 = process.expect("the recorder has one child");
        let trace = recording.file_path(&format!("trace-{port}"));
        let mut strace = Command::new(program_path("strace"))
            .args(["-f", "-yy", "-s", "40", "-e", "signal=none", "-e"])
            .arg(format!("{},accept,accept4", strace::CALLS))
            .args(["-p", &process.to_string(), "-o"])
            .arg(&trace)
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace starts");
        let mut output = BufReader::new(strace.stderr.take().expect("what strace says"));
        let mut line = String::new();
        output.read_line(&mut line).expect("text");
        assert!(line.contains("attached"), "{line}");
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        let mark = TcpStream::connect(("127.0.0.1", port)).expect("the server accepts");
        let mark = mark.local_addr().expect("an address");
        let accepted = format!(":{}]>", mark.port());
        let is_seen = || fs::read_to_string(&trace).is_ok_and(|text| text.contains(&accepted));
        let seen = (0..2000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            is_seen()
        });
        assert!(seen, "the server does not accept, or strace does not see it");
        StracedProgram { recorder, process, port, strace, trace, mark }
    }

    /// The address on which the program listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Waits until the program is idle, ends it by a signal, and compares the logs with strace: the
    /// messages of each connection made since it was attached. Returns the messages of all
    /// connections in the logs.
    pub fn compare_at_end(
        mut self,
        recording: &TestRecording,
        signal: Signal,
    ) -> BTreeMap<ConnectionDirection, Vec<u64>> {
        wait_until_idle(self.process);
        let process = Pid::from_raw(self.process as i32).expect("a process");
        kill_process(process, signal).expect("it runs");
        self.recorder.wait().expect("the recorder ends");
        self.strace.wait().expect("strace ends with the program");
        let trace = fs::read_to_string(&self.trace).expect("what strace wrote");
        let mut seen = strace::bytes_by_connection(&trace);
        let logs: Vec<ReadLog> =
            recording.read_logs().into_iter().filter(|log| is_log_of(log, self.process)).collect();
        let (logged_of_all, before) = messages_of_connections(&logs, (self.address(), self.mark));
        let mut logged = logged_of_all.clone();
        for way in before {
            seen.remove(&way);
            logged.remove(&way);
        }
        for moved in seen.values_mut().chain(logged.values_mut()) {
            moved.sort_unstable();
        }
        let differences: Vec<_> = seen
            .keys()
            .chain(logged.keys().filter(|way| !seen.contains_key(way)))
            .filter(|way| seen.get(way) != logged.get(way))
            .map(|way| (way, seen.get(way), logged.get(way)))
            .collect();
        assert!(differences.is_empty(), "way, kernel, log: {differences:#?}");
        let calls: usize = seen.values().map(Vec::len).sum();
        let bytes: u64 = seen.values().flatten().sum();
        println!("{} connections, {calls} calls, {bytes} bytes", seen.len().div_ceil(2));
        logged_of_all
    }
}

/// A failing test leaves nothing running.
impl Drop for StracedProgram {
    fn drop(&mut self) {
        let runs = self.recorder.try_wait().is_ok_and(|ended| ended.is_none());
        if let Some(process) = Pid::from_raw(self.process as i32).filter(|_| runs) {
            let _ = kill_process(process, Signal::KILL);
        }
        for child in [&mut self.recorder, &mut self.strace] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether a log is of a process or of one of its children.
fn is_log_of(log: &ReadLog, process: u32) -> bool {
    let header = log.log.header();
    header.pid == process || header.parent_pid == process
}

/// The bytes of each message of each direction of TCP connections, and the directions of
/// connections with records that are older than the first of the connection `mark`.
fn messages_of_connections(
    logs: &[ReadLog],
    mark: (SocketAddr, SocketAddr),
) -> (BTreeMap<ConnectionDirection, Vec<u64>>, Vec<ConnectionDirection>) {
    let mut entries = Vec::new();
    for log in logs {
        log.complete_records().count(); // This checks that all records are complete.
        let mut ends = BTreeMap::new();
        for entry in &log.entries {
            if let LogRecord::Endpoints { flow, local, peer, .. } = &entry.record
                && let (Some(SocketName::Inet(own)), Some(SocketName::Inet(other))) = (local, peer)
            {
                ends.insert(*flow, (*own, *other));
            }
        }
        for entry in &log.entries {
            let (flow, moved) = match &entry.record {
                LogRecord::Endpoints { flow, .. } => (flow, None),
                LogRecord::Transfer { flow, direction, bytes, .. } => {
                    (flow, Some((*direction, *bytes)))
                }
                _ => continue,
            };
            if let Some(ends) = ends.get(flow) {
                entries.push((entry.ticks, *ends, moved));
            }
        }
    }
    let begun = entries.iter().filter(|(_, ends, _)| *ends == mark).map(|(ticks, ..)| *ticks).min();
    let begun = begun.expect("the mark's connection is in the log");
    let (mut all, mut before) = (BTreeMap::<_, Vec<u64>>::new(), Vec::new());
    for (ticks, (own, other), moved) in entries {
        if let Some((direction, bytes)) = moved {
            all.entry((own, other, direction)).or_default().push(bytes);
        }
        if ticks < begun {
            before.extend([Direction::Send, Direction::Receive].map(|way| (own, other, way)));
        }
    }
    (all, before)
}

/// Waits until the recorded program listens at a port.
fn await_port(port: u16, recorder: &mut Child) {
    for _ in 0..2000 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        assert!(recorder.try_wait().expect("a child").is_none(), "the server ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no program listens at port {port}");
}

/// An HTTP client that counts the bytes of its connection.
pub struct CountingClient {
    stream: TcpStream,
    /// Bytes that the client sent.
    pub sent: u64,
    /// Bytes that the client received.
    pub received: u64,
}

impl CountingClient {
    /// Connects to a server.
    pub fn connect(port: u16) -> CountingClient {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server accepts");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        CountingClient { stream, sent: 0, received: 0 }
    }

    /// The address of the client's end.
    pub fn address(&self) -> SocketAddr {
        self.stream.local_addr().expect("an address")
    }

    /// Sends a request, as by `GET /path`, and returns the response's status and body.
    pub fn send_request(&mut self, request: &str, body: &str) -> (u16, Vec<u8>) {
        let length = body.len();
        let text = format!(
            "{request} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(text.as_bytes()).expect("it is sent");
        self.sent += text.len() as u64;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.read_exactly(1));
        }
        let head = String::from_utf8(head).expect("text").to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body = match length {
            Some(length) => self.read_exactly(length.parse().expect("a length")),
            None => self.read_chunks(),
        };
        (status.expect("a status"), body)
    }

    /// Reads a body in chunks.
    fn read_chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let mut line = Vec::new();
            while !line.ends_with(b"\r\n") {
                line.extend(self.read_exactly(1));
            }
            let size = String::from_utf8(line).expect("text");
            let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
            body.extend(self.read_exactly(size));
            self.read_exactly(2);
            if size == 0 {
                return body;
            }
        }
    }

    fn read_exactly(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).expect("the whole answer");
        self.received += length as u64;
        bytes
    }
}
