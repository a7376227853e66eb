#![doc = include_str!("../README.md")]

mod answer;
mod connection;
mod network;
mod request;
mod serve;
mod tuning;
mod waiting;

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use answer::Answer;
pub use network::Network;
pub use request::Request;
use tuning::DEADLINE;
pub use waiting::Waiting;

/// Server that answers.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    /// Sockets by which threads wake the loop.
    wake: (UnixStream, UnixStream),
    deadline: Duration,
}

impl Server {
    /// Listens at an address; anybody who can reach it can read what is answered.
    ///
    /// # Errors
    /// The address is none, is taken, or is not this machine's.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let wake = UnixStream::pair()?;
        for socket in [&wake.0, &wake.1] {
            socket.set_nonblocking(true)?;
        }
        Ok(Server { listener, wake, deadline: DEADLINE })
    }

    /// Address where it listens.
    ///
    /// # Errors
    /// As the kernel gives them.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// This server with another deadline: the maximum time that a reader has for taking an answer.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Server {
        Server { deadline, ..self }
    }

    /// Serves until `stop` is set. `reply` is called from several threads.
    pub fn run(&self, reply: impl Fn(&Request<'_>) -> Answer + Sync, stop: &AtomicBool) {
        serve::serve(&self.listener, &self.wake, self.deadline, &reply, stop);
    }
}

#[cfg(test)]
mod tests;
