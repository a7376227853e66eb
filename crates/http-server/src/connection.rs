//! One connection, from its first byte to its last: a request is read, answered elsewhere, the
//! answer is written, and further input is discarded. Nothing here blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::answer::HttpAnswer;
use crate::tuning::{HEAD_DEADLINE, MAX_HEAD_BYTES, MAX_READ_BYTES};

/// A connection of a client, with its state.
#[derive(Debug)]
pub(crate) struct ServerConnection {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    /// Deadline of the current state.
    end: Instant,
    state: ConnectionState,
}

#[derive(Debug)]
enum ConnectionState {
    /// The head of the request is being read.
    Reading(Vec<u8>),
    /// The request waits for its answer.
    Waiting,
    /// The answer is being written: head, body, and the number of bytes of both that were written.
    Writing { head: Vec<u8>, body: Arc<[u8]>, gone: usize },
    /// The answer is written. Further input must be read: a socket that is closed with unread input
    /// discards what it sent.
    Leaving,
}

/// Result of a step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// Nothing can be done until the socket is ready.
    Pending,
    /// A request with this head has arrived.
    Asked(String),
    /// The head is longer than the limit.
    TooLong,
    /// The answer is written.
    Answered,
    /// The connection is over.
    Over,
}

impl ServerConnection {
    /// Takes over a connection that was accepted at `now`; its request must arrive soon.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        now: Instant,
        deadline: Duration,
    ) -> io::Result<ServerConnection> {
        stream.set_nonblocking(true)?;
        let end = now + deadline.min(HEAD_DEADLINE);
        Ok(ServerConnection { stream, peer, end, state: ConnectionState::Reading(Vec::new()) })
    }

    /// The events to poll for on the connection's socket.
    pub(crate) fn waits_for(&self) -> PollFlags {
        match self.state {
            ConnectionState::Reading(_) | ConnectionState::Leaving => PollFlags::IN,
            ConnectionState::Waiting => PollFlags::empty(),
            ConnectionState::Writing { .. } => PollFlags::OUT,
        }
    }

    /// Time from `now` until the connection's deadline. While the answer is computed, there is no
    /// deadline.
    pub(crate) fn time_left(&self, now: Instant) -> Duration {
        match self.state {
            ConnectionState::Waiting => Duration::MAX,
            _ => self.end.saturating_duration_since(now),
        }
    }

    /// Sets the deadline of the connection.
    pub(crate) fn wait_until(&mut self, end: Instant) {
        self.end = end;
    }

    /// Begins to write an answer, with the deadline `end`.
    pub(crate) fn begin_answer(&mut self, answer: HttpAnswer, end: Instant) {
        let (head, body) = answer.into_parts();
        self.end = end;
        self.state = ConnectionState::Writing { head, body, gone: 0 };
    }

    /// Writes the part of the answer that fits into the socket, and closes the connection.
    pub(crate) fn answer_and_close(mut self, answer: HttpAnswer) {
        let mut unread = [0; 4096];
        for _ in 0..MAX_HEAD_BYTES / unread.len() {
            if !self.stream.read(&mut unread).is_ok_and(|read| read > 0) {
                break;
            }
        }
        self.begin_answer(answer, self.end);
        let _ = self.write_answer();
    }

    /// Whether the request has not arrived yet.
    pub(crate) fn is_reading(&self) -> bool {
        matches!(self.state, ConnectionState::Reading(_))
    }

    /// Advances as far as is possible without blocking.
    pub(crate) fn advance_step(&mut self) -> StepOutcome {
        let step = match &mut self.state {
            ConnectionState::Reading(head) => read_head(&mut self.stream, head),
            ConnectionState::Waiting => Ok(StepOutcome::Pending),
            ConnectionState::Writing { .. } => self.write_answer(),
            ConnectionState::Leaving => discard_input(&mut self.stream),
        };
        match step {
            Ok(StepOutcome::Asked(head)) => {
                self.state = ConnectionState::Waiting;
                StepOutcome::Asked(head)
            }
            Ok(step) => step,
            Err(error) if error.kind() == ErrorKind::WouldBlock => StepOutcome::Pending,
            Err(error) if error.kind() == ErrorKind::Interrupted => StepOutcome::Pending,
            // A failed connection concerns its client only.
            Err(_) => StepOutcome::Over,
        }
    }

    /// Writes as much of the answer as the socket takes.
    fn write_answer(&mut self) -> io::Result<StepOutcome> {
        let ConnectionState::Writing { head, body, gone } = &mut self.state else {
            return Ok(StepOutcome::Over);
        };
        loop {
            let rest = match head.get(*gone..).filter(|rest| !rest.is_empty()) {
                Some(rest) => rest,
                None => body.get(*gone - head.len()..).unwrap_or_default(),
            };
            if rest.is_empty() {
                break;
            }
            match self.stream.write(rest)? {
                0 => return Ok(StepOutcome::Over),
                written => *gone += written,
            }
        }
        self.stream.shutdown(Shutdown::Write)?;
        self.state = ConnectionState::Leaving;
        Ok(StepOutcome::Answered)
    }
}

/// Reads the available part of a head.
fn read_head(stream: &mut impl Read, head: &mut Vec<u8>) -> io::Result<StepOutcome> {
    let mut buffer = [0; MAX_READ_BYTES];
    let read = stream.read(&mut buffer)?;
    if read == 0 {
        return Ok(StepOutcome::Over);
    }
    // The end of the head may begin up to three bytes before the new bytes.
    let from = head.len().saturating_sub(3);
    head.extend_from_slice(buffer.get(..read).unwrap_or_default());
    let searched = head.get(from..head.len().min(MAX_HEAD_BYTES)).unwrap_or_default();
    if let Some(end) = searched.windows(4).position(|end| end == b"\r\n\r\n") {
        head.truncate(from + end);
        return Ok(StepOutcome::Asked(String::from_utf8_lossy(head).into_owned()));
    }
    Ok(if head.len() >= MAX_HEAD_BYTES { StepOutcome::TooLong } else { StepOutcome::Pending })
}

/// Discards the available input of a connection.
fn discard_input(stream: &mut impl Read) -> io::Result<StepOutcome> {
    let read = stream.read(&mut [0; MAX_READ_BYTES])?;
    Ok(if read == 0 { StepOutcome::Over } else { StepOutcome::Pending })
}
