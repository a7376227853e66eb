//! A system of several hosts on this machine: each host is a network namespace with addresses, a
//! name and a clock of its own, connected by bridges. Programs run on a host recorded, unrecorded,
//! or with any command of the test, and see the same network calls as on separate machines.
//!
//! A lab needs root and `ip`; a test fails without them. The bridges are in namespaces too, so the
//! machine's own network is not touched. Everything that a lab made is removed with it, also after
//! a panic, and the remains of a killed test are removed by the next.

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
    /// The data directory into which all hosts record, with the test's files.
    pub recording: TestRecording,
    prefix: String,
    namespaces: Vec<NetworkNamespace>,
    hosts: u8,
}

/// A bridge that connects hosts: `10.N.0.0/16` and `fd00:N::/64`.
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
        // Servers that drop their rights must be able to access their files.
        std::fs::set_permissions(recording.file_path(""), std::fs::Permissions::from_mode(0o755))
            .unwrap();
        let prefix = format!("{}-{}", namespace::own_prefix(), LABS.fetch_add(1, Relaxed));
        HostLab { recording, prefix, namespaces: Vec::new(), hosts: 0 }
    }

    fn add_namespace(&mut self, name: &str) -> NetworkNamespace {
        let namespace = NetworkNamespace::new(&format!("{}-{name}", self.prefix));
        // Remembered immediately, so that it is removed whatever fails next.
        self.namespaces.push(namespace.clone());
        namespace
    }

    /// Adds a network of its own, with a number that the test chooses.
    pub fn add_network(&mut self, number: u8) -> LabNetwork {
        let namespace = self.add_namespace(&format!("bridge{number}"));
        namespace.run_ip("link add bridge type bridge");
        namespace.run_ip("link set bridge up");
        LabNetwork { number }
    }

    /// Adds a host on `network` with the machine's own clock. Its addresses are `10.N.0.K` and
    /// `fd00:N::K` for the K-th host of the lab.
    pub fn add_host(&mut self, name: &str, network: LabNetwork) -> LabHost {
        let namespace = self.add_namespace(name);
        self.hosts += 1;
        let mut host = LabHost::new(name, self.hosts, namespace, &self.recording);
        self.join_network(&mut host, network);
        host
    }

    /// Connects a host to one more network, by an interface `eth0`, `eth1` and so on.
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

    /// A path for a file of the test.
    pub fn file_path(&self, name: &str) -> PathBuf {
        self.recording.file_path(name)
    }

    /// Ends the lab and keeps its recording and files.
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
