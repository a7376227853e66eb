//! Sink of snippets: receives the kept bytes of a transfer, run by run.

use core::ops::Range;

/// Byte that replaces one that is not kept.
pub(super) const BLANK: u8 = b'*';

/// Class of a snippet, as in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SnippetClass {
    /// HTTP/1, and protocols with heads of the same form.
    Http1 = 1,
    /// HTTP/2.
    Http2 = 2,
    /// Anything else.
    Other = 3,
}

/// Run: bytes of one direction that are kept as one snippet, or that continue the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SnippetRun {
    /// Class of the snippet.
    pub(super) class: SnippetClass,
    /// Offset in the transfer of the run's first byte that was not buffered in an earlier transfer.
    pub(super) offset: usize,
    /// Whether the run begins with buffered bytes of earlier transfers.
    pub(super) has_buffered: bool,
    /// Number of bytes.
    pub(super) length: usize,
    /// Whether the run continues the previous run.
    pub(super) continues: bool,
    /// Whether bytes of the head are left out after the run.
    pub(super) cut: bool,
}

/// Receiver of kept bytes.
pub(super) trait SnippetSink {
    /// Begins a run. `run.length` bytes follow; further ones are ignored.
    fn begin_run(&mut self, run: SnippetRun);

    /// Appends bytes to the current run.
    fn put_bytes(&mut self, bytes: &[u8]);

    /// Writes a whole run, which consists of the ranges `pieces` of `bytes`.
    fn put_ranges(&mut self, run: SnippetRun, bytes: &[u8], pieces: &[Range<usize>]) {
        self.begin_run(run);
        for piece in pieces {
            self.put_bytes(bytes.get(piece.clone()).unwrap_or(&[]));
        }
    }

    /// Appends `count` blanks (`*`) to the current run, in place of bytes that must not be kept.
    fn put_blanks(&mut self, count: usize);
}
