//! Serves the figures to Prometheus over plain HTTP: `GET /metrics` and nothing else. Whoever connects is bounded in time,
//! size and number, so that it can hold up neither the collector nor, for long, another reader.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Metrics;

/// Where the figures are served unless the user says otherwise: to this machine only.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:9713";

/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 8 << 10;
/// How long a connection may take from its first byte to its last.
const DEADLINE: Duration = Duration::from_secs(5);
/// So many are served at once; more wait in the kernel.
const THREADS: usize = 4;
/// How often it is seen whether to stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// What Prometheus asks.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    deadline: Duration,
}

impl Server {
    /// Listens at an address, of which anybody who can reach it can read the figures: hosts' names and how much they send.
    ///
    /// # Errors
    /// The address is none, is taken, or is not this machine's.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Server { listener, deadline: DEADLINE })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// As the kernel gives them.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is set.
    pub fn run(&self, metrics: &Metrics, stop: &AtomicBool) {
        thread::scope(|scope| {
            for _ in 1..THREADS {
                let serve = || self.serve(metrics, stop);
                // Where there is no thread to be had, those that are there serve.
                let _ = thread::Builder::new().name("metrics".to_owned()).spawn_scoped(scope, serve);
            }
            self.serve(metrics, stop);
        });
    }

    /// One connection after the other.
    fn serve(&self, metrics: &Metrics, stop: &AtomicBool) {
        while !stop.load(Relaxed) {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // What becomes of it is the reader's concern alone.
                    let _ = answer(stream, self.deadline, metrics);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let _ = poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&TICK));
                }
                // Out of descriptors, or the reader was gone before it was served.
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// Reads a request and answers it.
fn answer(stream: TcpStream, deadline: Duration, metrics: &Metrics) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut stream = Until { stream, end: Instant::now() + deadline };
    let answer = match head(&mut stream) {
        Ok(head) => reply(&head, metrics),
        Err(error) if error.kind() == ErrorKind::InvalidData => Answer::of(431, "the request is too long"),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            // The time is over, but what fits into the socket can be said.
            stream.stream.set_nonblocking(true)?;
            return stream
                .stream
                .write_all(Answer::of(408, "the request did not come in time").text().as_bytes());
        }
        Err(error) => return Err(error),
    };
    stream.write_all(answer.text().as_bytes())?;
    stream.stream.shutdown(Shutdown::Write)?;
    // A socket that is closed with something unread takes back what was said.
    let mut rest = [0; 4096];
    while stream.read(&mut rest)? > 0 {}
    Ok(())
}

/// The first line of a request, once all of its head is there.
fn head(stream: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1024];
    let ends_within =
        |bytes: &[u8]| bytes.get(..LONGEST_HEAD).unwrap_or(bytes).windows(4).any(|end| end == b"\r\n\r\n");
    while !ends_within(&bytes) {
        if bytes.len() >= LONGEST_HEAD {
            return Err(ErrorKind::InvalidData.into());
        }
        match stream.read(&mut buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => bytes.extend_from_slice(buffer.get(..read).unwrap_or_default()),
        }
    }
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}

/// What is answered to a request with this first line (RFC 9112, section 3).
fn reply(line: &str, metrics: &Metrics) -> Answer {
    let mut parts = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Answer::of(400, "this is no request");
    };
    if !version.starts_with("HTTP/1.") {
        return Answer::of(400, "only HTTP/1 is spoken here");
    }
    let path = target.split('?').next().unwrap_or_default();
    match (path, method) {
        ("/metrics", "GET") => Answer { status: 200, body: metrics.text() },
        ("/metrics", _) => Answer::of(405, "the figures can be read only: GET /metrics"),
        _ => Answer::of(404, "there is nothing but /metrics here"),
    }
}

/// An answer of the server.
struct Answer {
    status: u16,
    body: String,
}

impl Answer {
    /// One that says what is wrong.
    fn of(status: u16, why: &str) -> Answer {
        Answer { status, body: format!("{why}\n") }
    }

    fn text(&self) -> String {
        let (reason, more) = match self.status {
            200 => ("OK", ""),
            404 => ("Not Found", ""),
            405 => ("Method Not Allowed", "Allow: GET\r\n"),
            408 => ("Request Timeout", ""),
            431 => ("Request Header Fields Too Large", ""),
            _ => ("Bad Request", ""),
        };
        let kind = match self.status {
            200 => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            _ => "text/plain; charset=utf-8",
        };
        let Answer { status, body } = self;
        format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{more}Connection: close\r\n\r\n{body}",
            body.len()
        )
    }
}

/// A connection of which reads and writes end at a moment, however little comes at a time.
struct Until {
    stream: TcpStream,
    end: Instant,
}

impl Until {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Until {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Until {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests;
