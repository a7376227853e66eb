//! A host of a lab: its name, addresses and clock, and the ways to run a program on it.

use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::capture::{Recording, library, program, successful};
use crate::lab::{Namespace, Packets, Running};
use crate::strace;

/// Clock of a host, by its difference to the machine's. All processes of the host have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Nanoseconds that it is ahead when the machine's `CLOCK_MONOTONIC` is 0.
    pub offset: i64,
    /// Parts per million that it runs faster.
    pub skew: i32,
    /// Steps: at which nanosecond of `CLOCK_MONOTONIC` it was set, and by how much.
    pub steps: Vec<(i64, i64)>,
}

impl Clock {
    /// Time that the clock is ahead, and how much faster it is, in parts per million.
    pub fn new(offset: i64, skew: i32) -> Clock {
        Clock { offset, skew, steps: Vec::new() }
    }

    /// Nanoseconds that it is ahead when the machine's `CLOCK_MONOTONIC` has this value.
    pub fn ahead(&self, monotonic: i64) -> i64 {
        let steps =
            self.steps.iter().filter(|(at, _)| *at <= monotonic).map(|(_, by)| by).sum::<i64>();
        let gained = i128::from(monotonic) * i128::from(self.skew) / 1_000_000;
        self.offset + gained as i64 + steps
    }

    /// As `SOCKCAP_TEST_CLOCK` has it.
    pub fn setting(&self) -> String {
        let steps: String = self.steps.iter().map(|(at, by)| format!(",{at}:{by}")).collect();
        format!("{},{}{steps}", self.offset, self.skew)
    }
}

/// A host.
#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    number: u8,
    namespace: Namespace,
    addresses: Vec<IpAddr>,
    networks: u8,
    clock: Option<Clock>,
    data: PathBuf,
    directory: PathBuf,
}

impl Host {
    pub(super) fn new(name: &str, number: u8, namespace: Namespace, recording: &Recording) -> Host {
        Host {
            name: name.to_owned(),
            number,
            namespace,
            addresses: Vec::new(),
            networks: 0,
            clock: None,
            data: recording.data(),
            directory: recording.file(""),
        }
    }

    /// Its name, which its logs have as well.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its network namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Its addresses, in the order in which it was given them.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Its first IPv4 address.
    pub fn v4(&self) -> Ipv4Addr {
        let v4 = self.addresses.iter().find_map(|address| match address {
            IpAddr::V4(v4) => Some(*v4),
            IpAddr::V6(_) => None,
        });
        v4.expect("each host has one")
    }

    /// Its first IPv6 address.
    pub fn v6(&self) -> Ipv6Addr {
        let v6 = self.addresses.iter().find_map(|address| match address {
            IpAddr::V6(v6) => Some(*v6),
            IpAddr::V4(_) => None,
        });
        v6.expect("each host has one")
    }

    pub(super) fn number(&self) -> u8 {
        self.number
    }

    pub(super) fn networks(&self) -> u8 {
        self.networks
    }

    pub(super) fn joined(&mut self) {
        self.networks += 1;
    }

    /// Gives it one more address, which it can use at once.
    pub fn add(&mut self, address: IpAddr, interface: &str, prefix: u8) {
        let unchecked = if address.is_ipv6() { " nodad" } else { "" };
        self.namespace.ip(&format!("address add {address}/{prefix} dev {interface}{unchecked}"));
        self.addresses.push(address);
    }

    /// Sends what is for addresses that no network of it has by way of another host.
    pub fn route_by(&self, router: IpAddr) {
        let family = if router.is_ipv4() { "-4" } else { "-6" };
        self.namespace.ip(&format!("{family} route add default via {router}"));
    }

    /// Makes it a router between its networks.
    pub fn forward(&self) {
        for setting in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            self.set(setting, "1");
        }
    }

    /// Sets one of `/proc/sys/net`.
    pub fn set(&self, setting: &str, value: &str) {
        let path = format!("/proc/sys/net/{setting}");
        let result = self.namespace.inside(|| fs::write(&path, value));
        result.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// Runs a script of `nft` on it, and returns what that prints.
    pub fn nft(&self, script: &str) -> String {
        successful(self.plain(program("nft")).args(["--json", script]))
    }

    /// Gives it a clock of its own, which everything that is recorded from now on has.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = Some(clock);
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock.clone().unwrap_or_default()
    }

    /// A command that runs on it, unrecorded.
    pub fn plain(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory);
        self.namespace.enter(&mut command);
        command
    }

    /// A command that runs on it, recorded under its name and clock.
    pub fn recorded(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.plain(program);
        self.settings(command.env("LD_PRELOAD", library()));
        command
    }

    /// Gives a command what decides where it is recorded and under which name and clock, for
    /// `sockcap record`.
    pub fn settings(&self, command: &mut Command) {
        command.env("SOCKCAP_DIR", &self.data).env("SOCKCAP_HOST", &self.name);
        if let Some(clock) = &self.clock {
            command.env("SOCKCAP_TEST_CLOCK", clock.setting());
        }
    }

    /// A command that runs `traced`, one of this host's, under strace with these options.
    pub fn strace(&self, traced: &Command, options: &[&str], output: &Path) -> Command {
        let mut command = strace::with(traced, options, output);
        self.namespace.enter(&mut command);
        command
    }

    /// Captures the packets of an interface (`eth0`, `lo`) into `file`, until it is stopped.
    pub fn tcpdump(&self, interface: &str, file: &Path) -> Packets {
        self.tcpdump_of(interface, file, "")
    }

    /// Captures packets that `filter` lets through; an empty one lets all through.
    pub fn tcpdump_of(&self, interface: &str, file: &Path, filter: &str) -> Packets {
        let index = interface
            .strip_prefix("eth")
            .map(|number| number.parse::<usize>().expect("eth0 and so on"));
        let address = index.map_or(Ipv4Addr::LOCALHOST, |index| {
            let v4 = self.addresses.iter().filter_map(|address| match address {
                IpAddr::V4(v4) => Some(*v4),
                IpAddr::V6(_) => None,
            });
            v4.filter(|v4| v4.octets()[3] == self.number).nth(index).expect("it has this interface")
        });
        Packets::start(&self.namespace, interface, address, file, filter)
    }

    /// Starts a program in the background.
    pub fn start(&self, command: &mut Command) -> Running {
        let program =
            Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{program} on {}", self.name);
        Running::start(&name, command)
    }

    /// Starts a server, and waits until its sockets are there: TCP ports (`tcp:80`), UDP ports
    /// (`udp:53`) or unix sockets (`unix:PATH`, `unix:@NAME`). Nothing connects to it meanwhile.
    pub fn serve(&self, command: &mut Command, sockets: &[&str]) -> Running {
        let mut running = self.start(command);
        let deadline = Instant::now() + Duration::from_secs(30);
        for socket in sockets {
            while !self.has(socket) {
                running.check();
                assert!(
                    Instant::now() < deadline,
                    "{}: no {socket}\n{}",
                    running.name(),
                    running.output()
                );
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        running
    }

    /// Whether a program listens on (or, for datagrams, is bound to) this socket.
    fn has(&self, socket: &str) -> bool {
        let (kind, name) = socket.split_once(':').expect("a kind and a name");
        let table = |name: &str| {
            let path = format!("/proc/thread-self/net/{name}");
            self.namespace.inside(|| fs::read_to_string(&path)).unwrap_or_default()
        };
        if kind == "unix" {
            return table("unix").lines().any(|line| line.split(' ').next_back() == Some(name));
        }
        let port = format!("{:04X}", name.parse::<u16>().expect("a port"));
        let state = if kind == "tcp" { "0A" } else { "07" };
        [kind.to_owned(), format!("{kind}6")].iter().any(|name| {
            table(name).lines().skip(1).any(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let local = fields.get(1).and_then(|local| local.rsplit_once(':'));
                local.is_some_and(|(_, of)| of == port) && fields.get(3) == Some(&state)
            })
        })
    }

    /// An address of it with a port.
    pub fn at(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.v4().into(), port)
    }
}
