//! Logs of many hosts, to see how fast reconciliation is. `scripts/bench reconcile` measures with them.
//! `cargo run --release -p reconcile --example scale -- make DIRECTORY MESSAGES` writes the logs,
//! `... -- run DIRECTORY [MEMORY]` reconciles them and prints the time of each step and the peak memory.

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use message_trace::{DataDir, Progress};
use reconcile::Options;
use socket_log::encode::{Origin, Role};
use socket_log::write::{LogWriter, TCP, inet};

const HOSTS: u64 = 115;
/// Messages of one connection, where nobody chose.
const EACH: u64 = 20;
/// A connection begins this many nanoseconds after the one before.
const APART: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str =
        "usage: scale make DIRECTORY MESSAGES [EACH] | scale run DIRECTORY [MEMORY] [THREADS]";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["make", directory, messages] => make(Path::new(directory), messages.parse()?, EACH),
        ["make", directory, messages, each] => make(Path::new(directory), messages.parse()?, each.parse()?),
        ["run", directory, options @ ..] => {
            let default = Options::default();
            let memory = options.first().map_or(Ok(default.memory), |memory| memory.parse())?;
            let threads = options.get(1).map(|threads| threads.parse::<NonZeroUsize>()).transpose()?;
            run(Path::new(directory), &Options { memory, threads, ..default })
        }
        _ => Err(USAGE.into()),
    }
}

/// Writes the logs, host by host: each connection is between two hosts and has `each` messages, half of them requests.
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
        log.write(&data.hosts().join(format!("h{host}")).join("100.sclog"))?;
    }
    Ok(())
}

/// The hosts of a connection.
fn ends(connection: u64) -> (u64, u64) {
    let (from, to) = (connection % HOSTS, (connection * 7 + 1) % HOSTS);
    (from, if from == to { (to + 1) % HOSTS } else { to })
}

/// Adds what one end of a connection does. `scripts/bench reconcile` makes the same records for its comparison.
fn add(log: &mut LogWriter, connection: u64, each: u64, connects: bool) {
    let (from, to) = ends(connection);
    let port = 1024 + (connection / HOSTS) % 60_000;
    let (at, flow) = (APART * connection, connection as u32 + 1);
    let [client, server] = [(from, port), (to, 80)].map(|(host, port)| {
        let address = std::net::SocketAddr::from(([10, 0, host as u8, 1], port as u16));
        inet(address)
    });
    let (own, peer, role, origin) = match connects {
        true => (&client, &server, Role::Connect, Origin::Socket),
        false => (&server, &client, Role::Accept, Origin::Accept),
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

/// Prints when each step begins, and how much memory and processor time there was until then.
struct Steps(Instant);

impl Progress for Steps {
    fn step(&self, what: &str, _: u64) {
        let elapsed = self.0.elapsed().as_secs_f64();
        println!("  {elapsed:>6.2} s, {:.2} s used, {:>12}: {what}", used(), status("RssAnon:"));
    }

    fn advance(&self, _: u64) {}
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
