//! Writes snippets into the log, after the record of their transfer.

use core::iter;
use core::ops::Range;

use socket_log::encode::{Direction, SnippetHeader};

use super::conversation::FlowConversation;
use super::direction::TransferPosition;
use super::records::PlaintextOrigin;
use super::sink::{BLANK, SnippetClass, SnippetRun, SnippetSink};
use super::turns::TurnStart;
use crate::log::{OpenSnippet, RecordWriter};
use crate::state::options::recording_options;

/// Number of ticks by which a record may be older than the records around it. A log has the low 32
/// bits of a time, which a reader completes by the time of the log's chunk.
const MAX_TICKS_BACK: u64 = 1 << 30;

/// Sink that writes the kept bytes of one transfer or datagram.
pub(super) struct SnippetWriter {
    writer: RecordWriter,
    /// Current time, in ticks.
    now: u64,
    /// Header of the next record.
    header: SnippetHeader,
    /// Number of bytes of the run that have no record yet.
    unwritten: usize,
    /// Time of the transfer, in ticks.
    ticks: u64,
    /// Position of the first byte that was buffered in earlier transfers, if there is one.
    pub(super) buffered_start: Option<TransferPosition>,
    /// Origin of plain text, which differs from the position of its transfer.
    origin: Option<PlaintextOrigin>,
    /// Record that is being filled.
    open: Option<OpenSnippet>,
    /// Blanking of turns; `None` if kept bytes are written unchanged.
    turn: Option<TurnBlanking>,
    /// Run of a turn whose bytes are collected until they are complete, and then blanked.
    turn_run: Option<SnippetRun>,
}

/// What is needed to blank a turn (what one side sends until the other side sends).
pub(super) struct TurnBlanking {
    /// First bytes of the turn.
    pub(super) turn: &'static mut TurnStart,
    /// Conversation of the turn's flow.
    pub(super) conversation: &'static FlowConversation,
    /// Number of the turn's direction: 0 if received, 1 if sent.
    pub(super) direction: u8,
}

impl SnippetWriter {
    /// Sink for a transfer or a datagram at the time `ticks`; `now` is the current time in ticks.
    pub(super) fn new(
        writer: RecordWriter,
        direction: Direction,
        flow: u32,
        ticks: u64,
        now: u64,
    ) -> SnippetWriter {
        let header = SnippetHeader {
            direction,
            class: 0,
            flow,
            ticks,
            offset: 0,
            length: 0,
            continues: false,
            cut: false,
            datagram: false,
            plain: false,
        };
        let (buffered_start, origin, open, turn, turn_run) = (None, None, None, None, None);
        SnippetWriter {
            writer,
            now,
            header,
            unwritten: 0,
            ticks,
            buffered_start,
            origin,
            open,
            turn,
            turn_run,
        }
    }

    /// The sink with blanking of turns before they are written.
    pub(super) fn with_blanking(mut self, turn: TurnBlanking) -> SnippetWriter {
        self.turn = Some(turn);
        self
    }

    /// The sink for a datagram.
    pub(super) fn for_datagram(mut self) -> SnippetWriter {
        self.header.datagram = true;
        self
    }

    /// Sink for plain text from `origin`.
    pub(super) fn for_plaintext(
        writer: RecordWriter,
        direction: Direction,
        flow: u32,
        origin: PlaintextOrigin,
        now: u64,
    ) -> SnippetWriter {
        let mut written = SnippetWriter::new(writer, direction, flow, 0, now);
        written.header.plain = true;
        written.origin = Some(origin);
        written
    }

    /// Ends the previous run, and prepares the records of `run`. Returns false if `run` is not
    /// kept.
    #[inline(always)]
    fn prepare_run(&mut self, run: SnippetRun) -> bool {
        if let Some(open) = self.open.take() {
            open.commit();
        }
        self.unwritten = 0;
        if run.length == 0 || !recording_options().keeps_snippets(run.class as u8) {
            return false;
        }
        self.header.class = run.class as u8;
        let is_recent =
            |held: &TransferPosition| self.now.wrapping_sub(held.ticks) < MAX_TICKS_BACK;
        let held = self.buffered_start.filter(|_| run.has_buffered).filter(is_recent);
        let TransferPosition { ticks, offset } = held.unwrap_or_else(|| match &self.origin {
            Some(origin) => origin.transfer_position(self.header.direction, run.offset),
            None => TransferPosition::new(self.ticks, run.offset),
        });
        (self.header.ticks, self.header.offset) = (ticks, offset);
        (self.header.continues, self.header.cut) = (run.continues, run.cut);
        self.header.length = run.length as u32;
        true
    }

    /// Begins the next record of the run.
    fn open_record(&mut self) {
        self.open = self.writer.open_snippet(&self.header, self.unwritten, self.now);
        match &self.open {
            Some(open) => {
                self.unwritten -= open.length();
                self.header.offset = self.header.offset.saturating_add(open.length() as u32);
                self.header.continues = true;
            }
            None => self.unwritten = 0,
        }
    }

    /// Ends the current record, if it is full, and begins the next.
    fn continue_record(&mut self) {
        if let Some(open) = self.open.take_if(|open| open.free_bytes() == 0) {
            open.commit();
            if self.unwritten > 0 {
                self.open_record();
            }
        }
    }
}

impl SnippetWriter {
    /// Blanks and writes the run of a turn, the turn's last `available` bytes.
    #[inline(never)]
    fn write_turn(&mut self, run: SnippetRun, available: usize) {
        let Some(TurnBlanking { turn, conversation, direction }) = self.turn.take() else { return };
        let kept = turn.blank_last(available, conversation, direction);
        let run = SnippetRun { length: kept.len(), ..run };
        if self.prepare_run(run)
            && !self.writer.write_snippet(&self.header, iter::once(kept), self.now)
        {
            self.unwritten = run.length;
            self.open_record();
            self.put_open(kept);
        }
        self.turn = Some(TurnBlanking { turn, conversation, direction });
    }

    /// Writes bytes of the current run.
    fn put_open(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(open) = &mut self.open
            && !rest.is_empty()
        {
            let count = rest.len().min(open.free_bytes());
            open.put_bytes(rest);
            rest = rest.get(count..).unwrap_or(&[]);
            self.continue_record();
        }
    }
}

impl SnippetSink for SnippetWriter {
    fn begin_run(&mut self, run: SnippetRun) {
        self.turn_run = None;
        if run.class == SnippetClass::Other
            && let Some(blanking) = &mut self.turn
        {
            blanking.turn.begin_turn(run.continues);
            self.turn_run = Some(run).filter(|run| run.length > 0);
            self.unwritten = run.length;
            return;
        }
        if self.prepare_run(run) {
            self.unwritten = run.length;
            self.open_record();
        }
    }

    #[inline(always)]
    fn put_ranges(&mut self, run: SnippetRun, bytes: &[u8], pieces: &[Range<usize>]) {
        if run.class == SnippetClass::Other && self.turn.is_some() {
            self.begin_run(run);
            pieces.iter().for_each(|piece| self.put_bytes(bytes.get(piece.clone()).unwrap_or(&[])));
            return;
        }
        let each = pieces.iter().filter_map(|piece| bytes.get(piece.clone()));
        if !self.prepare_run(run) || self.writer.write_snippet(&self.header, each, self.now) {
            return;
        }
        self.unwritten = run.length;
        self.open_record();
        for piece in pieces {
            self.put_bytes(bytes.get(piece.clone()).unwrap_or(&[]));
        }
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        if let (Some(run), Some(blanking)) = (self.turn_run, &mut self.turn) {
            let count = bytes.len().min(self.unwritten);
            blanking.turn.push_bytes(bytes.get(..count).unwrap_or(bytes));
            self.unwritten -= count;
            if self.unwritten == 0 {
                self.turn_run = None;
                self.write_turn(run, run.length);
            }
            return;
        }
        self.put_open(bytes);
    }

    fn put_blanks(&mut self, count: usize) {
        let mut left = count;
        while let Some(open) = &mut self.open
            && left > 0
        {
            let filled = left.min(open.free_bytes());
            open.fill_bytes(BLANK, filled);
            left -= filled;
            self.continue_record();
        }
    }
}

impl Drop for SnippetWriter {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.commit();
        }
    }
}

const _: () = assert!(SnippetClass::Http1 as u8 == socket_log::layout::snippet::HTTP1);
const _: () = assert!(SnippetClass::Http2 as u8 == socket_log::layout::snippet::HTTP2);
const _: () = assert!(SnippetClass::Other as u8 == socket_log::layout::snippet::OTHER);
