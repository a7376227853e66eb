#![doc = include_str!("../README.md")]

mod tuning;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use tuning::{DEADLINE, HEAD_DEADLINE, MAX_HEAD_BYTES, NO_DESCRIPTORS_PAUSE, THREADS, TICK};

/// Request, as much of it as anybody here needs (RFC 9112, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, such as `GET`.
    pub method: &'a str,
    /// The path, as it came: `/metrics`.
    pub path: &'a str,
    /// Query: the text behind the question mark.
    pub query: &'a str,
    /// Name by which the reader knows this server: the field `Host`.
    pub host: Option<&'a str>,
}

/// Server that answers.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
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
        Ok(Server { listener, deadline: DEADLINE })
    }

    /// Address where it listens.
    ///
    /// # Errors
    /// As the kernel gives them.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// This server with another deadline: the maximum time of a connection from its first byte to
    /// its last.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Server {
        Server { deadline, ..self }
    }

    /// Serves until `stop` is set.
    pub fn run(&self, reply: impl Fn(&Request<'_>) -> Answer + Sync, stop: &AtomicBool) {
        thread::scope(|scope| {
            for _ in 1..THREADS {
                let serve = || self.serve(&reply, stop);
                // Where there is no thread to be had, those that are there serve.
                let _ = thread::Builder::new().name("http".to_owned()).spawn_scoped(scope, serve);
            }
            self.serve(&reply, stop);
        });
    }

    /// One connection after the other.
    fn serve(&self, reply: &impl Fn(&Request<'_>) -> Answer, stop: &AtomicBool) {
        while !stop.load(Relaxed) {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // What becomes of it is the reader's concern alone.
                    let _ = answer(stream, self.deadline, reply);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let _ = poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&TICK));
                }
                // Out of descriptors, or the reader was gone before it was served.
                Err(_) => thread::sleep(NO_DESCRIPTORS_PAUSE),
            }
        }
    }
}

/// Reads a request and answers it.
fn answer(
    stream: TcpStream,
    deadline: Duration,
    reply: &impl Fn(&Request<'_>) -> Answer,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut stream = Until { stream, end: Instant::now() + deadline.min(HEAD_DEADLINE) };
    let answer = match head(&mut stream) {
        Ok(head) => request(&head).map_or_else(|refusal| refusal, |request| reply(&request)),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Answer::refusal(431, "the request is too long")
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            // The time is over, but what fits into the socket can be said.
            stream.stream.set_nonblocking(true)?;
            // A socket that is closed with something unread takes back what was said.
            let mut unread = [0; 4096];
            while stream.stream.read(&mut unread).is_ok_and(|read| read > 0) {}
            let answer = Answer::refusal(408, "the request did not come in time");
            return answer.write(&mut stream.stream);
        }
        Err(error) => return Err(error),
    };
    stream.end = Instant::now() + deadline;
    answer.write(&mut stream)?;
    stream.stream.shutdown(Shutdown::Write)?;
    // A socket that is closed with something unread takes back what was said.
    let mut rest = [0; 4096];
    while stream.read(&mut rest)? > 0 {}
    Ok(())
}

/// The head of a request, once all of it is there.
fn head(stream: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1024];
    let end = |bytes: &[u8]| {
        bytes.get(..MAX_HEAD_BYTES).unwrap_or(bytes).windows(4).position(|end| end == b"\r\n\r\n")
    };
    loop {
        if let Some(end) = end(&bytes) {
            bytes.truncate(end);
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        if bytes.len() >= MAX_HEAD_BYTES {
            return Err(ErrorKind::InvalidData.into());
        }
        match stream.read(&mut buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => bytes.extend_from_slice(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Request that a head makes, or the refusal.
fn request(head: &str) -> Result<Request<'_>, Answer> {
    let mut lines = head.split("\r\n");
    let mut parts = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Answer::refusal(400, "this is no request"));
    };
    if !version.starts_with("HTTP/1.") {
        return Err(Answer::refusal(400, "only HTTP/1 is spoken here"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let host = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, host)| host.trim());
    Ok(Request { method, path, query, host })
}

/// Answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: u16,
    kind: &'static str,
    body: Arc<[u8]>,
}

impl Answer {
    /// Answer with a body of a media type.
    pub fn of(kind: &'static str, body: impl Into<Arc<[u8]>>) -> Answer {
        Answer { status: 200, kind, body: body.into() }
    }

    /// One that says what is wrong. The status is 400, 404, 405, 408, 421, 431 or 500.
    pub fn refusal(status: u16, why: &str) -> Answer {
        Answer {
            status,
            kind: "text/plain; charset=utf-8",
            body: format!("{why}\n").into_bytes().into(),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (reason, more) = match self.status {
            200 => ("OK", ""),
            404 => ("Not Found", ""),
            405 => ("Method Not Allowed", "Allow: GET\r\n"),
            408 => ("Request Timeout", ""),
            421 => ("Misdirected Request", ""),
            431 => ("Request Header Fields Too Large", ""),
            500 => ("Internal Server Error", ""),
            _ => ("Bad Request", ""),
        };
        let Answer { status, kind, body } = self;
        // What is answered is as it is now, for the reader alone, and of no other kind than it
        // says.
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{more}Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
            body.len()
        );
        out.write_all(head.as_bytes())?;
        out.write_all(body)
    }
}

/// Connection whose reads and writes end at a deadline, however little comes at a time.
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
