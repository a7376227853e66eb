//! A small traced system for tests: handmade logs, reconciled, and the messages as short lines of
//! text.
#![allow(dead_code, unreachable_pub, reason = "a test helper, of which each test file uses a part")]

use std::num::NonZeroUsize;

use message_trace::{DataDir, DataPath, Message, MessageTrace};
use reconcile::{Options, Reconciliation, reconcile};
use socket_log::encode::{DatagramRecord, Direction, FlowOrigin, FlowRole};
use socket_log::write::{EPOCH, LogWriter, SocketParameters, TCP, UDP, inet_address};

/// Logs of a system, one per process.
pub struct System {
    directory: tempfile::TempDir,
}

/// Result of a reconciliation.
pub struct Outcome {
    pub trace: MessageTrace,
    pub counts: Reconciliation,
}

impl System {
    pub fn new() -> System {
        System { directory: tempfile::tempdir().unwrap() }
    }

    pub fn data(&self) -> DataDir {
        DataDir::new(self.directory.path())
    }

    pub fn path(&self, host: &str, name: &str) -> DataPath {
        self.data().hosts_dir().join(host).join(format!("{name}.sclog"))
    }

    /// Adds the log of a process; `name` is also the name of its file.
    pub fn add(&self, host: &str, name: &str, log: &LogWriter) -> &System {
        log.write_file(self.path(host, name)).unwrap();
        self
    }

    pub fn reconcile(&self) -> Outcome {
        self.reconcile_with(&Options::default())
    }

    pub fn reconcile_with(&self, options: &Options) -> Outcome {
        let data = self.data();
        let files = || {
            let tables = [
                data.messages_path(),
                data.nodes_path(),
                data.clocks_path(),
                data.reconciliation_path(),
            ];
            // Damage can turn a record into one of the kinds in these tables.
            let others = [
                data.operations_path(),
                data.words_path(),
                data.handoffs_path(),
                data.own_events_path(),
            ];
            let all = tables.into_iter().chain(others.into_iter().filter(|path| path.exists()));
            all.map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
        };
        // Nothing in memory, on several threads: the result must be the same as with everything in
        // memory, on one.
        let spilled = Options { memory: 0, threads: NonZeroUsize::new(3), ..options.clone() };
        reconcile(&data, &spilled, &()).unwrap();
        let from_files = files();
        let counts =
            reconcile(&data, &Options { threads: NonZeroUsize::new(1), ..options.clone() }, &())
                .unwrap();
        assert!(files() == from_files, "the same with any number of threads and any memory");
        let left = std::fs::read_dir(self.directory.path()).unwrap().count();
        assert_eq!(left, files().len() + 1, "the files and the hosts, and nothing temporary");
        assert_eq!(Reconciliation::read(&data).unwrap(), counts);
        Outcome {
            trace: MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap(),
            counts,
        }
    }
}

impl Outcome {
    /// The messages as lines: `command -> command, bytes, parts, send_first..send_last
    /// recv_first..recv_last`, times from the beginning and `-` for a missing one.
    pub fn lines(&self) -> Vec<String> {
        self.trace.messages().map(|message| self.line(&message)).collect()
    }

    fn line(&self, m: &Message) -> String {
        let span = |first: Option<i64>, last: Option<i64>| match (first, last) {
            (Some(first), Some(last)) if first == last => format!("{}", first - EPOCH),
            (Some(first), Some(last)) => format!("{}..{}", first - EPOCH, last - EPOCH),
            _ => "-".to_owned(),
        };
        let node = |id| &self.trace.nodes.get(id).unwrap().command;
        let fat = if m.parts == 1 { String::new() } else { format!("/{}", m.parts) };
        let arrow = if m.direction == 0 { "=>" } else { "->" };
        format!(
            "{} {arrow} {} {}{fat} {} {}",
            node(m.src),
            node(m.dst),
            m.bytes,
            span(m.send_first, m.send_last),
            span(m.recv_first, m.recv_last)
        )
    }

    /// The endpoints of the messages, `from > to`.
    pub fn endpoints(&self) -> Vec<String> {
        let endpoint = |id| self.trace.endpoint(id).unwrap();
        self.trace
            .messages()
            .map(|m| format!("{} > {}", endpoint(m.src_endpoint), endpoint(m.dst_endpoint)))
            .collect()
    }

    pub fn flows(&self) -> Vec<i64> {
        self.trace.messages().map(|m| m.flow.number()).collect()
    }
}

pub fn log(pid: u32, name: &str) -> LogWriter {
    LogWriter::new("one", pid, &format!("/usr/bin/{name}"))
}

pub fn address(text: &str) -> Vec<u8> {
    inet_address(text.parse().unwrap())
}

/// `flow` of `log` connects from `local` to `peer`.
pub fn connect(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, local: &str, peer: &str) {
    log.flow(at, flow, TCP, FlowOrigin::Socket, cookie);
    log.endpoints(at + 1, flow, FlowRole::Connect, &address(local), &address(peer), 0);
}

/// `flow` of `log` is accepted at `local` from `peer`.
pub fn accept(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, local: &str, peer: &str) {
    log.flow(at, flow, TCP, FlowOrigin::Accept, cookie);
    log.endpoints(at, flow, FlowRole::Accept, &address(local), &address(peer), 0);
}

/// `flow` of `log` is a UDP socket bound to `local`.
pub fn bind(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, local: &str) {
    log.flow(at, flow, UDP, FlowOrigin::Socket, cookie);
    log.endpoints(at, flow, FlowRole::Bind, &address(local), &[], 0);
}

/// A datagram with its number as content.
pub fn datagram<'a>(
    direction: Direction,
    flow: u32,
    ticks: u64,
    content: u32,
    peer: &'a [u8],
) -> DatagramRecord<'a> {
    DatagramRecord {
        direction,
        flow,
        ticks,
        duration: 0,
        bytes: 100,
        checksum: content,
        flags: 0,
        peer,
    }
}

pub fn send_to(log: &mut LogWriter, flow: u32, ticks: u64, content: u32, peer: &str) {
    log.datagram(&datagram(Direction::Send, flow, ticks, content, &address(peer)));
}

pub fn receive_from(log: &mut LogWriter, flow: u32, ticks: u64, content: u32, peer: &str) {
    log.datagram(&datagram(Direction::Receive, flow, ticks, content, &address(peer)));
}

/// Records that a flow is that kind of socket, found in use.
pub fn found(log: &mut LogWriter, at: u64, flow: u32, socket: SocketParameters, cookie: u64) {
    log.flow(at, flow, socket, FlowOrigin::Found, cookie);
    log.endpoints(at, flow, FlowRole::Unknown, &[], &[], 0);
}
