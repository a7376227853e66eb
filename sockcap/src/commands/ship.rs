//! `sockcap ship`: sends a host's logs to a collector, and says how far it is on a terminal and
//! what is wrong anywhere.

use std::process::ExitCode;

use clap::Parser;
use std::sync::Mutex;
use std::time::Duration;

use collector::keys::Bundle;
use collector::ship::{self, Event, Events, Options};
use collector::tls;
use message_trace::FileKind;

use crate::arguments::offers::hosts;
use crate::arguments::values::{bytes as size, duration, host_name};
use crate::arguments::{Data, Trust, only_loopback};
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::{bytes, say};
use crate::progress::Sending;
use crate::signals::stopped_by_signals;

const HELP: &str = "\
Run it on every host, beside 'sockcap record' into the same data directory.
Whatever happens to the network, the collector or this program: shipping goes
on where it stopped, and what the collector has acknowledged is on its disk.
'sockcap keys host NAME' makes the key.

Examples:
  sockcap ship --to collector.example:9712 --key web1.pem
  sockcap ship --to collector.example:9712 --key web1.pem --once
  sockcap ship --to 127.0.0.1:9712 --plain --limit 500K --remove-shipped";

/// Send a host's logs to a collector
#[derive(Debug, Parser)]
#[command(name = "ship", after_help = HELP)]
pub(crate) struct Ship {
    #[command(flatten)]
    data: Data,
    /// The collector
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) trust: Trust,
    /// With --plain, over other addresses than loopback as well
    #[arg(long, requires = "plain")]
    force: bool,
    /// The host whose logs are sent; with --plain the only one there is [default: the key's host]
    #[arg(long, value_name = "NAME", value_parser = host_name, add = hosts())]
    host: Option<String>,
    /// End when all is sent
    #[arg(long, conflicts_with = "follow")]
    once: bool,
    /// Go on with what is written from then on (as without --once)
    #[arg(long)]
    follow: bool,
    /// Remove each log that the collector has once its process has ended
    #[arg(long)]
    remove_shipped: bool,
    /// Send at most RATE bytes per second: a number, or one with K, M or G behind (at least 1K)
    #[arg(long, value_name = "RATE", value_parser = rate)]
    limit: Option<u64>,
    /// How often to look for what is new
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    interval: Duration,
    /// With --once: fail when nothing could be sent for so long
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    patience: Duration,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Ship>();

impl Run for Ship {
    fn run(&self) -> Result<ExitCode, Error> {
        let key = self.trust.key.as_deref().map(Bundle::open).transpose()?;
        if self.trust.plain && !self.force {
            only_loopback(&self.to)?;
        }
        let data = self.data.dir();
        let options = Options {
            host: host(self, key.as_ref())?,
            data,
            to: self.to.clone(),
            tls: key.as_ref().map(tls::client).transpose()?,
            follow: !self.once,
            interval: self.interval,
            remove: self.remove_shipped,
            limit: self.limit,
            patience: self.patience,
        };
        let stop = stopped_by_signals()?;
        let events =
            Told { to: &options.to, sending: Sending::new(), said: Mutex::new(String::new()) };
        let summary = ship::run(&options, &events, &stop);
        drop(events);
        let summary = summary?;
        say(&format!(
            "{} sent to {}, {} on the wire; next, there: sockcap report",
            bytes(summary.sent),
            options.to,
            bytes(summary.wire),
        ));
        Ok(if summary.unreadable > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Bytes a second.
fn rate(text: &str) -> Result<u64, String> {
    let rate = size(text)?;
    if rate < 1024 { Err("the least that may be sent a second is 1K".into()) } else { Ok(rate) }
}

/// Whose logs are sent.
fn host(arguments: &Ship, key: Option<&Bundle>) -> Result<String, Error> {
    if let Some(host) = &arguments.host {
        return Ok(host.clone());
    }
    let mut names = match key {
        Some(key) => key.names().to_vec(),
        None => {
            let hosts = arguments.data.dir().hosts().entries().unwrap_or_default().into_iter();
            hosts
                .filter(|host| host.kind == FileKind::Directory)
                .filter_map(|host| host.path.file_name()?.to_str().map(str::to_owned))
                .collect()
        }
    };
    match (names.pop(), names.is_empty()) {
        (Some(host), true) => Ok(host),
        _ => Err(Error::WhichHost),
    }
}

/// Says on standard error what is worth knowing, each thing once until something else happened.
struct Told<'a> {
    to: &'a str,
    sending: Sending,
    said: Mutex<String>,
}

impl Told<'_> {
    fn say(&self, line: String) {
        if let Ok(mut said) = self.said.lock()
            && *said != line
        {
            self.sending.aside(|| say(&line));
            *said = line;
        }
    }
}

impl Events for Told<'_> {
    fn event(&self, event: &Event<'_>) {
        let to = self.to;
        match event {
            Event::Connected => {
                let was_lost = self.said.lock().is_ok_and(|mut said| !std::mem::take(&mut *said).is_empty());
                if was_lost {
                    self.say(format!("{to}: connected again"));
                }
            }
            Event::Progress { sent, left } => self.sending.update(*sent, *left),
            Event::Lost { why, again: _ } => self.say(format!("{to}: {why}; it is tried again until it works")),
            Event::NotStored { shortage, again: _ } => {
                self.say(format!("{to}: {shortage}; what was not stored is sent again"));
            }
            Event::Twin { name, first } => self.say(format!("{name} is a copy of {first} and is not sent")),
            Event::Others { hosts } => self.say(format!(
                "there are logs of other hosts, which are not sent: {}; each needs a 'sockcap ship' of its own",
                hosts.join(", ")
            )),
            Event::Unreadable { name, error } => self.say(format!("{name} is passed over: {error}")),
            Event::NotRemoved { name, error } => self.say(format!("{name} cannot be removed: {error}")),
            Event::Hint(_) | Event::Removed { .. } => {}
        }
    }
}
