//! Opening of a flow: the turns by which its protocol is recognised. A turn is what one side sends
//! until the other side sends.

use std::collections::VecDeque;

use crate::flow_snippet::{FlowSnippet, FlowSpeaker, LogPosition, SnippetRule};
use crate::tuning::OPENING_BYTES;

/// Verdict of a protocol on an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpeningVerdict {
    /// The flow has another protocol.
    No,
    /// The flow certainly has this protocol.
    Yes,
}

/// Returns `Yes` if the protocol `is_recognised`, otherwise `No`.
pub(crate) fn yes_if(is_recognised: bool) -> OpeningVerdict {
    if is_recognised { OpeningVerdict::Yes } else { OpeningVerdict::No }
}

/// The latest turns, at most two, of a flow with an unknown protocol.
#[derive(Debug, Default)]
pub(crate) struct FlowOpening {
    turns: VecDeque<OpeningTurn>,
    /// Sender and log position of the turns before those in `turns`, without datagrams.
    earlier_turns: Vec<(FlowSpeaker, LogPosition)>,
    /// Number of turns so far.
    count: u32,
}

#[derive(Debug)]
struct OpeningTurn {
    speaker: FlowSpeaker,
    datagram: bool,
    bytes: Vec<u8>,
    pieces: Vec<BufferedSnippet>,
}

/// A snippet that is passed to the parser when the protocol is recognised.
#[derive(Debug)]
struct BufferedSnippet {
    /// Bytes of the snippet within those of the turn.
    range: std::ops::Range<usize>,
    class: SnippetRule,
    continues: bool,
    begins_turn: bool,
    cut: bool,
    place: LogPosition,
}

impl FlowOpening {
    /// Adds the next snippet of the flow.
    pub(crate) fn add_snippet(&mut self, piece: &FlowSnippet<'_>) {
        let goes_on = |turn: &OpeningTurn| turn.speaker == piece.speaker && piece.continues;
        if piece.datagram || !self.turns.back().is_some_and(goes_on) {
            if self.turns.len() == 2 {
                let first = self.turns.pop_front().filter(|turn| !turn.datagram);
                let begin = first.and_then(|turn| Some((turn.speaker, turn.pieces.first()?.place)));
                self.earlier_turns.extend(begin);
            }
            let (speaker, datagram) = (piece.speaker, piece.datagram);
            let turn = OpeningTurn { speaker, datagram, bytes: Vec::new(), pieces: Vec::new() };
            self.turns.push_back(turn);
            self.count = self.count.saturating_add(1);
        }
        let Some(turn) = self.turns.back_mut() else { return };
        let begin = turn.bytes.len();
        let room = OPENING_BYTES.saturating_sub(begin).min(piece.bytes.len());
        if room == 0 {
            return;
        }
        turn.bytes.extend_from_slice(piece.bytes.get(..room).unwrap_or_default());
        turn.pieces.push(BufferedSnippet {
            range: begin..begin + room,
            class: piece.class,
            continues: piece.continues,
            begins_turn: piece.begins_turn,
            cut: piece.cut || room < piece.bytes.len(),
            place: piece.place,
        });
    }

    /// Sender and log position of the turns before the two latest ones, without datagrams.
    pub(crate) fn earlier_turns(&self) -> &[(FlowSpeaker, LogPosition)] {
        &self.earlier_turns
    }

    /// Number of turns that were examined.
    pub(crate) fn turn_count(&self) -> u32 {
        self.count
    }

    /// Bytes that one side sent in the two latest turns, or an empty slice.
    pub(crate) fn bytes_of(&self, speaker: FlowSpeaker) -> &[u8] {
        let turn = self.turns.iter().find(|turn| turn.speaker == speaker);
        turn.map_or(&[], |turn| &turn.bytes)
    }

    /// Bytes that the client sent.
    pub(crate) fn client_bytes(&self) -> &[u8] {
        self.bytes_of(FlowSpeaker::Client)
    }

    /// Bytes that the server sent.
    pub(crate) fn server_bytes(&self) -> &[u8] {
        self.bytes_of(FlowSpeaker::Server)
    }

    /// Whether the server sent first.
    pub(crate) fn server_leads(&self) -> bool {
        self.turns.front().is_some_and(|turn| turn.speaker == FlowSpeaker::Server)
    }

    /// Bytes of the latest turn if it is a datagram.
    pub(crate) fn latest_datagram(&self) -> Option<&[u8]> {
        self.turns.back().filter(|turn| turn.datagram).map(|turn| turn.bytes.as_slice())
    }

    /// Snippets of the latest turns in their order.
    pub(crate) fn snippets(&self) -> impl Iterator<Item = FlowSnippet<'_>> {
        self.turns.iter().flat_map(|turn| {
            turn.pieces.iter().map(|buffered| FlowSnippet {
                speaker: turn.speaker,
                class: buffered.class,
                bytes: turn.bytes.get(buffered.range.clone()).unwrap_or_default(),
                continues: buffered.continues,
                begins_turn: buffered.begins_turn,
                cut: buffered.cut,
                datagram: turn.datagram,
                place: buffered.place,
            })
        })
    }
}
