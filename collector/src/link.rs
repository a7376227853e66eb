//! Connection with or without TLS, over a socket with a deadline.

mod socket;

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConnection, ServerConfig, ServerConnection, StreamOwned};

pub(crate) use socket::is_stop;
#[cfg(test)]
pub(crate) use socket::socket_pair;
pub use socket::{DeadlineSocket, StopFlag};

/// A connection.
#[derive(Debug)]
pub enum WireLink {
    /// A connection without TLS.
    Plain(DeadlineSocket),
    /// The listening side of a TLS connection.
    Server(Box<StreamOwned<ServerConnection, DeadlineSocket>>),
    /// The connecting side of a TLS connection.
    Client(Box<StreamOwned<ClientConnection, DeadlineSocket>>),
}

impl WireLink {
    /// Makes the connecting side of a TLS connection and completes the handshake.
    ///
    /// # Errors
    /// Fails if the other side is not the expected one, refuses this one, or has not finished by
    /// the deadline.
    pub fn connect(
        socket: DeadlineSocket,
        mut connection: ClientConnection,
    ) -> io::Result<WireLink> {
        // The buffer is bounded by the writes: one frame at a time.
        connection.set_buffer_limit(None);
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(WireLink::Client(Box::new(stream)))
    }

    /// Makes the listening side of a TLS connection and completes the handshake.
    ///
    /// # Errors
    /// Fails as [`connect`](WireLink::connect) does.
    pub fn accept(socket: DeadlineSocket, config: Arc<ServerConfig>) -> io::Result<WireLink> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, socket);
        let shaken = (|| {
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock)?;
            }
            // This side sends the last message of the handshake.
            while stream.conn.wants_write() {
                stream.conn.write_tls(&mut stream.sock)?;
            }
            Ok(())
        })();
        match shaken {
            Ok(()) => Ok(WireLink::Server(Box::new(stream))),
            Err(error) => {
                stream.sock.drain_and_close();
                Err(error)
            }
        }
    }

    /// The certificates that the other side has shown, its own first; none on a plain connection.
    pub fn peer_certificates(&self) -> &[CertificateDer<'static>] {
        let certificates = match self {
            WireLink::Plain(_) => None,
            WireLink::Server(stream) => stream.conn.peer_certificates(),
            WireLink::Client(stream) => stream.conn.peer_certificates(),
        };
        certificates.unwrap_or(&[])
    }

    /// The underlying socket, for its deadline and its counts.
    pub fn socket(&mut self) -> &mut DeadlineSocket {
        match self {
            WireLink::Plain(socket) => socket,
            WireLink::Server(stream) => &mut stream.sock,
            WireLink::Client(stream) => &mut stream.sock,
        }
    }

    /// Announces the end of the connection, if the peer can still be reached.
    pub fn close(&mut self) {
        self.socket().set_deadline(Duration::from_secs(1));
        match self {
            WireLink::Plain(_) => {}
            WireLink::Server(stream) => stream.conn.send_close_notify(),
            WireLink::Client(stream) => stream.conn.send_close_notify(),
        }
        // A peer that is gone needs no announcement.
        let _ = self.flush();
        self.socket().drain_and_close();
    }
}

impl Read for WireLink {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            WireLink::Plain(socket) => socket.read(buffer),
            WireLink::Server(stream) => stream.read(buffer),
            WireLink::Client(stream) => stream.read(buffer),
        }
    }
}

impl Write for WireLink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            WireLink::Plain(socket) => socket.write(bytes),
            WireLink::Server(stream) => stream.write(bytes),
            WireLink::Client(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            WireLink::Plain(socket) => socket.flush(),
            WireLink::Server(stream) => stream.flush(),
            WireLink::Client(stream) => stream.flush(),
        }
    }
}
