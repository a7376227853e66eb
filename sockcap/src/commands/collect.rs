//! `sockcap collect`: gathers the logs of many hosts. It prints a line for every problem, and a
//! table of the hosts from time to time.

mod log;

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use registry::{ShownDefault, values};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use collector::clock;
use collector::collect::{
    self, CollectEvent, CollectListener, CollectOptions, Deadlines, HostLimits, RefusalCause,
};
use collector::keys::{KeyBundle, REVOKED_FILE, RevocationWatcher};
use collector::link::StopFlag;
use collector::metrics::{CollectorMetrics, HostFigures, MetricsServer};
use collector::tls;
use collector::wire::StorageShortage;

use crate::arguments::values::{host_name, parse_bytes as size, parse_duration};
use crate::arguments::{DataArguments, TrustArguments, require_loopback};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::{self, count_noun, format_bytes, print_message};
use crate::signals::stop_on_signals;
use crate::tuning::LINES_AT_ONCE;
use crate::words::same_directory;
use log::RateLimitedLog;

const HELP: &str = "\
The logs are gathered in a data directory like any other: 'sockcap report -d
DIR' works on it at any time. 'sockcap keys new' makes the key. Metrics for
Prometheus are at http://127.0.0.1:9713/metrics. The command ends on SIGTERM or
an interrupt, between two messages of each host.

Examples:
  sockcap collect --key sockcap.keys/collector.pem
  sockcap collect -d /srv/traces --listen 10.0.0.1:9712 --key collector.pem
  sockcap collect --listen 127.0.0.1:9712 --plain";

/// The port to listen on unless the user names another.
const PORT: u16 = 9712;

/// The address to listen on without keys, unless the user names another.
const LOOPBACK: &str = "127.0.0.1";

/// The address of the metrics unless the user names another.
const METRICS: &str = "127.0.0.1:9713";

/// Maximum disk space of one host in bytes, unless the user sets another.
const QUOTA_BYTES: u64 = 100 << 30;

/// Maximum number of files of one host, unless the user sets another.
const MAX_FILES: u64 = 100_000;

/// Time between two tables of the hosts, unless the user sets another.
const TABLE_INTERVAL: &str = "1m";

/// Gather the logs of many hosts in one data directory
#[derive(Debug, Parser)]
#[command(name = "collect", after_help = HELP)]
pub(crate) struct CollectCommand {
    #[command(flatten)]
    data: DataArguments,
    #[arg(
        long,
        value_name = "ADDR:PORT",
        help = format!("The address to listen on; with --plain {LOOPBACK}:{PORT}"),
        add = ShownDefault::new(format_args!("port {PORT} of all addresses"))
    )]
    listen: Option<String>,
    #[command(flatten)]
    trust: TrustArguments,
    /// With --plain, permit other addresses than loopback as well
    #[arg(long, requires = "plain")]
    force: bool,
    /// The list of revoked keys, which is watched for changes
    #[arg(
        long,
        value_name = "FILE",
        requires = "key",
        add = ShownDefault::new(format_args!("{REVOKED_FILE} next to the key"))
    )]
    revoked: Option<PathBuf>,
    /// The maximum disk space of one host: bytes, with an optional suffix K, M or G
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = values::show_bytes(QUOTA_BYTES))]
    quota: u64,
    /// The maximum number of files of one host
    #[arg(long, value_name = "N", default_value_t = MAX_FILES)]
    max_files: u64,
    /// The address at which metrics for Prometheus are served, or 'none'
    #[arg(long, value_name = "ADDR:PORT", default_value = METRICS)]
    metrics: String,
    /// A host name under which the metrics may be requested, besides the address and localhost (may
    /// be given several times)
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    metrics_host: Vec<String>,
    /// How often to print the table of hosts
    #[arg(long, value_name = "TIME", default_value = TABLE_INTERVAL, value_parser = parse_duration)]
    every: Duration,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<CollectCommand>();

impl RunnableCommand for CollectCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let plain = self.trust.plain;
        let host = if plain { LOOPBACK } else { "[::]" };
        let listen = self.listen.clone().unwrap_or_else(|| format!("{host}:{PORT}"));
        if plain && !self.force {
            require_loopback(&listen)?;
        }
        let key = self.trust.key.as_deref().map(KeyBundle::open).transpose()?;
        let list = self.revoked.clone();
        let list =
            list.or_else(|| self.trust.key.as_ref().map(|key| key.with_file_name(REVOKED_FILE)));
        let revoked = match list.as_deref().zip(key.as_ref()) {
            Some((list, key)) => Some(Arc::new(RevocationWatcher::open(list, key)?)),
            None => None,
        };
        let options = CollectOptions {
            data: self.data.data_dir(),
            tls: key
                .as_ref()
                .map(|key| tls::server_config_with(key, revoked.as_ref()))
                .transpose()?,
            revoked,
            limits: HostLimits { bytes: self.quota, files: self.max_files },
            deadlines: Deadlines::default(),
        };
        let failed = |address: &str| {
            let address = address.to_owned();
            move |source| CommandError::Address { address, source }
        };
        let listener = TcpListener::bind(&listen).map_err(failed(&listen))?;
        let address = listener.local_addr().map_err(failed(&listen))?;
        let served = Some(self.metrics.as_str()).filter(|metrics| *metrics != "none");
        let server =
            served.map(|served| MetricsServer::bind(served).map_err(failed(served))).transpose()?;
        // Clients that query a machine use its own name; pages from elsewhere do not know it.
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let names = self.metrics_host.iter().cloned().chain([own]).collect();
        let server = server.map(|server| server.with_names(names));
        let stop = stop_on_signals()?;
        let causes = RefusalCause::ALL.map(RefusalCause::label);
        let monitor = CollectMonitor {
            metrics: CollectorMetrics::new(
                Some(self.quota),
                &causes,
                &StorageShortage::ALL.map(StorageShortage::label),
            ),
            log: RateLimitedLog::default(),
        };
        let figures = match server
            .as_ref()
            .map(MetricsServer::address)
            .transpose()
            .map_err(CommandError::Output)?
        {
            Some(address) => format!("; figures: http://{address}/metrics"),
            None => String::new(),
        };
        if let Some(list) = self.revoked.as_deref().filter(|list| !list.exists()) {
            print_message(&format!(
                "{}: does not exist yet, so no key is revoked until it does",
                list.display()
            ));
        }
        print_message(&format!(
            "collecting on {address} into {}{figures}",
            options.data.path().display()
        ));
        std::thread::scope(|scope| {
            if let Some(server) = &server {
                scope.spawn(|| server.run(&monitor.metrics, &stop));
            }
            scope.spawn(|| monitor.print_periodically(self.every, &stop));
            let result = collect::run_collector(&options, &listener, &monitor, &stop);
            stop.store(true, Relaxed);
            result
        })?;
        monitor.print_hosts();
        let hosts = count_noun(monitor.metrics.host_figures().len() as u64, "host", "hosts");
        print_message(&format!(
            "{hosts} gathered; next: sockcap report{}",
            same_directory(&options.data)
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// The listener for events: it counts them, and prints the important ones.
struct CollectMonitor {
    metrics: CollectorMetrics,
    log: RateLimitedLog,
}

impl CollectMonitor {
    /// Prints the table of hosts whenever it has changed, until it is stopped.
    fn print_periodically(&self, every: Duration, stop: &StopFlag) {
        let mut before = self.metrics.host_figures();
        let mut next = Instant::now() + every;
        while !stop.load(Relaxed) {
            std::thread::sleep(every.min(Duration::from_millis(200)));
            self.log.log_suppressed();
            if Instant::now() < next {
                continue;
            }
            next = Instant::now() + every;
            let now = self.metrics.host_figures();
            if now != before {
                self.print_hosts();
                before = now;
            }
        }
    }

    fn print_hosts(&self) {
        let hosts = self.metrics.host_figures();
        if !hosts.is_empty() {
            // A failure to print the table is ignored.
            let mut out = output::text_output();
            let _ = out
                .write_all(host_table(&hosts, clock::unix_nanoseconds()).as_bytes())
                .and_then(|()| out.flush());
        }
    }
}

/// The table of hosts: one line each, below a line of headings.
fn host_table(hosts: &[HostFigures], now: i64) -> String {
    let name = hosts.iter().map(|host| host.host.len()).max().unwrap_or(0).max(4);
    let mut text = format!(
        "{:name$}  {:>9}  {:>9}  {:>10}  {:>10}  {:>6}  {:>10}  {:>12}\n",
        "host", "connected", "last", "left", "received", "files", "on disk", "clock"
    );
    for host in hosts {
        let connected = if host.connections > 0 { "yes" } else { "no" };
        let ago = |at: i64| format_span(now.saturating_sub(at).max(0));
        let last = host.acknowledged.map_or("-".to_owned(), ago);
        let left = host.left.map_or("-".to_owned(), format_bytes);
        let clock = host.clock_offset.map_or("-".to_owned(), |offset| {
            let sign = if offset < 0 { '-' } else { '+' };
            format!("{sign}{}", format_span(offset.saturating_abs()))
        });
        let (received, used) = (format_bytes(host.received), format_bytes(host.used));
        let _ = writeln!(
            text,
            "{:name$}  {connected:>9}  {last:>9}  {left:>10}  {received:>10}  {:>6}  {used:>10}  {clock:>12}",
            host.host, host.files
        );
    }
    text
}

/// A time span in nanoseconds as text.
fn format_span(nanoseconds: i64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0..1_000_000 => format!("{:.0} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        1_000_000_000..600_000_000_000 => format!("{:.1} s", value / 1e9),
        _ => format!("{:.0} min", value / 60e9),
    }
}

impl CollectListener for CollectMonitor {
    fn on_event(&self, event: &CollectEvent<'_>) {
        let say = |kind, line: String| self.log.log_line(kind, LINES_AT_ONCE, &line);
        match event {
            CollectEvent::Connected { host, peer } => {
                self.metrics.host_connected(host);
                say("hosts that connected", format!("{host} connected from {peer}"));
            }
            CollectEvent::Stored { host, gained, has, left } => {
                self.metrics.set_stored(host, has.files, has.bytes);
                if let Some(left) = left {
                    self.metrics.record_acknowledged(
                        host,
                        clock::unix_nanoseconds(),
                        gained.stored,
                        gained.wire,
                        *left,
                    );
                }
            }
            CollectEvent::NotStored { host, shortage, error } => {
                self.metrics.record_not_stored(shortage.label());
                let why = error.as_ref().map_or(String::new(), |error| format!(": {error}"));
                say("data that was not stored", format!("{host}: not stored: {shortage}{why}"));
            }
            CollectEvent::Revocations { path, error: None } => say(
                "lists of revoked keys",
                format!(
                    "{}: read; the keys that it revokes are no longer \
                         accepted",
                    path.display()
                ),
            ),
            CollectEvent::Revocations { path: _, error: Some(error) } => say(
                "lists of revoked keys",
                format!("{error}; keys that were revoked before stay revoked"),
            ),
            CollectEvent::Misnamed { host, name, says } => {
                self.metrics.record_misnamed();
                let line = format!(
                    "{host}: {name} states that it is a log of {says}; it is kept as a log of \
                     {host}"
                );
                say("logs that name another host", line);
            }
            CollectEvent::Hint { host, exchange } => {
                self.metrics.record_clock(host, exchange.clock_offset(), exchange.round_trip());
            }
            CollectEvent::Disconnected { host, why, after } => {
                self.metrics.host_disconnected(host);
                let why = why.map_or(String::new(), |why| format!(": {why}"));
                let after = format_span(i64::try_from(after.as_nanos()).unwrap_or(i64::MAX));
                say("hosts that disconnected", format!("{host} disconnected after {after}{why}"));
            }
            CollectEvent::NotAccepted { error } => {
                let line = format!("connections cannot be accepted: {error}; retrying");
                self.log.log_line("connections that could not be accepted", 1, &line);
            }
            CollectEvent::Refused { peer, host, cause, why } => {
                self.metrics.record_refused(cause.label());
                let host = host.map_or(String::new(), |host| format!(" ({host})"));
                self.log.log_line(
                    refusal_words(*cause),
                    1,
                    &format!("refused {peer}{host}: {why}"),
                );
            }
        }
    }
}

/// The words for the refusals of a cause in the log.
fn refusal_words(cause: RefusalCause) -> &'static str {
    match cause {
        RefusalCause::Tls => "refused connections (tls)",
        RefusalCause::Revoked => "refused connections (revoked)",
        RefusalCause::Slow => "refused connections (slow)",
        RefusalCause::Protocol => "refused connections (protocol)",
        RefusalCause::Version => "refused connections (version)",
        RefusalCause::Name => "refused connections (name)",
        RefusalCause::Violation => "refused connections (violation)",
        RefusalCause::Many => "refused connections (many)",
        RefusalCause::Internal => "refused connections (internal)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_host() {
        let one = HostFigures {
            host: "web-1".into(),
            connections: 1,
            acknowledged: Some(5_000_000_000),
            left: Some(2048),
            received: 3 << 20,
            files: 7,
            used: 10 << 20,
            clock_offset: Some(-1_500_000),
            ..HostFigures::default()
        };
        let other = HostFigures { host: "b".into(), ..HostFigures::default() };
        let expected = "\
host   connected       last        left    received   files     on disk         clock
web-1        yes      2.5 s     2.0 KiB     3.0 MiB       7    10.0 MiB       -1.5 ms
b             no          -           -         0 B       0         0 B             -
";
        assert_eq!(host_table(&[one, other], 7_500_000_000), expected);
    }
}
