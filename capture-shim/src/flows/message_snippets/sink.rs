//! Sink of heads: what is kept of a transfer goes there, run by run.

use core::ops::Range;

/// Byte in the place of one that is not kept.
pub(super) const BLANK: u8 = b'*';

/// Class of a head, as in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SnippetClass {
    /// HTTP/1, and what has heads of its form.
    Http1 = 1,
    /// HTTP/2.
    Http2 = 2,
    /// Anything else.
    Other = 3,
}

/// Bytes that are kept in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SnippetRun {
    /// Class of the head.
    pub(super) class: SnippetClass,
    /// Offset of the first byte in the transfer, or of the first one that is not held.
    pub(super) offset: usize,
    /// Whether they begin with bytes that were held, and came with earlier transfers.
    pub(super) held: bool,
    /// Number of bytes.
    pub(super) length: usize,
    /// Whether they go on where those of the run before ended.
    pub(super) continues: bool,
    /// Whether bytes of the head are left out behind them.
    pub(super) cut: bool,
}

/// Taker of what is kept.
pub(super) trait SnippetSink {
    /// Begins a run. Its bytes follow, as many as it has; more than that are passed over.
    fn begin_run(&mut self, run: SnippetRun);

    /// Takes bytes.
    fn put_bytes(&mut self, bytes: &[u8]);

    /// Takes a run that consists of `pieces` of `bytes`, as a whole.
    fn put_ranges(&mut self, run: SnippetRun, bytes: &[u8], pieces: &[Range<usize>]) {
        self.begin_run(run);
        for piece in pieces {
            self.put_bytes(bytes.get(piece.clone()).unwrap_or(&[]));
        }
    }

    /// Takes `count` bytes in the place of others, which are not to be kept.
    fn put_blanks(&mut self, count: usize);
}
