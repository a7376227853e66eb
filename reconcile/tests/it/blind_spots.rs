//! Capture gaps: ends and processes that were not recorded, according to the logs. A loopback
//! address is local to its machine, which is a network namespace of a kernel, and a process id to
//! its kernel.

use reconcile::capture_gaps::{CaptureGaps, find_capture_gaps};
use socket_log::layout::source;
use socket_log::write::LogWriter;

use crate::common::{System, accept, connect, log};

const HERE: &str = "127.0.0.1:40000";
const THERE: &str = "127.0.0.1:80";

fn client() -> LogWriter {
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, HERE, THERE);
    client.send(1_000, 1, 10);
    client
}

fn server() -> LogWriter {
    let mut server = log(20, "server");
    accept(&mut server, 110, 1, 12, THERE, HERE);
    server.receive(1_100, 1, 10);
    server
}

fn unseen(found: &CaptureGaps) -> Vec<(&str, u32)> {
    found.unseen_ends.iter().map(|end| (end.name.as_str(), end.by.pid)).collect()
}

#[test]
fn loopback_ends_are_searched_in_their_own_network_namespace() {
    for (namespaces, expected) in [([7, 7], vec![]), ([7, 8], vec![(HERE, 20), (THERE, 10)])] {
        let system = System::new();
        system.add("one", "a", client().set_namespace(namespaces[0]));
        system.add("one", "b", server().set_namespace(namespaces[1]));
        assert_eq!(unseen(&find_capture_gaps(&system.data()).unwrap()), expected, "{namespaces:?}");
    }
}

#[test]
fn logs_without_a_machine_are_on_the_machine_of_their_host() {
    // Logs of packets and strace have no boot id: hosts without one are not all the same machine.
    for (host, expected) in [("one", vec![]), ("two", vec![(HERE, 20), (THERE, 10)])] {
        let system = System::new();
        let mut server = LogWriter::new(host, 20, "/usr/bin/server");
        accept(&mut server, 110, 1, 0, THERE, HERE);
        server.receive(1_100, 1, 10).set_boot_id([0; 16]).set_source(source::STRACE);
        for boot in [false, true] {
            let mut client = client();
            if !boot {
                client.set_boot_id([0; 16]);
            }
            system.add("one", "a", client.set_namespace(7 * u64::from(boot)));
            system.add(host, "b", &server);
            assert_eq!(
                unseen(&find_capture_gaps(&system.data()).unwrap()),
                expected,
                "{host} {boot}"
            );
        }
    }
}

#[test]
fn sockets_are_searched_in_the_namespace_of_the_kernel() {
    let system = System::new();
    let mut client = LogWriter::new("one", 10, "/usr/bin/client");
    connect(client.set_namespace(7).sockets_in(900), 100, 1, 11, HERE, THERE);
    let mut server = LogWriter::new("one", 20, "/usr/bin/server");
    accept(server.set_namespace(8).sockets_in(900), 110, 1, 12, THERE, HERE);
    system.add("one", "a", client.send(1_000, 1, 10)).add("one", "b", server.receive(1_100, 1, 10));
    assert_eq!(unseen(&find_capture_gaps(&system.data()).unwrap()), Vec::<(&str, u32)>::new());
}
