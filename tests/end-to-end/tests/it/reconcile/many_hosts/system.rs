//! The system of six hosts, one run of it, and independent facts about the run.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::time::Instant;

use end_to_end::capture::{TestRecording, program_path, python_path, run_successfully};
use end_to_end::lab::{HostLab, LabClock, LabHost, RunningProgram};
use end_to_end::{repository, wire};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

/// Duration of the traffic.
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

/// The results of the run, and independent facts about it.
pub(crate) struct ManyHostsRun {
    pub(crate) recording: TestRecording,
    pub(crate) hosts: Vec<LabHost>,
    /// Start and end of the run, by the machine's `CLOCK_MONOTONIC`.
    pub(crate) monotonic: (i64, i64),
    /// The machine's wall clock when `CLOCK_MONOTONIC` was 0.
    pub(crate) boot: i64,
    pub(crate) tcp: wire::ConnectionBytes,
    /// Received and sent, by host.
    pub(crate) udp: Vec<[wire::DatagramTotals; 2]>,
    /// Sent and received, by the kind of socket, as the application counted.
    pub(crate) unix: BTreeMap<String, [u64; 2]>,
}

fn clock_time(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * SECOND + time.tv_nsec
}

/// Runs the system.
pub(crate) fn run_system() -> ManyHostsRun {
    let mut lab = HostLab::new();
    let network = lab.add_network(4);
    let mut hosts: Vec<LabHost> =
        HOSTS.iter().map(|(name, ..)| lab.add_host(name, network)).collect();
    for (host, (_, offset, skew, _)) in hosts.iter_mut().zip(HOSTS) {
        host.set_clock(LabClock::new(offset, skew));
    }
    let second_address: IpAddr = "10.4.7.7".parse().unwrap();
    hosts[2].add_address(second_address, "eth0", 16);
    let [client, front, app, store, names, second] = &hosts[..] else { panic!("six hosts") };
    let captures: Vec<_> = hosts
        .iter()
        .map(|host| {
            wire::count_datagrams(host);
            let file = lab.file_path(&format!("{}.pcap", host.name()));
            (host.capture_filtered("eth0", &file, wire::CONNECTION_ENDS), file)
        })
        .collect();

    let sockets = lab.file_path("sockets");
    fs::create_dir(&sockets).unwrap();
    let role = |host: &LabHost, arguments: &[&str]| {
        let mut command = host.recorded_command(python_path());
        command.arg(repository().join("tests/programs/many_hosts.py")).args(arguments);
        command
    };
    let mut servers: Vec<RunningProgram> = Vec::new();
    let redis =
        ["--save", "", "--appendonly", "no", "--bind", "*", "-::*", "--protected-mode", "no"];
    servers.push(store.start_server(
        store.recorded_command(program_path("redis-server")).args(redis),
        &["tcp:6379"],
    ));
    let dnsmasq = [
        "--keep-in-foreground",
        "--no-resolv",
        "--no-hosts",
        "--address=/test/10.4.9.9",
        "--user=root",
    ];
    servers.push(
        names.start_server(
            names
                .recorded_command(program_path("dnsmasq"))
                .args(dnsmasq)
                .args(["--conf-file=/dev/null", "--pid-file="]),
            &["udp:53"],
        ),
    );
    let memcached = ["-u", "root", "-U", "11211", "-p", "0", "-l", "0.0.0.0", "-t", "2"];
    servers.push(names.start_server(
        names.recorded_command(program_path("memcached")).args(memcached),
        &["udp:11211"],
    ));
    servers.push(second.start_server(&mut role(second, &["echo"]), &["udp:7000"]));
    let directory = sockets.to_str().unwrap();
    let helper = app.start_server(
        &mut role(app, &["helper", directory]),
        &[&format!("unix:{directory}/datagram")],
    );
    let redis = format!("{},{}", store.first_ipv4(), store.first_ipv6());
    let echo = format!("::ffff:{},{}", second.first_ipv4(), second.first_ipv6());
    let application = app.start_server(
        &mut role(app, &["app", &redis, &names.first_ipv4().to_string(), &echo, directory]),
        &["tcp:8080"],
    );
    let configuration = lab.file_path("haproxy.conf");
    let text = format!(
        "global\n maxconn 100\ndefaults\n mode http\n timeout connect 30s\n timeout client 30s\n timeout server 30s\n\
         frontend f\n bind 0.0.0.0:8000\n bind :::8000 v6only\n default_backend b\n\
         backend b\n server app {}:8080\n",
        app.first_ipv4()
    );
    fs::write(&configuration, text).unwrap();
    let proxy = front.start_server(
        front.recorded_command(program_path("haproxy")).arg("-f").arg(&configuration),
        &["tcp:8000"],
    );

    let begin = clock_time(ClockId::Monotonic);
    let (front_v4, front_v6) = (front.first_ipv4().to_string(), front.first_ipv6().to_string());
    let asking = [
        client.start_program(&mut role(
            client,
            &["client", SECONDS, &front_v4, &front_v6, &app.first_ipv4().to_string()],
        )),
        second.start_program(&mut role(
            second,
            &["direct", SECONDS, "10.4.7.7", &names.first_ipv4().to_string()],
        )),
    ];
    // One program per request.
    let urls = [
        format!("http://[{front_v6}]:8000/keep"),
        format!("http://{}/beside", app.address_at(8080)),
    ];
    let started = Instant::now();
    while started.elapsed().as_secs() + 5 < SECONDS.parse().unwrap() {
        run_successfully(
            client
                .recorded_command(program_path("curl"))
                .args(["-sSf", "--output", "/dev/null"])
                .arg(&urls[0]),
        );
        run_successfully(
            client
                .recorded_command(program_path("curl"))
                .args(["-sSf", "--output", "/dev/null"])
                .arg(&urls[1]),
        );
        std::thread::sleep(std::time::Duration::from_secs(2));
    }
    for program in asking {
        program.wait_success();
    }
    // Clients before servers.
    proxy.stop_by(Signal::USR1);
    let counted = application.stop_by(Signal::TERM);
    helper.stop_by(Signal::TERM);
    for server in servers {
        server.stop_by(Signal::TERM);
    }
    let end = clock_time(ClockId::Monotonic);
    // The packets that end the captures are counted as well.
    let udp = hosts.iter().map(wire::datagram_totals).collect();
    let files: Vec<_> = captures
        .into_iter()
        .map(|(capture, file)| {
            capture.stop_capture();
            file
        })
        .collect();
    let boot = (0..100)
        .map(|_| clock_time(ClockId::Realtime) - clock_time(ClockId::Monotonic))
        .max()
        .unwrap();
    ManyHostsRun {
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
