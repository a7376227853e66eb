#![doc = include_str!("../README.md")]

mod answer;
mod connection;
mod network;
mod request;
mod serve;
mod tuning;
mod waiting_connections;

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use answer::HttpAnswer;
pub use network::ClientNetwork;
pub use request::HttpRequest;
use tuning::DEADLINE;
pub use waiting_connections::WaitingConnections;

/// HTTP server with a bounded number of connections.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    /// Sockets by which threads wake the loop.
    wake: (UnixStream, UnixStream),
    deadline: Duration,
}

impl HttpServer {
    /// Listens at an address; everybody with access to it can read the answers.
    ///
    /// # Errors
    /// The address is invalid, in use, or not an address of this machine.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<HttpServer> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let wake = UnixStream::pair()?;
        for socket in [&wake.0, &wake.1] {
            socket.set_nonblocking(true)?;
        }
        Ok(HttpServer { listener, wake, deadline: DEADLINE })
    }

    /// Address at which the server listens.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// This server with another deadline: the maximum time for a client to receive an answer.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> HttpServer {
        HttpServer { deadline, ..self }
    }

    /// Serves until `stop` is set. `reply` is called from several threads.
    pub fn run(&self, reply: impl Fn(&HttpRequest<'_>) -> HttpAnswer + Sync, stop: &AtomicBool) {
        serve::serve_connections(&self.listener, &self.wake, self.deadline, &reply, stop);
    }
}

#[cfg(test)]
mod tests;
