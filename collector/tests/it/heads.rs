//! Snippets of messages never leave their host: operations are sent in their place, while the
//! process runs and after it has ended.

use std::fs;

use collector::link::StopFlag;
use collector::ship;
use protocols::operations::OperationFile;
use socket_log::encode::{Direction, FlowOrigin, SnippetHeader};
use socket_log::layout::{snippet, state};
use socket_log::write::{LogWriter, TCP};

use crate::common::{EventRecorder, PLENTY, contents, options, with_collector};

/// A log with a snippet that contains a secret.
fn with_secret(pid: u32, state: u32) -> Vec<u8> {
    let mut log = LogWriter::new("web-1", pid, "/bin/client");
    log.set_snippets().set_state(state).set_boot_id([7; 16]);
    log.flow(100, 1, TCP, FlowOrigin::Socket, 11).send(200, 1, 70);
    let head = SnippetHeader {
        direction: Direction::Send,
        class: snippet::HTTP1,
        flow: 1,
        ticks: 200,
        offset: 0,
        length: 0,
        continues: false,
        cut: false,
        datagram: false,
        plain: false,
    };
    log.snippet(&head, b"GET /user/1234567?token=hunter2 HTTP/1.1\r\n\r\n");
    log.to_bytes()
}

#[test]
fn operations_are_sent_and_snippets_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let (host, gathered) = (from.join("hosts/web-1"), to.join("hosts/web-1"));
    fs::create_dir_all(&host).unwrap();
    for (pid, state) in [(1, state::EXITED), (2, state::RUNNING)] {
        fs::write(host.join(format!("{pid}-1.sclog")), with_secret(pid, state)).unwrap();
    }
    // The second log can still be written to.
    let _writer = fs::File::options().write(true).open(host.join("2-1.sclog")).unwrap();
    let recorder = EventRecorder::default();
    with_collector(&to, PLENTY, &recorder, |address| {
        ship::run_shipper(&options(&from, address), &recorder, &StopFlag::default()).unwrap();
    });
    let there = contents(&gathered);
    let names: Vec<&str> = there.keys().map(String::as_str).collect();
    assert_eq!(names, ["1-1.operations", "1-1.sclog", "2-1.operations", "2-1.sclog"]);
    for (name, bytes) in &there {
        for secret in [&b"hunter2"[..], b"1234567", b"HTTP/1.1"] {
            let is_there = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!is_there, "{name}");
        }
    }
    for pid in [1, 2] {
        let log = gathered.join(format!("{pid}-1.sclog"));
        let mut names = Vec::new();
        let file = OperationFile::open_for_log(&log).unwrap().unwrap();
        assert_eq!(file.for_each(|entry| names.push(entry.operation.name)).unwrap(), 0);
        assert_eq!(names, ["GET /user/{}"]);
    }
    // On the host, the ended log has no snippet any more, and the other one has.
    let blank = |pid: u32| {
        let bytes = fs::read(host.join(format!("{pid}-1.sclog"))).unwrap();
        !bytes.windows(7).any(|window| window == b"hunter2")
    };
    assert_eq!([blank(1), blank(2)], [true, false]);
}
