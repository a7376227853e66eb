//! Text of `perf script` from a stream: events in pieces, as they come.

use std::io::{self, Read};

use ::events::EventBatch;
use out_of_core::NameInterner;

use super::text::{PerfLineOutcome, PerfText};
use crate::text_lines::{NextLine, TextLines};
use crate::tuning::EVENT_PIECE_BYTES;

/// Reader of the text that `perf script` writes, from a file or a pipe.
pub struct PerfTextReader<R> {
    lines: TextLines<R>,
    parser: PerfText,
    unknown: u64,
}

impl<R: Read> PerfTextReader<R> {
    /// Reader of `bytes`, whose lines `parser` takes.
    pub fn new(bytes: R, parser: PerfText) -> PerfTextReader<R> {
        PerfTextReader { lines: TextLines::new(bytes), parser, unknown: 0 }
    }

    /// Puts the next events into `piece`, instead of what it has; `false` at the end. It waits for
    /// the first of them only: of a pipe, what is there is given at once. Events come in the order
    /// in which perf wrote them, which is nearly that of time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_events(
        &mut self,
        names: &mut NameInterner,
        piece: &mut EventBatch,
    ) -> io::Result<bool> {
        piece.clear();
        while piece.bytes() < EVENT_PIECE_BYTES {
            match self.lines.next_line() {
                NextLine::Line(line) => {
                    let taken = self.parser.parse_line(line, names, piece);
                    self.unknown += u64::from(taken == PerfLineOutcome::Unknown);
                }
                NextLine::TooLong => self.unknown += 1,
                NextLine::Pending if piece.is_empty() => self.lines.read_more()?,
                NextLine::Pending => return Ok(true),
                NextLine::End => return Ok(!piece.is_empty()),
            }
        }
        Ok(true)
    }

    /// Number of lines that `perf script` does not write.
    pub fn unknown_lines(&self) -> u64 {
        self.unknown
    }

    /// What is added to times of perf's clock, in nanoseconds, so that they count from 1970; `None`
    /// where nobody said it.
    pub fn clock_offset(&self) -> Option<i64> {
        self.parser.clock_offset()
    }
}
