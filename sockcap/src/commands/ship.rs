//! `sockcap ship`: sends a host's logs to a collector. It shows its progress on a terminal and
//! reports problems.

use std::process::ExitCode;

use clap::Parser;
use std::sync::Mutex;
use std::time::Duration;

use collector::keys::KeyBundle;
use collector::ship::{self, ShipEvent, ShipListener, ShipOptions};
use collector::tls;
use message_trace::FileKind;

use crate::arguments::completion_candidates::host_candidates;
use crate::arguments::values::{host_name, parse_bytes as size, parse_duration};
use crate::arguments::{DataArguments, TrustArguments, require_loopback};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::{format_bytes, print_message};
use crate::progress::SendingProgress;
use crate::signals::stop_on_signals;

const HELP: &str = "\
Run it on every host, together with 'sockcap record' on the same data
directory. Whatever happens to the network, the collector or this program:
shipping continues where it stopped, and all records that the collector has
acknowledged are on its disk. 'sockcap keys host NAME' makes the key.

Examples:
  sockcap ship --to collector.example:9712 --key web1.pem
  sockcap ship --to collector.example:9712 --key web1.pem --once
  sockcap ship --to 127.0.0.1:9712 --plain --limit 500K --remove-shipped";

/// Time between two looks for new records, unless the user sets another.
const INTERVAL: &str = "1s";

/// Time without any progress after which `--once` fails, unless the user sets another.
const PATIENCE: &str = "5m";

/// Send a host's logs to a collector
#[derive(Debug, Parser)]
#[command(name = "ship", after_help = HELP)]
pub(crate) struct ShipCommand {
    #[command(flatten)]
    data: DataArguments,
    /// The collector
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    /// With --plain, permit other addresses than loopback as well
    #[arg(long, requires = "plain")]
    force: bool,
    /// The host of the logs to send; with --plain the only one in the directory [default: the key's
    /// host]
    #[arg(long, value_name = "NAME", value_parser = host_name, add = host_candidates())]
    host: Option<String>,
    /// End when everything is sent
    #[arg(long, conflicts_with = "follow")]
    once: bool,
    /// Continue with new records as they are written (as without --once)
    #[arg(long)]
    follow: bool,
    /// Remove each log that the collector has stored once its process has ended
    #[arg(long)]
    remove_shipped: bool,
    /// Send at most RATE bytes per second: a number, with an optional suffix K, M or G (at least
    /// 1K)
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    limit: Option<u64>,
    /// How often to look for new records
    #[arg(long, value_name = "TIME", default_value = INTERVAL, value_parser = parse_duration)]
    interval: Duration,
    /// With --once: fail if nothing could be sent for this long
    #[arg(long, value_name = "TIME", default_value = PATIENCE, value_parser = parse_duration)]
    patience: Duration,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<ShipCommand>();

impl RunnableCommand for ShipCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let key = self.trust.key.as_deref().map(KeyBundle::open).transpose()?;
        if self.trust.plain && !self.force {
            require_loopback(&self.to)?;
        }
        let data = self.data.data_dir();
        let options = ShipOptions {
            host: shipper_host(self, key.as_ref())?,
            data,
            to: self.to.clone(),
            tls: key.as_ref().map(tls::client_config).transpose()?,
            follow: !self.once,
            interval: self.interval,
            remove: self.remove_shipped,
            limit: self.limit,
            patience: self.patience,
        };
        let stop = stop_on_signals()?;
        let events = ShipMonitor {
            to: &options.to,
            sending: SendingProgress::new(),
            last_line: Mutex::new(String::new()),
        };
        let summary = ship::run_shipper(&options, &events, &stop);
        drop(events);
        let summary = summary?;
        print_message(&format!(
            "{} sent to {}, {} on the wire; next, there: sockcap report",
            format_bytes(summary.sent),
            options.to,
            format_bytes(summary.wire),
        ));
        Ok(if summary.unreadable > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Parses a rate in bytes per second.
fn parse_rate(text: &str) -> Result<u64, String> {
    let rate = size(text)?;
    if rate < 1024 { Err("the minimum rate is 1K".into()) } else { Ok(rate) }
}

/// The host that the logs belong to.
fn shipper_host(arguments: &ShipCommand, key: Option<&KeyBundle>) -> Result<String, CommandError> {
    if let Some(host) = &arguments.host {
        return Ok(host.clone());
    }
    let mut names = match key {
        Some(key) => key.names().to_vec(),
        None => {
            let hosts =
                arguments.data.data_dir().hosts_dir().entries().unwrap_or_default().into_iter();
            hosts
                .filter(|host| host.kind == FileKind::Directory)
                .filter_map(|host| host.path.file_name()?.to_str().map(str::to_owned))
                .collect()
        }
    };
    match (names.pop(), names.is_empty()) {
        (Some(host), true) => Ok(host),
        _ => Err(CommandError::WhichHost),
    }
}

/// Prints notable events on standard error, each once until a different one occurs.
struct ShipMonitor<'a> {
    to: &'a str,
    sending: SendingProgress,
    last_line: Mutex<String>,
}

impl ShipMonitor<'_> {
    /// Prints `line` above the progress bar, unless it is the line that was printed last.
    fn say_once(&self, line: String) {
        if let Ok(mut said) = self.last_line.lock()
            && *said != line
        {
            self.sending.suspend_bar(|| print_message(&line));
            *said = line;
        }
    }
}

impl ShipListener for ShipMonitor<'_> {
    fn on_event(&self, event: &ShipEvent<'_>) {
        let to = self.to;
        match event {
            ShipEvent::Connected => {
                let was_lost = self.last_line.lock().is_ok_and(|mut said| !std::mem::take(&mut *said).is_empty());
                if was_lost {
                    self.say_once(format!("{to}: connected again"));
                }
            }
            ShipEvent::Progress { sent, left } => self.sending.update_bytes(*sent, *left),
            ShipEvent::Lost { why, again: _ } => self.say_once(format!("{to}: {why}; retrying \
                                                                        until it works")),
            ShipEvent::NotStored { shortage, again: _ } => {
                self.say_once(format!("{to}: {shortage}; data that was not stored is sent again"));
            }
            ShipEvent::Twin { name, first } => self.say_once(format!("{name} is a copy of {first} and is not sent")),
            ShipEvent::Others { hosts } => self.say_once(format!(
                "there are logs of other hosts, which are not sent: {}; each needs a 'sockcap ship' of its own",
                hosts.join(", ")
            )),
            ShipEvent::Unreadable { name, error } => self.say_once(format!("{name} is skipped: \
                                                                            {error}")),
            ShipEvent::NotRemoved { name, error } => self.say_once(format!("{name} cannot be removed: {error}")),
            ShipEvent::Hint(_) | ShipEvent::Removed { .. } => {}
        }
    }
}
