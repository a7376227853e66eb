//! TCP connection with reads and writes that end at a deadline, or when the program is to stop. The
//! socket never blocks by itself; all waiting is in one `poll`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{SockRef, TcpKeepalive};

use crate::tuning::{
    DEAD_AFTER, LINGER_TIMEOUT, MAX_DISCARDED_BYTES, MAX_UNSENT_BYTES, SOCKET_READ_BYTES,
    STOP_CHECK_INTERVAL,
};

/// Flag that is set when the program is to stop.
pub type StopFlag = Arc<AtomicBool>;

/// A TCP connection with a deadline.
#[derive(Debug)]
pub struct DeadlineSocket {
    stream: TcpStream,
    stop: StopFlag,
    deadline: Instant,
    /// Received bytes; `buffer[start..end]` were not read by the caller yet.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes received on the wire, above TCP.
    received: u64,
    /// Bytes sent on the wire, above TCP.
    sent: u64,
}

impl DeadlineSocket {
    /// Takes over a connection. Its first reads and writes must end within `time`.
    ///
    /// # Errors
    /// Fails if the system refuses a setting.
    pub fn new(stream: TcpStream, stop: StopFlag, time: Duration) -> io::Result<DeadlineSocket> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let options = SockRef::from(&stream);
        let keepalive = TcpKeepalive::new()
            .with_time(DEAD_AFTER / 6)
            .with_interval(DEAD_AFTER / 12)
            .with_retries(4);
        options.set_tcp_keepalive(&keepalive)?;
        options.set_tcp_user_timeout(Some(DEAD_AFTER))?;
        options.set_tcp_notsent_lowat(MAX_UNSENT_BYTES)?;
        Ok(DeadlineSocket {
            stream,
            stop,
            deadline: Instant::now() + time,
            buffer: vec![0; SOCKET_READ_BYTES],
            start: 0,
            end: 0,
            received: 0,
            sent: 0,
        })
    }

    /// Sets the deadline of all further reads and writes to `time` from now.
    pub fn set_deadline(&mut self, time: Duration) {
        self.deadline = Instant::now() + time;
    }

    /// Bytes received and bytes sent on the wire, above TCP.
    pub fn byte_counts(&self) -> [u64; 2] {
        [self.received, self.sent]
    }

    /// Ends the connection so that the last data sent still arrives: the kernel would discard it
    /// with a reset if unread bytes were left.
    pub(super) fn drain_and_close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.set_deadline(LINGER_TIMEOUT);
        let mut rest = [0; 4096];
        for _ in 0..MAX_DISCARDED_BYTES / rest.len() {
            if !matches!(self.read(&mut rest), Ok(1..)) {
                return;
            }
        }
    }

    /// Checks that the other side has not closed the connection, at a time when no data is
    /// expected.
    ///
    /// # Errors
    /// Fails if the other side has closed the connection, or the connection is dead.
    pub fn check_open(&self) -> io::Result<()> {
        match self.stream.peek(&mut [0]) {
            // Under TLS a close is announced by a message.
            Ok(_) => Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the other side closed the connection",
            )),
            Err(error)
                if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the socket can be read or written.
    fn wait_ready(&self, what: PollFlags) -> io::Result<()> {
        loop {
            if self.stop.load(Relaxed) {
                return Err(stop_error());
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(ErrorKind::TimedOut, "the other side was too slow"));
            }
            let tick = left.min(STOP_CHECK_INTERVAL);
            let tick =
                Timespec { tv_sec: tick.as_secs() as i64, tv_nsec: i64::from(tick.subsec_nanos()) };
            match poll(&mut [PollFd::new(&self.stream, what)], Some(&tick)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Error of a wait that ended because the program is to stop.
fn stop_error() -> io::Error {
    io::Error::new(ErrorKind::ConnectionAborted, StopRequested)
}

/// Reason for the end of a wait: the program is to stop.
#[derive(Debug, thiserror::Error)]
#[error("stopped")]
struct StopRequested;

/// Whether an error means that the program is to stop.
pub(crate) fn is_stop(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<StopRequested>())
}

impl Read for DeadlineSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // TLS reads a few kilobytes at a time.
        while self.start == self.end {
            match self.stream.read(&mut self.buffer) {
                Ok(read) => {
                    (self.start, self.end) = (0, read);
                    self.received += read as u64;
                    if read == 0 {
                        return Ok(0);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait_ready(PollFlags::IN)?
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let read = buffer.len().min(self.end - self.start);
        buffer[..read].copy_from_slice(&self.buffer[self.start..self.start + read]);
        self.start += read;
        Ok(read)
    }
}

impl Write for DeadlineSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.stream.write(bytes) {
                Ok(written) => {
                    self.sent += written as u64;
                    return Ok(written);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait_ready(PollFlags::OUT)?
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Both ends of a connection, for tests.
#[cfg(test)]
pub(crate) fn socket_pair() -> (TcpStream, TcpStream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_ends_at_its_deadline_and_can_continue() {
        let (mut other, socket) = socket_pair();
        let mut socket =
            DeadlineSocket::new(socket, StopFlag::default(), Duration::from_millis(1)).unwrap();
        let error = socket.read(&mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(!is_stop(&error));
        other.write_all(b"abc").unwrap();
        socket.set_deadline(Duration::from_secs(30));
        let mut read = [0; 2];
        assert_eq!((socket.read(&mut read).unwrap(), &read), (2, b"ab"));
        assert_eq!(
            (socket.read(&mut read).unwrap(), read[0], socket.byte_counts()),
            (1, b'c', [3, 0])
        );
    }

    #[test]
    fn a_closed_connection_is_noticed() {
        let (other, socket) = socket_pair();
        let socket =
            DeadlineSocket::new(socket, StopFlag::default(), Duration::from_secs(1)).unwrap();
        socket.check_open().unwrap();
        drop(other);
        // The kernel takes a moment to notice.
        let closed = (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            socket.check_open().err()
        });
        assert_eq!(closed.unwrap().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_read_ends_when_the_program_is_to_stop() {
        let (_other, socket) = socket_pair();
        let stop = StopFlag::default();
        let mut socket =
            DeadlineSocket::new(socket, Arc::clone(&stop), Duration::from_secs(600)).unwrap();
        let reader = std::thread::spawn(move || socket.read(&mut [0; 10]).unwrap_err());
        stop.store(true, Relaxed);
        assert!(is_stop(&reader.join().unwrap()));
    }

    #[test]
    fn a_write_ends_at_its_deadline_without_a_reader() {
        let (_other, socket) = socket_pair();
        let mut socket =
            DeadlineSocket::new(socket, StopFlag::default(), Duration::from_millis(300)).unwrap();
        let error = socket.write_all(&vec![1; 64 << 20]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
