//! Conversation of two ends, and the kept bytes of it.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice;

use super::conversation::FlowConversation;
use super::direction::{DirectionState, TransferPosition};
use super::form::TransferForm;
use super::records::{CallTime, PlaintextOrigin};
use super::sink::{SnippetClass, SnippetRun, SnippetSink};

/// End that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Client,
    Server,
}

/// Kept bytes: the number of the transfer, the run, its bytes, and the position of the first of
/// them in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) by: By,
    pub(super) transfer: usize,
    pub(super) run: SnippetRun,
    pub(super) bytes: Vec<u8>,
    pub(super) place: usize,
}

impl Kept {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A conversation. All states are zeros at first, as in the library.
pub(super) struct Talk {
    conversation: Box<FlowConversation>,
    directions: [Box<DirectionState>; 2],
    pub(super) kept: Vec<Kept>,
    /// Number of HTTP/1 heads that were handled as a whole.
    pub(super) whole: usize,
    pub(super) transfers: usize,
    now: u64,
    /// Number of bytes that each end has sent, and where the transfer of each time begins.
    said: [usize; 2],
    begins: HashMap<u64, usize>,
    /// Whether heads that lie in one buffer are handled as a whole.
    passes_whole: bool,
    /// Where heads of plain text begin: the time of the call and the offset in it.
    pub(super) given: Vec<u64>,
}

struct Taker<'talk> {
    by: By,
    transfer: usize,
    /// Where the transfer begins, and where the buffered bytes begin.
    begin: usize,
    held: usize,
    kept: &'talk mut Vec<Kept>,
    whole: &'talk mut usize,
}

impl Taker<'_> {
    fn take(&mut self, bytes: &[u8]) {
        let Some(last) = self.kept.last_mut() else { return };
        let room = last.run.length - last.bytes.len();
        last.bytes.extend(&bytes[..bytes.len().min(room)]);
    }
}

impl SnippetSink for Taker<'_> {
    fn begin_run(&mut self, run: SnippetRun) {
        let (by, transfer) = (self.by, self.transfer);
        if let Some(last) = self.kept.last() {
            assert_eq!(last.run.length, last.bytes.len(), "a run has as many bytes as it said");
        }
        let place = if run.has_buffered { self.held } else { self.begin + run.offset };
        self.kept.push(Kept { by, transfer, run, bytes: Vec::new(), place });
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.take(bytes);
    }

    /// Heads that are handled line by line are put piece by piece.
    fn put_ranges(&mut self, run: SnippetRun, bytes: &[u8], pieces: &[Range<usize>]) {
        *self.whole += usize::from(run.class == SnippetClass::Http1);
        self.begin_run(run);
        pieces.iter().for_each(|piece| self.put_bytes(&bytes[piece.clone()]));
    }

    fn put_blanks(&mut self, count: usize) {
        self.take(&vec![b'*'; count]);
    }
}

impl Talk {
    pub(super) fn new() -> Talk {
        // SAFETY: states may be all zeros, which is how the library maps them.
        let direction =
            || Box::new(unsafe { MaybeUninit::<DirectionState>::zeroed().assume_init() });
        // SAFETY: all zeros are valid.
        let conversation = unsafe { MaybeUninit::<FlowConversation>::zeroed().assume_init() };
        let conversation = Box::new(conversation);
        let directions = [direction(), direction()];
        Talk {
            conversation,
            directions,
            kept: Vec::new(),
            whole: 0,
            transfers: 0,
            now: 1,
            said: [0; 2],
            begins: HashMap::new(),
            passes_whole: true,
            given: Vec::new(),
        }
    }

    /// Joins the conversation in the middle.
    pub(super) fn joined() -> Talk {
        let mut talk = Talk::new();
        talk.directions.iter_mut().for_each(|direction| direction.begin_walk(true));
        talk
    }

    /// Conversation in which every head is handled line by line.
    pub(super) fn by_lines() -> Talk {
        Talk { passes_whole: false, ..Talk::new() }
    }

    /// Continues with the plain text of a TLS library's `session`. Returns whether it is that of
    /// this conversation.
    pub(super) fn decrypt(&mut self, session: usize) -> bool {
        let is_of = self.conversation.assign_session(session);
        if is_of {
            self.directions.iter_mut().for_each(|direction| direction.become_plain());
        }
        is_of
    }

    fn call(&mut self, by: By, begin: u64, end: u64) -> &mut DirectionState {
        let index = usize::from(by == By::Server);
        let direction = &mut self.directions[index];
        let turns = self.conversation.begins_turn(index as u8);
        direction.note_call(begin, end, turns, &self.conversation);
        direction
    }

    /// Sends one transfer, which lies in several buffers.
    pub(super) fn say_in(&mut self, by: By, buffers: &[&[u8]]) -> &mut Talk {
        self.now += 2;
        let now = self.now;
        self.say_at(by, now - 1, now, buffers)
    }

    /// Sends one transfer in a call from `begin` to `end`.
    pub(super) fn say_at(&mut self, by: By, begin: u64, end: u64, buffers: &[&[u8]]) -> &mut Talk {
        self.call(by, begin, end);
        let direction = &mut self.directions[usize::from(by == By::Server)];
        let said = &mut self.said[usize::from(by == By::Server)];
        let begin = *said;
        self.begins.insert(end, begin);
        let (transfer, kept, whole) = (self.transfers, &mut self.kept, &mut self.whole);
        let mut taker = Taker { by, transfer, begin, held: 0, kept, whole };
        let mut at = 0;
        for buffer in buffers {
            let held = direction
                .unfinished_position()
                .map(|held| self.begins[&held.ticks] + held.offset as usize);
            taker.held = held.unwrap_or(usize::MAX);
            match self.passes_whole {
                true => {
                    let is_usual =
                        direction.form_of(buffer, at, &self.conversation) == TransferForm::Frames;
                    let passed = match is_usual && at == 0 {
                        true => direction.pass_frames(buffer, |run, bytes| {
                            taker.put_ranges(run, bytes, slice::from_ref(&(0..run.length)));
                        }),
                        false => 0,
                    };
                    direction.walk_transfer(
                        &buffer[passed..],
                        passed + at,
                        &self.conversation,
                        &mut taker,
                    );
                }
                false => {
                    let mut from = 0;
                    while let Some(rest) = buffer.get(from..).filter(|rest| !rest.is_empty()) {
                        from +=
                            direction.step_slow(rest, at + from, &self.conversation, &mut taker);
                    }
                }
            }
            at += buffer.len();
            direction.note_unfinished_position(at, |offset| TransferPosition::new(end, offset));
        }
        *said += at;
        self.transfers += 1;
        self
    }

    /// Sends plain text from `origin`, by calls that last for one tick.
    pub(super) fn give(&mut self, origin: PlaintextOrigin, text: &[u8]) {
        let known = self.kept.len();
        let direction = &mut self.directions[0];
        let place = |offset| origin.transfer_position(socket_log::encode::Direction::Send, offset);
        let (transfer, kept, whole) = (self.transfers, &mut self.kept, &mut self.whole);
        let mut taker = Taker { by: By::Client, transfer, begin: 0, held: 0, kept, whole };
        let CallTime { begin, end } = origin.call_time();
        direction.note_call(begin, end, false, &self.conversation);
        let held = direction.unfinished_position();
        direction.walk_transfer(text, 0, &self.conversation, &mut taker);
        direction.note_unfinished_position(text.len(), place);
        let begun = self.kept.iter().skip(known).filter(|kept| !kept.run.continues);
        self.given.extend(begun.map(|kept| {
            let at =
                held.filter(|_| kept.run.has_buffered).unwrap_or_else(|| place(kept.run.offset));
            at.ticks + u64::from(at.offset)
        }));
        self.transfers += 1;
    }

    /// Sends one transfer.
    pub(super) fn say(&mut self, by: By, bytes: impl AsRef<[u8]>) -> &mut Talk {
        self.say_in(by, &[bytes.as_ref()])
    }

    /// Sends transfers of `size` bytes.
    pub(super) fn say_parts(&mut self, by: By, bytes: impl AsRef<[u8]>, size: usize) -> &mut Talk {
        for part in bytes.as_ref().chunks(size) {
            self.say(by, part);
        }
        self
    }

    /// Passes bytes that are not visible.
    pub(super) fn pass(&mut self, by: By, bytes: u64) -> &mut Talk {
        self.now += 2;
        let now = self.now;
        self.call(by, now - 1, now);
        self.directions[usize::from(by == By::Server)].pass_bytes(bytes, &self.conversation);
        self.said[usize::from(by == By::Server)] += bytes as usize;
        self.transfers += 1;
        self
    }

    /// Number of bytes that `by` has sent.
    pub(super) fn said(&self, by: By) -> usize {
        self.said[usize::from(by == By::Server)]
    }

    /// Kept heads of `by`, with their parts joined, and the class of each.
    pub(super) fn heads(&self, by: By) -> Vec<(SnippetClass, String)> {
        let mut heads: Vec<(SnippetClass, Vec<u8>)> = Vec::new();
        for kept in self.kept.iter().filter(|kept| kept.by == by) {
            match heads.last_mut() {
                Some((class, bytes)) if kept.run.continues => {
                    assert_eq!(*class, kept.run.class, "a head has one class");
                    bytes.extend(&kept.bytes);
                }
                _ => heads.push((kept.run.class, kept.bytes.clone())),
            }
        }
        heads
            .into_iter()
            .map(|(class, bytes)| (class, String::from_utf8_lossy(&bytes).into_owned()))
            .collect()
    }

    /// The heads of HTTP/1 of `by`.
    pub(super) fn http1(&self, by: By) -> Vec<String> {
        let heads = self.heads(by).into_iter();
        heads.filter(|(class, _)| *class == SnippetClass::Http1).map(|(_, text)| text).collect()
    }
}
