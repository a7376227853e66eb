//! Logs of many hosts, for measuring the speed of reconciliation; `scripts/bench reconcile` uses
//! them. `cargo run --release -p reconcile --example scale -- make DIRECTORY MESSAGES` writes the
//! logs, `... -- equal DIRECTORY DATAGRAMS` the logs of two processes that exchange equal
//! datagrams, and `... -- KIND DIRECTORY COUNT` logs with one item for each of many ends: `alone`
//! (connections of proxies with unrecorded peers), `translated` (connections through a load
//! balancer), `unix` (connections within a host), `udp` (flows of datagrams with unrecorded peers).
//! `... -- run DIRECTORY [MEMORY]` reconciles them and prints the time of each step and the peak
//! memory.

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use message_trace::{DataDir, Progress};
use reconcile::Options;
use socket_log::encode::{DatagramRecord, Direction, FlowOrigin, FlowRole};
use socket_log::write::{self, LogWriter, TCP, UDP, UNIX_STREAM, inet_address};

const HOSTS: u64 = 115;
/// Default number of messages of one connection.
const EACH: u64 = 20;
/// Nanoseconds between the beginnings of two connections.
const APART: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: scale make DIRECTORY MESSAGES [EACH] | scale equal DIRECTORY DATAGRAMS \
                         | scale alone|translated|unix|udp DIRECTORY COUNT | scale run DIRECTORY [MEMORY] [THREADS]";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["make", directory, messages] => make(Path::new(directory), messages.parse()?, EACH),
        ["make", directory, messages, each] => {
            make(Path::new(directory), messages.parse()?, each.parse()?)
        }
        ["equal", directory, datagrams] => equal(Path::new(directory), datagrams.parse()?),
        ["alone", directory, count] => alone(Path::new(directory), count.parse()?),
        ["translated", directory, count] => translated(Path::new(directory), count.parse()?),
        ["unix", directory, count] => unix(Path::new(directory), count.parse()?),
        ["udp", directory, count] => udp(Path::new(directory), count.parse()?),
        ["run", directory, options @ ..] => {
            let default = Options::default();
            let memory = options.first().map_or(Ok(default.memory), |memory| memory.parse())?;
            let threads =
                options.get(1).map(|threads| threads.parse::<NonZeroUsize>()).transpose()?;
            run(Path::new(directory), &Options { memory, threads, ..default })
        }
        _ => Err(USAGE.into()),
    }
}

/// Writes the logs, host by host: each connection is between two hosts and has `each` messages,
/// half of them requests.
fn make(directory: &Path, messages: u64, each: u64) -> Result<(), Box<dyn Error>> {
    let data = DataDir::new(directory);
    for host in 0..HOSTS {
        let mut log = LogWriter::new(&format!("h{host}"), 100, "/bin/proxy");
        let mut boot = [0; 16];
        boot[..8].copy_from_slice(&(host + 1).to_le_bytes());
        log.set_boot_id(boot);
        for connection in 0..messages / each {
            let (from, to) = ends(connection);
            if host == from || host == to {
                add(&mut log, connection, each, host == from);
            }
        }
        log.write_file(data.hosts_dir().join(format!("h{host}")).join("100.sclog"))?;
    }
    Ok(())
}

/// The hosts of a connection.
fn ends(connection: u64) -> (u64, u64) {
    let (from, to) = (connection % HOSTS, (connection * 7 + 1) % HOSTS);
    (from, if from == to { (to + 1) % HOSTS } else { to })
}

/// Adds the calls of one end of a connection. `scripts/bench reconcile` makes the same records for
/// its comparison.
fn add(log: &mut LogWriter, connection: u64, each: u64, connects: bool) {
    let (from, to) = ends(connection);
    let port = 1024 + (connection / HOSTS) % 60_000;
    let (at, flow) = (APART * connection, connection as u32 + 1);
    let [client, server] = [(from, port), (to, 80)].map(|(host, port)| {
        let address = SocketAddr::from(([10, 0, host as u8, 1], port as u16));
        inet_address(address)
    });
    let (own, peer, role, origin) = match connects {
        true => (&client, &server, FlowRole::Connect, FlowOrigin::Socket),
        false => (&server, &client, FlowRole::Accept, FlowOrigin::Accept),
    };
    log.flow(at, flow, TCP, origin, 2 * connection + u64::from(connects) + 1);
    log.endpoints(at, flow, role, own, peer, 0);
    for turn in 0..each / 2 {
        let at = at + 1_000 * turn;
        match connects {
            true => log.send(at + 100, flow, 300).receive(at + 400, flow, 5_000),
            false => log.receive(at + 200, flow, 300).send(at + 300, flow, 5_000),
        };
    }
}

/// Writes the logs of two processes of one host: one sends datagrams that are all equal, the other
/// receives 99 of 100, after up to two milliseconds, and one in a thousand twice.
fn equal(directory: &Path, datagrams: u64) -> Result<(), Box<dyn Error>> {
    let data = DataDir::new(directory);
    let names = [4000, 53].map(|port| inet_address(SocketAddr::from(([10, 0, 0, 1], port))));
    let sends = (0..datagrams).map(|number| APART * (number + 1));
    let delay = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43;
    let arrived = sends.clone().filter(|at| at % (100 * APART) != 0);
    let mut receives: Vec<u64> = arrived
        .flat_map(|at| {
            let again = at % (1_000 * APART) == APART;
            [Some(at + delay(at)), again.then_some(at + 3 * APART)]
        })
        .flatten()
        .collect();
    receives.sort_unstable();
    let write = |end: usize, direction: Direction, times: &mut dyn Iterator<Item = u64>| {
        let pid = 100 + end as u32;
        let mut log = LogWriter::new("h0", pid, "/bin/proxy");
        log.set_boot(1);
        log.flow(0, 1, UDP, FlowOrigin::Socket, end as u64 + 1);
        log.endpoints(0, 1, FlowRole::Bind, &names[end], &[], 0);
        for ticks in times {
            let peer = names[1 - end].as_slice();
            let (bytes, checksum, flags) = (100, 7, 0);
            log.datagram(&DatagramRecord {
                direction,
                flow: 1,
                ticks,
                duration: 0,
                bytes,
                checksum,
                flags,
                peer,
            });
        }
        log.write_file(data.hosts_dir().join("h0").join(format!("{pid}.sclog")))
    };
    write(0, Direction::Send, &mut sends.clone())?;
    write(1, Direction::Receive, &mut receives.into_iter())?;
    Ok(())
}

/// An address of `10.SECOND.0.0` and a port, different for each number up to 65536 times 60,000.
fn address(second: u8, number: u64) -> SocketAddr {
    let [.., one, other] = (number / 60_000).to_be_bytes();
    SocketAddr::from(([10, second, one, other], 1024 + (number % 60_000) as u16))
}

/// A log of process number `pid` of host number `host`.
fn log(host: u64, pid: u32) -> LogWriter {
    let mut log = LogWriter::new(&format!("h{host}"), pid, "/bin/proxy");
    log.set_boot(host as u8 + 1);
    log
}

/// Writes the logs of two proxies. Half of the connections of each are to servers and half are from
/// clients; neither were recorded. Data that comes in goes out 2 ms later.
fn alone(directory: &Path, connections: u64) -> Result<(), Box<dyn Error>> {
    let data = DataDir::new(directory);
    for host in 0..2 {
        let mut log = log(host, 100);
        for number in (host..connections / 2).step_by(2) {
            let (at, flow) = (APART * (number + 1), 2 * number as u32 + 1);
            let (asks, answers) = (100 + number % 3_000, 1_000 + number * 7_919 % 50_021);
            let own = inet_address(SocketAddr::from(([10, 0, host as u8, 1], 80)));
            log.flow(at, flow, TCP, FlowOrigin::Accept, 2 * number + 1);
            log.endpoints(at, flow, FlowRole::Accept, &own, &inet_address(address(1, number)), 0);
            log.receive(at + 1_000, flow, asks);
            let own = inet_address(address(3 + host as u8, number));
            log.flow(at + 1_500_000, flow + 1, TCP, FlowOrigin::Socket, 2 * number + 2);
            log.endpoints(
                at + 1_600_000,
                flow + 1,
                FlowRole::Connect,
                &own,
                &inet_address(address(2, number)),
                0,
            );
            log.send(at + 2_000_000, flow + 1, asks).receive(at + 5_000_000, flow + 1, answers);
            log.send(at + 5_100_000, flow, answers);
            log.close(at + 5_200_000, flow).close(at + 5_200_000, flow + 1);
        }
        log.write_file(data.hosts_dir().join(format!("h{host}")).join("100.sclog"))?;
    }
    Ok(())
}

/// Writes the logs of a client and of a server on another host with a clock that is an hour ahead.
/// Connections are to a name that neither end has, and the server sees another address of the
/// client with the client's port.
fn translated(directory: &Path, connections: u64) -> Result<(), Box<dyn Error>> {
    let data = DataDir::new(directory);
    for host in 0..2 {
        let mut log = log(host, 100);
        for number in 0..connections {
            // At irregular times.
            let jitter = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
            let (at, flow) =
                (APART * (number + 1) + jitter + host * 3_600_000_000_000, number as u32 + 1);
            let (asks, answers) = (100 + number % 3_000, 1_000 + number * 7_919 % 50_021);
            if host == 0 {
                log.flow(at, flow, TCP, FlowOrigin::Socket, number + 1);
                let own = inet_address(address(1, number));
                log.endpoints(
                    at,
                    flow,
                    FlowRole::Connect,
                    &own,
                    &inet_address(SocketAddr::from(([10, 9, 9, 9], 80))),
                    0,
                );
                log.send(at + 200_000, flow, asks).receive(at + 900_000, flow, answers);
            } else {
                let own = inet_address(SocketAddr::from(([10, 3, 0, 1], 8080)));
                log.flow(at + 150_000, flow, TCP, FlowOrigin::Accept, number + 1);
                log.endpoints(
                    at + 150_000,
                    flow,
                    FlowRole::Accept,
                    &own,
                    &inet_address(address(2, number)),
                    0,
                );
                log.receive(at + 300_000, flow, asks).send(at + 700_000, flow, answers);
            }
            log.close(at + 1_000_000, flow);
        }
        log.write_file(data.hosts_dir().join(format!("h{host}")).join("100.sclog"))?;
    }
    Ok(())
}

/// Writes the logs of a client and a server on one host, connected by a path.
fn unix(directory: &Path, connections: u64) -> Result<(), Box<dyn Error>> {
    let data = DataDir::new(directory);
    for (pid, connects) in [(100, true), (101, false)] {
        let mut log = log(0, pid);
        for number in 0..connections {
            let (at, flow) = (APART * (number + 1), number as u32 + 1);
            let asks = 100 + number % 3_000;
            if connects {
                log.flow(at, flow, UNIX_STREAM, FlowOrigin::Socket, 2 * number + 1);
                log.endpoints(at, flow, FlowRole::Connect, &[], &write::unix_address("/run/s"), 0);
                log.send(at + 1_000, flow, asks).receive(at + 4_000, flow, 900);
            } else {
                log.flow(at + 500, flow, UNIX_STREAM, FlowOrigin::Accept, 2 * number + 2);
                log.endpoints(
                    at + 500,
                    flow,
                    FlowRole::Accept,
                    &write::unix_address("/run/s"),
                    &[],
                    100,
                );
                log.receive(at + 2_000, flow, asks).send(at + 3_000, flow, 900);
            }
            log.close(at + 5_000, flow);
        }
        log.write_file(data.hosts_dir().join("h0").join(format!("{pid}.sclog")))?;
    }
    Ok(())
}

/// Writes the log of a server that gets a datagram from each of `flows` clients, and answers it.
fn udp(directory: &Path, flows: u64) -> Result<(), Box<dyn Error>> {
    let data = DataDir::new(directory);
    let mut log = log(0, 100);
    log.flow(0, 1, UDP, FlowOrigin::Socket, 1);
    log.endpoints(
        0,
        1,
        FlowRole::Bind,
        &inet_address(SocketAddr::from(([10, 0, 0, 1], 53))),
        &[],
        0,
    );
    for number in 0..flows {
        let peer = &inet_address(address(1, number));
        let sides = [(Direction::Receive, 0), (Direction::Send, 100_000)];
        for (direction, later) in sides {
            let (ticks, checksum) = (APART * (number + 1) + later, number as u32);
            log.datagram(&DatagramRecord {
                direction,
                flow: 1,
                ticks,
                duration: 0,
                bytes: 100,
                checksum,
                flags: 0,
                peer,
            });
        }
    }
    log.write_file(data.hosts_dir().join("h0").join("100.sclog"))?;
    Ok(())
}

fn run(directory: &Path, options: &Options) -> Result<(), Box<dyn Error>> {
    let data = DataDir::new(directory);
    let start = Instant::now();
    let outcome = reconcile::reconcile(&data, options, &Steps(start))?;
    println!(
        "{} records, {:.0} MB, {} messages ({} at both ends) in {:.2} s; peak {}",
        outcome.records,
        outcome.log_bytes as f64 / 1e6,
        outcome.total_messages(),
        outcome.both_ends,
        start.elapsed().as_secs_f64(),
        status("VmHWM:")
    );
    Ok(())
}

/// Prints when each step begins, with the memory and processor time used until then.
struct Steps(Instant);

impl Progress for Steps {
    fn begin_step(&self, what: &str, _: u64) {
        let elapsed = self.0.elapsed().as_secs_f64();
        println!("  {elapsed:>6.2} s, {:.2} s used, {:>12}: {what}", used(), status("RssAnon:"));
    }

    fn advance_step(&self, _: u64) {}
}

/// The processor time of this process, in seconds.
fn used() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn status(what: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    line.map_or("unknown".to_owned(), |value| value.trim().to_owned())
}
