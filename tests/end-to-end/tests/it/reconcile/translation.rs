//! A service in which clients and application know the servers by other names than their own:
//! behind a router that translates addresses, and behind an untraced load balancer that forwards
//! bytes. All connections are found, each server has its own name, and the causal paths are
//! complete.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use analyze::paths::{Hop, PathPattern};
use end_to_end::capture::{program_path, python_path, run_successfully};
use end_to_end::lab::{HostLab, LabClock, LabHost, RunningProgram};
use end_to_end::repository;
use message_trace::{DataDir, Endpoint, MessageTrace};
use reconcile::{NamedCounts, Options, Reconciliation, TranslatedEnd};
use rustix::process::Signal;

/// Requests of each of the two clients.
const QUESTIONS: u64 = 120;

const HOUR: i64 = 3_600_000_000_000;

/// The hosts: clients on one side, servers on the other, and the intermediary, on both networks.
struct TranslatedSystem {
    lab: HostLab,
    clients: [LabHost; 2],
    apps: [LabHost; 2],
    store: LabHost,
    middle: LabHost,
}

fn role_command(host: &LabHost, arguments: &[&str]) -> Command {
    let mut command = host.recorded_command(python_path());
    command.arg(repository().join("tests/programs/translated.py")).args(arguments);
    command
}

impl TranslatedSystem {
    fn new() -> TranslatedSystem {
        let mut lab = HostLab::new();
        let (outer, inner) = (lab.add_network(5), lab.add_network(6));
        let mut host = |name: &str, network, clock: LabClock| {
            let mut host = lab.add_host(name, network);
            host.set_clock(clock);
            host
        };
        let clients = [
            host("client", outer, LabClock::new(3 * HOUR, 120)),
            host("other", outer, LabClock::new(-HOUR / 3, -40)),
        ];
        let apps = [
            host("app1", inner, LabClock::new(-2 * HOUR + 11, -150)),
            host("app2", inner, LabClock::new(HOUR / 7, 60)),
        ];
        let store = host("store", inner, LabClock::new(5 * HOUR, 0));
        let mut middle = lab.add_host("middle", outer);
        lab.join_network(&mut middle, inner);
        TranslatedSystem { lab, clients, apps, store, middle }
    }

    /// The address of the intermediary, as clients see it (0) and as servers do (1).
    fn middle_address(&self, network: usize) -> String {
        let v4: Vec<String> = self
            .middle
            .addresses()
            .iter()
            .filter(|address| address.is_ipv4())
            .map(ToString::to_string)
            .collect();
        v4[network].clone()
    }

    /// Runs the service to its end, with its clients calling `server`, and its applications calling
    /// `store`.
    fn run_clients(&self, server: &str, store: &str) {
        let mut servers: Vec<RunningProgram> = Vec::new();
        servers.push(
            self.store
                .start_server(&mut role_command(&self.store, &["store", "7000"]), &["tcp:7000"]),
        );
        for app in &self.apps {
            servers.push(
                app.start_server(&mut role_command(app, &["app", "8000", store]), &["tcp:8000"]),
            );
        }
        let count = QUESTIONS.to_string();
        let asking: Vec<RunningProgram> = (self.clients.iter().zip(["1", "2"]))
            .map(|(client, seed)| {
                client.start_program(&mut role_command(client, &["client", server, &count, seed]))
            })
            .collect();
        for client in asking {
            client.wait_success();
        }
        for server in servers {
            server.stop_by(Signal::INT);
        }
    }

    /// The results of reconciliation and analysis.
    fn analyze_outcome(self) -> (Reconciliation, MessageTrace, Vec<PathPattern>) {
        let recording = self.lab.into_recording();
        let data = DataDir::new(recording.data_dir());
        let outcome = reconcile::reconcile(&data, &Options::default(), &()).unwrap();
        let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
        analyze::analyze(&data, &analyze::Options::default(), &()).unwrap();
        (outcome, trace, PathPattern::read_all(data.patterns_path()).unwrap())
    }
}

/// The connections by translation: `10.0.0.1:80 leads to 10.0.0.2:80`.
fn translation_counts(outcome: &Reconciliation) -> BTreeMap<String, u64> {
    let found = outcome.translations.iter().map(|found| {
        assert!(found.confidence >= 0.8, "{found:?}");
        let how = if found.end == TranslatedEnd::Destination { "leads to" } else { "is seen as" };
        (format!("{} {how} {}", found.from, found.to), found.flows)
    });
    found.collect()
}

/// Translated datagrams: queries to a name server; each side knows the other only by the router's
/// name.
#[test]
fn datagrams_behind_a_router_that_translates() {
    const EACH: u64 = 8;
    let system = TranslatedSystem::new();
    let [outside, inside] = [0, 1].map(|network| system.middle_address(network));
    let store = system.store.first_ipv4();
    system.middle.enable_forwarding();
    system.middle.run_nft(
        "add table ip nat; add chain ip nat in { type nat hook prerouting priority -100; }",
    );
    system.middle.run_nft("add chain ip nat out { type nat hook postrouting priority 100; }");
    system
        .middle
        .run_nft(&format!("add rule ip nat in iifname eth0 udp dport 53 dnat to {store}:5353"));
    system.middle.run_nft("add rule ip nat out oifname eth1 masquerade");
    let mut dnsmasq = system.store.recorded_command(program_path("dnsmasq"));
    dnsmasq.args(["--keep-in-foreground", "--no-resolv", "--no-hosts", "--address=/test/10.5.9.9"]);
    dnsmasq.args(["--user=root", "--port=5353", "--conf-file=/dev/null", "--pid-file="]);
    let dnsmasq = system.store.start_server(&mut dnsmasq, &["udp:5353"]);
    for number in 0..EACH {
        for client in &system.clients {
            let question =
                [format!("@{outside}"), format!("number{number}.of.{}.test", client.name())];
            let mut dig = client.recorded_command(program_path("dig"));
            run_successfully(dig.args(["+tries=1", "+time=30"]).args(question));
        }
    }
    dnsmasq.stop_by(Signal::TERM);
    let clients = [0, 1].map(|client: usize| system.clients[client].first_ipv4());
    let (outcome, _, _) = system.analyze_outcome();
    let counts = outcome.datagrams;
    assert_eq!(
        (counts.sent, counts.received, counts.matched),
        (4 * EACH, 4 * EACH, 4 * EACH),
        "{counts:?}"
    );
    let found = translation_counts(&outcome);
    // No client called the server by its own address.
    assert_eq!(
        found.get(&format!("{outside}:53 leads to store:5353")),
        Some(&(2 * EACH)),
        "{found:#?}"
    );
    for client in clients {
        assert_eq!(found.get(&format!("{client} is seen as {inside}")), Some(&EACH), "{found:#?}");
    }
    assert_eq!(found.len(), 3, "{found:#?}");
}

/// Prefix of the lines about connections in the load balancer's log.
const PASSED: &str = "passed on:";

/// A connection that the load balancer forwarded, from its own log.
#[derive(Clone, Copy, Debug)]
struct PassedConnection {
    client: SocketAddr,
    /// The address by which the client knows the server.
    front: SocketAddr,
    server: SocketAddr,
    /// Bytes in the response direction.
    bytes: u64,
    /// Start and end, in ms.
    time: (u64, u64),
}

impl PassedConnection {
    /// Whether the two connections are indistinguishable except by chance.
    fn is_like(&self, other: &PassedConnection) -> bool {
        let open =
            |one: &PassedConnection, other: &PassedConnection| one.time.0 <= other.time.1 + 1;
        self.client != other.client
            && (self.front, self.bytes) == (other.front, other.bytes)
            && open(self, other)
            && open(other, self)
    }
}

/// The connections of the load balancer's log.
fn passed_connections(log: &str) -> Vec<PassedConnection> {
    let lines = log.lines().filter_map(|line| line.strip_prefix(PASSED));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [client, front, server, bytes, from, long] = fields[..] else { panic!("{line}") };
            let [client, front, server] = [client, front, server].map(|name| name.parse().unwrap());
            let [bytes, from, long] = [bytes, from, long].map(|number| number.parse().unwrap());
            PassedConnection { client, front, server, bytes, time: (from, from + long) }
        })
        .collect()
}

/// The expected number of requests that went from a client through an application to the store and
/// back, with every step seen.
fn whole_share(patterns: &[PathPattern]) -> f64 {
    let is_whole = |pattern: &&PathPattern| {
        let parents: Vec<Option<usize>> = pattern.hops.iter().map(|hop| hop.parent).collect();
        let seen = pattern.hops.iter().all(|hop| hop.src_traced && hop.dst_traced);
        seen && parents == [None, Some(0), Some(1), Some(2)]
    };
    patterns.iter().filter(is_whole).map(|pattern| pattern.expected).sum()
}

#[test]
fn behind_a_router_that_translates() {
    let system = TranslatedSystem::new();
    let [outside, inside] = [0, 1].map(|network| system.middle_address(network));
    system.middle.enable_forwarding();
    let apps = [0, 1].map(|app: usize| system.apps[app].first_ipv4().to_string());
    let store = system.store.first_ipv4();
    system.middle.run_nft(
        "add table ip nat; add chain ip nat in { type nat hook prerouting priority -100; }",
    );
    system.middle.run_nft("add chain ip nat out { type nat hook postrouting priority 100; }");
    // Clients use one name for two applications, these use a name for the store, and no server sees
    // the real address of its client.
    system.middle.run_nft(&format!(
        "add rule ip nat in iifname eth0 tcp dport 80 dnat to numgen inc mod 2 map {{ 0 : {}, 1 : {} }}:8000",
        apps[0], apps[1]
    ));
    system
        .middle
        .run_nft(&format!("add rule ip nat in iifname eth1 tcp dport 81 dnat to {store}:7000"));
    system.middle.run_nft("add rule ip nat out oifname eth1 masquerade");
    system.run_clients(&format!("{outside}:80"), &format!("{inside}:81"));
    let clients = [0, 1].map(|client: usize| system.clients[client].first_ipv4());
    let (outcome, _, patterns) = system.analyze_outcome();
    let found = translation_counts(&outcome);
    let to = |app: usize| {
        found.get(&format!("{outside}:80 leads to {}:8000", apps[app])).copied().unwrap_or(0)
    };
    assert_eq!(to(0) + to(1), 2 * QUESTIONS, "{found:#?}");
    assert!(to(0) >= QUESTIONS - 2 && to(1) >= QUESTIONS - 2, "{found:#?}");
    assert_eq!(found.get(&format!("{inside}:81 leads to {store}:7000")), Some(&(2 * QUESTIONS)));
    for client in clients {
        assert_eq!(
            found.get(&format!("{client} is seen as {inside}")),
            Some(&QUESTIONS),
            "{found:#?}"
        );
    }
    for app in &apps {
        assert!(found.contains_key(&format!("{app} is seen as {inside}")), "{found:#?}");
    }
    assert_eq!(found.len(), 7, "{found:#?}");
    let lacking = [&outcome.unmatched_streams, &outcome.send_only, &outcome.receive_only];
    assert!(lacking.into_iter().all(NamedCounts::is_empty), "{outcome:#?}");
    let seen = |hop: &Hop| hop.src_traced && hop.dst_traced;
    assert!(patterns.iter().flat_map(|pattern| &pattern.hops).all(seen), "{patterns:#?}");
    // Two clients send requests at the same time, so that the analysis is not certain of each.
    let whole = whole_share(&patterns);
    assert!(whole > 0.6 * 2.0 * QUESTIONS as f64, "{whole} whole paths\n{patterns:#?}");
}

#[test]
fn behind_a_load_balancer_that_is_not_traced() {
    let system = TranslatedSystem::new();
    let [outside, inside] = [0, 1].map(|network| system.middle_address(network));
    let apps = [0, 1].map(|app: usize| system.apps[app].address_at(8000).to_string());
    let store = system.store.address_at(7000).to_string();
    let configuration = system.lab.file_path("haproxy.conf");
    // With more than one thread it drops lines of its log that are written concurrently.
    let text = format!(
        "global\n maxconn 200\n nbthread 1\n log stdout format raw daemon\ndefaults\n mode tcp\n log global\n\
         log-format \"{PASSED} %ci:%cp %fi:%fp %si:%sp %B %Ts%ms %Tt\"\n\
         timeout connect 30s\n timeout client 30s\n timeout server 30s\n\
         frontend clients\n bind {outside}:80\n default_backend apps\n\
         backend apps\n balance roundrobin\n server one {}\n server two {}\n\
         frontend apps\n bind {inside}:81\n default_backend store\n\
         backend store\n server store {store}\n",
        apps[0], apps[1]
    );
    fs::write(&configuration, text).unwrap();
    let mut haproxy = system.middle.plain_command(program_path("haproxy"));
    let haproxy =
        system.middle.start_server(haproxy.arg("-f").arg(&configuration), &["tcp:80", "tcp:81"]);
    system.run_clients(&format!("{outside}:80"), &format!("{inside}:81"));
    let passed = passed_connections(&haproxy.stop_by(Signal::USR1));
    assert_eq!(passed.len() as u64, 4 * QUESTIONS);
    let (outcome, trace, patterns) = system.analyze_outcome();
    // The server that received each client's bytes, by the translated names of reconciliation.
    let address = |endpoint| match trace.endpoint(endpoint) {
        Some(Endpoint::Inet(address)) => Some(*address),
        _ => None,
    };
    let ends = trace.messages().filter_map(|message| {
        Some((address(message.src_endpoint)?, address(message.dst_endpoint)?))
    });
    let ends: BTreeMap<SocketAddr, SocketAddr> = ends.collect();
    let mut missed = Vec::new();
    for one in &passed {
        let to = ends[&one.client];
        if to == one.front {
            missed.push(one);
        } else {
            assert_eq!(to, one.server, "{one:?} is taken for another");
        }
    }
    // The only missing connections are those that are indistinguishable from another one at the
    // same time, which are few.
    for one in &missed {
        let like: Vec<&PassedConnection> =
            passed.iter().filter(|other| one.is_like(other)).collect();
        println!("missed: {one:?}, like {like:?}");
        assert!(!like.is_empty(), "{one:?} is missed\n{:#?}", outcome.translations);
    }
    assert!(missed.len() as u64 <= QUESTIONS / 10, "{missed:#?}");
    // All others were seen at both ends, by their own names.
    assert!(outcome.send_only.is_empty() || !missed.is_empty(), "{outcome:#?}");
    let found = translation_counts(&outcome);
    let all: u64 =
        found.iter().filter(|(what, _)| what.contains("leads to")).map(|(_, flows)| flows).sum();
    assert_eq!(all, (passed.len() - missed.len()) as u64, "{found:#?}");
    assert_eq!(found.len(), 7, "{found:#?}");
    let whole = whole_share(&patterns);
    assert!(whole > 0.6 * 2.0 * QUESTIONS as f64, "{whole} whole paths\n{patterns:#?}");
}
