//! The second stage of a shipper: writes the frames that the first has made, and reads the
//! collector's answers where one is due. It alone touches the connection. As every answer belongs
//! to a request, it always knows how many are to come.

use std::io::Write;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::pause::pause;
use super::rate::Bucket;
use crate::clock::HostClock;
use crate::link::{Link, Stop};
use crate::tls;
use crate::tuning::{ANSWER_TIMEOUT, IDLE_CHECK_INTERVAL};
use crate::wire::{self, Answer, Exchange, FLUSHES, FrameReader, Request};

/// Task from the first stage.
#[derive(Debug)]
pub(super) enum Item {
    /// Sends a frame that has no answer.
    Frame(Vec<u8>),
    /// Sends a frame that has an answer, at any time.
    Answered(Vec<u8>),
    /// Sends a flush; the number of flushes without an answer is limited.
    Flush(Vec<u8>),
    /// Waits for all answers that are due.
    Drain,
    /// Exchanges times; nothing else is under way.
    Exchange,
}

/// Reply to the first stage.
#[derive(Debug)]
pub(super) enum Reply {
    /// An answer of the collector.
    Answer(Answer),
    /// All answers are there.
    Drained,
    /// The times of an exchange.
    Exchanged(Exchange),
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// It could not be made, or broke.
    #[error("{0}")]
    Lost(String),
    /// The collector refuses this shipper, or is not the one that it should be.
    #[error("refused: {0}")]
    Refused(String),
}

impl From<wire::Error> for Broken {
    fn from(error: wire::Error) -> Broken {
        Broken::Lost(match error {
            wire::Error::Closed => "the collector closed the connection".into(),
            wire::Error::Io(error) => return error.into(),
            error => error.to_string(),
        })
    }
}

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Broken {
        match tls::refusal(&error) {
            Some(why) => Broken::Refused(format!("{why} ({error})")),
            None => Broken::Lost(error.to_string()),
        }
    }
}

/// A connection to a collector.
pub(super) struct Dialog {
    link: Link,
    reader: FrameReader,
    bucket: Option<Bucket>,
    clock: HostClock,
    abort: Stop,
    due: usize,
    flushes: usize,
    /// Whether the collector has let this host in.
    welcome: bool,
}

impl Dialog {
    /// Dialog over a connection, with at most `limit` bytes a second.
    pub(super) fn new(link: Link, limit: Option<u64>, clock: HostClock, abort: Stop) -> Dialog {
        let bucket = limit.map(|rate| Bucket::new(rate, Instant::now()));
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

    /// Asks one question and waits for its answer.
    pub(super) fn ask(&mut self, request: &Request<'_>) -> Result<Answer, Broken> {
        self.write(&wire::frame(request)?)?;
        self.read()
    }

    /// Does what comes through `items` until nobody sends any more, and sends back what is
    /// answered.
    pub(super) fn run(
        &mut self,
        items: &Receiver<Item>,
        replies: &Sender<Reply>,
    ) -> Result<(), Broken> {
        loop {
            let item = match items.recv_timeout(IDLE_CHECK_INTERVAL) {
                Ok(item) => item,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if self.due > 0 => continue,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.link.socket().listen() {
                        return Err(self.last_word().map_or_else(|| error.into(), Broken::Lost));
                    }
                    continue;
                }
            };
            let gone = |_| Broken::Lost("stopped".into());
            match item {
                Item::Frame(frame) => self.write(&frame)?,
                Item::Answered(frame) => {
                    self.write(&frame)?;
                    self.due += 1;
                }
                Item::Flush(frame) => {
                    self.write(&frame)?;
                    self.due += 1;
                    self.flushes += 1;
                    while self.flushes >= FLUSHES {
                        let answer = self.answer()?;
                        replies.send(Reply::Answer(answer)).map_err(gone)?;
                    }
                }
                Item::Drain => {
                    while self.due > 0 {
                        let answer = self.answer()?;
                        replies.send(Reply::Answer(answer)).map_err(gone)?;
                    }
                    replies.send(Reply::Drained).map_err(gone)?;
                }
                Item::Exchange => {
                    let exchange = self.exchange()?;
                    replies.send(Reply::Exchanged(exchange)).map_err(gone)?;
                }
            }
        }
    }

    /// The next answer that is due.
    fn answer(&mut self) -> Result<Answer, Broken> {
        let answer = self.read()?;
        self.due -= 1;
        if matches!(answer, Answer::Durable { .. } | Answer::NotStored { .. }) {
            self.flushes = self.flushes.saturating_sub(1);
        }
        Ok(answer)
    }

    /// The four times, which the collector hears of.
    fn exchange(&mut self) -> Result<Exchange, Broken> {
        let question = wire::frame(&Request::Time)?;
        self.limit(question.len());
        let host_sent = self.clock.now();
        self.put(&question)?;
        let Answer::Time { received, sent } = self.read()? else {
            return Err(wire::Error::Malformed.into());
        };
        let host_received = self.clock.now();
        let exchange = Exchange {
            host_sent,
            collector_received: received,
            collector_sent: sent,
            host_received,
        };
        self.write(&wire::frame(&Request::Hint(exchange))?)?;
        Ok(exchange)
    }

    fn read(&mut self) -> Result<Answer, Broken> {
        self.link.socket().within(ANSWER_TIMEOUT);
        let answer = wire::decode_answer(self.reader.next(&mut self.link)?)?;
        match answer {
            // Who was let in once is wanted; what went wrong since may pass.
            Answer::Refused { why } if self.welcome => Err(Broken::Lost(why)),
            Answer::Refused { why } => Err(Broken::Refused(why)),
            answer => {
                self.welcome |= matches!(answer, Answer::Welcome { .. });
                Ok(answer)
            }
        }
    }

    fn write(&mut self, frame: &[u8]) -> Result<(), Broken> {
        self.limit(frame.len());
        self.put(frame)
    }

    fn limit(&mut self, bytes: usize) {
        if let Some(bucket) = &mut self.bucket {
            pause(bucket.take(bytes, Instant::now()), &self.abort);
        }
    }

    fn put(&mut self, frame: &[u8]) -> Result<(), Broken> {
        self.link.socket().within(ANSWER_TIMEOUT);
        let written = self.link.write_all(frame).and_then(|()| self.link.flush());
        written.map_err(|error| match self.last_word() {
            Some(why) if self.welcome => Broken::Lost(why),
            Some(why) => Broken::Refused(why),
            None => error.into(),
        })
    }

    /// Why the collector hung up, if it said so before.
    fn last_word(&mut self) -> Option<String> {
        self.link.socket().within(Duration::from_millis(500));
        while let Ok(frame) = self.reader.next(&mut self.link) {
            if let Ok(Answer::Refused { why }) = wire::decode_answer(frame) {
                return Some(why);
            }
        }
        None
    }

    /// Ends the connection.
    pub(super) fn close(&mut self) {
        self.link.close();
    }

    /// Bytes that were sent, as they were on the wire above TCP.
    pub(super) fn sent(&mut self) -> u64 {
        self.link.socket().counts()[1]
    }
}
