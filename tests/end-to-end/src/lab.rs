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

use crate::capture::{Recorded, Recording, successful};

mod capture;
mod host;
mod namespace;
mod running;

pub use capture::Packets;
pub use host::{Clock, Host};
pub use namespace::Namespace;
pub use running::Running;

/// A system of hosts, and the data directory into which they are recorded.
pub struct Lab {
    /// Directory of the data directory into which all hosts record, and of the test's files.
    pub recording: Recording,
    prefix: String,
    namespaces: Vec<Namespace>,
    hosts: u8,
}

/// A bridge that hosts are connected by: `10.N.0.0/16` and `fd00:N::/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    number: u8,
}

impl Default for Lab {
    fn default() -> Lab {
        Lab::new()
    }
}

impl Lab {
    /// A system without hosts.
    pub fn new() -> Lab {
        assert!(
            rustix::process::geteuid().is_root(),
            "this test makes network namespaces: run it as root"
        );
        static LABS: AtomicU32 = AtomicU32::new(0);
        namespace::remove_stale();
        let recording = Recording::new();
        // Servers that give up their rights must reach their files.
        std::fs::set_permissions(recording.file(""), std::fs::Permissions::from_mode(0o755))
            .unwrap();
        let prefix = format!("{}-{}", namespace::own_prefix(), LABS.fetch_add(1, Relaxed));
        Lab { recording, prefix, namespaces: Vec::new(), hosts: 0 }
    }

    fn namespace(&mut self, name: &str) -> Namespace {
        let namespace = Namespace::new(&format!("{}-{name}", self.prefix));
        // Remembered at once, that it is removed whatever fails next.
        self.namespaces.push(namespace.clone());
        namespace
    }

    /// A network of its own, numbered by the test.
    pub fn network(&mut self, number: u8) -> Network {
        let namespace = self.namespace(&format!("bridge{number}"));
        namespace.ip("link add bridge type bridge");
        namespace.ip("link set bridge up");
        Network { number }
    }

    /// A host on `network` whose clock is the machine's own. Its addresses are `10.N.0.K` and
    /// `fd00:N::K` for the K-th host of the lab.
    pub fn host(&mut self, name: &str, network: Network) -> Host {
        let namespace = self.namespace(name);
        self.hosts += 1;
        let mut host = Host::new(name, self.hosts, namespace, &self.recording);
        self.join(&mut host, network);
        host
    }

    /// Connects a host with one more network, by an interface `eth0`, `eth1` and so on.
    pub fn join(&mut self, host: &mut Host, network: Network) {
        let Network { number } = network;
        let bridge = format!("{}-bridge{number}", self.prefix);
        let interface = format!("eth{}", host.networks());
        let port = format!("port{}.{}", host.number(), host.networks());
        let (name, peer) = (host.namespace().name(), &port);
        let ip = |arguments: &str| successful(Command::new("ip").args(arguments.split(' ')));
        ip(&format!("link add {interface} netns {name} type veth peer name {peer} netns {bridge}"));
        ip(&format!("-n {bridge} link set {port} master bridge up"));
        host.namespace().ip(&format!("link set {interface} up"));
        let v4 = Ipv4Addr::new(10, number, 0, host.number());
        let v6 = Ipv6Addr::new(0xfd00, number.into(), 0, 0, 0, 0, 0, host.number().into());
        host.add(IpAddr::V4(v4), &interface, 16);
        host.add(IpAddr::V6(v6), &interface, 64);
        host.joined();
    }

    /// A place for a file of the test's own.
    pub fn file(&self, name: &str) -> PathBuf {
        self.recording.file(name)
    }

    /// Ends it and keeps what it recorded and its files.
    pub fn into_recording(mut self) -> Recording {
        std::mem::take(&mut self.recording)
    }

    /// The logs of a host, in the order of their beginning.
    pub fn logs(&self, host: &Host) -> Vec<Recorded> {
        self.recording.logs_of(host.name())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for namespace in &self.namespaces {
            namespace.remove();
        }
    }
}
