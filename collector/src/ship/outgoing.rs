//! Data on its way: frames are handed to the dialog through a bounded queue, in batches that the
//! collector acknowledges. The pages of a batch that was not stored, or whose answer never came,
//! are told and sent again.

use std::collections::VecDeque;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, TryRecvError};

use super::dialog::{Item, Reply};
use crate::identity::Identity;
use crate::tuning::{BATCH_BYTES, BATCH_TIME, KEEP_ALIVE_INTERVAL};
use crate::wire::{self, Answer, Exchange, Request, Shortage};

/// The dialog has ended; why is for it to say.
#[derive(Debug)]
pub(super) struct Gone;

/// Pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pages {
    pub(super) of: Identity,
    pub(super) first: usize,
    pub(super) count: usize,
}

/// Data on its way over one connection.
pub(super) struct Outgoing {
    items: Sender<Item>,
    replies: Receiver<Reply>,
    current: Option<Identity>,
    batch: Vec<Pages>,
    batch_bytes: usize,
    unanswered: VecDeque<(u64, Vec<Pages>)>,
    number: u64,
    flushed: Instant,
    spoke: Instant,
    /// Answers to questions.
    answers: VecDeque<(u64, Vec<u64>)>,
    /// Pages that were not stored.
    pub(super) lost: Vec<Pages>,
    /// Shortage at the collector since this was last taken.
    pub(super) shortage: Option<Shortage>,
    /// Bytes of files that the shipper knows of and has not sent.
    pub(super) left: u64,
    /// Batches that were made durable.
    pub(super) durable: u64,
}

impl Outgoing {
    /// Nothing on its way yet, with these queues to the dialog and back.
    pub(super) fn new(items: Sender<Item>, replies: Receiver<Reply>) -> Outgoing {
        let now = Instant::now();
        Outgoing {
            items,
            replies,
            current: None,
            batch: Vec::new(),
            batch_bytes: 0,
            unanswered: VecDeque::new(),
            number: 0,
            flushed: now,
            spoke: now,
            answers: VecDeque::new(),
            lost: Vec::new(),
            shortage: None,
            left: 0,
            durable: 0,
        }
    }

    fn send(&mut self, item: Item) -> Result<(), Gone> {
        self.spoke = Instant::now();
        self.items.send(item).map_err(|_| Gone)
    }

    fn request(&mut self, request: &Request<'_>) -> Result<(), Gone> {
        self.send(Item::Frame(wire::frame(request).map_err(|_| Gone)?))
    }

    /// Selects the file that the next requests are about.
    pub(super) fn select(&mut self, name: &str, identity: Identity) -> Result<(), Gone> {
        if self.current != Some(identity) {
            self.current = Some(identity);
            self.request(&Request::File { name, identity })?;
        }
        Ok(())
    }

    /// Asks for checksums of the selected file. The answer is got by
    /// [`answers`](Outgoing::answers).
    pub(super) fn ask(&mut self, page: usize, pages: u32) -> Result<(), Gone> {
        let request = Request::Ask { page: page as u64, pages };
        self.send(Item::Answered(wire::frame(&request).map_err(|_| Gone)?))
    }

    /// The answers to all that was asked, in the order of the questions: a file's size and its
    /// checksums.
    pub(super) fn answers(&mut self) -> Result<VecDeque<(u64, Vec<u64>)>, Gone> {
        self.drain()?;
        Ok(std::mem::take(&mut self.answers))
    }

    /// Sends an extent of the selected file, `bytes` long before it was compressed.
    pub(super) fn extent(
        &mut self,
        pages: Pages,
        frame: Vec<u8>,
        bytes: usize,
    ) -> Result<(), Gone> {
        self.batch.push(pages);
        self.batch_bytes += bytes;
        self.left = self.left.saturating_sub(bytes as u64);
        self.send(Item::Frame(frame))?;
        if self.batch_bytes >= BATCH_BYTES || self.flushed.elapsed() >= BATCH_TIME {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Sends the length of the selected file. If it is lost, that is told as a loss of no pages.
    pub(super) fn length(&mut self, of: Identity, length: u64) -> Result<(), Gone> {
        self.batch.push(Pages { of, first: 0, count: 0 });
        self.request(&Request::Length { length })
    }

    /// Sends a frame if none was sent for long.
    pub(super) fn keep_alive(&mut self) -> Result<(), Gone> {
        if self.spoke.elapsed() >= KEEP_ALIVE_INTERVAL { self.flush() } else { Ok(()) }
    }

    /// Ends the batch.
    fn flush(&mut self) -> Result<(), Gone> {
        self.number += 1;
        self.flushed = Instant::now();
        self.batch_bytes = 0;
        self.unanswered.push_back((self.number, std::mem::take(&mut self.batch)));
        let request = Request::Flush { number: self.number, left: self.left };
        self.send(Item::Flush(wire::frame(&request).map_err(|_| Gone)?))?;
        self.listen()
    }

    /// Ends the batch if there is one, and waits for all answers.
    pub(super) fn drain(&mut self) -> Result<(), Gone> {
        if !self.batch.is_empty() {
            self.flush()?;
        }
        self.send(Item::Drain)?;
        loop {
            let reply = self.replies.recv().map_err(|_| Gone)?;
            if matches!(reply, Reply::Drained) {
                return Ok(());
            }
            self.hear(reply)?;
        }
    }

    /// Exchanges times, when nothing else is on its way.
    pub(super) fn exchange(&mut self) -> Result<Exchange, Gone> {
        self.drain()?;
        self.send(Item::Exchange)?;
        loop {
            match self.replies.recv().map_err(|_| Gone)? {
                Reply::Exchanged(exchange) => return Ok(exchange),
                reply => self.hear(reply)?,
            }
        }
    }

    /// Takes the replies that are there; one may be that the connection has ended.
    pub(super) fn listen(&mut self) -> Result<(), Gone> {
        loop {
            match self.replies.try_recv() {
                Ok(reply) => self.hear(reply)?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(Gone),
            }
        }
    }

    /// Says goodbye, when nothing else is on its way.
    pub(super) fn bye(&mut self) -> Result<(), Gone> {
        self.drain()?;
        self.send(Item::Answered(wire::frame(&Request::Bye).map_err(|_| Gone)?))?;
        self.drain()
    }

    fn hear(&mut self, reply: Reply) -> Result<(), Gone> {
        match reply {
            Reply::Answer(Answer::Durable { number }) => {
                self.answered(number)?;
                self.durable += 1;
            }
            Reply::Answer(Answer::NotStored { number, shortage }) => {
                let batch = self.answered(number)?;
                self.lost.extend(batch);
                self.shortage = Some(shortage);
            }
            Reply::Answer(Answer::Have { length, sums }) => self.answers.push_back((length, sums)),
            _ => {}
        }
        Ok(())
    }

    /// The batch of a flush. Answers come in the order of the flushes.
    fn answered(&mut self, number: u64) -> Result<Vec<Pages>, Gone> {
        match self.unanswered.pop_front() {
            Some((first, batch)) if first == number => Ok(batch),
            _ => Err(Gone),
        }
    }

    /// Pages that may not have been stored when the connection ended.
    pub(super) fn into_lost(mut self) -> Vec<Pages> {
        // What was answered last may still wait here.
        let _ = self.listen();
        let mut lost = self.lost;
        lost.extend(self.unanswered.into_iter().flat_map(|(_, batch)| batch));
        lost.extend(self.batch);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: Identity = Identity { boot: [1; 16], pid: 1, ticks: 2, start: 3, name: 0 };

    fn pages(first: usize) -> Pages {
        Pages { of: OF, first, count: 1 }
    }

    #[test]
    fn what_was_not_stored_or_not_answered_is_told() {
        let (items, taken) = crossbeam_channel::bounded(100);
        let (replies, given) = crossbeam_channel::bounded(100);
        let mut outgoing = Outgoing::new(items, given);
        for first in 0..4 {
            outgoing.extent(pages(first), vec![0], BATCH_BYTES).unwrap();
        }
        replies.send(Reply::Answer(Answer::Durable { number: 1 })).unwrap();
        replies
            .send(Reply::Answer(Answer::NotStored { number: 2, shortage: Shortage::Disk }))
            .unwrap();
        replies.send(Reply::Drained).unwrap();
        outgoing.drain().unwrap();
        assert_eq!(
            (outgoing.lost.clone(), outgoing.shortage),
            (vec![pages(1)], Some(Shortage::Disk))
        );
        outgoing.extent(pages(4), vec![0], 1).unwrap();
        assert_eq!(outgoing.into_lost(), [1, 2, 3, 4].map(pages));
        let flushes = taken.try_iter().filter(|item| matches!(item, Item::Flush(_))).count();
        assert_eq!(flushes, 4);
    }

    #[test]
    fn an_answer_out_of_order_ends_it() {
        let (items, _taken) = crossbeam_channel::bounded(100);
        let (replies, given) = crossbeam_channel::bounded(100);
        let mut outgoing = Outgoing::new(items, given);
        outgoing.extent(pages(0), vec![0], BATCH_BYTES).unwrap();
        replies.send(Reply::Answer(Answer::Durable { number: 2 })).unwrap();
        assert!(outgoing.drain().is_err());
    }
}
