//! Hosts with clocks that are set during a run: messages sent before and after have the right time
//! on the common clock, none is unmatched, and the user is informed.

use std::process::Command;

use clocks::ClockModel;
use end_to_end::capture::{python_path, run_successfully};
use end_to_end::lab::{HostLab, LabClock, LabHost, RunningProgram};
use end_to_end::sockcap_program;
use message_trace::{DataDir, MessageTrace, TransportProtocol};
use reconcile::Options;
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

const SECOND: i64 = 1_000_000_000;
/// Duration of the run before a clock is set, and after.
const HALF: i64 = 6 * SECOND;
/// Maximum error of an estimated offset; it never exceeds the stated uncertainty either.
const OFFSET: i64 = 200_000;

/// Answers all clients.
const SERVER: &str = r#"
import socket, threading
server = socket.create_server(("0.0.0.0", 7000))
def serve(peer):
    while data := peer.recv(100):
        peer.sendall(data)
while True:
    threading.Thread(target=serve, args=[server.accept()[0]], daemon=True).start()
"#;

/// Calls all servers in turn until the machine's monotonic clock shows the given time.
const CLIENT: &str = r#"
import socket, sys, time
peers = [socket.create_connection((name, 7000)) for name in sys.argv[2:]]
while time.monotonic_ns() < int(sys.argv[1]):
    for peer in peers:
        peer.sendall(b"question")
        assert peer.recv(100) == b"question"
    time.sleep(0.004)
"#;

fn clock_time(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * SECOND + time.tv_nsec
}

/// A client and two servers with clocks that are set at `set` of the machine's monotonic clock; the
/// servers existed at `begin`.
struct SteppedSystem {
    lab: HostLab,
    hosts: [LabHost; 3],
    servers: [RunningProgram; 2],
    set: i64,
    begin: i64,
}

impl SteppedSystem {
    /// Starts the servers, `half` nanoseconds before the step.
    fn begin_system(half: i64) -> SteppedSystem {
        let mut lab = HostLab::new();
        let network = lab.add_network(5);
        let mut hosts = ["client", "forward", "back"].map(|name| lab.add_host(name, network));
        let set = clock_time(ClockId::Monotonic) + half;
        let [client, forward, back] = &mut hosts;
        client.set_clock(LabClock::new(3600 * SECOND, 100));
        let steps = vec![(set, 5 * SECOND / 2)];
        forward.set_clock(LabClock { steps, ..LabClock::new(-47 * 60 * SECOND, -150) });
        back.set_clock(LabClock { steps: vec![(set, -3 * SECOND / 2)], ..LabClock::new(17, 60) });
        let servers = [forward, back].map(|host| {
            host.start_server(
                host.recorded_command(python_path()).args(["-c", SERVER]),
                &["tcp:7000"],
            )
        });
        SteppedSystem { lab, hosts, servers, set, begin: clock_time(ClockId::Monotonic) }
    }
}

#[test]
fn clocks_that_are_set_in_the_middle_of_a_run() {
    // If the start takes too long, it is repeated with more time before the step.
    let begun = (0..4)
        .map(|tries| SteppedSystem::begin_system(HALF << tries))
        .find(|system| system.begin < system.set - HALF / 2);
    let SteppedSystem { lab, hosts, servers, set, begin } =
        begun.expect("the servers are there before the clocks are set");
    let [client, forward, back] = &hosts;
    let until = (set + HALF).to_string();
    let names = [forward.first_ipv4().to_string(), back.first_ipv4().to_string()];
    run_successfully(
        client.recorded_command(python_path()).args(["-c", CLIENT, &until]).args(&names),
    );
    let end = clock_time(ClockId::Monotonic);
    for server in servers {
        server.stop_by(Signal::TERM);
    }
    let boot = (0..100)
        .map(|_| clock_time(ClockId::Realtime) - clock_time(ClockId::Monotonic))
        .max()
        .unwrap();

    let data = DataDir::new(lab.recording.data_dir());
    let outcome = reconcile::reconcile(&data, &Options::default(), &()).unwrap();
    assert_eq!(outcome.both_ends, outcome.total_messages(), "{outcome:#?}");
    assert!(
        outcome.both_ends > 1000 && outcome.send_only.is_empty() && outcome.receive_only.is_empty()
    );
    let clocks = ClockModel::read(data.clocks_path()).unwrap();
    // The host that exchanged messages with both, and was not set.
    assert_eq!(clocks.reference, "client");
    for host in [forward, back] {
        let moments = [begin, set - 3 * SECOND, set + 3 * SECOND, end];
        steps_and_offsets_are_right(&clocks, host, &client.clock(), set, moments, boot);
    }

    // On the common clock no message arrives before it was sent by more than the stated
    // uncertainty.
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let allowed = |node| {
        let host = &trace.nodes.get(node).unwrap().host;
        clocks.hosts.iter().find(|clock| clock.host == *host).unwrap().uncertainty_ns.unwrap()
    };
    // A name lookup has no second clock.
    for message in trace.messages().filter(|message| message.protocol != TransportProtocol::Other) {
        let latency = message.network_latency().unwrap();
        assert!(
            latency >= -(allowed(message.src) + allowed(message.dst)),
            "{latency}: {message:?}"
        );
    }

    let info = run_successfully(
        Command::new(sockcap_program()).arg("info").arg("-d").arg(lab.recording.data_dir()),
    );
    for words in ["set forward by 2.500", "set back by 1.500"] {
        assert!(info.contains(words), "{words}: {info}");
    }
}

/// Asserts that one step of the clock of `host` was found, at `set` of the machine's monotonic
/// clock, and that the times it showed at `moments` are converted to those of the reference's
/// clock.
fn steps_and_offsets_are_right(
    clocks: &ClockModel,
    host: &LabHost,
    reference: &LabClock,
    set: i64,
    moments: [i64; 4],
    boot: i64,
) {
    let found = clocks.hosts.iter().find(|clock| clock.host == host.name()).unwrap();
    let own = host.clock();
    let [step] = &found.steps[..] else { panic!("one step: {found:#?}") };
    assert!((step.offset_ns - own.steps[0].1).abs() < OFFSET, "{found:#?}");
    let at = boot + set + reference.ahead_at(set);
    assert!((step.at - at).abs() <= step.within_ns + OFFSET, "set at {at}: {found:#?}");
    let errors = moments.map(|at| {
        let (here, there) = (boot + at + own.ahead_at(at), boot + at + reference.ahead_at(at));
        found.common_time(here) - there
    });
    println!(
        "{}: off by {errors:?} ns of at most {:?}; {step:?}",
        host.name(),
        found.uncertainty_ns
    );
    let stated = found.uncertainty_ns.unwrap().min(OFFSET);
    assert!(errors.iter().all(|error| error.abs() <= stated), "{errors:?} of {stated}: {found:#?}");
}
