//! The host's side: follows the logs of one host and sends what is committed, over connections that
//! come and go.
//!
//! Two stages with bounded queues between them: `scan` finds what the collector does not have
//! (`files`, `tracked`, `writers`) and compresses it, `dialog` writes it to the connection (`rate`)
//! and reads the answers; `outgoing` stands between them and knows what was acknowledged. Nothing
//! is kept but in memory: a shipper that restarts asks the collector.

mod dialog;
mod event;
mod files;
mod outgoing;
mod pause;
mod rate;
mod scan;
mod tracked;

use std::fs;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use message_trace::{DataDir, PathError};
use rustls::ClientConfig;

pub use dialog::Broken;
pub use event::{Event, Events};

use crate::clock::HostClock;
use crate::link::{Link, Socket, Stop};
use crate::tls;
use crate::tuning::{
    CONNECT_TIMEOUT, EXCHANGE_INTERVAL, FIRST_EXCHANGES, MAX_QUEUED_ANSWERS, MAX_QUEUED_FRAMES,
    RETRY_PAUSES, STOP_GRACE, WAIT_CHECK_INTERVAL,
};
use crate::wire::{Answer, Request, Shortage, VERSION};
use dialog::Dialog;
use outgoing::{Gone, Outgoing};
use pause::pause;
use scan::{Failed, Scanner};
use tracked::Look;

/// What a shipper is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the logs are.
    pub data: DataDir,
    /// Whose logs are sent.
    pub host: String,
    /// The collector, as `HOST:PORT`.
    pub to: String,
    /// TLS with certificates on both sides; without, connections are plain.
    pub tls: Option<Arc<ClientConfig>>,
    /// Goes on when all is sent.
    pub follow: bool,
    /// How long to wait between two looks at the files.
    pub interval: Duration,
    /// Removes what the collector has, once nobody writes to it any more.
    pub remove: bool,
    /// At most so many bytes a second, as they are on the wire.
    pub limit: Option<u64>,
    /// Unless it follows: gives up when nothing could be sent for so long.
    pub patience: Duration,
}

/// What a shipper did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes of files that were sent.
    pub sent: u64,
    /// Bytes on the wire.
    pub wire: u64,
    /// Files that could not be read.
    pub unreadable: u64,
}

/// What ends a shipper.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something in the data directory.
    #[error(transparent)]
    File(#[from] PathError),
    /// Nothing could be sent for too long.
    #[error("{to}: {why}; nothing is lost, and the next run goes on where this one ended")]
    GaveUp {
        /// The collector.
        to: String,
        /// What was wrong last.
        why: String,
    },
    /// The collector has no room, and got none for too long.
    #[error(
        "{to}: {shortage}; what is not stored stays here, and the next run goes on where this one ended"
    )]
    NoRoom {
        /// The collector.
        to: String,
        /// Of what there is too little.
        shortage: Shortage,
    },
    /// The collector does not want this host.
    #[error("{to}: {why}")]
    Refused {
        /// The collector.
        to: String,
        /// Why.
        why: String,
    },
}

/// How one connection went.
enum Went {
    /// All is sent, or the program is to stop.
    Over,
    /// The collector has had no room for too long.
    NoRoom(Shortage),
    /// It ended.
    Broken(Broken),
}

/// Sends until all is sent, or, where it follows, until `stop` is set.
///
/// # Errors
/// When a file cannot be read; and unless it follows, when the collector cannot be reached for
/// long, or refuses.
pub fn run(options: &Options, events: &dyn Events, stop: &Stop) -> Result<Summary, Error> {
    let mut shipper = Shipper::new(options, events, stop)?;
    let (abort, over) = (Arc::clone(&shipper.abort), Stop::default());
    std::thread::scope(|scope| {
        scope.spawn(|| give_up_when_stopped(stop, &abort, &over));
        let result = go_on(&mut shipper, options, events, stop);
        over.store(true, Relaxed);
        result
    })
}

/// Sets `abort` some time after `stop`, unless it is `over` before.
fn give_up_when_stopped(stop: &Stop, abort: &Stop, over: &Stop) {
    let mut stopped: Option<Instant> = None;
    while !over.load(Relaxed) {
        if stop.load(Relaxed) && stopped.get_or_insert_with(Instant::now).elapsed() >= STOP_GRACE {
            return abort.store(true, Relaxed);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes connection after connection.
fn go_on(
    shipper: &mut Shipper<'_>,
    options: &Options,
    events: &dyn Events,
    stop: &Stop,
) -> Result<Summary, Error> {
    let [first, longest] = RETRY_PAUSES;
    let mut again = first;
    let mut progress = Instant::now();
    while !stop.load(Relaxed) {
        let before = shipper.durable;
        let went = shipper.connection()?;
        if shipper.durable != before {
            (again, progress) = (first, Instant::now());
        }
        let broken = match went {
            Went::Over => break,
            Went::NoRoom(shortage) => {
                return Err(Error::NoRoom { to: options.to.clone(), shortage });
            }
            Went::Broken(broken) => broken,
        };
        let why = broken.to_string();
        if !options.follow {
            let to = options.to.clone();
            if let Broken::Refused(_) = broken {
                return Err(Error::Refused { to, why });
            }
            if progress.elapsed() >= options.patience {
                return Err(Error::GaveUp { to, why });
            }
        }
        events.event(&Event::Lost { why: &why, again });
        pause(again, stop);
        again = longest.min(again * 2);
    }
    let unreadable = shipper.scanner.unreadable.len() as u64;
    Ok(Summary { sent: shipper.scanner.sent, wire: shipper.wire, unreadable })
}

/// What lasts over connections.
struct Shipper<'a> {
    options: &'a Options,
    events: &'a dyn Events,
    stop: &'a Stop,
    scanner: Scanner<'a>,
    clock: HostClock,
    boot: [u8; 16],
    wire: u64,
    durable: u64,
    /// Set some time after the program is to stop: what is under way then is given up.
    abort: Stop,
}

impl<'a> Shipper<'a> {
    fn new(
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
    fn connection(&mut self) -> Result<Went, Error> {
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
            // This closes the queues, too, so that the dialog ends.
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
                    // Whoever tells of it names the collector, as it was given.
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

    /// Looks at the files, once or over and over. What there was too little of at the end, unless
    /// it follows.
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

/// The hosts besides this one of which there are logs.
fn other_hosts(options: &Options) -> Vec<String> {
    let entries = fs::read_dir(options.data.hosts()).into_iter().flatten().flatten();
    let hosts = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut others: Vec<String> = hosts.filter(|host| *host != options.host).collect();
    others.sort();
    others
}

/// The kernel's random id of this boot, as logs have it; zeros where it is not known.
fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).unwrap_or(0).to_be_bytes()
}
