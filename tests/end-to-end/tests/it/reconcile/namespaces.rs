//! Containers on one machine: each has a loopback interface of its own, and names of unix sockets
//! that the others use as well. Equal names are distinguished by the network namespace in each log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use end_to_end::capture::{TestRecording, program_path, python_path, run_successfully};
use end_to_end::lab::{HostLab, LabClock, LabHost};
use end_to_end::{repository, sockcap_program};
use message_trace::{DataDir, MessageTrace, NodeId};
use reconcile::{NamedCounts, Options};

/// Number of requests of each client on each of its sockets.
const ROUNDS: u64 = 100;
/// TCP and UDP; streams and datagrams by path and by abstract name.
const SOCKETS: u64 = 6;

/// Runs the same programs in two namespaces under `sockcap record`, at the same time and with the
/// same names, and checks which programs were connected. Each container has a file system of its
/// own for the paths.
fn check_pair(names: [&str; 2], clocks: [Option<LabClock>; 2]) {
    let mut lab = HostLab::new();
    let network = lab.add_network(9);
    let go = lab.file_path("go");
    let mut running = Vec::new();
    for (place, (name, clock)) in names.iter().zip(clocks).enumerate() {
        let mut host = lab.add_host(&format!("c{place}"), network);
        if let Some(clock) = clock {
            host.set_clock(clock);
        }
        let mut command = host.plain_command(sockcap_program());
        host.apply_settings(&mut command);
        let script = "mount -t tmpfs tmpfs /mnt && exec \"$0\" \"$1\" both /mnt \"$2\"";
        command
            .env_remove("SOCKCAP_HOST")
            .args(["record", "--host", name, "--data"])
            .arg(lab.recording.data_dir())
            .arg("--")
            .arg(program_path("unshare"))
            .args(["--mount", "sh", "-c", script])
            .arg(python_path())
            .arg(repository().join("tests/programs/same_names.py"))
            .arg(&go);
        running.push(host.start_program(&mut command));
    }
    let pids: Vec<BTreeSet<i32>> = running
        .iter()
        .map(|running| {
            running.wait_for("\n");
            let numbers = running.output();
            numbers.split_whitespace().filter_map(|word| word.parse().ok()).collect()
        })
        .collect();
    fs::write(&go, "").unwrap();
    running.into_iter().for_each(|running| {
        running.wait_success();
    });

    let data = DataDir::new(lab.recording.data_dir());
    let outcome = reconcile::reconcile(&data, &Options::default(), &()).unwrap();
    let none = NamedCounts::new();
    assert_eq!((&outcome.send_only, &outcome.receive_only), (&none, &none), "{outcome:#?}");
    assert_eq!(outcome.unmatched_streams, none);
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let mut counts = BTreeMap::<_, u64>::new();
    for message in trace.messages() {
        let of = |node: NodeId| {
            let pid = trace.nodes.get(node).and_then(|node| node.pid).expect("a traced process");
            pids.iter().position(|pids| pids.contains(&pid)).expect("one of ours")
        };
        assert!(message.send_first.is_some() && message.recv_last.is_some(), "{message:?}");
        *counts.entry((of(message.src), of(message.dst))).or_default() += 1;
    }
    // In both directions.
    let all = 2 * ROUNDS * SOCKETS;
    assert_eq!(counts, BTreeMap::from([((0, 0), all), ((1, 1), all)]), "{names:?} {outcome:#?}");
}

#[test]
fn containers_with_names_of_their_own_are_not_confused() {
    check_pair(["one", "two"], [Some(LabClock::new(3_600_000_000_000, 100)), None]);
}

#[test]
fn containers_that_are_recorded_under_one_name_are_not_confused() {
    check_pair(["same", "same"], [None, None]);
}

#[test]
fn a_client_and_a_server_in_different_namespaces_are_not_connected() {
    let mut lab = HostLab::new();
    let network = lab.add_network(9);
    let (one, two) = (lab.add_host("one", network), lab.add_host("two", network));
    let mut servers = Vec::new();
    for (host, server, client) in [
        (&one, host_plain as ProgramStarter, host_recorded as ProgramStarter),
        (&two, host_recorded, host_plain),
    ] {
        let directory = lab.file_path(host.name());
        fs::create_dir(&directory).unwrap();
        let role = |way: ProgramStarter, role: &str| {
            let mut command = way(host);
            command
                .arg(repository().join("tests/programs/same_names.py"))
                .arg(role)
                .arg(&directory);
            command
        };
        servers.push(host.start_server(&mut role(server, "server"), &["tcp:9000", "udp:9001"]));
        servers.last().unwrap().wait_for("\n");
        run_successfully(&mut role(client, "client"));
    }
    drop(servers);
    let data = DataDir::new(lab.recording.data_dir());
    let outcome = reconcile::reconcile(&data, &Options::default(), &()).unwrap();
    // Messages that one client sent and received, and that the other's server received and sent.
    let half = 2 * ROUNDS * SOCKETS;
    assert_eq!((outcome.both_ends, outcome.total_messages()), (0, 2 * half), "{outcome:#?}");
    let unseen: NamedCounts = [("peer not traced".to_owned(), half)].into();
    assert_eq!((&outcome.send_only, &outcome.receive_only), (&unseen, &unseen));
}

#[test]
fn sockets_that_are_used_in_another_namespace_have_both_ends() {
    let recording = TestRecording::new();
    run_successfully(
        &mut recording.recorded_command(recording.compile_program("passed_connections")),
    );
    let homes: BTreeSet<u64> =
        recording.read_logs().iter().map(|log| log.log.header().namespace).collect();
    assert_eq!(homes.len(), 3, "a server and two children, each in a namespace of its own");
    let outcome =
        reconcile::reconcile(&DataDir::new(recording.data_dir()), &Options::default(), &())
            .unwrap();
    let none = NamedCounts::new();
    assert_eq!((&outcome.send_only, &outcome.receive_only), (&none, &none), "{outcome:#?}");
    // Two requests, their responses, and the message with which the second connection is passed on.
    assert_eq!((outcome.both_ends, outcome.total_messages()), (5, 5), "{outcome:#?}");
}

/// A way to run a program on a host.
type ProgramStarter = fn(&LabHost) -> Command;

fn host_plain(host: &LabHost) -> Command {
    host.plain_command(python_path())
}

fn host_recorded(host: &LabHost) -> Command {
    host.recorded_command(python_path())
}
