//! The lab itself: its hosts reach each other and no others, and it leaves nothing running.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;

use end_to_end::capture::{program_path, python_path, run_successfully};
use end_to_end::lab::{HostLab, LabHost};
use rustix::process::Signal;

/// Sends a word from one host to an address of another, and returns the sender's address as the
/// other sees it.
fn reached_from(from: &LabHost, to: &LabHost, address: SocketAddr) -> IpAddr {
    let listener = to.namespace().run_inside(|| TcpListener::bind(address)).unwrap();
    let address = listener.local_addr().unwrap();
    from.namespace()
        .run_inside(|| TcpStream::connect(address))
        .unwrap()
        .write_all(b"word")
        .unwrap();
    let (mut stream, peer) = listener.accept().unwrap();
    let mut word = String::new();
    stream.read_to_string(&mut word).unwrap();
    assert_eq!(word, "word");
    peer.ip()
}

#[test]
fn hosts_reach_each_other_by_all_their_addresses() {
    let mut lab = HostLab::new();
    let network = lab.add_network(1);
    let (a, mut b) = (lab.add_host("a", network), lab.add_host("b", network));
    b.add_address("10.1.7.7".parse().unwrap(), "eth0", 16);
    assert_eq!(b.addresses().len(), 3);
    for address in b.addresses() {
        let own: IpAddr =
            if address.is_ipv4() { a.first_ipv4().into() } else { a.first_ipv6().into() };
        assert_eq!(reached_from(&a, &b, SocketAddr::new(*address, 0)), own);
    }
    // Each host has its own loopback interface.
    for host in [&a, &b] {
        host.namespace().run_inside(|| UdpSocket::bind("127.0.0.1:53")).unwrap();
    }
}

#[test]
fn a_router_hides_the_hosts_of_its_network() {
    let mut lab = HostLab::new();
    let (inner, outer) = (lab.add_network(1), lab.add_network(2));
    let client = lab.add_host("client", inner);
    let mut router = lab.add_host("router", inner);
    lab.join_network(&mut router, outer);
    let server = lab.add_host("server", outer);
    router.enable_forwarding();
    client.route_by(router.first_ipv4().into());
    router.run_nft(
        "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }",
    );
    router.run_nft("add rule ip nat out oifname eth1 counter masquerade");
    let outside = router.addresses()[2];
    assert_eq!(reached_from(&client, &server, server.address_at(0)), outside);
    assert!(router.run_nft("list ruleset").contains(r#""packets": 1"#));
}

#[test]
fn programs_are_recorded_under_their_host_and_others_are_not() {
    let mut lab = HostLab::new();
    let network = lab.add_network(1);
    let (a, b) = (lab.add_host("a", network), lab.add_host("b", network));
    let server = b.start_server(
        b.recorded_command(python_path()).args([
            "-m",
            "http.server",
            "--directory",
            "/run/netns",
            "8000",
        ]),
        &["tcp:8000"],
    );
    let packets = b.capture_packets("eth0", &lab.file_path("b.pcap"));
    let url = format!("http://{}/", b.address_at(8000));
    for command in [a.recorded_command(program_path("curl")), a.plain_command(program_path("curl"))]
    {
        let mut command = command;
        assert!(run_successfully(command.args(["-sS", &url])).contains(b.namespace().name()));
    }
    packets.stop_capture();
    server.stop_by(Signal::TERM);
    let (of_a, of_b) = (lab.read_logs(&a), lab.read_logs(&b));
    assert_eq!((of_a.len(), of_b.len()), (1, 1));
    for (host, logs) in [(&a, of_a), (&b, of_b)] {
        let header = logs[0].log.header();
        assert_eq!(
            (header.host.as_str(), header.namespace),
            (host.name(), host.namespace().inode())
        );
    }
    let text = fs::read(lab.file_path("b.pcap")).unwrap();
    let requests = text.windows(14).filter(|window| *window == b"GET / HTTP/1.1").count();
    assert_eq!(requests, 2, "all packets are there");
}

#[test]
fn a_panicked_lab_leaves_nothing() {
    let names = |pid: u32| -> Vec<String> {
        let all = fs::read_dir("/run/netns").unwrap().flatten();
        let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains(&format!("-{pid}-")) && name.contains("doomed")).collect()
    };
    let pid = std::process::id();
    let sleeper = std::sync::Mutex::new(None);
    let outcome = std::panic::catch_unwind(|| {
        let mut lab = HostLab::new();
        let network = lab.add_network(1);
        let host = lab.add_host("doomed", network);
        assert_eq!(names(pid).len(), 1);
        // A daemon without a parent that waits for it.
        let mut command = host.plain_command(program_path("sh"));
        *sleeper.lock().unwrap() =
            Some(run_successfully(command.args(["-c", "sleep 1000 >/dev/null 2>&1 & echo $!"])));
        panic!("as intended");
    });
    assert!(outcome.is_err());
    assert_eq!(names(pid), [] as [&str; 0]);
    let sleeper = sleeper.lock().unwrap().take().unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", sleeper.trim())).unwrap_or_default();
    assert!(status.is_empty() || status.contains("zombie"), "{status}");
}

#[test]
fn remains_of_a_killed_test_are_removed_by_the_next() {
    // A process that has ended, and a process that runs but began at another time.
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let stale = [
        format!("sockcap-lab-{}-1-0-x", ended.id()),
        format!("sockcap-lab-{}-1-0-x", std::process::id()),
    ];
    for name in &stale {
        // Another test may start meanwhile and remove the incomplete namespace: then there is none.
        let adds = || {
            Command::new(program_path("ip"))
                .args(["netns", "add", name])
                .status()
                .unwrap()
                .success()
        };
        assert!((0..100).any(|_| adds()), "{name}");
    }
    drop(HostLab::new());
    for name in &stale {
        assert!(!Path::new("/run/netns").join(name).exists(), "{name}");
    }
}
