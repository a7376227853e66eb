//! One connection at the collector, from its first byte to its end: who it is, what it may do, what
//! it asks and what it is answered. Nothing that comes from it is believed before it was looked at,
//! and nothing it does or fails to do costs more than one frame, one extent and a few timeouts.

use std::collections::HashSet;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use message_trace::DataDir;
use rustls::ServerConfig;
use socket_log::Log;
use socket_log::layout::HEADER_BYTES;

use super::Deadlines;
use super::event::{Cause, Event, Events, Gained, Held};
use super::hints;
use super::seats::Seats;
use super::store::{HostStore, Limits};
use crate::clock;
use crate::identity::Identity;
use crate::keys::Followed;
use crate::link::{Link, Socket, Stop, is_stop};
use crate::tls;
use crate::wire::{self, ASK_LIMIT, Answer, EXTENT_LIMIT, FrameReader, Request, VERSION};
use socket_log::names::{self, HOST_NAME_LENGTH};

/// A frame that has begun has its time once more for each piece that has come,
/// of so many bytes: the slowest network that is waited for brings a kilobyte a second.
const PIECE: usize = 16 << 10;

/// What all connections share.
pub(super) struct Shared<'a> {
    /// None for plain connections.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// The keys that were revoked.
    pub(super) revoked: Option<Arc<Followed>>,
    /// Where the logs go.
    pub(super) data: DataDir,
    /// The name of this collection.
    pub(super) store: u128,
    pub(super) limits: Limits,
    pub(super) deadlines: Deadlines,
    pub(super) seats: Seats,
    pub(super) events: &'a dyn Events,
    pub(super) stop: Stop,
}

/// Why a connection ended.
enum End {
    /// As it should: the shipper said so, or the collector is to stop.
    Over,
    /// The network or the shipper is gone.
    Lost(String),
    /// The shipper is to be told, if it can be.
    Refused(Cause, String),
}

impl From<wire::Error> for End {
    fn from(error: wire::Error) -> End {
        match error {
            wire::Error::Closed => End::Lost("the shipper closed it".into()),
            wire::Error::CutOff => End::Lost(error.to_string()),
            wire::Error::TooLong(_) | wire::Error::Malformed => {
                End::Refused(Cause::Protocol, error.to_string())
            }
            wire::Error::Io(error) => error.into(),
        }
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> End {
        match error.kind() {
            _ if is_stop(&error) => End::Over,
            ErrorKind::TimedOut => {
                End::Refused(Cause::Slow, "it was too slow, or silent for too long".into())
            }
            // TLS has its own word for what does not belong there.
            ErrorKind::InvalidData => End::Refused(Cause::Protocol, error.to_string()),
            _ => End::Lost(error.to_string()),
        }
    }
}

/// Serves a connection to its end. `known` is called once it is known who it is.
pub(super) fn serve(
    shared: &Shared<'_>,
    stream: TcpStream,
    peer: SocketAddr,
    known: impl FnOnce(),
) {
    let began = Instant::now();
    let refused = |host: Option<&str>, cause: Cause, why: &str| {
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
            known();
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
        shared.events.event(&Event::Disconnected { host, why, after: began.elapsed() });
    } else if let End::Lost(why) = &end {
        refused(host.as_deref(), Cause::Protocol, why);
    }
}

/// Who is at the other end.
struct Greeting {
    host: String,
    /// The kernel's id of its boot.
    boot: [u8; 16],
    /// The names that its key is for, where it had to show one.
    names: Option<Vec<String>>,
}

/// A connection.
struct Session {
    link: Link,
    reader: FrameReader,
    connected: bool,
    /// Another descriptor of it, with which a newer connection ends it.
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

    /// Who is it? `named` is its host also where it is refused.
    fn greet(&mut self, shared: &Shared<'_>, named: &mut Option<String>) -> Result<Greeting, End> {
        let frame = self.reader.next(&mut self.link)?;
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

    /// All that follows.
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
        // From here on it is told when its key is revoked; that may have been since its handshake.
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
        shared.events.event(&Event::Connected { host, peer });
        let has = Held { files: store.files(), bytes: store.used() };
        shared.events.event(&Event::Stored { host, gained: Gained::default(), has, left: None });
        let mut gathering = Gathering::new(shared, host, greeting.boot, &mut store);
        let welcome = Answer::Welcome { version: VERSION, store: shared.store };
        let end = match self.answer(&welcome, shared.deadlines.frame) {
            Ok(()) => loop {
                // One that always has something to say is not asked by its socket.
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
        // What came since the last flush is put on the disk, though nobody is told.
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
        self.link.socket().within(time * (1 + frame.len() / PIECE) as u32);
        self.link.write_all(&frame)?;
        Ok(self.link.flush()?)
    }

    /// Says a last word to one who might not listen.
    fn tell(&mut self, answer: &Answer) {
        self.link.socket().within(Duration::from_secs(1));
        if let Ok(frame) = wire::frame(answer) {
            let _ = self.link.write_all(&frame).and_then(|()| self.link.flush());
        }
    }
}

/// The next frame: silence before it may last, but once it has begun it must go on.
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
            let pieces = Some(self.bytes / PIECE);
            if self.pieces != pieces {
                self.pieces = pieces;
                self.link.socket().within(self.time);
            }
            Ok(read)
        }
    }
    reader.next(&mut Hurried { link, time, pieces: None, bytes: 0 })
}

/// What a connection that was let in does.
struct Gathering<'a> {
    shared: &'a Shared<'a>,
    host: &'a str,
    boot: [u8; 16],
    store: &'a mut HostStore,
    extent: Vec<u8>,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    gained: Gained,
    /// Bytes received in all when that was last told.
    received: u64,
    flush: u64,
    /// The times that the last question for the time was answered with, until the host says how
    /// that went.
    told: Option<[i64; 2]>,
    /// Files that were said to name another host.
    misnamed: HashSet<Identity>,
}

impl<'a> Gathering<'a> {
    fn new(
        shared: &'a Shared<'a>,
        host: &'a str,
        boot: [u8; 16],
        store: &'a mut HostStore,
    ) -> Gathering<'a> {
        Gathering {
            shared,
            host,
            boot,
            store,
            extent: Vec::new(),
            decompressor: None,
            gained: Gained::default(),
            received: 0,
            flush: 0,
            told: None,
            misnamed: HashSet::new(),
        }
    }

    /// Does what is asked. `received` counts the bytes of the connection so far.
    fn request(
        &mut self,
        request: Request<'_>,
        rest: &[u8],
        received: u64,
    ) -> Result<Option<Answer>, End> {
        let violation =
            |error: super::store::Violation| End::Refused(Cause::Violation, error.to_string());
        let protocol = |why: &str| End::Refused(Cause::Protocol, why.to_owned());
        Ok(match request {
            Request::Hello { .. } => return Err(protocol("it greeted twice")),
            Request::File { name, identity } => {
                self.store.select(name, identity).map_err(violation)?;
                None
            }
            Request::Ask { page, pages } => {
                if pages > ASK_LIMIT {
                    return Err(protocol("it asked for too many checksums at once"));
                }
                let (length, sums) = self
                    .store
                    .have(page, pages)
                    .map_err(violation)?
                    .map_err(|error| End::Refused(Cause::Internal, error.to_string()))?;
                Some(Answer::Have { length, sums })
            }
            Request::Extent { offset, length } => {
                if length as usize > EXTENT_LIMIT {
                    return Err(protocol("it sent an extent that is longer than any may be"));
                }
                let bytes = self.decompress(rest, length as usize)?;
                self.store.write(offset, &self.extent[..bytes]).map_err(violation)?;
                if offset == 0 {
                    self.look_at_header(bytes);
                }
                self.gained.stored += bytes as u64;
                None
            }
            Request::Length { length } => {
                self.store.set_length(length).map_err(violation)?;
                None
            }
            Request::Flush { number, left } => {
                if number != self.flush + 1 {
                    return Err(protocol("its flushes are not counted one by one"));
                }
                self.flush = number;
                Some(self.flush(number, left, received))
            }
            Request::Time => {
                let (received, sent) = (clock::now(), clock::now());
                self.told = Some([received, sent]);
                Some(Answer::Time { received, sent })
            }
            Request::Hint(exchange) => {
                // A host may say of its own clock what it likes, and nothing of the collector's.
                if self.told.take() != Some([exchange.collector_received, exchange.collector_sent])
                {
                    let why = "it told of an exchange of times that there was not";
                    return Err(End::Refused(Cause::Violation, why.to_owned()));
                }
                let path = self.shared.data.clock_hints(self.host);
                // A hint that cannot be kept is no loss; whatever is wrong with the disk, a flush
                // will tell.
                let _ = hints::add(&path, self.boot, &exchange);
                self.shared.events.event(&Event::Hint { host: self.host, exchange });
                None
            }
            Request::Bye => Some(Answer::Bye),
        })
    }

    /// Tells of a log that says that it is another host's: what reads it later takes it for this
    /// one's all the same.
    fn look_at_header(&mut self, bytes: usize) {
        let page = self.extent.get(..bytes.min(HEADER_BYTES)).unwrap_or(&[]);
        let Some((identity, name)) = self.store.current() else { return };
        let Ok(log) = Log::from_bytes(Path::new(name), page.to_vec()) else { return };
        let says = log.header().host.as_str();
        // A name is cut for the header, and has no slash as a directory's.
        let says = says.replace('/', "_");
        if says.is_empty()
            || self.host.starts_with(&says)
                && [self.host.len(), HOST_NAME_LENGTH].contains(&says.len())
        {
            return;
        }
        if self.misnamed.insert(identity) {
            let says = says.escape_debug().to_string();
            self.shared.events.event(&Event::Misnamed { host: self.host, name, says: &says });
        }
    }

    /// Decompresses an extent into its buffer; it must have the length that was announced.
    fn decompress(&mut self, compressed: &[u8], length: usize) -> Result<usize, End> {
        let internal = |error: io::Error| End::Refused(Cause::Internal, error.to_string());
        if self.extent.len() < length {
            self.extent.resize(length, 0);
        }
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(internal)?),
        };
        match decompressor.decompress_to_buffer(compressed, &mut self.extent[..length]) {
            Ok(bytes) if bytes == length => Ok(bytes),
            _ => {
                let why = "it sent an extent that is not what was announced";
                Err(End::Refused(Cause::Protocol, why.to_owned()))
            }
        }
    }

    fn flush(&mut self, number: u64, left: u64, received: u64) -> Answer {
        let result = self.store.flush();
        let gained = Gained { wire: received - self.received, ..std::mem::take(&mut self.gained) };
        self.received = received;
        let has = Held { files: self.store.files(), bytes: self.store.used() };
        let host = self.host;
        match result {
            Ok(()) => {
                self.shared.events.event(&Event::Stored { host, gained, has, left: Some(left) });
                Answer::Durable { number }
            }
            Err((shortage, error)) => {
                self.shared.events.event(&Event::NotStored { host, shortage, error });
                Answer::NotStored { number, shortage }
            }
        }
    }
}

/// Answers a stream of frames as that of a host that was let in, until the first that is refused.
pub(super) fn answer_all(mut bytes: &[u8], shared: &Shared<'_>, host: &str) {
    let Ok(mut store) = HostStore::open(&shared.data.hosts().join(host), shared.limits, None)
    else {
        return;
    };
    let mut gathering = Gathering::new(shared, host, [0; 16], &mut store);
    let mut reader = FrameReader::default();
    while let Ok(frame) = reader.next(&mut bytes) {
        let Ok((request, rest)) = wire::decode_request(frame) else { break };
        let Ok(answer) = gathering.request(request, rest, 0) else { break };
        // What is answered can be sent.
        debug_assert!(answer.is_none_or(|answer| wire::frame(&answer).is_ok()));
    }
    let _ = store.flush();
}
