//! Message streams: cuts the bytes of both sides of a flow into messages, however they were
//! divided into snippets. The parsers of all protocols are built on it. A turn is what one side
//! sends until the other side sends.

use crate::flow_snippet::{FlowSnippet, FlowSpeaker, LogPosition};
use crate::operation::{MessageRole, OperationSink};
use crate::parser::{FlowContinuation, ProtocolParser};
use crate::silent_turn::{SilentTurn, all_blank, begins_blank, role_of_speaker};
use crate::tuning::KEPT_TURN_BYTES;

/// Parser of a protocol of consecutive messages.
pub(crate) trait MessageParser: Send {
    /// Name of the protocol in the registry.
    const NAME: &'static str;

    /// Maximum number of bytes of one message that are examined together.
    const MAX_EXAMINED_BYTES: usize;

    /// Whether each snippet that does not continue the previous one begins a message. Bytes are
    /// then missing before it only if the previous message is incomplete.
    const SNIPPETS_BEGIN_MESSAGES: bool = false;

    /// Whether a turn that was read and yielded no operation counts as a message. In protocols
    /// whose calls have ids, such a turn belongs to the connection itself.
    const QUIET_TURNS: bool = false;

    /// Parses the message at the front of the unparsed bytes.
    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep;

    /// Handles that `speaker` begins to send: the other side has finished for now. Operations of
    /// the other side are emitted through its part of `out`.
    fn on_turn(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        let _ = (speaker, out);
    }

    /// Handles that the bytes of `speaker` cannot be read until its next turn.
    fn lose_track(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        let _ = (speaker, out);
    }

    /// Handles that bytes of `speaker` are missing.
    fn on_gap(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        let _ = (speaker, out);
    }

    /// Role of a turn of `speaker` that yields no other operation.
    fn silent_role(&self, speaker: FlowSpeaker) -> MessageRole {
        role_of_speaker(speaker)
    }

    /// Whether the next bytes of `speaker` belong to a message that was emitted, or that is emitted
    /// later at the place where it began.
    fn is_within(&self, speaker: FlowSpeaker) -> bool {
        let _ = speaker;
        false
    }

    /// Whether the next bytes of `speaker` may be a value, which the library blanks as a whole.
    fn may_be_blank(&self, speaker: FlowSpeaker) -> bool {
        let _ = speaker;
        false
    }

    /// Handles the end of the flow. Operations are emitted through their sender's part of `out`.
    fn finish_messages(&mut self, out: &mut OperationSink<'_>) {
        let _ = out;
    }
}

/// Result of parsing the message at the front.
pub(crate) enum ParseStep {
    /// More bytes are needed.
    More,
    /// The message is complete and has this number of bytes; some may be still to come.
    Skip(u64),
    /// The bytes do not follow the protocol: their sender is ignored until its next turn.
    Lost,
    /// The flow continues differently.
    Leave(FlowContinuation),
}

/// Unparsed bytes of one side, from the beginning of a message.
pub(crate) struct UnparsedBytes<'a> {
    /// Sender of the bytes.
    pub speaker: FlowSpeaker,
    /// Bytes that are present.
    pub bytes: &'a [u8],
    /// Whether the following bytes are missing or will never come: then an incomplete message is
    /// parsed as far as it goes.
    pub ended: bool,
    /// Whether bytes before the unparsed ones are missing, so that a message may not begin here.
    pub after_gap: bool,
    /// Whether the bytes are a whole datagram.
    pub datagram: bool,
    /// Log positions of the bytes, in the order of offsets.
    marks: &'a [PositionMark],
}

impl UnparsedBytes<'_> {
    /// Log position of the byte at `offset`.
    pub(crate) fn position_at(&self, offset: usize) -> LogPosition {
        let mark = self.marks.iter().rev().find(|mark| mark.offset <= offset);
        mark.map_or(LogPosition::default(), |mark| {
            let at = mark.place.at.saturating_add((offset - mark.offset) as u32);
            LogPosition { at, ..mark.place }
        })
    }

    /// Step for an incomplete message: wait, or give up if nothing more comes.
    pub(crate) fn wait_or_give_up(&self) -> ParseStep {
        if self.ended { ParseStep::Lost } else { ParseStep::More }
    }
}

/// Log position of the bytes from an offset.
#[derive(Clone, Copy, Debug)]
struct PositionMark {
    offset: usize,
    place: LogPosition,
}

/// Unparsed bytes of one side, and what is known of its latest turn.
#[derive(Debug, Default)]
struct SideStream {
    bytes: Vec<u8>,
    marks: Vec<PositionMark>,
    /// Number of bytes still to come that belong to a message which has been parsed.
    skip: u64,
    /// Whether this side is ignored until its next turn.
    lost: bool,
    /// Whether bytes after the latest snippet are missing.
    cut: bool,
    /// Whether bytes before the unparsed ones are missing.
    after_gap: bool,
    /// Number of bytes of the latest turn so far.
    turn_bytes: usize,
    /// Whether a snippet has been added.
    has_begun: bool,
    datagram: bool,
    /// The latest turn, as long as it has no operation.
    silent: SilentTurn,
    /// Where the latest turn begins, if the bytes begin with an incomplete message of an earlier
    /// turn: offset in the bytes, log position, and role of the turn.
    turn_after_partial: Option<(usize, LogPosition, MessageRole)>,
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

    /// Removes `count` bytes from the front, including bytes that are still to come.
    fn skip_bytes(&mut self, count: u64) {
        let available = count.min(self.bytes.len() as u64) as usize;
        self.skip += count - available as u64;
        self.turn_after_partial = None;
        self.bytes.drain(..available);
        if self.bytes.is_empty() {
            // Frees the memory, so that sides that are silent cost none.
            (self.bytes, self.marks) = (Vec::new(), Vec::new());
            return;
        }
        let first = self.marks.iter().rposition(|mark| mark.offset <= available).unwrap_or(0);
        self.marks.drain(..first);
        for mark in &mut self.marks {
            let before = available.saturating_sub(mark.offset);
            mark.place.at = mark.place.at.saturating_add(before as u32);
            mark.offset = mark.offset.saturating_sub(available);
        }
    }

    fn clear(&mut self) {
        (self.bytes, self.marks, self.skip) = (Vec::new(), Vec::new(), 0);
        self.turn_after_partial = None;
    }
}

/// Parser of both sides' messages.
pub(crate) struct MessageStreams<M> {
    messages: M,
    client: SideStream,
    server: SideStream,
    /// Sender of the latest snippet.
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

    /// Parses all complete messages of `speaker`. If no more bytes follow them (`ended`), an
    /// incomplete last message is parsed, too.
    fn parse_available(
        &mut self,
        speaker: FlowSpeaker,
        ended: bool,
        out: &mut OperationSink<'_>,
    ) -> FlowContinuation {
        let (messages, stream) = self.parser_and_stream(speaker);
        let mut full = false;
        while !stream.bytes.is_empty() && !stream.lost {
            let unparsed = UnparsedBytes {
                speaker,
                bytes: &stream.bytes,
                ended: ended || full,
                after_gap: stream.after_gap,
                datagram: stream.datagram,
                marks: &stream.marks,
            };
            let step = match begins_blank(unparsed.bytes) && !messages.may_be_blank(speaker) {
                true => ParseStep::Lost,
                false => messages.parse_message(&unparsed, out),
            };
            match step {
                ParseStep::More if unparsed.ended => stream.lost = true,
                ParseStep::More if stream.bytes.len() >= M::MAX_EXAMINED_BYTES => full = true,
                ParseStep::More => break,
                ParseStep::Skip(0) | ParseStep::Lost => stream.lost = true,
                ParseStep::Skip(count) => {
                    stream.skip_bytes(count);
                    (stream.after_gap, full) = (false, false);
                }
                ParseStep::Leave(next) => return next,
            }
            // The bytes before the latest turn cannot be read; the turn may begin a message.
            if stream.lost
                && let Some((count, place, role)) = stream.turn_after_partial.take()
            {
                stream.silent.lose_track();
                let silent_operation = stream.silent.take_operation(M::NAME, M::QUIET_TURNS);
                out.for_speaker(speaker).extend(silent_operation);
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

    /// Reports the operations from index `before` to the latest turns of their senders, which then
    /// need no operation without a name.
    fn note_operations(&mut self, before: usize, out: &OperationSink<'_>) {
        for (speaker, place) in out.places_since(before) {
            self.parser_and_stream(speaker).1.silent.note_operation(place);
        }
    }

    /// Emits an operation without a name for the latest turn of `speaker` if it has no other
    /// operation. An incomplete message may still yield one.
    fn end_turn(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        let (messages, stream) = self.parser_and_stream(speaker);
        let is_begun = !stream.bytes.is_empty() && !all_blank(&stream.bytes);
        if !is_begun && !messages.is_within(speaker) {
            let silent_operation = stream.silent.take_operation(M::NAME, M::QUIET_TURNS);
            out.for_speaker(speaker).extend(silent_operation);
        }
    }

    /// Begins a turn with a snippet, unless the snippet continues an earlier message.
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
            // The turn seems to continue a message; if the continuation cannot be read, the turn
            // begins one.
            stream.turn_after_partial = Some((stream.bytes.len(), piece.place, role));
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
        let has_turns = !M::SNIPPETS_BEGIN_MESSAGES && !piece.datagram;
        let before = out.operation_count();
        if self.last.replace(speaker) != Some(speaker) {
            self.messages.on_turn(speaker, out);
            self.note_operations(before, out);
            if has_turns {
                self.end_turn(speaker.opposite_side(), out);
            }
        }
        let (_, stream) = self.parser_and_stream(speaker);
        let begins = M::SNIPPETS_BEGIN_MESSAGES && stream.bytes.is_empty() && stream.skip == 0;
        // A turn with fewer bytes than the limit was kept as a whole, so the next turn of the side
        // follows it.
        let follows = turn && !M::SNIPPETS_BEGIN_MESSAGES && stream.turn_bytes < KEPT_TURN_BYTES;
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
        if turn && has_turns {
            self.begin_turn(piece, out);
        }
        let (_, stream) = self.parser_and_stream(speaker);
        if stream.lost && turn {
            (stream.lost, stream.after_gap) = (false, true);
        } else if gap && !turn && !piece.datagram && !M::SNIPPETS_BEGIN_MESSAGES {
            stream.lost = true;
        }
        (stream.has_begun, stream.datagram) = (true, piece.datagram);
        stream.turn_bytes = piece.bytes.len() + if turn { 0 } else { stream.turn_bytes };
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
        // Sides that cannot be read already. A message that only the end of the flow truncates
        // could be anything, and gets no operation.
        let sides = [FlowSpeaker::Client, FlowSpeaker::Server];
        let are_lost = sides.map(|speaker| self.parser_and_stream(speaker).1.lost);
        for speaker in sides {
            self.parse_available(speaker, true, &mut out.for_speaker(speaker));
        }
        self.messages.finish_messages(out);
        self.note_operations(before, out);
        for (speaker, _) in sides.into_iter().zip(are_lost).filter(|(_, is_lost)| *is_lost) {
            let silent_operation =
                self.parser_and_stream(speaker).1.silent.take_operation(M::NAME, false);
            out.for_speaker(speaker).extend(silent_operation);
        }
    }
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
