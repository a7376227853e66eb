//! The system of six hosts, one run of it, and what is known of the run from elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::time::Instant;

use end_to_end::capture::{Recording, program, python, successful};
use end_to_end::lab::{Clock, Host, Lab, Running};
use end_to_end::{repository, wire};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

/// For how long there is traffic.
const SECONDS: &str = "60";
const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3600 * SECOND;

/// The hosts, their clocks, and whether they are among the third that is not traced in the second
/// reconciliation.
pub(crate) const HOSTS: [(&str, i64, i32, bool); 6] = [
    ("client", 3 * HOUR, 150, false),
    ("front", -47 * 60 * SECOND, -200, true),
    ("app", 250_000_000, 0, false),
    ("store", 5 * HOUR + 17, 200, false),
    ("names", -2 * HOUR, -80, true),
    ("second", 31 * SECOND, 37, false),
];

/// What the run left, and what is known of it from elsewhere.
pub(crate) struct Run {
    pub(crate) recording: Recording,
    pub(crate) hosts: Vec<Host>,
    /// From and to when it was under way, by the machine's `CLOCK_MONOTONIC`.
    pub(crate) monotonic: (i64, i64),
    /// The machine's wall clock when `CLOCK_MONOTONIC` was 0.
    pub(crate) boot: i64,
    pub(crate) tcp: wire::Bytes,
    /// Received and sent, by host.
    pub(crate) udp: Vec<[wire::Count; 2]>,
    /// Sent and received, by the kind of socket, as the application counted.
    pub(crate) unix: BTreeMap<String, [u64; 2]>,
}

fn nanoseconds(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * SECOND + time.tv_nsec
}

/// Runs the system.
pub(crate) fn run() -> Run {
    let mut lab = Lab::new();
    let network = lab.network(4);
    let mut hosts: Vec<Host> = HOSTS.iter().map(|(name, ..)| lab.host(name, network)).collect();
    for (host, (_, offset, skew, _)) in hosts.iter_mut().zip(HOSTS) {
        host.set_clock(Clock::new(offset, skew));
    }
    let second_address: IpAddr = "10.4.7.7".parse().unwrap();
    hosts[2].add(second_address, "eth0", 16);
    let [client, front, app, store, names, second] = &hosts[..] else { panic!("six hosts") };
    let captures: Vec<_> = hosts
        .iter()
        .map(|host| {
            wire::count_datagrams(host);
            let file = lab.file(&format!("{}.pcap", host.name()));
            (host.tcpdump_of("eth0", &file, wire::ENDS), file)
        })
        .collect();

    let sockets = lab.file("sockets");
    fs::create_dir(&sockets).unwrap();
    let role = |host: &Host, arguments: &[&str]| {
        let mut command = host.recorded(python());
        command.arg(repository().join("tests/programs/many_hosts.py")).args(arguments);
        command
    };
    let mut servers: Vec<Running> = Vec::new();
    let redis =
        ["--save", "", "--appendonly", "no", "--bind", "*", "-::*", "--protected-mode", "no"];
    servers.push(store.serve(store.recorded(program("redis-server")).args(redis), &["tcp:6379"]));
    let dnsmasq = [
        "--keep-in-foreground",
        "--no-resolv",
        "--no-hosts",
        "--address=/test/10.4.9.9",
        "--user=root",
    ];
    servers.push(
        names.serve(
            names
                .recorded(program("dnsmasq"))
                .args(dnsmasq)
                .args(["--conf-file=/dev/null", "--pid-file="]),
            &["udp:53"],
        ),
    );
    let memcached = ["-u", "root", "-U", "11211", "-p", "0", "-l", "0.0.0.0", "-t", "2"];
    servers.push(names.serve(names.recorded(program("memcached")).args(memcached), &["udp:11211"]));
    servers.push(second.serve(&mut role(second, &["echo"]), &["udp:7000"]));
    let directory = sockets.to_str().unwrap();
    let helper =
        app.serve(&mut role(app, &["helper", directory]), &[&format!("unix:{directory}/datagram")]);
    let redis = format!("{},{}", store.v4(), store.v6());
    let echo = format!("::ffff:{},{}", second.v4(), second.v6());
    let application = app.serve(
        &mut role(app, &["app", &redis, &names.v4().to_string(), &echo, directory]),
        &["tcp:8080"],
    );
    let configuration = lab.file("haproxy.conf");
    let text = format!(
        "global\n maxconn 100\ndefaults\n mode http\n timeout connect 30s\n timeout client 30s\n timeout server 30s\n\
         frontend f\n bind 0.0.0.0:8000\n bind :::8000 v6only\n default_backend b\n\
         backend b\n server app {}:8080\n",
        app.v4()
    );
    fs::write(&configuration, text).unwrap();
    let proxy = front
        .serve(front.recorded(program("haproxy")).arg("-f").arg(&configuration), &["tcp:8000"]);

    let begin = nanoseconds(ClockId::Monotonic);
    let (front_v4, front_v6) = (front.v4().to_string(), front.v6().to_string());
    let asking = [
        client.start(&mut role(
            client,
            &["client", SECONDS, &front_v4, &front_v6, &app.v4().to_string()],
        )),
        second.start(&mut role(second, &["direct", SECONDS, "10.4.7.7", &names.v4().to_string()])),
    ];
    // A program for each request.
    let urls =
        [format!("http://[{front_v6}]:8000/keep"), format!("http://{}/beside", app.at(8080))];
    let started = Instant::now();
    while started.elapsed().as_secs() + 5 < SECONDS.parse().unwrap() {
        successful(
            client.recorded(program("curl")).args(["-sSf", "--output", "/dev/null"]).arg(&urls[0]),
        );
        successful(
            client.recorded(program("curl")).args(["-sSf", "--output", "/dev/null"]).arg(&urls[1]),
        );
        std::thread::sleep(std::time::Duration::from_secs(2));
    }
    for program in asking {
        program.finish();
    }
    // Those that ask before those that answer.
    proxy.stop(Signal::USR1);
    let counted = application.stop(Signal::TERM);
    helper.stop(Signal::TERM);
    for server in servers {
        server.stop(Signal::TERM);
    }
    let end = nanoseconds(ClockId::Monotonic);
    // What ends the captures is counted as well.
    let udp = hosts.iter().map(wire::datagrams).collect();
    let files: Vec<_> = captures
        .into_iter()
        .map(|(capture, file)| {
            capture.stop();
            file
        })
        .collect();
    let boot = (0..100)
        .map(|_| nanoseconds(ClockId::Realtime) - nanoseconds(ClockId::Monotonic))
        .max()
        .unwrap();
    Run {
        tcp: wire::tcp_bytes(files.iter().map(|file| file.as_path())),
        udp,
        unix: unix_counts(&counted),
        recording: lab.into_recording(),
        hosts,
        monotonic: (begin, end),
        boot,
    }
}

/// Reads `{"pair": [1, 2], "stream": [3, 4]}`.
fn unix_counts(text: &str) -> BTreeMap<String, [u64; 2]> {
    let text = text.lines().next_back().unwrap_or_default();
    let entries = text.trim_matches(['{', '}']).split("], ");
    let entry = |entry: &str| {
        let (name, numbers) = entry.split_once(": [")?;
        let (sent, received) = numbers.trim_end_matches(']').split_once(", ")?;
        Some((name.trim_matches('"').to_owned(), [sent.parse().ok()?, received.parse().ok()?]))
    };
    let counts: BTreeMap<_, _> = entries.filter_map(entry).collect();
    assert_eq!(counts.len(), 5, "{text}");
    counts
}
