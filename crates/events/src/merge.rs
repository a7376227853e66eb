//! Merge of streams of events, each in the order of time, into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use message_trace::PathError;
use out_of_core::Names;

use crate::piece::Piece;
use crate::tuning::PIECE_EVENTS;

/// Which of two events of one time comes first: stretches of a piece, each with its end and its
/// number. The less comes first.
pub(crate) type Ranks = Vec<(usize, u64)>;

/// A stream of events in the order of their times and, within one time, of their ranks.
pub(crate) trait Source {
    /// Puts the next events into `piece` and their ranks into `ranks`, instead of what is in them;
    /// `false` at the end.
    ///
    /// # Errors
    /// When the events cannot be read.
    fn next(
        &mut self,
        names: &mut Names,
        piece: &mut Piece,
        ranks: &mut Ranks,
    ) -> Result<bool, PathError>;
}

/// Time and rank of an event, and the number of its stream.
type Key = (i64, u64, usize);

/// Position in a stream.
struct Cursor<S> {
    source: S,
    piece: Piece,
    ranks: Ranks,
    /// The next event of the piece, and the stretch that it is in.
    next: usize,
    stretch: usize,
}

impl<S: Source> Cursor<S> {
    /// Time and rank of the next event of the piece.
    fn key(&self) -> Option<(i64, u64)> {
        let event = self.piece.events().get(self.next)?;
        Some((event.time, self.ranks.get(self.stretch).map_or(u64::MAX, |(_, rank)| *rank)))
    }

    /// Goes to the next event of the piece.
    fn step(&mut self) {
        self.next += 1;
        while self.ranks.get(self.stretch).is_some_and(|(end, _)| *end <= self.next) {
            self.stretch += 1;
        }
    }

    /// Has the stream go on; `None` at its end.
    fn refill(&mut self, names: &mut Names) -> Result<Option<(i64, u64)>, PathError> {
        loop {
            if let Some(key) = self.key() {
                return Ok(Some(key));
            }
            (self.next, self.stretch) = (0, 0);
            if !self.source.next(names, &mut self.piece, &mut self.ranks)? {
                return Ok(None);
            }
        }
    }
}

/// Streams that are merged into one.
pub(crate) struct Merge<S> {
    cursors: Vec<Cursor<S>>,
    /// The streams with events left, by their next events.
    heap: BinaryHeap<Reverse<Key>>,
    /// Whether the heap was made.
    has_begun: bool,
}

impl<S: Source> Merge<S> {
    /// The merge of `sources`.
    pub(crate) fn new(sources: Vec<S>) -> Merge<S> {
        let cursor = |source| Cursor {
            source,
            piece: Piece::default(),
            ranks: Ranks::new(),
            next: 0,
            stretch: 0,
        };
        let cursors = sources.into_iter().map(cursor).collect();
        Merge { cursors, heap: BinaryHeap::new(), has_begun: false }
    }

    fn begin(&mut self, names: &mut Names) -> Result<(), PathError> {
        self.has_begun = true;
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            if let Some((time, rank)) = cursor.refill(names)? {
                self.heap.push(Reverse((time, rank, number)));
            }
        }
        Ok(())
    }

    /// Appends events of the stream that has the next ones, and their rank.
    fn take(&mut self, into: &mut Piece, ranks: &mut Ranks) -> Option<usize> {
        let Reverse((.., number)) = self.heap.pop()?;
        let limit = self.heap.peek().map(|Reverse(key)| *key);
        let cursor = self.cursors.get_mut(number)?;
        let begin = cursor.next;
        let mut rank = None;
        while let Some((time, of)) = cursor.key() {
            let is_next = limit.is_none_or(|limit| (time, of, number) <= limit);
            let has_room = into.len() + cursor.next - begin < PIECE_EVENTS;
            if !(is_next && has_room && rank.is_none_or(|rank| rank == of)) {
                break;
            }
            rank = Some(of);
            cursor.step();
        }
        let taken: Range<usize> = begin..cursor.next;
        into.append(&cursor.piece, taken);
        match (ranks.last_mut(), rank) {
            (Some((end, last)), Some(rank)) if *last == rank => *end = into.len(),
            (_, Some(rank)) => ranks.push((into.len(), rank)),
            _ => {}
        }
        Some(number)
    }
}

impl<S: Source> Source for Merge<S> {
    fn next(
        &mut self,
        names: &mut Names,
        piece: &mut Piece,
        ranks: &mut Ranks,
    ) -> Result<bool, PathError> {
        piece.clear();
        ranks.clear();
        if let ([cursor], false) = (self.cursors.as_mut_slice(), self.has_begun) {
            return cursor.source.next(names, piece, ranks);
        }
        if !self.has_begun {
            self.begin(names)?;
        }
        while piece.len() < PIECE_EVENTS {
            let Some(number) = self.take(piece, ranks) else { break };
            let Some(cursor) = self.cursors.get_mut(number) else { break };
            if let Some((time, rank)) = cursor.refill(names)? {
                self.heap.push(Reverse((time, rank, number)));
            }
        }
        Ok(!piece.is_empty())
    }
}
