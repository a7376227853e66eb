//! Bytes of both sides of a flow, cut into messages, however they came in pieces: what parsers of
//! all protocols stand on.

use crate::operation::{Out, Role};
use crate::parser::{Next, Parser};
use crate::piece::{Piece, Place, Speaker};
use crate::tuning::KEPT_TURN_BYTES;
use crate::unread::{SilentTurn, all_blank, are_blank, role};

/// A protocol as messages that follow each other.
pub(crate) trait Messages: Send {
    /// Name of the protocol in the registry.
    const NAME: &'static str;

    /// Most bytes of one message that are looked at together.
    const BOUND: usize;

    /// Whether each piece that does not continue begins a message, so that it makes a gap only
    /// where a message is not whole.
    const PIECES_BEGIN: bool = false;

    /// Whether a turn is a message though it was read and nothing is told about it. Where calls
    /// have ids, it is the connection's own.
    const QUIET_TURNS: bool = false;

    /// Looks at the message at the front of what was heard.
    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step;

    /// `speaker` begins to speak: the other has said what it had to say for now. What is told of
    /// the other goes to its part of `out`.
    fn turn(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        let _ = (speaker, out);
    }

    /// What `speaker` says cannot be read until its next turn.
    fn lose(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        let _ = (speaker, out);
    }

    /// Bytes of `speaker` are missing.
    fn gap(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        let _ = (speaker, out);
    }

    /// Role of a turn of `speaker`, if nothing is told about it.
    fn role(&self, speaker: Speaker) -> Role {
        role(speaker)
    }

    /// Whether what `speaker` says next is of a message that was told, or that is told later at the
    /// place where it began.
    fn is_within(&self, speaker: Speaker) -> bool {
        let _ = speaker;
        false
    }

    /// Whether what `speaker` says next may be blank all over, as values are.
    fn may_be_blank(&self, speaker: Speaker) -> bool {
        let _ = speaker;
        false
    }

    /// Nothing more is said. What is told goes to the part of `out` of whose it is.
    fn finish(&mut self, out: &mut Out<'_>) {
        let _ = out;
    }
}

/// What a parser says of the message at the front.
pub(crate) enum Step {
    /// More bytes are needed.
    More,
    /// It has been dealt with. It has this number of bytes; some may be still to come.
    Skip(u64),
    /// It is nothing that the protocol knows: nothing is said until this side's next turn.
    Lost,
    /// The flow goes on in another way.
    Leave(Next),
}

/// What one side said, from the beginning of a message on.
pub(crate) struct Heard<'a> {
    /// Who said it.
    pub speaker: Speaker,
    /// The bytes that are there.
    pub bytes: &'a [u8],
    /// Whether what follows these bytes is missing: then the message is taken as far as it goes.
    pub ended: bool,
    /// Whether bytes in front of these are missing, so that a message may not begin here.
    pub after_gap: bool,
    /// Whether this is a datagram of its own.
    pub datagram: bool,
    marks: &'a [Mark],
}

impl Heard<'_> {
    /// Where the byte at `offset` of the bytes is in the log.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let mark = self.marks.iter().rev().find(|mark| mark.offset <= offset);
        mark.map_or(Place::default(), |mark| {
            let at = mark.place.at.saturating_add((offset - mark.offset) as u32);
            Place { at, ..mark.place }
        })
    }

    /// What to do about a message that is not whole: wait, or where nothing more comes, give up.
    pub(crate) fn more(&self) -> Step {
        if self.ended { Step::Lost } else { Step::More }
    }
}

/// Where the bytes from an offset on are.
#[derive(Clone, Copy, Debug)]
struct Mark {
    offset: usize,
    place: Place,
}

/// Bytes of one side that are not dealt with.
#[derive(Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    /// Bytes to come that belong to a message that has been dealt with.
    skip: u64,
    /// Nothing is said until the next turn.
    lost: bool,
    /// Bytes behind the latest piece are missing.
    cut: bool,
    after_gap: bool,
    /// Bytes of the latest turn so far.
    of_turn: usize,
    /// A piece has come.
    begun: bool,
    datagram: bool,
    /// The latest turn, if nothing is told of it.
    silent: SilentTurn,
    /// Where the latest turn begins among the bytes, behind what had only begun before it, and what
    /// it is.
    behind_begun: Option<(usize, Place, Role)>,
}

impl Stream {
    fn push(&mut self, piece: &Piece<'_>) {
        let skipped = self.skip.min(piece.bytes.len() as u64);
        self.skip -= skipped;
        let rest = piece.bytes.get(skipped as usize..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        let at = piece.place.at.saturating_add(skipped as u32);
        let place = Place { at, ..piece.place };
        self.marks.push(Mark { offset: self.bytes.len(), place });
        self.bytes.extend_from_slice(rest);
    }

    /// Removes `count` bytes from the front, those that are still to come, too.
    fn skip(&mut self, count: u64) {
        let there = count.min(self.bytes.len() as u64) as usize;
        self.skip += count - there as u64;
        self.behind_begun = None;
        self.bytes.drain(..there);
        if self.bytes.is_empty() {
            // Memory is for those who speak, not for all who ever did.
            (self.bytes, self.marks) = (Vec::new(), Vec::new());
            return;
        }
        let first = self.marks.iter().rposition(|mark| mark.offset <= there).unwrap_or(0);
        self.marks.drain(..first);
        for mark in &mut self.marks {
            let before = there.saturating_sub(mark.offset);
            mark.place.at = mark.place.at.saturating_add(before as u32);
            mark.offset = mark.offset.saturating_sub(there);
        }
    }

    fn clear(&mut self) {
        (self.bytes, self.marks, self.skip) = (Vec::new(), Vec::new(), 0);
        self.behind_begun = None;
    }
}

/// A parser of messages.
pub(crate) struct Streams<M> {
    messages: M,
    client: Stream,
    server: Stream,
    last: Option<Speaker>,
}

impl<M: Messages> Streams<M> {
    pub(crate) fn new(messages: M) -> Streams<M> {
        let (client, server) = (Stream::default(), Stream::default());
        Streams { messages, client, server, last: None }
    }

    fn both(&mut self, speaker: Speaker) -> (&mut M, &mut Stream) {
        match speaker {
            Speaker::Client => (&mut self.messages, &mut self.client),
            Speaker::Server => (&mut self.messages, &mut self.server),
        }
    }

    /// Deals with all messages that are whole; where nothing more comes, with the last one, too.
    fn run(&mut self, speaker: Speaker, ended: bool, out: &mut Out<'_>) -> Next {
        let (messages, stream) = self.both(speaker);
        let mut full = false;
        while !stream.bytes.is_empty() && !stream.lost {
            let heard = Heard {
                speaker,
                bytes: &stream.bytes,
                ended: ended || full,
                after_gap: stream.after_gap,
                datagram: stream.datagram,
                marks: &stream.marks,
            };
            let step = match are_blank(heard.bytes) && !messages.may_be_blank(speaker) {
                true => Step::Lost,
                false => messages.message(&heard, out),
            };
            match step {
                Step::More if heard.ended => stream.lost = true,
                Step::More if stream.bytes.len() >= M::BOUND => full = true,
                Step::More => break,
                Step::Skip(0) | Step::Lost => stream.lost = true,
                Step::Skip(count) => {
                    stream.skip(count);
                    (stream.after_gap, full) = (false, false);
                }
                Step::Leave(next) => return next,
            }
            // What had begun before the turn was no message; the turn may be one.
            if stream.lost
                && let Some((count, place, role)) = stream.behind_begun.take()
            {
                stream.silent.lose();
                let told = stream.silent.take(M::NAME, M::QUIET_TURNS);
                out.of(speaker).extend(told);
                stream.skip(count as u64);
                stream.silent.begin(place, role);
                messages.lose(speaker, out);
                (stream.lost, stream.after_gap, full) = (false, true, false);
            }
        }
        if stream.lost && !stream.bytes.is_empty() {
            stream.silent.lose();
            stream.clear();
            messages.lose(speaker, out);
        }
        Next::Same
    }

    /// Notes what was told of both sides since there were `before` operations.
    fn note(&mut self, before: usize, out: &Out<'_>) {
        for (speaker, place) in out.places_since(before) {
            self.both(speaker).1.silent.told(place);
        }
    }

    /// Tells the latest turn of `speaker`, if nothing else is told of it. What has only begun may
    /// still be.
    fn end_turn(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        let (messages, stream) = self.both(speaker);
        let is_begun = !stream.bytes.is_empty() && !all_blank(&stream.bytes);
        if !is_begun && !messages.is_within(speaker) {
            let told = stream.silent.take(M::NAME, M::QUIET_TURNS);
            out.of(speaker).extend(told);
        }
    }

    /// Begins a turn with a piece, unless the piece goes on with a message from before.
    fn begin_turn(&mut self, piece: &Piece<'_>, out: &mut Out<'_>) {
        let speaker = piece.speaker;
        self.end_turn(speaker, out);
        let (messages, stream) = self.both(speaker);
        if !stream.bytes.is_empty() && all_blank(&stream.bytes) {
            stream.clear();
            messages.lose(speaker, out);
        }
        let role = messages.role(speaker);
        if !stream.bytes.is_empty() {
            // It seems to go on with a message; if that cannot be read, the turn begins one.
            stream.behind_begun = Some((stream.bytes.len(), piece.place, role));
        } else if stream.skip == 0 && !messages.is_within(speaker) {
            stream.silent.begin(piece.place, role);
        }
    }
}

impl<M: Messages> Parser for Streams<M> {
    fn take(&mut self, piece: &Piece<'_>, out: &mut Out<'_>) -> Next {
        let speaker = piece.speaker;
        let turn = piece.begins_turn || self.last != Some(speaker);
        let tells_turns = !M::PIECES_BEGIN && !piece.datagram;
        let before = out.count();
        if self.last.replace(speaker) != Some(speaker) {
            self.messages.turn(speaker, out);
            self.note(before, out);
            if tells_turns {
                self.end_turn(speaker.other(), out);
            }
        }
        let (_, stream) = self.both(speaker);
        let begins = M::PIECES_BEGIN && stream.bytes.is_empty() && stream.skip == 0;
        // A turn of fewer bytes than are kept was kept as a whole, so the next follows it.
        let follows = turn && !M::PIECES_BEGIN && stream.of_turn < KEPT_TURN_BYTES;
        let goes_on = piece.continues || begins || follows || !stream.begun;
        let gap = piece.datagram || stream.cut || !goes_on;
        if gap {
            if let next @ (Next::Become(..) | Next::Unknown | Next::Silent) =
                self.run(speaker, true, out)
            {
                return next;
            }
            let (messages, stream) = self.both(speaker);
            stream.clear();
            (stream.cut, stream.after_gap, stream.lost) = (false, !piece.datagram, false);
            messages.gap(speaker, out);
            self.note(before, out);
        }
        if turn && tells_turns {
            self.begin_turn(piece, out);
        }
        let (_, stream) = self.both(speaker);
        if stream.lost && turn {
            (stream.lost, stream.after_gap) = (false, true);
        } else if gap && !turn && !piece.datagram && !M::PIECES_BEGIN {
            stream.lost = true;
        }
        (stream.begun, stream.datagram) = (true, piece.datagram);
        stream.of_turn = piece.bytes.len() + if turn { 0 } else { stream.of_turn };
        if !stream.lost {
            stream.push(piece);
        }
        let next = self.run(speaker, piece.cut || piece.datagram, out);
        self.note(before, out);
        let (_, stream) = self.both(speaker);
        stream.cut = piece.cut;
        next
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        let before = out.count();
        // What is not whole by now may have become anything.
        let sides = [Speaker::Client, Speaker::Server];
        let are_lost = sides.map(|speaker| self.both(speaker).1.lost);
        for speaker in sides {
            self.run(speaker, true, &mut out.of(speaker));
        }
        self.messages.finish(out);
        self.note(before, out);
        for (speaker, _) in sides.into_iter().zip(are_lost).filter(|(_, is_lost)| *is_lost) {
            let told = self.both(speaker).1.silent.take(M::NAME, false);
            out.of(speaker).extend(told);
        }
    }
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
