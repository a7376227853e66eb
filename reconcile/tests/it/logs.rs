//! Damage in logs is reported, with the file's name, and undamaged parts are used.

use ::clocks::ClockModel;
use ::clocks::ClockSource;
use message_trace::DataDir;
use proptest::prelude::*;
use reconcile::{Error, Options, ProgramGap, reconcile};
use socket_log::encode;
use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES, lost, source, unseen};
use socket_log::write::LogWriter;

use crate::common::{System, accept, bind, connect, log, receive_from, send_to};

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
    let mut bytes = server.to_bytes();
    bytes.extend([0xff; CHUNK_BYTES]);
    std::fs::write(system.path("one", "b"), &bytes).unwrap();
    std::fs::write(system.path("one", "c"), &bytes[..100]).unwrap();
    let outcome = system.reconcile();
    assert_eq!(outcome.lines(), ["client => server 10 1000 1100"]);
    let damaged = &outcome.counts.damaged;
    assert_eq!(damaged.len(), 2);
    assert!(damaged[0].file.ends_with("b.sclog"), "{damaged:?}");
    assert_eq!(damaged[0].what.len(), 1);
    assert!(
        damaged[0].what[0].starts_with(&format!("offset {}", HEADER_BYTES + CHUNK_BYTES)),
        "{damaged:?}"
    );
    assert!(damaged[1].file.ends_with("c.sclog"), "{damaged:?}");
    assert_eq!(outcome.counts.lost_records["disk full"], 3);
    let [hole] = &outcome.counts.holes[..] else { panic!("{:?}", outcome.counts.holes) };
    assert_eq!(
        (hole.program.as_str(), hole.cause.as_str(), hole.records),
        ("client", "disk full", 3)
    );
    assert_eq!((outcome.counts.logs, outcome.counts.processes), (3, 2));
}

#[test]
fn unrecorded_programs_are_counted_by_cause() {
    let system = System::new();
    let mut shell = log(10, "sh");
    for (pid, program) in [(11, "/bin/static"), (12, "/bin/static"), (13, "/bin/traced")] {
        let cause = unseen::STATIC;
        shell.raw_record(
            1_000,
            encode::unseen_record(1_000, cause, pid, program.as_bytes()).as_slice(),
        );
    }
    // A program that strace saw is not missing.
    let mut traced = LogWriter::new("one", 13, "/bin/traced");
    traced.set_source(source::STRACE);
    system.add("one", "a", shell.set_without_log(5)).add("one", "b", &traced);
    let holes = system.reconcile().counts.holes;
    let hole = |program: &str, cause: &str, processes, of_children| ProgramGap {
        program: program.to_owned(),
        cause: cause.to_owned(),
        records: 0,
        processes,
        of_children,
    };
    let wanted = [
        hole("sh", "no room for its log", 5, true),
        hole("/bin/static", "statically linked", 2, false),
    ];
    assert_eq!(holes, wanted);
    let spots = reconcile::capture_gaps::find_capture_gaps(&system.data()).unwrap();
    let pids: Vec<u32> = spots.unseen.iter().map(|unseen| unseen.pid).collect();
    assert_eq!((pids, spots.without_log), (vec![11, 12], 5));
}

#[test]
fn nothing_to_reconcile_is_an_error_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let error = reconcile(&data, &Options::default(), &()).unwrap_err();
    assert!(matches!(error, Error::NoLogs { .. }));
    assert!(error.to_string().contains("sockcap record"), "{error}");
    let log = data.hosts_dir().join("one/a.sclog");
    std::fs::create_dir_all(log.parent()).unwrap();
    std::fs::write(&log, "no log").unwrap();
    let error = reconcile(&data, &Options::default(), &()).unwrap_err();
    assert!(error.to_string().contains("a.sclog"), "{error}");
}

#[test]
fn the_clocks_file_names_the_reference() {
    let system = System::new();
    for (host, pid) in [("one", 10), ("two", 11), ("two", 12)] {
        let log = socket_log::write::LogWriter::new(host, pid, "/bin/x");
        system.add(host, &pid.to_string(), &log);
    }
    system.reconcile();
    let clocks = ClockModel::read(system.data().clocks_path()).unwrap();
    assert_eq!(clocks.reference, "two");
    assert_eq!(clocks.hosts.iter().map(|clock| clock.offset_ns).collect::<Vec<_>>(), [0, 0]);
    // All are of one boot.
    assert_eq!(
        clocks.hosts.iter().map(|clock| clock.source).collect::<Vec<_>>(),
        [ClockSource::Machine, ClockSource::Reference]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// However the records are damaged, reconciliation comes to an end, and its output is readable.
    #[test]
    fn damaged_records_do_not_stop_reconciliation(
        spots in prop::collection::vec((any::<prop::sample::Index>(), any::<[u8; 8]>(), 1..9usize), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let system = System::new();
        let (mut client, mut server) = (log(10, "client"), log(20, "server"));
        connect(&mut client, 100, 1, 11, CLIENT, SERVER);
        accept(&mut server, 200, 1, 12, SERVER, CLIENT);
        bind(&mut client, 100, 2, 13, CLIENT);
        bind(&mut server, 100, 2, 14, SERVER);
        for turn in 0..20u32 {
            let at = 1_000 * u64::from(turn + 1);
            client.send(at, 1, 10).send(at + 1, 1, 5_000_000);
            server.receive(at + 100, 1, 5_000_010).send(at + 200, 1, 1);
            client.receive(at + 300, 1, 1);
            send_to(&mut client, 2, at, turn, SERVER);
            receive_from(&mut server, 2, at + 10, turn, CLIENT);
        }
        client.socket_pair(50_000, 3, 4).close(50_001, 2);
        let (mut bytes, end) = (client.to_bytes(), 1_500);
        for (at, garbage, length) in &spots {
            let at = HEADER_BYTES + at.index(end);
            bytes[at..at + length].copy_from_slice(&garbage[..*length]);
        }
        bytes.truncate(HEADER_BYTES + cut.index(CHUNK_BYTES + 1));
        system.add("one", "a", &client).add("one", "b", &server);
        std::fs::write(system.path("one", "a"), &bytes).unwrap();
        let outcome = system.reconcile();
        let counts = &outcome.counts;
        prop_assert_eq!(outcome.trace.len() as u64, counts.total_messages() + counts.connects);
    }
}

/// An imported log does not contain the boot: it is of the machine of its host's other logs, and
/// they share loopback addresses.
#[test]
fn logs_without_boot_are_on_their_hosts_machine() {
    use socket_log::write::LogWriter;
    let messages = |host_of_imported: &str| {
        let system = System::new();
        let mut client = LogWriter::new("one", 1, "/bin/client");
        crate::common::connect(&mut client, 0, 1, 1, "127.0.0.1:5000", "127.0.0.1:80");
        client.send(10, 1, 100);
        let mut server = LogWriter::new(host_of_imported, 2, "/bin/server");
        server.set_boot_id([0; 16]);
        crate::common::accept(&mut server, 5, 1, 2, "127.0.0.1:80", "127.0.0.1:5000");
        server.receive(20, 1, 100);
        system.add("one", "1", &client).add(host_of_imported, "2", &server);
        system.reconcile().trace.messages().count()
    };
    assert_eq!(messages("one"), 1, "both ends are known");
    assert_eq!(messages("two"), 2, "two machines, each with half a connection of its own");
}
