//! The second stage of a shipper: writes the frames made by the first stage, and reads the
//! collector's answers when one is due. Only this stage uses the connection. As every answer
//! belongs to a request, the number of outstanding answers is always known.

use std::io::Write;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::pause::pause_unless_stopped;
use super::rate::TokenBucket;
use crate::clock::HostClock;
use crate::link::{StopFlag, WireLink};
use crate::tls;
use crate::tuning::{ANSWER_TIMEOUT, IDLE_CHECK_INTERVAL};
use crate::wire::{
    self, CollectorAnswer, FrameReader, MAX_UNANSWERED_FLUSHES, ShipperRequest, TimeExchange,
};

/// Task from the first stage.
#[derive(Debug)]
pub(super) enum DialogTask {
    /// Sends a frame that has no answer.
    Frame(Vec<u8>),
    /// Sends a frame that has an answer, however many answers are due.
    Answered(Vec<u8>),
    /// Sends a flush; the number of flushes without an answer is limited.
    Flush(Vec<u8>),
    /// Waits for all answers that are due.
    Drain,
    /// Exchanges times, while nothing else is in flight.
    Exchange,
}

/// Reply to the first stage.
#[derive(Debug)]
pub(super) enum DialogReply {
    /// An answer of the collector.
    Answer(CollectorAnswer),
    /// All answers have arrived.
    Drained,
    /// The times of an exchange.
    Exchanged(TimeExchange),
}

/// Reason for the end of a connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The connection could not be made, or broke.
    #[error("{0}")]
    Lost(String),
    /// The collector refuses this shipper, or is not the expected one.
    #[error("refused: {0}")]
    Refused(String),
}

impl From<wire::FrameError> for ConnectionError {
    fn from(error: wire::FrameError) -> ConnectionError {
        ConnectionError::Lost(match error {
            wire::FrameError::Closed => "the collector closed the connection".into(),
            wire::FrameError::Io(error) => return error.into(),
            error => error.to_string(),
        })
    }
}

impl From<std::io::Error> for ConnectionError {
    fn from(error: std::io::Error) -> ConnectionError {
        match tls::refusal_reason(&error) {
            Some(why) => ConnectionError::Refused(format!("{why} ({error})")),
            None => ConnectionError::Lost(error.to_string()),
        }
    }
}

/// A connection to a collector.
pub(super) struct Dialog {
    link: WireLink,
    reader: FrameReader,
    bucket: Option<TokenBucket>,
    clock: HostClock,
    abort: StopFlag,
    /// Number of answers that the collector has yet to send.
    due: usize,
    /// Number of flushes without an answer.
    flushes: usize,
    /// Whether the collector has admitted this host.
    welcome: bool,
}

impl Dialog {
    /// Creates a dialog over a connection, with at most `limit` bytes a second.
    pub(super) fn new(
        link: WireLink,
        limit: Option<u64>,
        clock: HostClock,
        abort: StopFlag,
    ) -> Dialog {
        let bucket = limit.map(|rate| TokenBucket::new(rate, Instant::now()));
        Dialog {
            link,
            reader: FrameReader::default(),
            bucket,
            clock,
            abort,
            due: 0,
            flushes: 0,
            welcome: false,
        }
    }

    /// Sends one request and waits for its answer.
    pub(super) fn send_request(
        &mut self,
        request: &ShipperRequest<'_>,
    ) -> Result<CollectorAnswer, ConnectionError> {
        self.write_frame(&wire::encode_frame(request)?)?;
        self.read_answer()
    }

    /// Executes the tasks from `tasks` until the queue is closed, and sends back the answers.
    pub(super) fn run_tasks(
        &mut self,
        tasks: &Receiver<DialogTask>,
        replies: &Sender<DialogReply>,
    ) -> Result<(), ConnectionError> {
        loop {
            let task = match tasks.recv_timeout(IDLE_CHECK_INTERVAL) {
                Ok(task) => task,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if self.due > 0 => continue,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.link.socket().check_open() {
                        return Err(self
                            .last_refusal()
                            .map_or_else(|| error.into(), ConnectionError::Lost));
                    }
                    continue;
                }
            };
            let gone = |_| ConnectionError::Lost("stopped".into());
            match task {
                DialogTask::Frame(frame) => self.write_frame(&frame)?,
                DialogTask::Answered(frame) => {
                    self.write_frame(&frame)?;
                    self.due += 1;
                }
                DialogTask::Flush(frame) => {
                    self.write_frame(&frame)?;
                    self.due += 1;
                    self.flushes += 1;
                    while self.flushes >= MAX_UNANSWERED_FLUSHES {
                        let answer = self.next_answer()?;
                        replies.send(DialogReply::Answer(answer)).map_err(gone)?;
                    }
                }
                DialogTask::Drain => {
                    while self.due > 0 {
                        let answer = self.next_answer()?;
                        replies.send(DialogReply::Answer(answer)).map_err(gone)?;
                    }
                    replies.send(DialogReply::Drained).map_err(gone)?;
                }
                DialogTask::Exchange => {
                    let exchange = self.exchange_times()?;
                    replies.send(DialogReply::Exchanged(exchange)).map_err(gone)?;
                }
            }
        }
    }

    /// The next answer that is due.
    fn next_answer(&mut self) -> Result<CollectorAnswer, ConnectionError> {
        let answer = self.read_answer()?;
        self.due -= 1;
        if matches!(answer, CollectorAnswer::Durable { .. } | CollectorAnswer::NotStored { .. }) {
            self.flushes = self.flushes.saturating_sub(1);
        }
        Ok(answer)
    }

    /// Exchanges the four times, and sends them to the collector.
    fn exchange_times(&mut self) -> Result<TimeExchange, ConnectionError> {
        let question = wire::encode_frame(&ShipperRequest::Time)?;
        self.limit_rate(question.len());
        let host_sent = self.clock.unix_nanoseconds();
        self.send_frame(&question)?;
        let CollectorAnswer::Time { received, sent } = self.read_answer()? else {
            return Err(wire::FrameError::Malformed.into());
        };
        let host_received = self.clock.unix_nanoseconds();
        let exchange = TimeExchange {
            host_sent,
            collector_received: received,
            collector_sent: sent,
            host_received,
        };
        self.write_frame(&wire::encode_frame(&ShipperRequest::Hint(exchange))?)?;
        Ok(exchange)
    }

    fn read_answer(&mut self) -> Result<CollectorAnswer, ConnectionError> {
        self.link.socket().set_deadline(ANSWER_TIMEOUT);
        let answer = wire::decode_answer(self.reader.next_frame(&mut self.link)?)?;
        match answer {
            // A host that was once admitted is wanted; a later failure may pass.
            CollectorAnswer::Refused { why } if self.welcome => Err(ConnectionError::Lost(why)),
            CollectorAnswer::Refused { why } => Err(ConnectionError::Refused(why)),
            answer => {
                self.welcome |= matches!(answer, CollectorAnswer::Welcome { .. });
                Ok(answer)
            }
        }
    }

    fn write_frame(&mut self, frame: &[u8]) -> Result<(), ConnectionError> {
        self.limit_rate(frame.len());
        self.send_frame(frame)
    }

    fn limit_rate(&mut self, bytes: usize) {
        if let Some(bucket) = &mut self.bucket {
            pause_unless_stopped(bucket.take_tokens(bytes, Instant::now()), &self.abort);
        }
    }

    fn send_frame(&mut self, frame: &[u8]) -> Result<(), ConnectionError> {
        self.link.socket().set_deadline(ANSWER_TIMEOUT);
        let written = self.link.write_all(frame).and_then(|()| self.link.flush());
        written.map_err(|error| match self.last_refusal() {
            Some(why) if self.welcome => ConnectionError::Lost(why),
            Some(why) => ConnectionError::Refused(why),
            None => error.into(),
        })
    }

    /// Reason for which the collector closed the connection, if it sent one.
    fn last_refusal(&mut self) -> Option<String> {
        self.link.socket().set_deadline(Duration::from_millis(500));
        while let Ok(frame) = self.reader.next_frame(&mut self.link) {
            if let Ok(CollectorAnswer::Refused { why }) = wire::decode_answer(frame) {
                return Some(why);
            }
        }
        None
    }

    /// Ends the connection.
    pub(super) fn close(&mut self) {
        self.link.close();
    }

    /// Bytes sent on the wire, above TCP.
    pub(super) fn sent_bytes(&mut self) -> u64 {
        self.link.socket().byte_counts()[1]
    }
}
