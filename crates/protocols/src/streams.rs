//! Bytes of both sides of a flow, cut into messages, however they came in pieces: what parsers of
//! all protocols stand on.

use crate::flow_snippet::{FlowSnippet, FlowSpeaker, LogPosition};
use crate::operation::{MessageRole, OperationSink};
use crate::parser::{FlowContinuation, ProtocolParser};
use crate::silent_turn::{SilentTurn, all_blank, are_blank, role_of_speaker};
use crate::tuning::KEPT_TURN_BYTES;

/// A protocol as messages that follow each other.
pub(crate) trait MessageParser: Send {
    /// Name of the protocol in the registry.
    const NAME: &'static str;

    /// Most bytes of one message that are looked at together.
    const BOUND: usize;

    /// Whether each piece that does not continue begins a message, so that it makes a gap only
    /// where a message is not whole.
    const SNIPPETS_BEGIN_MESSAGES: bool = false;

    /// Whether a turn is a message though it was read and nothing is told about it. Where calls
    /// have ids, it is the connection's own.
    const QUIET_TURNS: bool = false;

    /// Looks at the message at the front of what was heard.
    fn parse_message(
        &mut self,
        heard: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep;

    /// `speaker` begins to speak: the other has said what it had to say for now. What is told of
    /// the other goes to its part of `out`.
    fn on_turn(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        let _ = (speaker, out);
    }

    /// What `speaker` says cannot be read until its next turn.
    fn lose_track(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        let _ = (speaker, out);
    }

    /// Bytes of `speaker` are missing.
    fn on_gap(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        let _ = (speaker, out);
    }

    /// Role of a turn of `speaker`, if nothing is told about it.
    fn silent_role(&self, speaker: FlowSpeaker) -> MessageRole {
        role_of_speaker(speaker)
    }

    /// Whether what `speaker` says next is of a message that was told, or that is told later at the
    /// place where it began.
    fn is_within(&self, speaker: FlowSpeaker) -> bool {
        let _ = speaker;
        false
    }

    /// Whether what `speaker` says next may be blank all over, as values are.
    fn may_be_blank(&self, speaker: FlowSpeaker) -> bool {
        let _ = speaker;
        false
    }

    /// Nothing more is said. What is told goes to the part of `out` of whose it is.
    fn finish_messages(&mut self, out: &mut OperationSink<'_>) {
        let _ = out;
    }
}

/// What a parser says of the message at the front.
pub(crate) enum ParseStep {
    /// More bytes are needed.
    More,
    /// It has been dealt with. It has this number of bytes; some may be still to come.
    Skip(u64),
    /// It is nothing that the protocol knows: nothing is said until this side's next turn.
    Lost,
    /// The flow goes on in another way.
    Leave(FlowContinuation),
}

/// What one side said, from the beginning of a message on.
pub(crate) struct UnparsedBytes<'a> {
    /// Who said it.
    pub speaker: FlowSpeaker,
    /// The bytes that are there.
    pub bytes: &'a [u8],
    /// Whether what follows these bytes is missing: then the message is taken as far as it goes.
    pub ended: bool,
    /// Whether bytes in front of these are missing, so that a message may not begin here.
    pub after_gap: bool,
    /// Whether this is a datagram of its own.
    pub datagram: bool,
    marks: &'a [PositionMark],
}

impl UnparsedBytes<'_> {
    /// Where the byte at `offset` of the bytes is in the log.
    pub(crate) fn position_at(&self, offset: usize) -> LogPosition {
        let mark = self.marks.iter().rev().find(|mark| mark.offset <= offset);
        mark.map_or(LogPosition::default(), |mark| {
            let at = mark.place.at.saturating_add((offset - mark.offset) as u32);
            LogPosition { at, ..mark.place }
        })
    }

    /// What to do about a message that is not whole: wait, or where nothing more comes, give up.
    pub(crate) fn wait_or_give_up(&self) -> ParseStep {
        if self.ended { ParseStep::Lost } else { ParseStep::More }
    }
}

/// Where the bytes from an offset on are.
#[derive(Clone, Copy, Debug)]
struct PositionMark {
    offset: usize,
    place: LogPosition,
}

/// Bytes of one side that are not dealt with.
#[derive(Debug, Default)]
struct SideStream {
    bytes: Vec<u8>,
    marks: Vec<PositionMark>,
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
    has_begun: bool,
    datagram: bool,
    /// The latest turn, if nothing is told of it.
    silent: SilentTurn,
    /// Where the latest turn begins among the bytes, behind what had only begun before it, and what
    /// it is.
    after_begun: Option<(usize, LogPosition, MessageRole)>,
}

impl SideStream {
    fn push(&mut self, piece: &FlowSnippet<'_>) {
        let skipped = self.skip.min(piece.bytes.len() as u64);
        self.skip -= skipped;
        let rest = piece.bytes.get(skipped as usize..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        let at = piece.place.at.saturating_add(skipped as u32);
        let place = LogPosition { at, ..piece.place };
        self.marks.push(PositionMark { offset: self.bytes.len(), place });
        self.bytes.extend_from_slice(rest);
    }

    /// Removes `count` bytes from the front, those that are still to come, too.
    fn skip_bytes(&mut self, count: u64) {
        let there = count.min(self.bytes.len() as u64) as usize;
        self.skip += count - there as u64;
        self.after_begun = None;
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
        self.after_begun = None;
    }
}

/// A parser of messages.
pub(crate) struct MessageStreams<M> {
    messages: M,
    client: SideStream,
    server: SideStream,
    last: Option<FlowSpeaker>,
}

impl<M: MessageParser> MessageStreams<M> {
    pub(crate) fn new(messages: M) -> MessageStreams<M> {
        let (client, server) = (SideStream::default(), SideStream::default());
        MessageStreams { messages, client, server, last: None }
    }

    fn parser_and_stream(&mut self, speaker: FlowSpeaker) -> (&mut M, &mut SideStream) {
        match speaker {
            FlowSpeaker::Client => (&mut self.messages, &mut self.client),
            FlowSpeaker::Server => (&mut self.messages, &mut self.server),
        }
    }

    /// Deals with all messages that are whole; where nothing more comes, with the last one, too.
    fn parse_available(
        &mut self,
        speaker: FlowSpeaker,
        ended: bool,
        out: &mut OperationSink<'_>,
    ) -> FlowContinuation {
        let (messages, stream) = self.parser_and_stream(speaker);
        let mut full = false;
        while !stream.bytes.is_empty() && !stream.lost {
            let heard = UnparsedBytes {
                speaker,
                bytes: &stream.bytes,
                ended: ended || full,
                after_gap: stream.after_gap,
                datagram: stream.datagram,
                marks: &stream.marks,
            };
            let step = match are_blank(heard.bytes) && !messages.may_be_blank(speaker) {
                true => ParseStep::Lost,
                false => messages.parse_message(&heard, out),
            };
            match step {
                ParseStep::More if heard.ended => stream.lost = true,
                ParseStep::More if stream.bytes.len() >= M::BOUND => full = true,
                ParseStep::More => break,
                ParseStep::Skip(0) | ParseStep::Lost => stream.lost = true,
                ParseStep::Skip(count) => {
                    stream.skip_bytes(count);
                    (stream.after_gap, full) = (false, false);
                }
                ParseStep::Leave(next) => return next,
            }
            // What had begun before the turn was no message; the turn may be one.
            if stream.lost
                && let Some((count, place, role)) = stream.after_begun.take()
            {
                stream.silent.lose_track();
                let told = stream.silent.take_operation(M::NAME, M::QUIET_TURNS);
                out.for_speaker(speaker).extend(told);
                stream.skip_bytes(count as u64);
                stream.silent.begin_turn(place, role);
                messages.lose_track(speaker, out);
                (stream.lost, stream.after_gap, full) = (false, true, false);
            }
        }
        if stream.lost && !stream.bytes.is_empty() {
            stream.silent.lose_track();
            stream.clear();
            messages.lose_track(speaker, out);
        }
        FlowContinuation::Same
    }

    /// Notes what was told of both sides since there were `before` operations.
    fn note_operations(&mut self, before: usize, out: &OperationSink<'_>) {
        for (speaker, place) in out.places_since(before) {
            self.parser_and_stream(speaker).1.silent.note_operation(place);
        }
    }

    /// Tells the latest turn of `speaker`, if nothing else is told of it. What has only begun may
    /// still be.
    fn end_turn(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        let (messages, stream) = self.parser_and_stream(speaker);
        let is_begun = !stream.bytes.is_empty() && !all_blank(&stream.bytes);
        if !is_begun && !messages.is_within(speaker) {
            let told = stream.silent.take_operation(M::NAME, M::QUIET_TURNS);
            out.for_speaker(speaker).extend(told);
        }
    }

    /// Begins a turn with a piece, unless the piece goes on with a message from before.
    fn begin_turn(&mut self, piece: &FlowSnippet<'_>, out: &mut OperationSink<'_>) {
        let speaker = piece.speaker;
        self.end_turn(speaker, out);
        let (messages, stream) = self.parser_and_stream(speaker);
        if !stream.bytes.is_empty() && all_blank(&stream.bytes) {
            stream.clear();
            messages.lose_track(speaker, out);
        }
        let role = messages.silent_role(speaker);
        if !stream.bytes.is_empty() {
            // It seems to go on with a message; if that cannot be read, the turn begins one.
            stream.after_begun = Some((stream.bytes.len(), piece.place, role));
        } else if stream.skip == 0 && !messages.is_within(speaker) {
            stream.silent.begin_turn(piece.place, role);
        }
    }
}

impl<M: MessageParser> ProtocolParser for MessageStreams<M> {
    fn parse_snippet(
        &mut self,
        piece: &FlowSnippet<'_>,
        out: &mut OperationSink<'_>,
    ) -> FlowContinuation {
        let speaker = piece.speaker;
        let turn = piece.begins_turn || self.last != Some(speaker);
        let tells_turns = !M::SNIPPETS_BEGIN_MESSAGES && !piece.datagram;
        let before = out.operation_count();
        if self.last.replace(speaker) != Some(speaker) {
            self.messages.on_turn(speaker, out);
            self.note_operations(before, out);
            if tells_turns {
                self.end_turn(speaker.opposite_side(), out);
            }
        }
        let (_, stream) = self.parser_and_stream(speaker);
        let begins = M::SNIPPETS_BEGIN_MESSAGES && stream.bytes.is_empty() && stream.skip == 0;
        // A turn of fewer bytes than are kept was kept as a whole, so the next follows it.
        let follows = turn && !M::SNIPPETS_BEGIN_MESSAGES && stream.of_turn < KEPT_TURN_BYTES;
        let goes_on = piece.continues || begins || follows || !stream.has_begun;
        let gap = piece.datagram || stream.cut || !goes_on;
        if gap {
            if let next @ (FlowContinuation::Become(..)
            | FlowContinuation::Unknown
            | FlowContinuation::Silent) = self.parse_available(speaker, true, out)
            {
                return next;
            }
            let (messages, stream) = self.parser_and_stream(speaker);
            stream.clear();
            (stream.cut, stream.after_gap, stream.lost) = (false, !piece.datagram, false);
            messages.on_gap(speaker, out);
            self.note_operations(before, out);
        }
        if turn && tells_turns {
            self.begin_turn(piece, out);
        }
        let (_, stream) = self.parser_and_stream(speaker);
        if stream.lost && turn {
            (stream.lost, stream.after_gap) = (false, true);
        } else if gap && !turn && !piece.datagram && !M::SNIPPETS_BEGIN_MESSAGES {
            stream.lost = true;
        }
        (stream.has_begun, stream.datagram) = (true, piece.datagram);
        stream.of_turn = piece.bytes.len() + if turn { 0 } else { stream.of_turn };
        if !stream.lost {
            stream.push(piece);
        }
        let next = self.parse_available(speaker, piece.cut || piece.datagram, out);
        self.note_operations(before, out);
        let (_, stream) = self.parser_and_stream(speaker);
        stream.cut = piece.cut;
        next
    }

    fn finish_parsing(&mut self, out: &mut OperationSink<'_>) {
        let before = out.operation_count();
        // What is not whole by now may have become anything.
        let sides = [FlowSpeaker::Client, FlowSpeaker::Server];
        let are_lost = sides.map(|speaker| self.parser_and_stream(speaker).1.lost);
        for speaker in sides {
            self.parse_available(speaker, true, &mut out.for_speaker(speaker));
        }
        self.messages.finish_messages(out);
        self.note_operations(before, out);
        for (speaker, _) in sides.into_iter().zip(are_lost).filter(|(_, is_lost)| *is_lost) {
            let told = self.parser_and_stream(speaker).1.silent.take_operation(M::NAME, false);
            out.for_speaker(speaker).extend(told);
        }
    }
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
