//! The arguments of `sockcap ship` and `sockcap collect`: the logs of many hosts in one place.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Data;
use super::values::{bytes, duration, host_name};
use crate::complete::hosts;

pub(super) const SHIP_HELP: &str = "\
Run it on every host, beside 'sockcap record' into the same data directory.
Whatever happens to the network, the collector or this program: shipping goes
on where it stopped, and what the collector has acknowledged is on its disk.
'sockcap keys host NAME' makes the key.

Examples:
  sockcap ship --to collector.example:9712 --key web1.pem
  sockcap ship --to collector.example:9712 --key web1.pem --once
  sockcap ship --to 127.0.0.1:9712 --plain --limit 500K --remove-shipped";

pub(super) const COLLECT_HELP: &str = "\
What it gathers is a data directory like any other: 'sockcap report -d DIR'
works on it at any time. 'sockcap keys new' makes the key. Figures for
Prometheus are at http://127.0.0.1:9713/metrics. It ends on SIGTERM or an
interrupt, between two messages of each host.

Examples:
  sockcap collect --key sockcap.keys/collector.pem
  sockcap collect -d /srv/traces --listen 10.0.0.1:9712 --key collector.pem
  sockcap collect --listen 127.0.0.1:9712 --plain";

/// Who is at the other end.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Trust {
    /// The key of this machine, as 'sockcap keys' made it
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// No encryption, and anybody may write under any name; only over loopback addresses
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ship {
    #[command(flatten)]
    pub(crate) data: Data,
    /// The collector
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) trust: Trust,
    /// With --plain, over other addresses than loopback as well
    #[arg(long, requires = "plain")]
    pub(crate) force: bool,
    /// The host whose logs are sent; with --plain the only one there is [default: the key's host]
    #[arg(long, value_name = "NAME", value_parser = host_name, add = hosts())]
    pub(crate) host: Option<String>,
    /// End when all is sent
    #[arg(long, conflicts_with = "follow")]
    pub(crate) once: bool,
    /// Go on with what is written from then on (as without --once)
    #[arg(long)]
    pub(crate) follow: bool,
    /// Remove each log that the collector has once its process has ended
    #[arg(long)]
    pub(crate) remove_shipped: bool,
    /// Send at most so many bytes a second: a number, or one with K, M or G behind (at least 1K)
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) limit: Option<u64>,
    /// How often to look for what is new
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(crate) interval: Duration,
    /// With --once: fail when nothing could be sent for so long
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) patience: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Collect {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Where to listen; with --plain at 127.0.0.1:9712 [default: port 9712 of all addresses]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) trust: Trust,
    /// With --plain, on other addresses than loopback as well
    #[arg(long, requires = "plain")]
    pub(crate) force: bool,
    /// The list of revoked keys, which is followed while this runs [default: revoked.crl beside the
    /// key]
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) revoked: Option<PathBuf>,
    /// The most that one host may have on the disk: bytes, or with K, M or G behind
    #[arg(long, value_name = "SIZE", default_value = "100G", value_parser = bytes)]
    pub(crate) quota: u64,
    /// The most files that one host may have
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) max_files: u64,
    /// Where to serve figures for Prometheus, or 'none'
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9713")]
    pub(crate) metrics: String,
    /// How often to print what there is of each host
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) every: Duration,
}

/// Bytes a second.
fn rate(text: &str) -> Result<u64, String> {
    let rate = bytes(text)?;
    if rate < 1024 { Err("the least that may be sent a second is 1K".into()) } else { Ok(rate) }
}
