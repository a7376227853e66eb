//! A host of a lab: its name, addresses and clock, and the ways to run a program on it.

use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::capture::{TestRecording, preloaded_library, program_path, run_successfully};
use crate::lab::{NetworkNamespace, PacketCapture, RunningProgram};
use crate::strace;

/// Clock of a host, relative to the machine's. All processes of the host share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabClock {
    /// Nanoseconds by which the clock is ahead when the machine's `CLOCK_MONOTONIC` is 0.
    pub offset: i64,
    /// Parts per million by which the clock runs faster.
    pub skew: i32,
    /// Steps: the nanosecond of `CLOCK_MONOTONIC` at which the clock was set, and by how many
    /// nanoseconds it was set forward.
    pub steps: Vec<(i64, i64)>,
}

impl LabClock {
    /// A clock that is ahead by `offset` nanoseconds and runs faster by `skew` parts per million.
    pub fn new(offset: i64, skew: i32) -> LabClock {
        LabClock { offset, skew, steps: Vec::new() }
    }

    /// Nanoseconds by which the clock is ahead when the machine's `CLOCK_MONOTONIC` has this value.
    pub fn ahead_at(&self, monotonic: i64) -> i64 {
        let steps =
            self.steps.iter().filter(|(at, _)| *at <= monotonic).map(|(_, by)| by).sum::<i64>();
        let gained = i128::from(monotonic) * i128::from(self.skew) / 1_000_000;
        self.offset + gained as i64 + steps
    }

    /// The clock in the format of `SOCKCAP_TEST_CLOCK`.
    pub fn setting_text(&self) -> String {
        let steps: String = self.steps.iter().map(|(at, by)| format!(",{at}:{by}")).collect();
        format!("{},{}{steps}", self.offset, self.skew)
    }
}

/// A host of a lab.
#[derive(Clone, Debug)]
pub struct LabHost {
    name: String,
    number: u8,
    namespace: NetworkNamespace,
    addresses: Vec<IpAddr>,
    networks: u8,
    clock: Option<LabClock>,
    data: PathBuf,
    directory: PathBuf,
}

impl LabHost {
    pub(super) fn new(
        name: &str,
        number: u8,
        namespace: NetworkNamespace,
        recording: &TestRecording,
    ) -> LabHost {
        LabHost {
            name: name.to_owned(),
            number,
            namespace,
            addresses: Vec::new(),
            networks: 0,
            clock: None,
            data: recording.data_dir(),
            directory: recording.file_path(""),
        }
    }

    /// The name of the host, which is also in its logs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The network namespace of the host.
    pub fn namespace(&self) -> &NetworkNamespace {
        &self.namespace
    }

    /// The addresses of the host, in the order in which they were assigned.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The first IPv4 address of the host.
    pub fn first_ipv4(&self) -> Ipv4Addr {
        let v4 = self.addresses.iter().find_map(|address| match address {
            IpAddr::V4(v4) => Some(*v4),
            IpAddr::V6(_) => None,
        });
        v4.expect("each host has one")
    }

    /// The first IPv6 address of the host.
    pub fn first_ipv6(&self) -> Ipv6Addr {
        let v6 = self.addresses.iter().find_map(|address| match address {
            IpAddr::V6(v6) => Some(*v6),
            IpAddr::V4(_) => None,
        });
        v6.expect("each host has one")
    }

    pub(super) fn number(&self) -> u8 {
        self.number
    }

    pub(super) fn network_count(&self) -> u8 {
        self.networks
    }

    pub(super) fn count_network(&mut self) {
        self.networks += 1;
    }

    /// Assigns an address to an interface. The address is usable immediately.
    pub fn add_address(&mut self, address: IpAddr, interface: &str, prefix: u8) {
        let unchecked = if address.is_ipv6() { " nodad" } else { "" };
        self.namespace
            .run_ip(&format!("address add {address}/{prefix} dev {interface}{unchecked}"));
        self.addresses.push(address);
    }

    /// Routes addresses outside of the host's networks through another host.
    pub fn route_by(&self, router: IpAddr) {
        let family = if router.is_ipv4() { "-4" } else { "-6" };
        self.namespace.run_ip(&format!("{family} route add default via {router}"));
    }

    /// Makes the host a router between its networks.
    pub fn enable_forwarding(&self) {
        for setting in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            self.set_sysctl(setting, "1");
        }
    }

    /// Sets a setting of `/proc/sys/net` on the host.
    pub fn set_sysctl(&self, setting: &str, value: &str) {
        let path = format!("/proc/sys/net/{setting}");
        let result = self.namespace.run_inside(|| fs::write(&path, value));
        result.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// Runs an `nft` script on the host, and returns the output.
    pub fn run_nft(&self, script: &str) -> String {
        run_successfully(self.plain_command(program_path("nft")).args(["--json", script]))
    }

    /// Sets the clock of the host for all programs that are recorded from now on.
    pub fn set_clock(&mut self, clock: LabClock) {
        self.clock = Some(clock);
    }

    /// The clock of the host.
    pub fn clock(&self) -> LabClock {
        self.clock.clone().unwrap_or_default()
    }

    /// A command that runs on the host, unrecorded.
    pub fn plain_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory);
        self.namespace.enter_with(&mut command);
        command
    }

    /// A command that runs on the host, recorded under the host's name and clock.
    pub fn recorded_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.plain_command(program);
        self.apply_settings(command.env("LD_PRELOAD", preloaded_library()));
        command
    }

    /// Sets the variables that decide where a command is recorded and under which name and clock,
    /// for `sockcap record`.
    pub fn apply_settings(&self, command: &mut Command) {
        command.env("SOCKCAP_DIR", &self.data).env("SOCKCAP_HOST", &self.name);
        if let Some(clock) = &self.clock {
            command.env("SOCKCAP_TEST_CLOCK", clock.setting_text());
        }
    }

    /// A command that runs `traced`, a command of this host, under strace with these options.
    pub fn strace_command(&self, traced: &Command, options: &[&str], output: &Path) -> Command {
        let mut command = strace::strace_with_options(traced, options, output);
        self.namespace.enter_with(&mut command);
        command
    }

    /// Captures the packets of an interface (`eth0`, `lo`) into `file`, until the capture is
    /// stopped.
    pub fn capture_packets(&self, interface: &str, file: &Path) -> PacketCapture {
        self.capture_filtered(interface, file, "")
    }

    /// Captures packets that match `filter`; an empty filter matches all.
    pub fn capture_filtered(&self, interface: &str, file: &Path, filter: &str) -> PacketCapture {
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
        PacketCapture::start_capture(&self.namespace, interface, address, file, filter)
    }

    /// Starts a program in the background.
    pub fn start_program(&self, command: &mut Command) -> RunningProgram {
        let program =
            Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{program} on {}", self.name);
        RunningProgram::start_program(&name, command)
    }

    /// Starts a server, and waits until its sockets exist: TCP ports (`tcp:80`), UDP ports
    /// (`udp:53`) or unix sockets (`unix:PATH`, `unix:@NAME`). Nothing connects to the server
    /// meanwhile.
    pub fn start_server(&self, command: &mut Command, sockets: &[&str]) -> RunningProgram {
        let mut running = self.start_program(command);
        let deadline = Instant::now() + Duration::from_secs(30);
        for socket in sockets {
            while !self.has_socket(socket) {
                running.check_running();
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
    fn has_socket(&self, socket: &str) -> bool {
        let (kind, name) = socket.split_once(':').expect("a kind and a name");
        let table = |name: &str| {
            let path = format!("/proc/thread-self/net/{name}");
            self.namespace.run_inside(|| fs::read_to_string(&path)).unwrap_or_default()
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

    /// An address of the host with a port.
    pub fn address_at(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.first_ipv4().into(), port)
    }
}
