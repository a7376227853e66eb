//! A system of several hosts on this machine: each host a network namespace with addresses, a name
//! and a clock of its own, connected by bridges. Programs run on a host recorded, or not, or as the
//! test likes, and see the same network calls as on separate machines.
//!
//! It takes root and `ip`; a test fails where one of them is missing. The bridges are in namespaces
//! too, so nothing of the machine's own network is touched. All that a lab made is removed with it,
//! also behind a panic, and what a killed test left behind is removed by the next.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::capture::{ReadLog, TestRecording, run_successfully};

mod capture;
mod host;
mod namespace;
mod running;

pub use capture::PacketCapture;
pub use host::{LabClock, LabHost};
pub use namespace::NetworkNamespace;
pub use running::RunningProgram;

/// A system of hosts, and the data directory into which they are recorded.
pub struct HostLab {
    /// Directory of the data directory into which all hosts record, and of the test's files.
    pub recording: TestRecording,
    prefix: String,
    namespaces: Vec<NetworkNamespace>,
    hosts: u8,
}

/// A bridge that hosts are connected by: `10.N.0.0/16` and `fd00:N::/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabNetwork {
    number: u8,
}

impl Default for HostLab {
    fn default() -> HostLab {
        HostLab::new()
    }
}

impl HostLab {
    /// A system without hosts.
    pub fn new() -> HostLab {
        assert!(
            rustix::process::geteuid().is_root(),
            "this test makes network namespaces: run it as root"
        );
        static LABS: AtomicU32 = AtomicU32::new(0);
        namespace::remove_stale();
        let recording = TestRecording::new();
        // Servers that give up their rights must reach their files.
        std::fs::set_permissions(recording.file_path(""), std::fs::Permissions::from_mode(0o755))
            .unwrap();
        let prefix = format!("{}-{}", namespace::own_prefix(), LABS.fetch_add(1, Relaxed));
        HostLab { recording, prefix, namespaces: Vec::new(), hosts: 0 }
    }

    fn add_namespace(&mut self, name: &str) -> NetworkNamespace {
        let namespace = NetworkNamespace::new(&format!("{}-{name}", self.prefix));
        // Remembered at once, that it is removed whatever fails next.
        self.namespaces.push(namespace.clone());
        namespace
    }

    /// A network of its own, numbered by the test.
    pub fn add_network(&mut self, number: u8) -> LabNetwork {
        let namespace = self.add_namespace(&format!("bridge{number}"));
        namespace.run_ip("link add bridge type bridge");
        namespace.run_ip("link set bridge up");
        LabNetwork { number }
    }

    /// A host on `network` whose clock is the machine's own. Its addresses are `10.N.0.K` and
    /// `fd00:N::K` for the K-th host of the lab.
    pub fn add_host(&mut self, name: &str, network: LabNetwork) -> LabHost {
        let namespace = self.add_namespace(name);
        self.hosts += 1;
        let mut host = LabHost::new(name, self.hosts, namespace, &self.recording);
        self.join_network(&mut host, network);
        host
    }

    /// Connects a host with one more network, by an interface `eth0`, `eth1` and so on.
    pub fn join_network(&mut self, host: &mut LabHost, network: LabNetwork) {
        let LabNetwork { number } = network;
        let bridge = format!("{}-bridge{number}", self.prefix);
        let interface = format!("eth{}", host.network_count());
        let port = format!("port{}.{}", host.number(), host.network_count());
        let (name, peer) = (host.namespace().name(), &port);
        let ip = |arguments: &str| run_successfully(Command::new("ip").args(arguments.split(' ')));
        ip(&format!("link add {interface} netns {name} type veth peer name {peer} netns {bridge}"));
        ip(&format!("-n {bridge} link set {port} master bridge up"));
        host.namespace().run_ip(&format!("link set {interface} up"));
        let v4 = Ipv4Addr::new(10, number, 0, host.number());
        let v6 = Ipv6Addr::new(0xfd00, number.into(), 0, 0, 0, 0, 0, host.number().into());
        host.add_address(IpAddr::V4(v4), &interface, 16);
        host.add_address(IpAddr::V6(v6), &interface, 64);
        host.count_network();
    }

    /// A place for a file of the test's own.
    pub fn file_path(&self, name: &str) -> PathBuf {
        self.recording.file_path(name)
    }

    /// Ends it and keeps what it recorded and its files.
    pub fn into_recording(mut self) -> TestRecording {
        std::mem::take(&mut self.recording)
    }

    /// The logs of a host, in the order of their beginning.
    pub fn read_logs(&self, host: &LabHost) -> Vec<ReadLog> {
        self.recording.read_logs_of(host.name())
    }
}

impl Drop for HostLab {
    fn drop(&mut self) {
        for namespace in &self.namespaces {
            namespace.remove_quietly();
        }
    }
}
