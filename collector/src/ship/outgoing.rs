//! Data in flight: frames are passed to the dialog through a bounded queue, in batches that the
//! collector acknowledges. The pages of a batch that was not stored, or not answered, are reported
//! and sent again.

use std::collections::VecDeque;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, TryRecvError};

use super::dialog::{DialogReply, DialogTask};
use crate::identity::LogIdentity;
use crate::tuning::{BATCH_BYTES, BATCH_TIME, KEEP_ALIVE_INTERVAL};
use crate::wire::{self, CollectorAnswer, ShipperRequest, StorageShortage, TimeExchange};

/// Error: the dialog has ended; it reports the reason itself.
#[derive(Debug)]
pub(super) struct DialogEnded;

/// Pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRange {
    /// The file.
    pub(super) of: LogIdentity,
    pub(super) first: usize,
    pub(super) count: usize,
}

/// Data in flight on one connection.
pub(super) struct OutgoingData {
    tasks: Sender<DialogTask>,
    replies: Receiver<DialogReply>,
    /// File that the requests are about.
    current: Option<LogIdentity>,
    /// Pages sent since the last flush was requested.
    batch: Vec<PageRange>,
    batch_bytes: usize,
    /// Flushes without an answer: the number of each, and its batch.
    unanswered: VecDeque<(u64, Vec<PageRange>)>,
    /// Number of the last flush.
    number: u64,
    last_flush: Instant,
    last_frame: Instant,
    /// Answers to queries: a file's size in bytes, and checksums of its pages.
    answers: VecDeque<(u64, Vec<u64>)>,
    /// Pages that were not stored.
    pub(super) lost: Vec<PageRange>,
    /// Latest shortage at the collector; the scanner takes it out.
    pub(super) shortage: Option<StorageShortage>,
    /// Bytes of files that the shipper knows of and has not sent.
    pub(super) left: u64,
    /// Number of batches that were made durable.
    pub(super) durable: u64,
}

impl OutgoingData {
    /// Creates the state of a connection without data in flight, with the queues to and from the
    /// dialog.
    pub(super) fn new(tasks: Sender<DialogTask>, replies: Receiver<DialogReply>) -> OutgoingData {
        let now = Instant::now();
        OutgoingData {
            tasks,
            replies,
            current: None,
            batch: Vec::new(),
            batch_bytes: 0,
            unanswered: VecDeque::new(),
            number: 0,
            last_flush: now,
            last_frame: now,
            answers: VecDeque::new(),
            lost: Vec::new(),
            shortage: None,
            left: 0,
            durable: 0,
        }
    }

    fn send_task(&mut self, item: DialogTask) -> Result<(), DialogEnded> {
        self.last_frame = Instant::now();
        self.tasks.send(item).map_err(|_| DialogEnded)
    }

    fn send_request(&mut self, request: &ShipperRequest<'_>) -> Result<(), DialogEnded> {
        self.send_task(DialogTask::Frame(wire::encode_frame(request).map_err(|_| DialogEnded)?))
    }

    /// Selects the file that the next requests are about.
    pub(super) fn select_file(
        &mut self,
        name: &str,
        identity: LogIdentity,
    ) -> Result<(), DialogEnded> {
        if self.current != Some(identity) {
            self.current = Some(identity);
            self.send_request(&ShipperRequest::File { name, identity })?;
        }
        Ok(())
    }

    /// Asks for checksums of the selected file. [`take_checksums`](OutgoingData::take_checksums)
    /// returns the answer.
    pub(super) fn request_checksums(&mut self, page: usize, pages: u32) -> Result<(), DialogEnded> {
        let request = ShipperRequest::Ask { page: page as u64, pages };
        self.send_task(DialogTask::Answered(wire::encode_frame(&request).map_err(|_| DialogEnded)?))
    }

    /// Answers to all queries, in the order of the queries: a file's size and its checksums.
    pub(super) fn take_checksums(&mut self) -> Result<VecDeque<(u64, Vec<u64>)>, DialogEnded> {
        self.drain_batches()?;
        Ok(std::mem::take(&mut self.answers))
    }

    /// Sends an extent of the selected file, `bytes` long before compression.
    pub(super) fn send_extent(
        &mut self,
        pages: PageRange,
        frame: Vec<u8>,
        bytes: usize,
    ) -> Result<(), DialogEnded> {
        self.batch.push(pages);
        self.batch_bytes += bytes;
        self.left = self.left.saturating_sub(bytes as u64);
        self.send_task(DialogTask::Frame(frame))?;
        if self.batch_bytes >= BATCH_BYTES || self.last_flush.elapsed() >= BATCH_TIME {
            self.flush_batch()
        } else {
            Ok(())
        }
    }

    /// Sends the length of the selected file. If it is not stored, `lost` gets a range of no pages.
    pub(super) fn send_length(&mut self, of: LogIdentity, length: u64) -> Result<(), DialogEnded> {
        self.batch.push(PageRange { of, first: 0, count: 0 });
        self.send_request(&ShipperRequest::Length { length })
    }

    /// Sends a frame if none was sent for a long time.
    pub(super) fn keep_alive(&mut self) -> Result<(), DialogEnded> {
        if self.last_frame.elapsed() >= KEEP_ALIVE_INTERVAL { self.flush_batch() } else { Ok(()) }
    }

    /// Ends the batch and requests a flush.
    fn flush_batch(&mut self) -> Result<(), DialogEnded> {
        self.number += 1;
        self.last_flush = Instant::now();
        self.batch_bytes = 0;
        self.unanswered.push_back((self.number, std::mem::take(&mut self.batch)));
        let request = ShipperRequest::Flush { number: self.number, left: self.left };
        self.send_task(DialogTask::Flush(wire::encode_frame(&request).map_err(|_| DialogEnded)?))?;
        self.poll_replies()
    }

    /// Ends the batch if there is one, and waits for all answers.
    pub(super) fn drain_batches(&mut self) -> Result<(), DialogEnded> {
        if !self.batch.is_empty() {
            self.flush_batch()?;
        }
        self.send_task(DialogTask::Drain)?;
        loop {
            let reply = self.replies.recv().map_err(|_| DialogEnded)?;
            if matches!(reply, DialogReply::Drained) {
                return Ok(());
            }
            self.handle_reply(reply)?;
        }
    }

    /// Exchanges times after everything in flight is answered.
    pub(super) fn exchange_times(&mut self) -> Result<TimeExchange, DialogEnded> {
        self.drain_batches()?;
        self.send_task(DialogTask::Exchange)?;
        loop {
            match self.replies.recv().map_err(|_| DialogEnded)? {
                DialogReply::Exchanged(exchange) => return Ok(exchange),
                reply => self.handle_reply(reply)?,
            }
        }
    }

    /// Handles the replies that have arrived; fails if the connection has ended.
    pub(super) fn poll_replies(&mut self) -> Result<(), DialogEnded> {
        loop {
            match self.replies.try_recv() {
                Ok(reply) => self.handle_reply(reply)?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(DialogEnded),
            }
        }
    }

    /// Says goodbye after everything in flight is answered.
    pub(super) fn say_goodbye(&mut self) -> Result<(), DialogEnded> {
        self.drain_batches()?;
        self.send_task(DialogTask::Answered(
            wire::encode_frame(&ShipperRequest::Bye).map_err(|_| DialogEnded)?,
        ))?;
        self.drain_batches()
    }

    /// Records a reply of the dialog: checksums, an acknowledged batch, or a shortage.
    fn handle_reply(&mut self, reply: DialogReply) -> Result<(), DialogEnded> {
        match reply {
            DialogReply::Answer(CollectorAnswer::Durable { number }) => {
                self.acknowledge_flush(number)?;
                self.durable += 1;
            }
            DialogReply::Answer(CollectorAnswer::NotStored { number, shortage }) => {
                let batch = self.acknowledge_flush(number)?;
                self.lost.extend(batch);
                self.shortage = Some(shortage);
            }
            DialogReply::Answer(CollectorAnswer::Have { length, sums }) => {
                self.answers.push_back((length, sums))
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the batch of a flush. Answers come in the order of the flushes.
    fn acknowledge_flush(&mut self, number: u64) -> Result<Vec<PageRange>, DialogEnded> {
        match self.unanswered.pop_front() {
            Some((first, batch)) if first == number => Ok(batch),
            _ => Err(DialogEnded),
        }
    }

    /// Pages that may not have been stored when the connection ended.
    pub(super) fn into_lost(mut self) -> Vec<PageRange> {
        // The last answers may still be in the queue.
        let _ = self.poll_replies();
        let mut lost = self.lost;
        lost.extend(self.unanswered.into_iter().flat_map(|(_, batch)| batch));
        lost.extend(self.batch);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: LogIdentity = LogIdentity { boot: [1; 16], pid: 1, ticks: 2, start: 3, name: 0 };

    fn pages(first: usize) -> PageRange {
        PageRange { of: OF, first, count: 1 }
    }

    #[test]
    fn unstored_and_unanswered_batches_are_reported() {
        let (tasks, taken) = crossbeam_channel::bounded(100);
        let (replies, given) = crossbeam_channel::bounded(100);
        let mut outgoing = OutgoingData::new(tasks, given);
        for first in 0..4 {
            outgoing.send_extent(pages(first), vec![0], BATCH_BYTES).unwrap();
        }
        replies.send(DialogReply::Answer(CollectorAnswer::Durable { number: 1 })).unwrap();
        replies
            .send(DialogReply::Answer(CollectorAnswer::NotStored {
                number: 2,
                shortage: StorageShortage::Disk,
            }))
            .unwrap();
        replies.send(DialogReply::Drained).unwrap();
        outgoing.drain_batches().unwrap();
        assert_eq!(
            (outgoing.lost.clone(), outgoing.shortage),
            (vec![pages(1)], Some(StorageShortage::Disk))
        );
        outgoing.send_extent(pages(4), vec![0], 1).unwrap();
        assert_eq!(outgoing.into_lost(), [1, 2, 3, 4].map(pages));
        let flushes = taken.try_iter().filter(|item| matches!(item, DialogTask::Flush(_))).count();
        assert_eq!(flushes, 4);
    }

    #[test]
    fn an_answer_out_of_order_ends_it() {
        let (tasks, _taken) = crossbeam_channel::bounded(100);
        let (replies, given) = crossbeam_channel::bounded(100);
        let mut outgoing = OutgoingData::new(tasks, given);
        outgoing.send_extent(pages(0), vec![0], BATCH_BYTES).unwrap();
        replies.send(DialogReply::Answer(CollectorAnswer::Durable { number: 2 })).unwrap();
        assert!(outgoing.drain_batches().is_err());
    }
}
