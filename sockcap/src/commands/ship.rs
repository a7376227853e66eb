//! `sockcap ship`: sends a host's logs to a collector, and says how far it is on a terminal and
//! what is wrong anywhere.

use std::net::ToSocketAddrs;
use std::process::ExitCode;
use std::sync::Mutex;

use collector::keys::Bundle;
use collector::link::Stop;
use collector::ship::{self, Event, Events, Options};
use collector::tls;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::Ship;
use crate::error::Error;
use crate::output::{bytes, say};
use crate::progress::Sending;

pub(crate) fn run(arguments: &Ship) -> Result<ExitCode, Error> {
    let key = arguments.trust.key.as_deref().map(Bundle::open).transpose()?;
    if arguments.trust.plain && !arguments.force {
        only_loopback(&arguments.to)?;
    }
    let data = arguments.data.dir();
    let options = Options {
        host: host(arguments, key.as_ref())?,
        data,
        to: arguments.to.clone(),
        tls: key.as_ref().map(tls::client).transpose()?,
        follow: !arguments.once,
        interval: arguments.interval,
        remove: arguments.remove_shipped,
        limit: arguments.limit,
        patience: arguments.patience,
    };
    let stop = stopped_by_signals()?;
    let events = Told { to: &options.to, sending: Sending::new(), said: Mutex::new(String::new()) };
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

/// What is set when this process is asked to end.
pub(super) fn stopped_by_signals() -> Result<Stop, Error> {
    let stop = Stop::default();
    for signal in [SIGTERM, SIGINT] {
        // Whoever asks twice means it.
        signal_hook::flag::register_conditional_default(signal, Stop::clone(&stop))
            .map_err(Error::Signals)?;
        signal_hook::flag::register(signal, Stop::clone(&stop)).map_err(Error::Signals)?;
    }
    Ok(stop)
}

/// Fails where an address can be reached from elsewhere, or cannot be told.
pub(super) fn only_loopback(address: &str) -> Result<(), Error> {
    let failed = |source| Error::Address { address: address.to_owned(), source };
    let mut addresses = address.to_socket_addrs().map_err(failed)?;
    if addresses.all(|address| address.ip().is_loopback()) {
        Ok(())
    } else {
        Err(Error::PlainAbroad(address.to_owned()))
    }
}

/// Whose logs are sent.
fn host(arguments: &Ship, key: Option<&Bundle>) -> Result<String, Error> {
    if let Some(host) = &arguments.host {
        return Ok(host.clone());
    }
    let mut names = match key {
        Some(key) => key.names().to_vec(),
        None => {
            let hosts =
                std::fs::read_dir(arguments.data.dir().hosts()).into_iter().flatten().flatten();
            hosts.filter_map(|host| host.file_name().into_string().ok()).collect()
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
