//! Logs and times that a host sends to a collector count for that host only, whatever they contain:
//! logs that name another host, logs of another's machine, and timestamps of another's clock.

use std::collections::BTreeSet;
use std::fs;

use ::clocks::ClockModel;
use ::clocks::HostClock;
use message_trace::{ClockExchange, MessageTrace, NodeId, clock_exchange};
use proptest::prelude::*;
use reconcile::{Options, reconcile};
use socket_log::write::{EPOCH, LogWriter};

use crate::common::{Outcome, System, accept, connect};

const SECOND: u64 = 1_000_000_000;

/// The log of a process that claims this host and this boot.
fn process(host: &str, boot: u8, pid: u32) -> LogWriter {
    let mut log = LogWriter::new(host, pid, &format!("/bin/p{pid}"));
    log.set_boot(boot);
    log
}

/// Writes the names for which the key of a host's sender is.
fn sender(system: &System, host: &str, names: &str) {
    let path = system.data().sender_path(host);
    fs::create_dir_all(path.parent()).unwrap();
    fs::write(path, names).unwrap();
}

fn hosts(outcome: &Outcome) -> BTreeSet<String> {
    outcome.trace.nodes.0.iter().filter(|node| node.traced).map(|node| node.host.clone()).collect()
}

fn clock(system: &System, host: &str) -> HostClock {
    let clocks = ClockModel::read(system.data().clocks_path()).unwrap();
    clocks.hosts.into_iter().find(|clock| clock.host == host).unwrap()
}

/// Exchanges of a boot every second for ten seconds, of a clock that is ahead by that much.
fn hints(system: &System, host: &str, boot: u8, ahead: i64) {
    let lines = (0..10).map(|second| {
        let at = EPOCH + second * SECOND as i64;
        let times = ClockExchange {
            boot: [boot; 16],
            host_sent: at + ahead,
            collector_received: at + 1_000_000,
            collector_sent: at + 1_000_000,
            host_received: at + 2_000_000 + ahead,
        };
        format!("{times}\n")
    });
    let text = format!("{}\n{}", clock_exchange::HEADER_LINE, lines.collect::<String>());
    fs::write(system.data().clock_hints_path(host), text).unwrap();
}

/// A process that talks to an untraced peer for ten seconds.
fn talker(host: &str, boot: u8) -> LogWriter {
    let mut log = process(host, boot, 10);
    connect(&mut log, 1, 1, 11, "10.0.0.1:4000", "10.9.9.9:80");
    for second in 0..10 {
        log.send(second * SECOND + 5, 1, 10);
    }
    log
}

#[test]
fn a_log_that_names_another_host_belongs_to_its_sender() {
    let system = System::new();
    // The victim's own process, as if it had continued with another connection.
    let mut forged = process("victim", 1, 10);
    connect(&mut forged, 100, 1, 11, "10.0.0.1:4000", "10.0.0.9:80");
    forged.send(1_000, 1, 666);
    system.add("victim", "10-1", &talker("victim", 1)).add("evil", "10-1", &forged);
    system.add("evil", "11-1", &process("victim", 1, 11));
    sender(&system, "victim", "victim");
    sender(&system, "evil", "evil");
    let outcome = system.reconcile();
    for message in outcome.trace.messages() {
        let of = &outcome.trace.nodes.get(message.src).unwrap().host;
        assert_eq!(of, if message.bytes == 666 { "evil" } else { "victim" }, "{message:?}");
    }
    assert_eq!(hosts(&outcome), ["evil", "victim"].map(str::to_owned).into());
    let misnamed: Vec<(&str, u64)> =
        outcome.counts.misnamed.iter().map(|(host, count)| (host.as_str(), *count)).collect();
    assert_eq!(misnamed, [("evil", 2)]);
    let spots = reconcile::capture_gaps::find_capture_gaps(&system.data()).unwrap();
    assert_eq!(
        spots.silent.iter().map(|silent| silent.host.as_str()).collect::<Vec<_>>(),
        ["evil"]
    );
}

#[test]
fn timestamps_next_to_a_log_that_names_another_host_do_not_count_for_that_host() {
    let system = System::new();
    system.add("other", "1", &talker("other", 2)).add("victim", "1", &talker("victim", 1));
    hints(&system, "other", 2, 0);
    hints(&system, "victim", 1, 7 * SECOND as i64);
    system.reconcile();
    // The reference with which the others are compared is another matter.
    let apart = || clock(&system, "victim").offset_ns - clock(&system, "other").offset_ns;
    assert_eq!(apart(), 7 * SECOND as i64);
    // A sender with nothing but logs of the victim, and exchanges of the victim's boot.
    system.add("evil", "1", &talker("victim", 1)).add("evil", "2", &talker("victim", 1));
    hints(&system, "evil", 1, -3600 * SECOND as i64);
    sender(&system, "evil", "evil");
    system.reconcile();
    assert_eq!(apart(), 7 * SECOND as i64);
}

/// A client of `victim` that talks over loopback, and a sender that claims to be the other end.
fn over_loopback(senders: [&str; 2]) -> Vec<String> {
    let system = System::new();
    let (here, there) = ("127.0.0.1:40000", "127.0.0.1:80");
    let mut client = process("victim", 1, 10);
    connect(&mut client, 100, 1, 11, here, there);
    client.send(1_000, 1, 10);
    let mut server = process("evil", 1, 20);
    accept(&mut server, 200, 1, 12, there, here);
    server.receive(1_100, 1, 10);
    system.add("victim", "a", &client).add("evil", "b", &server);
    for (host, names) in ["victim", "evil"].iter().zip(senders) {
        sender(&system, host, names);
    }
    system.reconcile().lines()
}

#[test]
fn only_hosts_of_one_key_share_a_machine() {
    let apart = over_loopback(["victim", "evil"]);
    assert_eq!(apart, ["p10 => 127.0.0.1:80 10 1000 -", "127.0.0.1 => p20 10 - 1100"]);
    let together = over_loopback(["evil\nvictim"; 2]);
    assert_eq!(together, ["p10 => p20 10 1000 1100"]);
}

#[test]
fn a_host_that_claims_anothers_clock_does_not_move_it() {
    // A third host talks to the victim, which has a correct clock, and to one that claims to have
    // the same clock and lies.
    let system = System::new();
    let talk = |host: &str, boot: u8, pid: u32, flow: [&str; 2], ahead: u64| {
        let [client, server] = flow;
        let mut log = process(host, boot, pid);
        accept(&mut log, 1, 1, u64::from(pid), server, client);
        for at in 0..100 {
            let at = at * SECOND / 10 + ahead;
            log.receive(at + 100_000, 1, 10).send(at + 200_000, 1, 20);
        }
        log
    };
    let mut third = process("third", 3, 30);
    for (flow, to) in [(1, "10.0.0.1:80"), (2, "10.0.0.2:80")] {
        connect(&mut third, 1, flow, u64::from(flow) + 50, "10.0.0.3:4000", to);
        for at in 0..100 {
            third.send(at * SECOND / 10, flow, 10).receive(at * SECOND / 10 + 300_000, flow, 20);
        }
    }
    system.add("third", "1", &third);
    system.add("victim", "1", &talk("victim", 1, 10, ["10.0.0.3:4000", "10.0.0.1:80"], 0));
    for host in ["third", "victim", "evil"] {
        sender(&system, host, host);
    }
    system.reconcile();
    let before = clock(&system, "victim");
    assert!(before.offset_ns.abs() < 200_000, "{before:?}");
    system.add("evil", "1", &talk("evil", 1, 20, ["10.0.0.3:4000", "10.0.0.2:80"], 150_000));
    system.reconcile();
    let after = clock(&system, "victim");
    assert_eq!((before.offset_ns, before.skew_ppm), (after.offset_ns, after.skew_ppm));
}

/// The victim's processes, its totals of sent and received bytes, and its clock.
fn of_victim(system: &System) -> (BTreeSet<String>, [i64; 2], i64) {
    reconcile(&system.data(), &Options::default(), &()).unwrap();
    let trace =
        MessageTrace::read(system.data().messages_path(), system.data().nodes_path()).unwrap();
    let is_victim = |node: NodeId| {
        trace.nodes.get(node).is_some_and(|node| node.traced && node.host == "victim")
    };
    let nodes = trace.nodes.0.iter().filter(|node| node.traced);
    assert!(
        nodes.clone().all(|node| ["victim", "evil"].contains(&node.host.as_str())),
        "{:?}",
        trace.nodes
    );
    let processes =
        nodes.filter(|node| node.host == "victim").map(|node| format!("{node:?}")).collect();
    let mut bytes = [0, 0];
    for message in trace.messages() {
        bytes[0] +=
            if is_victim(message.src) && message.send_first.is_some() { message.bytes } else { 0 };
        bytes[1] +=
            if is_victim(message.dst) && message.recv_first.is_some() { message.bytes } else { 0 };
    }
    (processes, bytes, clock(system, "victim").offset_ns)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// A log that begins as the victim's own process, with arbitrary bytes changed, and exchanges
    /// of the victim's boot.
    #[test]
    fn no_log_of_another_host_changes_the_victim(
        changes in prop::collection::vec((0..12_288_usize, any::<u8>()), 0..40),
        ahead in -5_000_000_000..5_000_000_000_i64,
    ) {
        let system = System::new();
        let (here, there) = ("127.0.0.1:40000", "127.0.0.1:80");
        let mut client = process("victim", 1, 10);
        connect(&mut client, 100, 1, 11, here, there);
        client.send(1_000, 1, 10).receive(2_000, 1, 20).send(3_000, 1, 30);
        let mut server = process("victim", 1, 20);
        accept(&mut server, 200, 1, 12, there, here);
        server.receive(1_100, 1, 10).send(1_900, 1, 20).receive(3_100, 1, 30);
        system.add("victim", "10-1", &client).add("victim", "20-1", &server);
        sender(&system, "victim", "victim");
        let before = of_victim(&system);
        let mut forged = client.to_bytes();
        for (at, value) in changes {
            let at = at % forged.len();
            forged[at] = value;
        }
        sender(&system, "evil", "evil");
        fs::write(system.path("evil", "10-1"), forged).unwrap();
        fs::write(system.path("evil", "20-1"), server.to_bytes()).unwrap();
        hints(&system, "evil", 1, ahead);
        prop_assert_eq!(of_victim(&system), before);
    }
}
