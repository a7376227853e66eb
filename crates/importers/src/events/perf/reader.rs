//! Streaming reader of the text of `perf script`: events in batches, as they arrive.

use std::io::{self, Read};

use ::events::EventBatch;
use out_of_core::NameInterner;

use super::text::{PerfLineOutcome, PerfText};
use crate::text_lines::{NextLine, TextLines};
use crate::tuning::EVENT_BATCH_BYTES;

/// Reader of the text of `perf script`, from a file or a pipe.
pub struct PerfTextReader<R> {
    lines: TextLines<R>,
    parser: PerfText,
    unknown: u64,
}

impl<R: Read> PerfTextReader<R> {
    /// Creates a reader of `bytes` that passes lines to `parser`.
    pub fn new(bytes: R, parser: PerfText) -> PerfTextReader<R> {
        PerfTextReader { lines: TextLines::new(bytes), parser, unknown: 0 }
    }

    /// Replaces the contents of `batch` with the next events; returns `false` at the end. Waits for
    /// the first event only: from a pipe, the available events are returned immediately. Events
    /// come in perf's order, which is nearly that of time.
    ///
    /// # Errors
    /// When the text cannot be read.
    pub fn next_events(
        &mut self,
        names: &mut NameInterner,
        batch: &mut EventBatch,
    ) -> io::Result<bool> {
        batch.clear();
        while batch.bytes() < EVENT_BATCH_BYTES {
            match self.lines.next_line() {
                NextLine::Line(line) => {
                    let taken = self.parser.parse_line(line, names, batch);
                    self.unknown += u64::from(taken == PerfLineOutcome::Unknown);
                }
                NextLine::TooLong => self.unknown += 1,
                NextLine::Pending if batch.is_empty() => self.lines.read_more()?,
                NextLine::Pending => return Ok(true),
                NextLine::End => return Ok(!batch.is_empty()),
            }
        }
        Ok(true)
    }

    /// Number of lines that are not from `perf script`.
    pub fn unknown_lines(&self) -> u64 {
        self.unknown
    }

    /// Offset that is added to times of perf's clock, in nanoseconds, to make them count from 1970;
    /// `None` if it is not known.
    pub fn clock_offset(&self) -> Option<i64> {
        self.parser.clock_offset()
    }
}
