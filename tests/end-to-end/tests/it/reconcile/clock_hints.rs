//! Two pairs of hosts without messages between the pairs: their timestamp exchanges with a
//! collector show how their clocks differ. Without these the pairs are separate, and later
//! exchanges make no result out of date.

use std::fs;
use std::path::Path;
use std::process::Command;

use clocks::ClockModel;
use clocks::{ClockSource, HostClock};
use end_to_end::capture::{python_path, run_successfully};
use end_to_end::command::{assert_succeeds, run_sockcap, to_text};
use end_to_end::gathering::{TestCollector, logs_in};
use end_to_end::lab::{HostLab, LabClock, LabHost};
use message_trace::{ClockExchange, DataDir, MessageTrace, TransportProtocol, clock_exchange};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

const SECOND: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

/// Answers one client.
const SERVER: &str = r#"
import socket
server = socket.create_server(("0.0.0.0", 7000))
peer = server.accept()[0]
while data := peer.recv(100):
    peer.sendall(data)
"#;

/// Sends requests until the machine's monotonic clock shows the given time, with the given wait
/// before each.
const CLIENT: &str = r#"
import socket, sys, time
peer = socket.create_connection((sys.argv[2], 7000))
while time.monotonic_ns() < int(sys.argv[1]):
    peer.sendall(b"question")
    assert peer.recv(100) == b"question"
    time.sleep(float(sys.argv[3]))
"#;

fn clock_time(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * SECOND + time.tv_nsec
}

/// The run, in the machine's monotonic time, and its difference to the wall clock.
struct ClockRun {
    begin: i64,
    end: i64,
    boot: i64,
    boot_id: [u8; 16],
}

impl ClockRun {
    /// The time that a clock showed.
    fn shown_time(&self, clock: &LabClock, at: i64) -> i64 {
        self.boot + at + clock.ahead_at(at)
    }

    /// Writes the exchanges of a host with the collector, ten per second. Each took as long as
    /// `delays` in the two directions, and some longer. The clock was ahead by `off` of its correct
    /// value.
    fn write_hints(&self, data: &DataDir, host: &LabHost, delays: [i64; 2], off: i64) {
        // Another clock that no other host has, set in the middle.
        let middle = self.begin + (self.end - self.begin) / 2;
        let collector = LabClock {
            steps: vec![(middle, -40 * SECOND)],
            ..LabClock::new(-9 * 3600 * SECOND, -30)
        };
        let mut lines = format!("{}\n", clock_exchange::HEADER_LINE);
        for (number, at) in (self.begin..self.end).step_by(SECOND as usize / 10).enumerate() {
            let [there, back] = delays
                .map(|delay| delay + number as i64 * 7_919 % 23 * MS * i64::from(number % 4 > 0));
            let (received, answered) = (at + there, at + there + 30_000);
            let exchange = ClockExchange {
                boot: self.boot_id,
                host_sent: self.shown_time(&host.clock(), at) + off,
                collector_received: self.shown_time(&collector, received),
                collector_sent: self.shown_time(&collector, answered),
                host_received: self.shown_time(&host.clock(), answered + back) + off,
            };
            lines += &format!("{exchange}\n");
        }
        // From an earlier boot, garbage, and a line that the collector did not finish.
        let other = ClockExchange {
            boot: [9; 16],
            host_received: 5,
            collector_sent: 1,
            ..ClockExchange::default()
        };
        lines += &format!("{other}\nwhat is this?\n\0\u{1}{}", &other.to_string()[..40]);
        fs::write(data.clock_hints_path(host.name()), lines).unwrap();
    }
}

fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let digits: Vec<u8> =
        text.chars().filter_map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    bytes.try_into().unwrap()
}

fn find_clock<'a>(clocks: &'a ClockModel, host: &LabHost) -> &'a HostClock {
    clocks.hosts.iter().find(|clock| clock.host == host.name()).unwrap()
}

#[test]
fn two_pairs_that_only_the_collector_connects() {
    joined_by_the_collector(6, ["0.004", "0.02"], "answerer");
}

/// The common clock is the one that was set, as if it had not been.
#[test]
fn two_pairs_and_the_reference_is_set() {
    joined_by_the_collector(8, ["0.02", "0.004"], "far-answerer");
}

/// Two pairs. The one with shorter waits between requests is connected better and has the
/// reference.
fn joined_by_the_collector(network: u8, waits: [&str; 2], reference: &str) {
    let mut lab = HostLab::new();
    let network = lab.add_network(network);
    let mut hosts =
        ["asker", "answerer", "far-asker", "far-answerer"].map(|name| lab.add_host(name, network));
    // One clock is set during the run, as its log records.
    let steps = vec![(clock_time(ClockId::Monotonic) + 4 * SECOND, 5 * SECOND / 2)];
    let clocks = [
        LabClock::new(3600 * SECOND, 100),
        LabClock::new(-47 * 60 * SECOND, -150),
        LabClock::new(17, 60),
        LabClock { steps, ..LabClock::new(5 * 3600 * SECOND, 20) },
    ];
    hosts.iter_mut().zip(clocks).for_each(|(host, clock)| host.set_clock(clock));
    let [asker, answerer, far_asker, far_answerer] = &hosts;
    let servers = [answerer, far_answerer].map(|host| {
        host.start_server(host.recorded_command(python_path()).args(["-c", SERVER]), &["tcp:7000"])
    });
    let begin = clock_time(ClockId::Monotonic);
    let until = (begin + 8 * SECOND).to_string();
    let pairs = [(asker, answerer, waits[0]), (far_asker, far_answerer, waits[1])];
    let clients = pairs.map(|(host, peer, wait)| {
        host.start_program(host.recorded_command(python_path()).args([
            "-c",
            CLIENT,
            &until,
            &peer.first_ipv4().to_string(),
            wait,
        ]))
    });
    for client in clients {
        client.wait_success();
    }
    let end = clock_time(ClockId::Monotonic);
    for server in servers {
        server.wait_success();
    }
    let boot = clock_time(ClockId::Realtime) - clock_time(ClockId::Monotonic);
    let run_of = ClockRun { begin, end, boot, boot_id: boot_id() };

    // By messages alone the pairs are separate.
    let data = DataDir::new(lab.recording.data_dir());
    let at = lab.file_path("");
    let directory = data.path().to_str().unwrap();
    assert_succeeds(&["reconcile", "-d", directory], &at);
    let apart = ClockModel::read(data.clocks_path()).unwrap();
    assert_eq!(apart.reference, reference);
    let [pair, other] = if apart.reference == answerer.name() {
        [[asker, answerer], [far_asker, far_answerer]]
    } else {
        [[far_asker, far_answerer], [asker, answerer]]
    };
    assert!(
        pair.iter().all(|host| find_clock(&apart, host).against == apart.reference),
        "{apart:#?}"
    );
    assert!(
        other.iter().all(|host| find_clock(&apart, host).against == apart_from(&apart, other)),
        "{apart:#?}"
    );
    assert!(!fs::read_to_string(data.clocks_path()).unwrap().contains("hints"));

    // Exchanges written by the collector make nothing out of date by themselves.
    let delays = [[2 * MS, 5 * MS], [4 * MS, MS], [3 * MS, 3 * MS], [MS, 6 * MS]];
    hosts.iter().zip(delays).for_each(|(host, delays)| run_of.write_hints(&data, host, delays, 0));
    let written = DataDir::modified_time(&data.messages_path());
    assert_succeeds(&["analyze", "-d", directory], &at);
    assert_eq!(DataDir::modified_time(&data.messages_path()), written);

    // From then on all are on one clock. Hosts connected by messages are as before.
    let output = run_sockcap(&["reconcile", "-d", directory], &at);
    assert!(output.status.success() && !to_text(&output.stderr).contains("disagree"), "{output:?}");
    let joined = ClockModel::read(data.clocks_path()).unwrap();
    assert_eq!(joined.reference, apart.reference);
    for host in pair {
        assert_eq!(
            HostClock { hints: None, ..find_clock(&joined, host).clone() },
            *find_clock(&apart, host)
        );
    }
    for host in other {
        assert_eq!(find_clock(&joined, host).source, ClockSource::Hints, "{joined:#?}");
    }
    let reference = hosts.iter().find(|host| host.name() == joined.reference).unwrap().clock();
    let never_set = LabClock { steps: Vec::new(), ..reference };
    for (host, delays) in hosts.iter().zip(delays) {
        let clock = find_clock(&joined, host);
        assert_eq!(clock.against, joined.reference);
        let hinted = clock.hints.as_ref().unwrap();
        // By its own clock, which may run 150 ppm too fast or slow.
        let round_trip = hinted.round_trip_ns - delays[0] - delays[1];
        assert!(hinted.damaged == 2 && round_trip.abs() < 2_000, "{hinted:?}");
        assert!(hinted.exchanges >= 70 && hinted.left_out >= 1, "{hinted:?}");
        let errors = [begin, begin + SECOND, end - SECOND, end].map(|at| {
            clock.common_time(run_of.shown_time(&host.clock(), at))
                - run_of.shown_time(&never_set, at)
        });
        let stated = clock.uncertainty_ns.unwrap();
        println!("{}: off by {errors:?} ns of at most {stated}", host.name());
        // The step of a clock is known as precisely as it and the monotonic clock are read
        // together.
        let read = if host.clock().steps.is_empty() { 0 } else { 20_000 };
        assert!(
            errors.iter().all(|error| error.abs() <= stated + read),
            "{errors:?} of {stated}: {clock:#?}"
        );
        assert!(stated < 30 * MS, "{clock:#?}");
    }
    // So are the messages.
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let span =
        run_of.shown_time(&never_set, begin) - SECOND..run_of.shown_time(&never_set, end) + SECOND;
    assert!(trace.len() > 200);
    // A name lookup has a time at one end only.
    for message in trace.messages().filter(|message| message.protocol != TransportProtocol::Other) {
        assert!(
            span.contains(&message.send_ts.unwrap()) && span.contains(&message.recv_ts.unwrap()),
            "{message:?}"
        );
    }
    let info = run_successfully(
        Command::new(end_to_end::sockcap_program()).arg("info").arg("-d").arg(data.path()),
    );
    assert!(info.contains("exchanges with the collector") && !info.contains("disagree"), "{info}");
    assert!(!info.contains("record a host that communicates with both"), "{info}");

    contradiction_is_reported(&run_of, &data, &at, pair, &joined);
}

/// Clock hints from real exchanges between shippers and a collector, over the pairs' network.
#[test]
fn exchanges_of_shippers_and_collector_join_pairs() {
    let mut lab = HostLab::new();
    let network = lab.add_network(7);
    let gatherer = lab.add_host("gatherer", network);
    let mut hosts =
        ["asker", "answerer", "far-asker", "far-answerer"].map(|name| lab.add_host(name, network));
    let collector =
        TestCollector::new(&gatherer, &lab.file_path(""), &hosts.each_ref().map(LabHost::name));
    let clocks = [(3600, 100), (-47 * 60, -150), (0, 60), (5 * 3600, 20)];
    hosts
        .iter_mut()
        .zip(clocks)
        .for_each(|(host, (off, skew))| host.set_clock(LabClock::new(off * SECOND, skew)));
    let [asker, answerer, far_asker, far_answerer] = &hosts;
    let gathering = collector.start_collector();
    let data = lab.recording.data_dir();
    let shippers = hosts.each_ref().map(|host| {
        let mut command = collector.ship_command(host, &data, &["--follow", "--interval", "50ms"]);
        host.apply_settings(&mut command);
        host.start_program(&mut command)
    });
    let servers = [answerer, far_answerer].map(|host| {
        host.start_server(host.recorded_command(python_path()).args(["-c", SERVER]), &["tcp:7000"])
    });
    let begin = clock_time(ClockId::Monotonic);
    // One exchange comes after the beginning.
    let until = (begin + 11 * SECOND).to_string();
    let clients = [(asker, answerer), (far_asker, far_answerer)].map(|(host, peer)| {
        host.start_program(host.recorded_command(python_path()).args([
            "-c",
            CLIENT,
            &until,
            &peer.first_ipv4().to_string(),
            "0.004",
        ]))
    });
    clients.into_iter().chain(servers).for_each(|running| drop(running.wait_success()));
    let end = clock_time(ClockId::Monotonic);
    for (host, shipper) in hosts.iter().zip(shippers) {
        collector.wait_for(host, &logs_in(&data.join("hosts").join(host.name())));
        shipper.stop_by(Signal::TERM);
    }
    gathering.stop_by(Signal::TERM);
    let boot = clock_time(ClockId::Realtime) - clock_time(ClockId::Monotonic);
    let run_of = ClockRun { begin, end, boot, boot_id: boot_id() };
    let gathered = DataDir::new(&collector.data);
    let said =
        run_sockcap(&["reconcile", "-d", collector.data.to_str().unwrap()], &lab.file_path(""));
    assert!(said.status.success() && !to_text(&said.stderr).contains("disagree"), "{said:?}");
    let joined = ClockModel::read(gathered.clocks_path()).unwrap();
    let reference = hosts.iter().find(|host| host.name() == joined.reference).unwrap();
    let by_hints =
        hosts.iter().filter(|host| find_clock(&joined, host).source == ClockSource::Hints).count();
    assert_eq!(by_hints, 2, "{joined:#?}");
    for host in &hosts {
        let clock = find_clock(&joined, host);
        assert_eq!(clock.against, joined.reference);
        let errors = [begin, end].map(|at| {
            clock.common_time(run_of.shown_time(&host.clock(), at))
                - run_of.shown_time(&reference.clock(), at)
        });
        let stated = clock.uncertainty_ns.unwrap();
        println!("{}: off by {errors:?} ns of at most {stated}", host.name());
        assert!(
            errors.iter().all(|error| error.abs() <= stated),
            "{errors:?} of {stated}: {clock:#?}"
        );
    }
}

/// The host that the hosts of a pair are compared with.
fn apart_from(clocks: &ClockModel, pair: [&LabHost; 2]) -> String {
    let against = find_clock(clocks, pair[0]).against.clone();
    assert!(against != clocks.reference && pair.iter().any(|host| host.name() == against));
    against
}

/// The exchanges of one host are from another clock, 80 ms ahead: that is reported, and no clock of
/// its pair changes.
fn contradiction_is_reported(
    run_of: &ClockRun,
    data: &DataDir,
    at: &Path,
    pair: [&LabHost; 2],
    joined: &ClockModel,
) {
    let [wrong] =
        pair.iter().filter(|host| host.name() != joined.reference).collect::<Vec<_>>()[..]
    else {
        panic!("one of them is the reference")
    };
    run_of.write_hints(data, wrong, [MS, 6 * MS], 80 * MS);
    let directory = data.path().to_str().unwrap();
    // Of two, none has a majority: neither is used.
    let words = "disagree about the clocks of 2 hosts";
    let output = run_sockcap(&["reconcile", "-d", directory], at);
    assert!(to_text(&output.stderr).contains(words), "{output:?}");
    let clocks = ClockModel::read(data.clocks_path()).unwrap();
    let (before, now) = (find_clock(joined, wrong), find_clock(&clocks, wrong));
    assert_eq!(HostClock { hints: before.hints.clone(), ..now.clone() }, *before);
    let check = now.hints.as_ref().unwrap().check.as_ref().unwrap();
    assert!(
        check.contradicts && (check.difference_ns.abs() - 80 * MS).abs() < check.within_ns,
        "{check:?}"
    );
    assert!(assert_succeeds(&["info", "-d", directory], at).contains(words));
    assert_succeeds(&["report", "-d", directory], at);
    assert!(fs::read_to_string(data.html_path()).unwrap().contains(words));
}
