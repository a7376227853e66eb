//! Merge of streams of events, each in the order of time, into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use message_trace::PathError;
use out_of_core::NameInterner;

use crate::event_batch::EventBatch;
use crate::tuning::BATCH_EVENTS;

/// Ranks that order events of equal time, for each range of a batch: the end of the range, and the
/// rank of its events. The lower rank comes first.
pub(crate) type EventRanks = Vec<(usize, u64)>;

/// A stream of events in the order of their times and, within one time, of their ranks.
pub(crate) trait EventStream {
    /// Replaces the contents of `piece` with the next events and of `ranks` with their ranks;
    /// returns `false` at the end of the stream.
    ///
    /// # Errors
    /// When the events cannot be read.
    fn read_next(
        &mut self,
        names: &mut NameInterner,
        piece: &mut EventBatch,
        ranks: &mut EventRanks,
    ) -> Result<bool, PathError>;
}

/// Time and rank of an event, and the number of its stream.
type MergeKey = (i64, u64, usize);

/// Position in a stream, with the batch that is being merged.
struct StreamCursor<S> {
    source: S,
    batch: EventBatch,
    ranks: EventRanks,
    /// Next event of the batch, and the range of `ranks` that it is in.
    next: usize,
    rank_range: usize,
}

impl<S: EventStream> StreamCursor<S> {
    /// Time and rank of the next event of the batch.
    fn key(&self) -> Option<(i64, u64)> {
        let event = self.batch.events().get(self.next)?;
        Some((event.time, self.ranks.get(self.rank_range).map_or(u64::MAX, |(_, rank)| *rank)))
    }

    /// Advances to the next event of the batch.
    fn advance(&mut self) {
        self.next += 1;
        while self.ranks.get(self.rank_range).is_some_and(|(end, _)| *end <= self.next) {
            self.rank_range += 1;
        }
    }

    /// Reads the next batch if the current one is used up; returns the key of the next event, or
    /// `None` at the end of the stream.
    fn refill(&mut self, names: &mut NameInterner) -> Result<Option<(i64, u64)>, PathError> {
        loop {
            if let Some(key) = self.key() {
                return Ok(Some(key));
            }
            (self.next, self.rank_range) = (0, 0);
            if !self.source.read_next(names, &mut self.batch, &mut self.ranks)? {
                return Ok(None);
            }
        }
    }
}

/// Streams that are merged into one.
pub(crate) struct StreamMerger<S> {
    cursors: Vec<StreamCursor<S>>,
    /// Streams that have events left, ordered by their next events.
    heap: BinaryHeap<Reverse<MergeKey>>,
    /// Whether the heap has been filled.
    has_begun: bool,
}

impl<S: EventStream> StreamMerger<S> {
    /// Creates the merge of `sources`.
    pub(crate) fn new(sources: Vec<S>) -> StreamMerger<S> {
        let cursor = |source| StreamCursor {
            source,
            batch: EventBatch::default(),
            ranks: EventRanks::new(),
            next: 0,
            rank_range: 0,
        };
        let cursors = sources.into_iter().map(cursor).collect();
        StreamMerger { cursors, heap: BinaryHeap::new(), has_begun: false }
    }

    fn start_cursors(&mut self, names: &mut NameInterner) -> Result<(), PathError> {
        self.has_begun = true;
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            if let Some((time, rank)) = cursor.refill(names)? {
                self.heap.push(Reverse((time, rank, number)));
            }
        }
        Ok(())
    }

    /// Appends the next events, all from one stream and of one rank, and their rank; returns the
    /// number of the stream.
    fn take_next_events(&mut self, into: &mut EventBatch, ranks: &mut EventRanks) -> Option<usize> {
        let Reverse((.., number)) = self.heap.pop()?;
        let limit = self.heap.peek().map(|Reverse(key)| *key);
        let cursor = self.cursors.get_mut(number)?;
        let begin = cursor.next;
        let mut rank = None;
        while let Some((time, of)) = cursor.key() {
            let is_next = limit.is_none_or(|limit| (time, of, number) <= limit);
            let has_room = into.len() + cursor.next - begin < BATCH_EVENTS;
            if !(is_next && has_room && rank.is_none_or(|rank| rank == of)) {
                break;
            }
            rank = Some(of);
            cursor.advance();
        }
        let taken: Range<usize> = begin..cursor.next;
        into.append_range(&cursor.batch, taken);
        match (ranks.last_mut(), rank) {
            (Some((end, last)), Some(rank)) if *last == rank => *end = into.len(),
            (_, Some(rank)) => ranks.push((into.len(), rank)),
            _ => {}
        }
        Some(number)
    }
}

impl<S: EventStream> EventStream for StreamMerger<S> {
    fn read_next(
        &mut self,
        names: &mut NameInterner,
        piece: &mut EventBatch,
        ranks: &mut EventRanks,
    ) -> Result<bool, PathError> {
        piece.clear();
        ranks.clear();
        if let ([cursor], false) = (self.cursors.as_mut_slice(), self.has_begun) {
            return cursor.source.read_next(names, piece, ranks);
        }
        if !self.has_begun {
            self.start_cursors(names)?;
        }
        while piece.len() < BATCH_EVENTS {
            let Some(number) = self.take_next_events(piece, ranks) else { break };
            let Some(cursor) = self.cursors.get_mut(number) else { break };
            if let Some((time, rank)) = cursor.refill(names)? {
                self.heap.push(Reverse((time, rank, number)));
            }
        }
        Ok(!piece.is_empty())
    }
}
