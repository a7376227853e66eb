//! Two pairs of hosts that never talk across: what they exchanged with a collector tells how their
//! clocks differ. Without that they stand apart, and what they exchange later makes no result out
//! of date.

use std::fs;
use std::path::Path;
use std::process::Command;

use clocks::Clocks;
use clocks::{HostClock, Source};
use end_to_end::capture::{python, successful};
use end_to_end::command::{run, succeeds, text};
use end_to_end::gathering::{Collector, logs};
use end_to_end::lab::{Clock, Host, Lab};
use message_trace::{ClockExchange, DataDir, MessageTrace, Protocol, clock_exchange};
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

/// Asks until the machine's monotonic clock shows the time that it is told, and waits each time as
/// long as it is told.
const CLIENT: &str = r#"
import socket, sys, time
peer = socket.create_connection((sys.argv[2], 7000))
while time.monotonic_ns() < int(sys.argv[1]):
    peer.sendall(b"question")
    assert peer.recv(100) == b"question"
    time.sleep(float(sys.argv[3]))
"#;

fn nanoseconds(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * SECOND + time.tv_nsec
}

/// The run, in the machine's monotonic time, and what that is behind the wall clock.
struct Run {
    begin: i64,
    end: i64,
    boot: i64,
    boot_id: [u8; 16],
}

impl Run {
    /// What a clock showed.
    fn shown(&self, clock: &Clock, at: i64) -> i64 {
        self.boot + at + clock.ahead(at)
    }

    /// Writes what a host exchanged with the collector ten times a second. Each took as long as
    /// `delays` say there and back, and some longer. The clock was ahead by `off` of what it should
    /// have been.
    fn write_hints(&self, data: &DataDir, host: &Host, delays: [i64; 2], off: i64) {
        // Another clock that nobody else has, set in the middle.
        let middle = self.begin + (self.end - self.begin) / 2;
        let collector =
            Clock { steps: vec![(middle, -40 * SECOND)], ..Clock::new(-9 * 3600 * SECOND, -30) };
        let mut lines = format!("{}\n", clock_exchange::HEAD);
        for (number, at) in (self.begin..self.end).step_by(SECOND as usize / 10).enumerate() {
            let [there, back] = delays
                .map(|delay| delay + number as i64 * 7_919 % 23 * MS * i64::from(number % 4 > 0));
            let (received, answered) = (at + there, at + there + 30_000);
            let exchange = ClockExchange {
                boot: self.boot_id,
                host_sent: self.shown(&host.clock(), at) + off,
                collector_received: self.shown(&collector, received),
                collector_sent: self.shown(&collector, answered),
                host_received: self.shown(&host.clock(), answered + back) + off,
            };
            lines += &format!("{exchange}\n");
        }
        // Of an earlier boot, garbage, and a line that the collector did not finish.
        let other = ClockExchange {
            boot: [9; 16],
            host_received: 5,
            collector_sent: 1,
            ..ClockExchange::default()
        };
        lines += &format!("{other}\nwhat is this?\n\0\u{1}{}", &other.to_string()[..40]);
        fs::write(data.clock_hints(host.name()), lines).unwrap();
    }
}

fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let digits: Vec<u8> =
        text.chars().filter_map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    bytes.try_into().unwrap()
}

fn found<'a>(clocks: &'a Clocks, host: &Host) -> &'a HostClock {
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

/// Two pairs. The one that waits less between questions is connected better and has the reference.
fn joined_by_the_collector(network: u8, waits: [&str; 2], reference: &str) {
    let mut lab = Lab::new();
    let network = lab.network(network);
    let mut hosts =
        ["asker", "answerer", "far-asker", "far-answerer"].map(|name| lab.host(name, network));
    // One is set while all goes on, which its log tells.
    let steps = vec![(nanoseconds(ClockId::Monotonic) + 4 * SECOND, 5 * SECOND / 2)];
    let clocks = [
        Clock::new(3600 * SECOND, 100),
        Clock::new(-47 * 60 * SECOND, -150),
        Clock::new(17, 60),
        Clock { steps, ..Clock::new(5 * 3600 * SECOND, 20) },
    ];
    hosts.iter_mut().zip(clocks).for_each(|(host, clock)| host.set_clock(clock));
    let [asker, answerer, far_asker, far_answerer] = &hosts;
    let servers = [answerer, far_answerer]
        .map(|host| host.serve(host.recorded(python()).args(["-c", SERVER]), &["tcp:7000"]));
    let begin = nanoseconds(ClockId::Monotonic);
    let until = (begin + 8 * SECOND).to_string();
    let pairs = [(asker, answerer, waits[0]), (far_asker, far_answerer, waits[1])];
    let clients = pairs.map(|(host, peer, wait)| {
        host.start(host.recorded(python()).args([
            "-c",
            CLIENT,
            &until,
            &peer.v4().to_string(),
            wait,
        ]))
    });
    for client in clients {
        client.finish();
    }
    let end = nanoseconds(ClockId::Monotonic);
    for server in servers {
        server.finish();
    }
    let boot = nanoseconds(ClockId::Realtime) - nanoseconds(ClockId::Monotonic);
    let run_of = Run { begin, end, boot, boot_id: boot_id() };

    // By messages alone the pairs stand apart.
    let data = DataDir::new(lab.recording.data());
    let at = lab.file("");
    let directory = data.path().to_str().unwrap();
    succeeds(&["reconcile", "-d", directory], &at);
    let apart = Clocks::read(data.clocks()).unwrap();
    assert_eq!(apart.reference, reference);
    let [pair, other] = if apart.reference == answerer.name() {
        [[asker, answerer], [far_asker, far_answerer]]
    } else {
        [[far_asker, far_answerer], [asker, answerer]]
    };
    assert!(pair.iter().all(|host| found(&apart, host).against == apart.reference), "{apart:#?}");
    assert!(
        other.iter().all(|host| found(&apart, host).against == apart_from(&apart, other)),
        "{apart:#?}"
    );
    assert!(!fs::read_to_string(data.clocks()).unwrap().contains("hints"));

    // What the collector wrote makes nothing out of date by itself.
    let delays = [[2 * MS, 5 * MS], [4 * MS, MS], [3 * MS, 3 * MS], [MS, 6 * MS]];
    hosts.iter().zip(delays).for_each(|(host, delays)| run_of.write_hints(&data, host, delays, 0));
    let written = DataDir::written(&data.messages());
    succeeds(&["analyze", "-d", directory], &at);
    assert_eq!(DataDir::written(&data.messages()), written);

    // From then on all are on one clock. What messages connect is as it was.
    let output = run(&["reconcile", "-d", directory], &at);
    assert!(output.status.success() && !text(&output.stderr).contains("disagree"), "{output:?}");
    let joined = Clocks::read(data.clocks()).unwrap();
    assert_eq!(joined.reference, apart.reference);
    for host in pair {
        assert_eq!(HostClock { hints: None, ..found(&joined, host).clone() }, *found(&apart, host));
    }
    for host in other {
        assert_eq!(found(&joined, host).source, Source::Hints, "{joined:#?}");
    }
    let reference = hosts.iter().find(|host| host.name() == joined.reference).unwrap().clock();
    let never_set = Clock { steps: Vec::new(), ..reference };
    for (host, delays) in hosts.iter().zip(delays) {
        let clock = found(&joined, host);
        assert_eq!(clock.against, joined.reference);
        let hinted = clock.hints.as_ref().unwrap();
        // By its own clock, which may run 150 ppm too fast or slow.
        let round_trip = hinted.round_trip_ns - delays[0] - delays[1];
        assert!(hinted.damaged == 2 && round_trip.abs() < 2_000, "{hinted:?}");
        assert!(hinted.exchanges >= 70 && hinted.left_out >= 1, "{hinted:?}");
        let errors = [begin, begin + SECOND, end - SECOND, end]
            .map(|at| clock.common(run_of.shown(&host.clock(), at)) - run_of.shown(&never_set, at));
        let stated = clock.uncertainty_ns.unwrap();
        println!("{}: off by {errors:?} ns of at most {stated}", host.name());
        // By how much a clock was set is known as exactly as it and the monotonic one are read
        // together.
        let read = if host.clock().steps.is_empty() { 0 } else { 20_000 };
        assert!(
            errors.iter().all(|error| error.abs() <= stated + read),
            "{errors:?} of {stated}: {clock:#?}"
        );
        assert!(stated < 30 * MS, "{clock:#?}");
    }
    // So are the messages.
    let trace = MessageTrace::read(data.messages(), data.nodes()).unwrap();
    let span = run_of.shown(&never_set, begin) - SECOND..run_of.shown(&never_set, end) + SECOND;
    assert!(trace.len() > 200);
    // A lookup of a name has a time at one end only.
    for message in trace.messages().filter(|message| message.protocol != Protocol::Other) {
        assert!(
            span.contains(&message.send_ts.unwrap()) && span.contains(&message.recv_ts.unwrap()),
            "{message:?}"
        );
    }
    let info =
        successful(Command::new(end_to_end::sockcap()).arg("info").arg("-d").arg(data.path()));
    assert!(info.contains("exchanges with the collector") && !info.contains("disagree"), "{info}");
    assert!(!info.contains("record a host that talks to both"), "{info}");

    a_contradiction_is_told(&run_of, &data, &at, pair, &joined);
}

/// The same with what shippers and a collector really exchange, over the pairs' network.
#[test]
fn what_shippers_and_collector_exchange_joins_pairs() {
    let mut lab = Lab::new();
    let network = lab.network(7);
    let gatherer = lab.host("gatherer", network);
    let mut hosts =
        ["asker", "answerer", "far-asker", "far-answerer"].map(|name| lab.host(name, network));
    let collector = Collector::new(&gatherer, &lab.file(""), &hosts.each_ref().map(Host::name));
    let clocks = [(3600, 100), (-47 * 60, -150), (0, 60), (5 * 3600, 20)];
    hosts
        .iter_mut()
        .zip(clocks)
        .for_each(|(host, (off, skew))| host.set_clock(Clock::new(off * SECOND, skew)));
    let [asker, answerer, far_asker, far_answerer] = &hosts;
    let gathering = collector.start();
    let data = lab.recording.data();
    let shippers = hosts.each_ref().map(|host| {
        let mut command = collector.ship(host, &data, &["--follow", "--interval", "50ms"]);
        host.settings(&mut command);
        host.start(&mut command)
    });
    let servers = [answerer, far_answerer]
        .map(|host| host.serve(host.recorded(python()).args(["-c", SERVER]), &["tcp:7000"]));
    let begin = nanoseconds(ClockId::Monotonic);
    // One exchange comes behind the beginning.
    let until = (begin + 11 * SECOND).to_string();
    let clients = [(asker, answerer), (far_asker, far_answerer)].map(|(host, peer)| {
        host.start(host.recorded(python()).args([
            "-c",
            CLIENT,
            &until,
            &peer.v4().to_string(),
            "0.004",
        ]))
    });
    clients.into_iter().chain(servers).for_each(|running| drop(running.finish()));
    let end = nanoseconds(ClockId::Monotonic);
    for (host, shipper) in hosts.iter().zip(shippers) {
        collector.wait_for(host, &logs(&data.join("hosts").join(host.name())));
        shipper.stop(Signal::TERM);
    }
    gathering.stop(Signal::TERM);
    let boot = nanoseconds(ClockId::Realtime) - nanoseconds(ClockId::Monotonic);
    let run_of = Run { begin, end, boot, boot_id: boot_id() };
    let gathered = DataDir::new(&collector.data);
    let said = run(&["reconcile", "-d", collector.data.to_str().unwrap()], &lab.file(""));
    assert!(said.status.success() && !text(&said.stderr).contains("disagree"), "{said:?}");
    let joined = Clocks::read(gathered.clocks()).unwrap();
    let reference = hosts.iter().find(|host| host.name() == joined.reference).unwrap();
    let by_hints = hosts.iter().filter(|host| found(&joined, host).source == Source::Hints).count();
    assert_eq!(by_hints, 2, "{joined:#?}");
    for host in &hosts {
        let clock = found(&joined, host);
        assert_eq!(clock.against, joined.reference);
        let errors = [begin, end].map(|at| {
            clock.common(run_of.shown(&host.clock(), at)) - run_of.shown(&reference.clock(), at)
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
fn apart_from(clocks: &Clocks, pair: [&Host; 2]) -> String {
    let against = found(clocks, pair[0]).against.clone();
    assert!(against != clocks.reference && pair.iter().any(|host| host.name() == against));
    against
}

/// What one host exchanged is of another clock, 80 ms ahead: that is told, and no clock of its pair
/// is another.
fn a_contradiction_is_told(
    run_of: &Run,
    data: &DataDir,
    at: &Path,
    pair: [&Host; 2],
    joined: &Clocks,
) {
    let [wrong] =
        pair.iter().filter(|host| host.name() != joined.reference).collect::<Vec<_>>()[..]
    else {
        panic!("one of them is the reference")
    };
    run_of.write_hints(data, wrong, [MS, 6 * MS], 80 * MS);
    let directory = data.path().to_str().unwrap();
    // Of two, none has a majority: nobody is believed.
    let told = "disagree about the clocks of 2 hosts";
    let output = run(&["reconcile", "-d", directory], at);
    assert!(text(&output.stderr).contains(told), "{output:?}");
    let clocks = Clocks::read(data.clocks()).unwrap();
    let (before, now) = (found(joined, wrong), found(&clocks, wrong));
    assert_eq!(HostClock { hints: before.hints.clone(), ..now.clone() }, *before);
    let check = now.hints.as_ref().unwrap().check.as_ref().unwrap();
    assert!(
        check.contradicts && (check.difference_ns.abs() - 80 * MS).abs() < check.within_ns,
        "{check:?}"
    );
    assert!(succeeds(&["info", "-d", directory], at).contains(told));
    succeeds(&["report", "-d", directory], at);
    assert!(fs::read_to_string(data.html()).unwrap().contains(told));
}
