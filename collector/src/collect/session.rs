//! One connection at the collector, from its first byte to its end: who it is, what it may do, what
//! it asks and what it is answered. Nothing that comes from it is believed before it was looked at,
//! and nothing it does or fails to do costs more than one frame, one extent and a few timeouts.

mod end;
mod requests;

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use end::End;
use requests::Gathering;
pub(super) use requests::answer_all;
use socket_log::names;
use tracing::{debug, info};

use super::admission::Place;
use super::event::{Cause, Event, Gained, Held};
use super::shared::Shared;
use super::store::HostStore;
use crate::link::{Link, Socket, is_stop};
use crate::tls;
use crate::tuning::DEADLINE_PIECE_BYTES;
use crate::wire::{self, Answer, FrameReader, GREETING_LIMIT, Request, VERSION};

/// Serves a connection to its end. It gives its `place` away once it is known who it is.
pub(super) fn serve(shared: &Shared<'_>, stream: TcpStream, peer: SocketAddr, place: &Place<'_>) {
    let began = Instant::now();
    let refused = |host: Option<&str>, cause: Cause, why: &str| {
        let (cause, why) = match place.is_turned_out() {
            true => (Cause::Many, "it had not said who it is when others came"),
            false => (cause, why),
        };
        debug!(%peer, host, ?cause, why, "a connection is refused");
        shared.events.event(&Event::Refused { peer, host, cause, why });
    };
    let mut session = match Session::begin(shared, stream) {
        Ok(session) => session,
        Err(End::Refused(cause, why)) => return refused(None, cause, &why),
        Err(End::Lost(why)) => return refused(None, Cause::Protocol, &why),
        Err(End::Over) => return,
    };
    let mut host = None;
    let end = match session.greet(shared, &mut host) {
        Ok(greeting) => {
            place.is_known();
            session.gather(shared, peer, &greeting)
        }
        Err(end) => end,
    };
    let why = match &end {
        End::Over => None,
        End::Lost(why) => Some(why),
        End::Refused(cause, why) => {
            refused(host.as_deref(), *cause, why);
            session.tell(&Answer::Refused { why: why.clone() });
            Some(why)
        }
    };
    session.link.close();
    if session.connected {
        let host = host.as_deref().unwrap_or_default();
        let why = why.map(String::as_str);
        info!(host, why, "a shipper is gone");
        shared.events.event(&Event::Disconnected { host, why, after: began.elapsed() });
    } else if let End::Lost(why) = &end {
        refused(host.as_deref(), Cause::Protocol, why);
    }
}

/// Greeting of the other side: who it is.
struct Greeting {
    host: String,
    /// Boot id of its kernel.
    boot: [u8; 16],
    /// The names that its key is for, where it had to show one.
    names: Option<Vec<String>>,
}

/// A connection.
struct Session {
    link: Link,
    reader: FrameReader,
    connected: bool,
    /// Second descriptor of the connection, by which a newer connection ends it.
    stream: Option<TcpStream>,
}

impl Session {
    /// The handshake.
    fn begin(shared: &Shared<'_>, stream: TcpStream) -> Result<Session, End> {
        let internal = |error: io::Error| End::Refused(Cause::Internal, error.to_string());
        let second = stream.try_clone().map_err(internal)?;
        let socket = Socket::new(stream, Arc::clone(&shared.stop), shared.deadlines.handshake)
            .map_err(internal)?;
        let link = match &shared.tls {
            None => Link::Plain(socket),
            Some(config) => {
                Link::server(socket, Arc::clone(config)).map_err(|error| match error.kind() {
                    ErrorKind::TimedOut => {
                        End::Refused(Cause::Slow, "its handshake took too long".into())
                    }
                    _ if is_stop(&error) => End::Over,
                    _ => {
                        let why =
                            tls::refusal(&error).map_or_else(|| error.to_string(), str::to_owned);
                        End::Refused(
                            if why == tls::REVOKED { Cause::Revoked } else { Cause::Tls },
                            why,
                        )
                    }
                })?
            }
        };
        Ok(Session { link, reader: FrameReader::default(), connected: false, stream: Some(second) })
    }

    /// Reads the greeting. `named` is the host also where it is refused.
    fn greet(&mut self, shared: &Shared<'_>, named: &mut Option<String>) -> Result<Greeting, End> {
        let frame = self.reader.next_within(GREETING_LIMIT, &mut self.link)?;
        let (Request::Hello { version, host, boot }, _) = wire::decode_request(frame)? else {
            return Err(End::Refused(
                Cause::Protocol,
                "its first message is not a greeting".into(),
            ));
        };
        if version != VERSION {
            let why = format!(
                "it speaks version {version} of the protocol, this collector version {VERSION}"
            );
            return Err(End::Refused(Cause::Version, why));
        }
        names::host_name(host).map_err(|error| End::Refused(Cause::Name, error.to_string()))?;
        let host = host.to_owned();
        *named = Some(host.clone());
        let mut names = None;
        if shared.tls.is_some() {
            let own = tls::hosts_of(self.link.certificates());
            let own = own.map_err(|error| End::Refused(Cause::Tls, error.to_string()))?;
            if !own.contains(&host) {
                let why = format!(
                    "it wants to write as '{host}', but its certificate is for {}",
                    own.join(", ")
                );
                return Err(End::Refused(Cause::Name, why));
            }
            names = Some(own);
        }
        Ok(Greeting { host, boot, names })
    }

    /// Everything after the greeting.
    fn gather(&mut self, shared: &Shared<'_>, peer: SocketAddr, greeting: &Greeting) -> End {
        let host = greeting.host.as_str();
        let internal = |error: io::Error| End::Refused(Cause::Internal, error.to_string());
        let certificate = self.link.certificates().first().cloned();
        let seat = self
            .stream
            .take()
            .and_then(|stream| shared.seats.take(host, stream, certificate.clone()));
        let Some(seat) = seat else {
            return End::Refused(
                Cause::Many,
                "another connection of this host does not end".into(),
            );
        };
        // From here on the seat tells when the key is revoked. It may have been revoked since the
        // handshake.
        let is_revoked = || {
            let listed = shared.revoked.as_ref().zip(certificate.as_ref());
            seat.is_revoked() || listed.is_some_and(|(list, certificate)| list.has(certificate))
        };
        let revoked = || End::Refused(Cause::Revoked, "its key was revoked".into());
        if is_revoked() {
            return revoked();
        }
        let directory = shared.data.hosts().join(host);
        let mut store = match HostStore::open(&directory, shared.limits, greeting.names.clone()) {
            Ok(store) => store,
            Err(error) => return internal(error),
        };
        self.connected = true;
        info!(host, %peer, "a shipper is let in");
        shared.events.event(&Event::Connected { host, peer });
        let has = Held { files: store.files(), bytes: store.used() };
        shared.events.event(&Event::Stored { host, gained: Gained::default(), has, left: None });
        let mut gathering = Gathering::new(shared, host, greeting.boot, &mut store);
        let welcome = Answer::Welcome { version: VERSION, store: shared.store };
        let end = match self.answer(&welcome, shared.deadlines.frame) {
            Ok(()) => loop {
                // A shipper that always sends never waits at its socket, where a stop would be
                // noticed.
                if shared.stop.load(Relaxed) {
                    break End::Over;
                }
                if seat.is_revoked() {
                    break revoked();
                }
                if let Err(end) = self.step(&mut gathering) {
                    break if seat.is_revoked() { revoked() } else { end };
                }
            },
            Err(end) => end,
        };
        // Data since the last flush is put on the disk, though nobody is told.
        let _ = store.flush();
        drop(seat);
        end
    }

    /// One request.
    fn step(&mut self, gathering: &mut Gathering<'_>) -> Result<(), End> {
        let deadlines = gathering.shared.deadlines;
        self.link.socket().within(deadlines.silence);
        let frame = next_frame(&mut self.reader, &mut self.link, deadlines.frame)?;
        let (request, rest) = wire::decode_request(frame)?;
        let answer = gathering.request(request, rest, self.link.socket().counts()[0])?;
        if let Some(answer) = answer {
            self.answer(&answer, deadlines.frame)?;
            if answer == Answer::Bye {
                return Err(End::Over);
            }
        }
        Ok(())
    }

    fn answer(&mut self, answer: &Answer, time: Duration) -> Result<(), End> {
        let frame = wire::frame(answer)?;
        self.link.socket().within(time * (1 + frame.len() / DEADLINE_PIECE_BYTES) as u32);
        self.link.write_all(&frame)?;
        Ok(self.link.flush()?)
    }

    /// Sends a last answer to a shipper that may not listen any more.
    fn tell(&mut self, answer: &Answer) {
        self.link.socket().within(Duration::from_secs(1));
        if let Ok(frame) = wire::frame(answer) {
            let _ = self.link.write_all(&frame).and_then(|()| self.link.flush());
        }
    }
}

/// Next frame. There may be silence before it, but once it has begun it must go on.
fn next_frame<'reader>(
    reader: &'reader mut FrameReader,
    link: &mut Link,
    time: Duration,
) -> Result<&'reader [u8], wire::Error> {
    struct Hurried<'a> {
        link: &'a mut Link,
        time: Duration,
        pieces: Option<usize>,
        bytes: usize,
    }
    impl io::Read for Hurried<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.link.read(buffer)?;
            self.bytes += read;
            let pieces = Some(self.bytes / DEADLINE_PIECE_BYTES);
            if self.pieces != pieces {
                self.pieces = pieces;
                self.link.socket().within(self.time);
            }
            Ok(read)
        }
    }
    reader.next(&mut Hurried { link, time, pieces: None, bytes: 0 })
}
