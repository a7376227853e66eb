//! State that a shipper keeps between connections, and the course of one connection: scans the
//! files over and over, and exchanges times between the scans.

use std::fs;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use message_trace::{FileKind, PathError};

use super::dialog::{ConnectionError, Dialog};
use super::event::{ShipEvent, ShipListener};
use super::options::{ShipError, ShipOptions};
use super::outgoing::{DialogEnded, OutgoingData};
use super::pause::pause_unless_stopped;
use super::scan::{LogScanner, ScanError};
use super::tracked::PageSelection;
use crate::clock::HostClock;
use crate::link::{DeadlineSocket, StopFlag, WireLink};
use crate::tls;
use crate::tuning::{
    CONNECT_TIMEOUT, EXCHANGE_INTERVAL, FIRST_EXCHANGES, MAX_QUEUED_ANSWERS, MAX_QUEUED_FRAMES,
    RETRY_PAUSES, WAIT_CHECK_INTERVAL,
};
use crate::wire::{CollectorAnswer, ShipperRequest, StorageShortage, VERSION};

/// Outcome of one connection.
pub(super) enum ConnectionOutcome {
    /// Everything is sent, or the program is to stop.
    Over,
    /// The collector has had no space for too long.
    NoRoom(StorageShortage),
    /// The connection ended.
    Broken(ConnectionError),
}

/// State that lasts over connections.
pub(super) struct Shipper<'a> {
    options: &'a ShipOptions,
    events: &'a dyn ShipListener,
    stop: &'a StopFlag,
    pub(super) scanner: LogScanner<'a>,
    clock: HostClock,
    /// The kernel's id of this boot.
    boot: [u8; 16],
    /// Number of bytes sent on the wire.
    pub(super) wire: u64,
    /// Number of batches that the collector has made durable.
    pub(super) durable: u64,
    /// Flag that is set some time after the program is to stop: work that is still in progress is
    /// abandoned.
    pub(super) abort: StopFlag,
}

impl<'a> Shipper<'a> {
    pub(super) fn new(
        options: &'a ShipOptions,
        events: &'a dyn ShipListener,
        stop: &'a StopFlag,
    ) -> Result<Shipper<'a>, ShipError> {
        let hosts = options.data.hosts_dir();
        let others = other_hosts(options);
        if !others.is_empty() {
            events.on_event(&ShipEvent::Others { hosts: &others });
        }
        let boot = boot_id();
        let scanner = LogScanner::new(
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
            abort: StopFlag::default(),
        })
    }

    /// Runs one connection to its end.
    pub(super) fn run_connection(&mut self) -> Result<ConnectionOutcome, ShipError> {
        let (mut dialog, store) = match self.open_connection() {
            Ok(connected) => connected,
            Err(broken) => return Ok(ConnectionOutcome::Broken(broken)),
        };
        self.scanner.start_connection(store);
        self.events.on_event(&ShipEvent::Connected);
        let (tasks, taken) = crossbeam_channel::bounded(MAX_QUEUED_FRAMES);
        let (given, replies) = crossbeam_channel::bounded(MAX_QUEUED_ANSWERS);
        let mut out = OutgoingData::new(tasks, replies);
        let (scanned, spoken) = std::thread::scope(|scope| {
            let dialog = &mut dialog;
            let speaking = scope.spawn(move || {
                let result = dialog.run_tasks(&taken, &given);
                dialog.close();
                result
            });
            let scanned = self.scan_until_done(&mut out);
            self.durable += out.durable;
            // This also closes the queues, so that the dialog ends.
            self.scanner.mark_lost(&out.into_lost());
            (scanned, speaking.join())
        });
        self.wire += dialog.sent_bytes();
        match scanned {
            Ok(None) => Ok(ConnectionOutcome::Over),
            Ok(Some(shortage)) => Ok(ConnectionOutcome::NoRoom(shortage)),
            Err(ScanError::Io(path, error)) => Err(PathError::io(&path, error).into()),
            Err(ScanError::Gone(DialogEnded)) => Ok(ConnectionOutcome::Broken(match spoken {
                Ok(Err(broken)) => broken,
                _ => ConnectionError::Lost("the collector sent an unexpected answer".into()),
            })),
        }
    }

    /// Connects and identifies this host.
    fn open_connection(&self) -> Result<(Dialog, u128), ConnectionError> {
        let to = &self.options.to;
        let addresses =
            to.to_socket_addrs().map_err(|error| ConnectionError::Lost(error.to_string()))?;
        let mut why = ConnectionError::Lost("no such address".into());
        for address in addresses {
            let stream = match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => stream,
                Err(error) => {
                    // The error contains the collector's name as it was given.
                    let at = address.to_string();
                    why = ConnectionError::Lost(if at == *to {
                        error.to_string()
                    } else {
                        format!("{error} at {at}")
                    });
                    continue;
                }
            };
            let socket = DeadlineSocket::new(stream, Arc::clone(&self.abort), CONNECT_TIMEOUT)?;
            let link = match &self.options.tls {
                None => WireLink::Plain(socket),
                Some(config) => {
                    let connection = tls::connect_client(Arc::clone(config))
                        .map_err(|e| ConnectionError::Lost(e.to_string()))?;
                    WireLink::connect(socket, connection)?
                }
            };
            let mut dialog =
                Dialog::new(link, self.options.limit, self.clock.clone(), Arc::clone(&self.abort));
            let hello = ShipperRequest::Hello {
                version: VERSION,
                host: &self.options.host,
                boot: self.boot,
            };
            return match dialog.send_request(&hello)? {
                CollectorAnswer::Welcome { version: VERSION, store } => Ok((dialog, store)),
                _ => Err(ConnectionError::Lost("this is not a collector of this version".into())),
            };
        }
        Err(why)
    }

    /// Scans the files, once or over and over. Returns the remaining shortage, if any, unless the
    /// shipper follows the logs.
    fn scan_until_done(
        &mut self,
        out: &mut OutgoingData,
    ) -> Result<Option<StorageShortage>, ScanError> {
        let mut exchanged = Instant::now();
        for _ in 0..FIRST_EXCHANGES {
            self.exchange_times(out)?;
        }
        let [first, longest] = RETRY_PAUSES;
        let mut again = first;
        let mut look = PageSelection::All;
        let (mut durable, mut progress) = (0, Instant::now());
        loop {
            let scanned = self.scanner.scan_files(out, look)?;
            if std::mem::replace(&mut durable, out.durable) != out.durable {
                progress = Instant::now();
            }
            match scanned.shortage {
                Some(shortage)
                    if !self.options.follow && progress.elapsed() >= self.options.patience =>
                {
                    out.say_goodbye()?;
                    return Ok(Some(shortage));
                }
                Some(shortage) => {
                    self.events.on_event(&ShipEvent::NotStored { shortage, again });
                    self.wait_exchanging(out, again, &mut exchanged)?;
                    again = longest.min(again * 2);
                }
                None if self.options.follow => {
                    (look, again) = (PageSelection::Likely, first);
                    self.wait_exchanging(out, self.options.interval, &mut exchanged)?;
                }
                None => return Ok(out.say_goodbye().map(|()| None)?),
            }
            if scanned.stopped || self.stop.load(Relaxed) {
                return Ok(out.say_goodbye().map(|()| None)?);
            }
        }
    }

    /// Waits for `time`, and exchanges times when an exchange is due.
    fn wait_exchanging(
        &self,
        out: &mut OutgoingData,
        time: Duration,
        exchanged: &mut Instant,
    ) -> Result<(), ScanError> {
        let until = Instant::now() + time;
        while !self.stop.load(Relaxed) {
            if exchanged.elapsed() >= EXCHANGE_INTERVAL {
                self.exchange_times(out)?;
                *exchanged = Instant::now();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            pause_unless_stopped(left.min(WAIT_CHECK_INTERVAL), self.stop);
            out.poll_replies()?;
        }
        Ok(())
    }

    fn exchange_times(&self, out: &mut OutgoingData) -> Result<(), ScanError> {
        let exchange = out.exchange_times()?;
        self.events.on_event(&ShipEvent::Hint(exchange));
        Ok(())
    }
}

/// Other hosts that have logs in the data directory.
fn other_hosts(options: &ShipOptions) -> Vec<String> {
    let entries = options.data.hosts_dir().entries().unwrap_or_default();
    let hosts = entries
        .into_iter()
        .filter(|entry| entry.kind == FileKind::Directory)
        .filter_map(|entry| entry.path.file_name()?.to_str().map(str::to_owned));
    hosts.filter(|host| *host != options.host).collect()
}

/// The kernel's random id of this boot, as in logs; zeros if unknown.
fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).unwrap_or(0).to_be_bytes()
}
