//! What is wrong with logs is told, with the file's name, and what is whole is used.

mod common;

use common::{System, accept, connect, log};
use message_trace::DataDir;
use reconcile::{Clocks, Error, Options, reconcile};
use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES, lost};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:80";

#[test]
fn a_damaged_log_is_named_and_the_rest_is_used() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    client.send(1_000, 1, 10).set_lost(lost::NO_SPACE, 3);
    let mut server = log(20, "server");
    accept(&mut server, 200, 1, 12, SERVER, CLIENT);
    server.receive(1_100, 1, 10);
    system.add("one", "a", &client).add("one", "b", &server);
    let mut bytes = server.bytes();
    bytes.extend([0xff; CHUNK_BYTES]);
    std::fs::write(system.path("one", "b"), &bytes).unwrap();
    std::fs::write(system.path("one", "c"), &bytes[..100]).unwrap();
    let outcome = system.reconcile();
    assert_eq!(outcome.lines(), ["client => server 10 1000 1100"]);
    let damaged = &outcome.counts.damaged;
    assert_eq!(damaged.len(), 2);
    assert!(damaged[0].file.ends_with("b.sclog"), "{damaged:?}");
    assert_eq!(damaged[0].what.len(), 1);
    assert!(damaged[0].what[0].starts_with(&format!("offset {}", HEADER_BYTES + CHUNK_BYTES)), "{damaged:?}");
    assert!(damaged[1].file.ends_with("c.sclog"), "{damaged:?}");
    assert_eq!(outcome.counts.lost_records["disk full"], 3);
    assert_eq!((outcome.counts.logs, outcome.counts.processes), (3, 2));
}

#[test]
fn nothing_to_reconcile_is_an_error_that_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let error = reconcile(&data, &Options::default(), &()).unwrap_err();
    assert!(matches!(error, Error::NoLogs { .. }));
    assert!(error.to_string().contains("sockcap record"), "{error}");
    let log = data.hosts().join("one/a.sclog");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "no log").unwrap();
    let error = reconcile(&data, &Options::default(), &()).unwrap_err();
    assert!(error.to_string().contains("a.sclog"), "{error}");
}

#[test]
fn the_clocks_file_names_the_reference() {
    let system = System::new();
    for (host, pid) in [("one", 10), ("two", 11), ("two", 12)] {
        let log = socket_log::testing::LogWriter::new(host, pid, "/bin/x");
        system.add(host, &pid.to_string(), &log);
    }
    system.reconcile();
    let clocks = Clocks::read(&system.data().clocks()).unwrap();
    assert_eq!(clocks.reference, "two");
    assert_eq!(clocks.hosts.iter().map(|clock| clock.offset_ns).collect::<Vec<_>>(), [0, 0]);
    assert!(clocks.hosts.iter().all(|clock| clock.source == "none"));
}
