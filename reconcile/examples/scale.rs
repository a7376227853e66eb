//! How fast reconciliation is: makes logs of many hosts, reconciles them, and prints the time and the peak memory.
//! `cargo run --release -p reconcile --example scale [MESSAGES]`

use std::error::Error;
use std::time::Instant;

use message_trace::{DataDir, Progress};
use socket_log::encode::{Origin, Role};
use socket_log::write::{LogWriter, TCP, inet};

const HOSTS: u64 = 115;
/// Messages of one connection.
const EACH: u64 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let messages: u64 = std::env::args().nth(1).map_or(Ok(4_700_000), |text| text.parse())?;
    let directory = tempfile::tempdir()?;
    let data = DataDir::new(directory.path());
    let start = Instant::now();
    let mut logs: Vec<LogWriter> =
        (0..HOSTS).map(|host| LogWriter::new(&format!("h{host}"), 100, "/bin/proxy")).collect();
    for connection in 0..messages / EACH {
        let (from, to) = (connection % HOSTS, (connection * 7 + 1) % HOSTS);
        let to = if from == to { (to + 1) % HOSTS } else { to };
        let flow = connection as u32 + 1;
        let port = 1024 + (connection / HOSTS) % 60_000;
        let local = inet(format!("10.0.{}.1:{port}", from).parse()?);
        let peer = inet(format!("10.0.{}.1:80", to).parse()?);
        let at = 1_000_000 * connection;
        for (host, own, other, role, origin, cookie) in [
            (from, &local, &peer, Role::Connect, Origin::Socket, 2 * connection + 1),
            (to, &peer, &local, Role::Accept, Origin::Accept, 2 * connection + 2),
        ] {
            let log = &mut logs[host as usize];
            log.flow(at, flow, TCP, origin, cookie).endpoints(at, flow, role, own, other, 0);
        }
        for turn in 0..EACH / 2 {
            let at = at + 1_000 * turn;
            logs[from as usize].send(at + 100, flow, 300);
            logs[to as usize].receive(at + 200, flow, 300).send(at + 300, flow, 5_000);
            logs[from as usize].receive(at + 400, flow, 5_000);
        }
    }
    for (host, log) in logs.iter().enumerate() {
        log.write(&data.hosts().join(format!("h{host}")).join("100.sclog"))?;
    }
    drop(logs);
    println!("{messages} messages written in {:.1} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let outcome = reconcile::reconcile(&data, &reconcile::Options::default(), &Steps(start))?;
    println!(
        "{} records, {:.0} MB, {} messages ({} at both ends) in {:.2} s; peak {}",
        outcome.records,
        outcome.log_bytes as f64 / 1e6,
        outcome.total_messages(),
        outcome.both_ends,
        start.elapsed().as_secs_f64(),
        peak()
    );
    Ok(())
}

/// Prints when each step begins.
struct Steps(Instant);

impl Progress for Steps {
    fn step(&self, what: &str, _: u64) {
        println!("  {:>6.2} s: {what}", self.0.elapsed().as_secs_f64());
    }

    fn advance(&self, _: u64) {}
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_owned(), |peak| peak.trim().to_owned())
}
