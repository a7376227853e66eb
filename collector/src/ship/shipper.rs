//! State that a shipper keeps from one connection to the next, and one connection from its making
//! to its end: looks at the files over and over, and exchanges times between them.

use std::fs;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use message_trace::{FileKind, PathError};

use super::dialog::{Broken, Dialog};
use super::event::{Event, Events};
use super::options::{Error, Options};
use super::outgoing::{Gone, Outgoing};
use super::pause::pause;
use super::scan::{Failed, Scanner};
use super::tracked::Look;
use crate::clock::HostClock;
use crate::link::{Link, Socket, Stop};
use crate::tls;
use crate::tuning::{
    CONNECT_TIMEOUT, EXCHANGE_INTERVAL, FIRST_EXCHANGES, MAX_QUEUED_ANSWERS, MAX_QUEUED_FRAMES,
    RETRY_PAUSES, WAIT_CHECK_INTERVAL,
};
use crate::wire::{Answer, Request, Shortage, VERSION};

/// Outcome of one connection.
pub(super) enum Went {
    /// All is sent, or the program is to stop.
    Over,
    /// The collector has had no room for too long.
    NoRoom(Shortage),
    /// The connection ended.
    Broken(Broken),
}

/// State that lasts over connections.
pub(super) struct Shipper<'a> {
    options: &'a Options,
    events: &'a dyn Events,
    stop: &'a Stop,
    pub(super) scanner: Scanner<'a>,
    clock: HostClock,
    boot: [u8; 16],
    pub(super) wire: u64,
    pub(super) durable: u64,
    /// Set some time after the program is to stop: work that is then under way is given up.
    pub(super) abort: Stop,
}

impl<'a> Shipper<'a> {
    pub(super) fn new(
        options: &'a Options,
        events: &'a dyn Events,
        stop: &'a Stop,
    ) -> Result<Shipper<'a>, Error> {
        let hosts = options.data.hosts();
        let others = other_hosts(options);
        if !others.is_empty() {
            events.event(&Event::Others { hosts: &others });
        }
        let boot = boot_id();
        let scanner = Scanner::new(
            hosts.join(&options.host),
            boot,
            options.remove,
            options.limit,
            events,
            Arc::clone(stop),
        )
        .map_err(|error| PathError::io(&hosts, error))?;
        let clock = HostClock::from_environment();
        Ok(Shipper {
            options,
            events,
            stop,
            scanner,
            clock,
            boot,
            wire: 0,
            durable: 0,
            abort: Stop::default(),
        })
    }

    /// One connection, from its making to its end.
    pub(super) fn connection(&mut self) -> Result<Went, Error> {
        let (mut dialog, store) = match self.connect() {
            Ok(connected) => connected,
            Err(broken) => return Ok(Went::Broken(broken)),
        };
        self.scanner.connected(store);
        self.events.event(&Event::Connected);
        let (items, taken) = crossbeam_channel::bounded(MAX_QUEUED_FRAMES);
        let (given, replies) = crossbeam_channel::bounded(MAX_QUEUED_ANSWERS);
        let mut out = Outgoing::new(items, replies);
        let (scanned, spoken) = std::thread::scope(|scope| {
            let dialog = &mut dialog;
            let speaking = scope.spawn(move || {
                let result = dialog.run(&taken, &given);
                dialog.close();
                result
            });
            let scanned = self.look(&mut out);
            self.durable += out.durable;
            // This also closes the queues, so that the dialog ends.
            self.scanner.lost(&out.into_lost());
            (scanned, speaking.join())
        });
        self.wire += dialog.sent();
        match scanned {
            Ok(None) => Ok(Went::Over),
            Ok(Some(shortage)) => Ok(Went::NoRoom(shortage)),
            Err(Failed::Io(path, error)) => Err(PathError::io(&path, error).into()),
            Err(Failed::Gone(Gone)) => Ok(Went::Broken(match spoken {
                Ok(Err(broken)) => broken,
                _ => Broken::Lost("the collector answered what was not asked".into()),
            })),
        }
    }

    /// Makes the connection and says who this is.
    fn connect(&self) -> Result<(Dialog, u128), Broken> {
        let to = &self.options.to;
        let addresses = to.to_socket_addrs().map_err(|error| Broken::Lost(error.to_string()))?;
        let mut why = Broken::Lost("no such address".into());
        for address in addresses {
            let stream = match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => stream,
                Err(error) => {
                    // The error is told with the collector's name as it was given.
                    let at = address.to_string();
                    why = Broken::Lost(if at == *to {
                        error.to_string()
                    } else {
                        format!("{error} at {at}")
                    });
                    continue;
                }
            };
            let socket = Socket::new(stream, Arc::clone(&self.abort), CONNECT_TIMEOUT)?;
            let link = match &self.options.tls {
                None => Link::Plain(socket),
                Some(config) => {
                    let connection = tls::connect(Arc::clone(config))
                        .map_err(|e| Broken::Lost(e.to_string()))?;
                    Link::client(socket, connection)?
                }
            };
            let mut dialog =
                Dialog::new(link, self.options.limit, self.clock.clone(), Arc::clone(&self.abort));
            let hello =
                Request::Hello { version: VERSION, host: &self.options.host, boot: self.boot };
            return match dialog.ask(&hello)? {
                Answer::Welcome { version: VERSION, store } => Ok((dialog, store)),
                _ => Err(Broken::Lost("this is no collector of this version".into())),
            };
        }
        Err(why)
    }

    /// Looks at the files, once or over and over. Returns the shortage at the end, if there is one
    /// and it does not follow.
    fn look(&mut self, out: &mut Outgoing) -> Result<Option<Shortage>, Failed> {
        let mut exchanged = Instant::now();
        for _ in 0..FIRST_EXCHANGES {
            self.exchange(out)?;
        }
        let [first, longest] = RETRY_PAUSES;
        let mut again = first;
        let mut look = Look::All;
        let (mut durable, mut progress) = (0, Instant::now());
        loop {
            let scanned = self.scanner.scan(out, look)?;
            if std::mem::replace(&mut durable, out.durable) != out.durable {
                progress = Instant::now();
            }
            match scanned.shortage {
                Some(shortage)
                    if !self.options.follow && progress.elapsed() >= self.options.patience =>
                {
                    out.bye()?;
                    return Ok(Some(shortage));
                }
                Some(shortage) => {
                    self.events.event(&Event::NotStored { shortage, again });
                    self.wait(out, again, &mut exchanged)?;
                    again = longest.min(again * 2);
                }
                None if self.options.follow => {
                    (look, again) = (Look::Likely, first);
                    self.wait(out, self.options.interval, &mut exchanged)?;
                }
                None => return Ok(out.bye().map(|()| None)?),
            }
            if scanned.stopped || self.stop.load(Relaxed) {
                return Ok(out.bye().map(|()| None)?);
            }
        }
    }

    /// Waits, and exchanges times when that is due.
    fn wait(
        &self,
        out: &mut Outgoing,
        time: Duration,
        exchanged: &mut Instant,
    ) -> Result<(), Failed> {
        let until = Instant::now() + time;
        while !self.stop.load(Relaxed) {
            if exchanged.elapsed() >= EXCHANGE_INTERVAL {
                self.exchange(out)?;
                *exchanged = Instant::now();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            pause(left.min(WAIT_CHECK_INTERVAL), self.stop);
            out.listen()?;
        }
        Ok(())
    }

    fn exchange(&self, out: &mut Outgoing) -> Result<(), Failed> {
        let exchange = out.exchange()?;
        self.events.event(&Event::Hint(exchange));
        Ok(())
    }
}

/// Other hosts that have logs in the data directory.
fn other_hosts(options: &Options) -> Vec<String> {
    let entries = options.data.hosts().entries().unwrap_or_default();
    let hosts = entries
        .into_iter()
        .filter(|entry| entry.kind == FileKind::Directory)
        .filter_map(|entry| entry.path.file_name()?.to_str().map(str::to_owned));
    hosts.filter(|host| *host != options.host).collect()
}

/// The kernel's random id of this boot, as logs have it; zeros where it is not known.
fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).unwrap_or(0).to_be_bytes()
}
