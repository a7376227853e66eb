//! Heads as they are written into the log, behind the record of their transfer.

use core::iter;
use core::ops::Range;

use socket_log::encode::{Direction, Head};

use super::conversation::Conversation;
use super::direction::HeldAt;
use super::records::Origin;
use super::sink::{BLANK, Class, Run, Sink};
use super::turns::Turn;
use crate::log::{OpenHead, Writer};
use crate::state::options::options;

/// Number of ticks by which a record may be older than those around it. Times are kept as their low
/// 32 bits, and read as the nearest to the time of the chunk.
const MAX_TICKS_BACK: u64 = 1 << 30;

/// Sink that writes what is kept of one transfer or datagram.
pub(super) struct Written {
    writer: Writer,
    now: u64,
    /// Facts of the next record.
    next: Head,
    /// Number of bytes of the run that have no record yet.
    left: usize,
    /// Time of the transfer, in ticks.
    ticks: u64,
    /// Place of the first byte that is held from before.
    pub(super) held: Option<HeldAt>,
    /// Origin of plain text, which is not where its transfer says.
    origin: Option<Origin>,
    open: Option<OpenHead>,
    /// Where runs of turns are blanked, and the run whose bytes come; none where they are written
    /// as they are.
    turn: Option<Blanking>,
    coming: Option<Run>,
}

/// Turn that is blanked, in whose conversation, and the number of its direction.
pub(super) struct Blanking {
    pub(super) turn: &'static mut Turn,
    pub(super) conversation: &'static Conversation,
    pub(super) direction: u8,
}

impl Written {
    /// Sink for a transfer or a datagram of the time `ticks`; `now` is the present.
    pub(super) fn new(
        writer: Writer,
        direction: Direction,
        flow: u32,
        ticks: u64,
        now: u64,
    ) -> Written {
        let next = Head {
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
        let (held, origin, open, turn, coming) = (None, None, None, None, None);
        Written { writer, now, next, left: 0, ticks, held, origin, open, turn, coming }
    }

    /// The same where turns are blanked before they are written.
    pub(super) fn blanking(mut self, turn: Blanking) -> Written {
        self.turn = Some(turn);
        self
    }

    /// The same for a datagram.
    pub(super) fn of_datagram(mut self) -> Written {
        self.next.datagram = true;
        self
    }

    /// Sink for plain text from `origin`.
    pub(super) fn of_plain(
        writer: Writer,
        direction: Direction,
        flow: u32,
        origin: Origin,
        now: u64,
    ) -> Written {
        let mut written = Written::new(writer, direction, flow, 0, now);
        written.next.plain = true;
        written.origin = Some(origin);
        written
    }

    /// Ends the run before, and notes what the records of `run` say. False where it is not kept.
    #[inline(always)]
    fn prepare(&mut self, run: Run) -> bool {
        if let Some(open) = self.open.take() {
            open.commit();
        }
        self.left = 0;
        if run.length == 0 || !options().keeps_heads(run.class as u8) {
            return false;
        }
        self.next.class = run.class as u8;
        let is_recent = |held: &HeldAt| self.now.wrapping_sub(held.ticks) < MAX_TICKS_BACK;
        let held = self.held.filter(|_| run.held).filter(is_recent);
        let HeldAt { ticks, offset } = held.unwrap_or_else(|| match &self.origin {
            Some(origin) => origin.held_at(self.next.direction, run.offset),
            None => HeldAt::new(self.ticks, run.offset),
        });
        (self.next.ticks, self.next.offset) = (ticks, offset);
        (self.next.continues, self.next.cut) = (run.continues, run.cut);
        self.next.length = run.length as u32;
        true
    }

    /// Begins the next record of the run.
    fn open(&mut self) {
        self.open = self.writer.open_head(&self.next, self.left, self.now);
        match &self.open {
            Some(open) => {
                self.left -= open.length();
                self.next.offset = self.next.offset.saturating_add(open.length() as u32);
                self.next.continues = true;
            }
            None => self.left = 0,
        }
    }

    /// Ends the record that is open, if it is full, and begins the next.
    fn proceed(&mut self) {
        if let Some(open) = self.open.take_if(|open| open.room() == 0) {
            open.commit();
            if self.left > 0 {
                self.open();
            }
        }
    }
}

impl Written {
    /// Writes the run of a turn whose bytes have come.
    #[inline(never)]
    fn write_turn(&mut self, run: Run, there: usize) {
        let Some(Blanking { turn, conversation, direction }) = self.turn.take() else { return };
        let kept = turn.last(there, conversation, direction);
        let run = Run { length: kept.len(), ..run };
        if self.prepare(run) && !self.writer.head(&self.next, iter::once(kept), self.now) {
            self.left = run.length;
            self.open();
            self.put_open(kept);
        }
        self.turn = Some(Blanking { turn, conversation, direction });
    }

    /// Writes bytes of the run that is open.
    fn put_open(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(open) = &mut self.open
            && !rest.is_empty()
        {
            let count = rest.len().min(open.room());
            open.put(rest);
            rest = rest.get(count..).unwrap_or(&[]);
            self.proceed();
        }
    }
}

impl Sink for Written {
    fn begin(&mut self, run: Run) {
        self.coming = None;
        if run.class == Class::Other
            && let Some(blanking) = &mut self.turn
        {
            blanking.turn.begin(run.continues);
            self.coming = Some(run).filter(|run| run.length > 0);
            self.left = run.length;
            return;
        }
        if self.prepare(run) {
            self.left = run.length;
            self.open();
        }
    }

    #[inline(always)]
    fn pieces(&mut self, run: Run, bytes: &[u8], pieces: &[Range<usize>]) {
        if run.class == Class::Other && self.turn.is_some() {
            self.begin(run);
            pieces.iter().for_each(|piece| self.put(bytes.get(piece.clone()).unwrap_or(&[])));
            return;
        }
        let each = pieces.iter().filter_map(|piece| bytes.get(piece.clone()));
        if !self.prepare(run) || self.writer.head(&self.next, each, self.now) {
            return;
        }
        self.left = run.length;
        self.open();
        for piece in pieces {
            self.put(bytes.get(piece.clone()).unwrap_or(&[]));
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        if let (Some(run), Some(blanking)) = (self.coming, &mut self.turn) {
            let count = bytes.len().min(self.left);
            blanking.turn.push(bytes.get(..count).unwrap_or(bytes));
            self.left -= count;
            if self.left == 0 {
                self.coming = None;
                self.write_turn(run, run.length);
            }
            return;
        }
        self.put_open(bytes);
    }

    fn blank(&mut self, count: usize) {
        let mut left = count;
        while let Some(open) = &mut self.open
            && left > 0
        {
            let filled = left.min(open.room());
            open.fill(BLANK, filled);
            left -= filled;
            self.proceed();
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.commit();
        }
    }
}

const _: () = assert!(Class::Http1 as u8 == socket_log::layout::head::HTTP1);
const _: () = assert!(Class::Http2 as u8 == socket_log::layout::head::HTTP2);
const _: () = assert!(Class::Other as u8 == socket_log::layout::head::OTHER);
