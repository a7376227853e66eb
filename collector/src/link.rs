//! One connection, TLS or plain, over a socket with a deadline.

mod socket;

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConnection, ServerConfig, ServerConnection, StreamOwned};

pub(crate) use socket::is_stop;
#[cfg(test)]
pub(crate) use socket::pair;
pub use socket::{Socket, Stop};

/// A connection.
#[derive(Debug)]
pub enum Link {
    /// Without TLS.
    Plain(Socket),
    /// As the side that listens.
    Server(Box<StreamOwned<ServerConnection, Socket>>),
    /// As the side that connects.
    Client(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Link {
    /// Makes the connecting side; the handshake is over when this returns.
    ///
    /// # Errors
    /// When the other side is not who it has to be, refuses this one, or is not done by the
    /// deadline.
    pub fn client(socket: Socket, mut connection: ClientConnection) -> io::Result<Link> {
        // The buffer is bounded by what is written: one frame at a time.
        connection.set_buffer_limit(None);
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Link::Client(Box::new(stream)))
    }

    /// Makes the listening side; the handshake is over when this returns.
    ///
    /// # Errors
    /// As for [`client`](Link::client).
    pub fn server(socket: Socket, config: Arc<ServerConfig>) -> io::Result<Link> {
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
            Ok(()) => Ok(Link::Server(Box::new(stream))),
            Err(error) => {
                stream.sock.linger();
                Err(error)
            }
        }
    }

    /// The certificates that the other side has shown, its own first; none on a plain connection.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        let certificates = match self {
            Link::Plain(_) => None,
            Link::Server(stream) => stream.conn.peer_certificates(),
            Link::Client(stream) => stream.conn.peer_certificates(),
        };
        certificates.unwrap_or(&[])
    }

    /// The socket under it, for its deadline and its counts.
    pub fn socket(&mut self) -> &mut Socket {
        match self {
            Link::Plain(socket) => socket,
            Link::Server(stream) => &mut stream.sock,
            Link::Client(stream) => &mut stream.sock,
        }
    }

    /// Says that nothing more is sent, where it can still be said.
    pub fn close(&mut self) {
        self.socket().within(Duration::from_secs(1));
        match self {
            Link::Plain(_) => {}
            Link::Server(stream) => stream.conn.send_close_notify(),
            Link::Client(stream) => stream.conn.send_close_notify(),
        }
        // A side that is gone need not be told.
        let _ = self.flush();
        self.socket().linger();
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Plain(socket) => socket.read(buffer),
            Link::Server(stream) => stream.read(buffer),
            Link::Client(stream) => stream.read(buffer),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Plain(socket) => socket.write(bytes),
            Link::Server(stream) => stream.write(bytes),
            Link::Client(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Link::Plain(socket) => socket.flush(),
            Link::Server(stream) => stream.flush(),
            Link::Client(stream) => stream.flush(),
        }
    }
}
