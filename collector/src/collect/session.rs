//! One connection at the collector, from its first byte to its end: identification, permission,
//! requests and answers. Nothing that it sends is trusted before it is checked, and nothing it does
//! or fails to do costs more than one frame, one extent and a few timeouts.

mod end;
mod requests;

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use end::SessionEnd;
use requests::RequestHandler;
pub(super) use requests::answer_all;
use socket_log::names;
use tracing::{debug, info};

use super::admission::AdmissionTicket;
use super::event::{CollectEvent, ReceivedBytes, RefusalCause, StoredFiles};
use super::shared::SharedState;
use super::store::HostStore;
use crate::link::{DeadlineSocket, WireLink, is_stop};
use crate::tls;
use crate::tuning::DEADLINE_PIECE_BYTES;
use crate::wire::{self, CollectorAnswer, FrameReader, GREETING_LIMIT, ShipperRequest, VERSION};

/// Serves a connection to its end. It releases `place` once the peer is identified.
pub(super) fn serve_connection(
    shared: &SharedState<'_>,
    stream: TcpStream,
    peer: SocketAddr,
    place: &AdmissionTicket<'_>,
) {
    let began = Instant::now();
    let refused = |host: Option<&str>, cause: RefusalCause, why: &str| {
        let (cause, why) = match place.is_evicted() {
            true => (RefusalCause::Many, "it had not identified itself when others came"),
            false => (cause, why),
        };
        debug!(%peer, host, ?cause, why, "connection refused");
        shared.events.on_event(&CollectEvent::Refused { peer, host, cause, why });
    };
    let mut session = match CollectorSession::accept_handshake(shared, stream) {
        Ok(session) => session,
        Err(SessionEnd::Refused(cause, why)) => return refused(None, cause, &why),
        Err(SessionEnd::Lost(why)) => return refused(None, RefusalCause::Protocol, &why),
        Err(SessionEnd::Over) => return,
    };
    let mut host = None;
    let end = match session.read_greeting(shared, &mut host) {
        Ok(greeting) => {
            place.mark_identified();
            session.serve_requests(shared, peer, &greeting)
        }
        Err(end) => end,
    };
    let why = match &end {
        SessionEnd::Over => None,
        SessionEnd::Lost(why) => Some(why),
        SessionEnd::Refused(cause, why) => {
            refused(host.as_deref(), *cause, why);
            session.send_last_answer(&CollectorAnswer::Refused { why: why.clone() });
            Some(why)
        }
    };
    session.link.close();
    if session.connected {
        let host = host.as_deref().unwrap_or_default();
        let why = why.map(String::as_str);
        info!(host, why, "shipper disconnected");
        shared.events.on_event(&CollectEvent::Disconnected { host, why, after: began.elapsed() });
    } else if let SessionEnd::Lost(why) = &end {
        refused(host.as_deref(), RefusalCause::Protocol, why);
    }
}

/// Greeting of the other side, which identifies it.
struct ShipperGreeting {
    host: String,
    /// Boot id of the host's kernel.
    boot: [u8; 16],
    /// The names that the host's key is for, if a key was required.
    names: Option<Vec<String>>,
}

/// A connection.
struct CollectorSession {
    link: WireLink,
    reader: FrameReader,
    /// Whether the shipper was admitted.
    connected: bool,
    /// Second descriptor of the connection, by which a newer connection ends it.
    stream: Option<TcpStream>,
}

impl CollectorSession {
    /// Performs the handshake.
    fn accept_handshake(
        shared: &SharedState<'_>,
        stream: TcpStream,
    ) -> Result<CollectorSession, SessionEnd> {
        let internal =
            |error: io::Error| SessionEnd::Refused(RefusalCause::Internal, error.to_string());
        let second = stream.try_clone().map_err(internal)?;
        let socket =
            DeadlineSocket::new(stream, Arc::clone(&shared.stop), shared.deadlines.handshake)
                .map_err(internal)?;
        let link = match &shared.tls {
            None => WireLink::Plain(socket),
            Some(config) => WireLink::accept(socket, Arc::clone(config)).map_err(|error| {
                match error.kind() {
                    ErrorKind::TimedOut => SessionEnd::Refused(
                        RefusalCause::Slow,
                        "its handshake took too long".into(),
                    ),
                    _ if is_stop(&error) => SessionEnd::Over,
                    _ => {
                        let why = tls::refusal_reason(&error)
                            .map_or_else(|| error.to_string(), str::to_owned);
                        SessionEnd::Refused(
                            if why == tls::REVOKED {
                                RefusalCause::Revoked
                            } else {
                                RefusalCause::Tls
                            },
                            why,
                        )
                    }
                }
            })?,
        };
        Ok(CollectorSession {
            link,
            reader: FrameReader::default(),
            connected: false,
            stream: Some(second),
        })
    }

    /// Reads the greeting and checks it. `named` is set to the greeting's host even if the
    /// connection is refused.
    fn read_greeting(
        &mut self,
        shared: &SharedState<'_>,
        named: &mut Option<String>,
    ) -> Result<ShipperGreeting, SessionEnd> {
        let frame = self.reader.next_frame_within(GREETING_LIMIT, &mut self.link)?;
        let (ShipperRequest::Hello { version, host, boot }, _) = wire::decode_request(frame)?
        else {
            return Err(SessionEnd::Refused(
                RefusalCause::Protocol,
                "its first message is not a greeting".into(),
            ));
        };
        if version != VERSION {
            let why = format!(
                "it uses version {version} of the protocol, this collector version {VERSION}"
            );
            return Err(SessionEnd::Refused(RefusalCause::Version, why));
        }
        names::check_host_name(host)
            .map_err(|error| SessionEnd::Refused(RefusalCause::Name, error.to_string()))?;
        let host = host.to_owned();
        *named = Some(host.clone());
        let mut names = None;
        if shared.tls.is_some() {
            let own = tls::host_names_of(self.link.peer_certificates());
            let own =
                own.map_err(|error| SessionEnd::Refused(RefusalCause::Tls, error.to_string()))?;
            if !own.contains(&host) {
                let why = format!(
                    "it wants to write as '{host}', but its certificate is for {}",
                    own.join(", ")
                );
                return Err(SessionEnd::Refused(RefusalCause::Name, why));
            }
            names = Some(own);
        }
        Ok(ShipperGreeting { host, boot, names })
    }

    /// Serves everything after the greeting.
    fn serve_requests(
        &mut self,
        shared: &SharedState<'_>,
        peer: SocketAddr,
        greeting: &ShipperGreeting,
    ) -> SessionEnd {
        let host = greeting.host.as_str();
        let internal =
            |error: io::Error| SessionEnd::Refused(RefusalCause::Internal, error.to_string());
        let certificate = self.link.peer_certificates().first().cloned();
        let slot = self
            .stream
            .take()
            .and_then(|stream| shared.slots.claim_slot(host, stream, certificate.clone()));
        let Some(slot) = slot else {
            return SessionEnd::Refused(
                RefusalCause::Many,
                "the previous connection of this host does not end".into(),
            );
        };
        // From here on the slot shows when the key is revoked. It may have been revoked since the
        // handshake.
        let is_revoked = || {
            let listed = shared.revoked.as_ref().zip(certificate.as_ref());
            slot.is_revoked()
                || listed.is_some_and(|(list, certificate)| list.is_revoked(certificate))
        };
        let revoked = || SessionEnd::Refused(RefusalCause::Revoked, "its key was revoked".into());
        if is_revoked() {
            return revoked();
        }
        let directory = shared.data.hosts_dir().join(host);
        let mut store = match HostStore::open(&directory, shared.limits, greeting.names.clone()) {
            Ok(store) => store,
            Err(error) => return internal(error),
        };
        self.connected = true;
        info!(host, %peer, "shipper admitted");
        shared.events.on_event(&CollectEvent::Connected { host, peer });
        let has = StoredFiles { files: store.file_count(), bytes: store.used_bytes() };
        shared.events.on_event(&CollectEvent::Stored {
            host,
            gained: ReceivedBytes::default(),
            has,
            left: None,
        });
        let mut handler = RequestHandler::new(shared, host, greeting.boot, &mut store);
        let welcome = CollectorAnswer::Welcome { version: VERSION, store: shared.store };
        let end = match self.send_answer(&welcome, shared.deadlines.frame) {
            Ok(()) => loop {
                // A shipper that sends all the time never waits at its socket, where a stop would
                // be noticed.
                if shared.stop.load(Relaxed) {
                    break SessionEnd::Over;
                }
                if slot.is_revoked() {
                    break revoked();
                }
                if let Err(end) = self.serve_request(&mut handler) {
                    break if slot.is_revoked() { revoked() } else { end };
                }
            },
            Err(end) => end,
        };
        // Data since the last flush is synced, although no answer is sent.
        let _ = store.flush();
        drop(slot);
        end
    }

    /// Serves one request.
    fn serve_request(&mut self, handler: &mut RequestHandler<'_>) -> Result<(), SessionEnd> {
        let deadlines = handler.shared.deadlines;
        self.link.socket().set_deadline(deadlines.silence);
        let frame = next_frame(&mut self.reader, &mut self.link, deadlines.frame)?;
        let (request, rest) = wire::decode_request(frame)?;
        let answer = handler.handle_request(request, rest, self.link.socket().byte_counts()[0])?;
        if let Some(answer) = answer {
            self.send_answer(&answer, deadlines.frame)?;
            if answer == CollectorAnswer::Bye {
                return Err(SessionEnd::Over);
            }
        }
        Ok(())
    }

    fn send_answer(&mut self, answer: &CollectorAnswer, time: Duration) -> Result<(), SessionEnd> {
        let frame = wire::encode_frame(answer)?;
        self.link.socket().set_deadline(time * (1 + frame.len() / DEADLINE_PIECE_BYTES) as u32);
        self.link.write_all(&frame)?;
        Ok(self.link.flush()?)
    }

    /// Sends a last answer to a shipper that may no longer be listening.
    fn send_last_answer(&mut self, answer: &CollectorAnswer) {
        self.link.socket().set_deadline(Duration::from_secs(1));
        if let Ok(frame) = wire::encode_frame(answer) {
            let _ = self.link.write_all(&frame).and_then(|()| self.link.flush());
        }
    }
}

/// Reads the next frame. Silence before it is allowed, but a frame that has begun must continue.
fn next_frame<'reader>(
    reader: &'reader mut FrameReader,
    link: &mut WireLink,
    time: Duration,
) -> Result<&'reader [u8], wire::FrameError> {
    struct DeadlineReader<'a> {
        link: &'a mut WireLink,
        time: Duration,
        pieces: Option<usize>,
        bytes: usize,
    }
    impl io::Read for DeadlineReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.link.read(buffer)?;
            self.bytes += read;
            let pieces = Some(self.bytes / DEADLINE_PIECE_BYTES);
            if self.pieces != pieces {
                self.pieces = pieces;
                self.link.socket().set_deadline(self.time);
            }
            Ok(read)
        }
    }
    reader.next_frame(&mut DeadlineReader { link, time, pieces: None, bytes: 0 })
}
