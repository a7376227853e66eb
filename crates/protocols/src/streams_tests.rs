//! Tests of divided bytes, and of the messages that are assembled from them.

use super::*;
use crate::flow_snippet::SnippetRule;
use crate::operation::{MessageRole, ProtocolOperation, SpokenOperation};

/// Toy protocol: a length of one byte and a text, which is unknown if it is `?`.
struct ToyMessages;

impl MessageParser for ToyMessages {
    const NAME: &'static str = "toy";
    const MAX_EXAMINED_BYTES: usize = 64;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let length = usize::from(unparsed.bytes[0]);
        if unparsed.bytes[0] == b'?' {
            return ParseStep::Lost;
        }
        let text = unparsed.bytes.get(1..).unwrap_or_default();
        if text.len() < length && !unparsed.ended {
            return ParseStep::More;
        }
        let text = &text[..text.len().min(length)];
        let name = format!(
            "{}{}",
            String::from_utf8_lossy(text),
            if unparsed.after_gap { "~" } else { "" }
        );
        out.push(
            ProtocolOperation::new(unparsed.position_at(0), MessageRole::OneWay, "toy")
                .with_name(name),
        );
        ParseStep::Skip(1 + length as u64)
    }

    fn on_gap(&mut self, _: FlowSpeaker, out: &mut OperationSink<'_>) {
        out.push(
            ProtocolOperation::new(LogPosition::default(), MessageRole::OneWay, "toy")
                .with_name("gap"),
        );
    }
}

fn make_snippet(bytes: &[u8], ticks: u64) -> FlowSnippet<'_> {
    FlowSnippet {
        speaker: FlowSpeaker::Client,
        class: SnippetRule::Other,
        bytes,
        continues: true,
        begins_turn: false,
        cut: false,
        datagram: false,
        place: LogPosition { ticks, at: 0 },
    }
}

fn operation_lines(pieces: &[FlowSnippet<'_>]) -> Vec<String> {
    let (mut toys, mut out) = (MessageStreams::new(ToyMessages), Vec::new());
    for piece in pieces {
        toys.parse_snippet(piece, &mut OperationSink::new(&mut out, piece.speaker));
    }
    toys.finish_parsing(&mut OperationSink::new(&mut out, FlowSpeaker::Client));
    let lines = |SpokenOperation { operation: of, .. }: &SpokenOperation| {
        format!("{} {}+{}", of.name, of.place.ticks, of.place.at)
    };
    out.iter().map(lines).collect()
}

#[test]
fn messages_have_the_places_of_their_first_bytes() {
    let pieces =
        [make_snippet(b"\x01a\x03b", 1), make_snippet(b"cd\x02e", 2), make_snippet(b"f\x01g", 3)];
    assert_eq!(operation_lines(&pieces), ["a 1+0", "bcd 1+2", "ef 2+2", "g 3+1"]);
}

#[test]
fn a_message_that_is_skipped_may_be_still_to_come() {
    let long = [b"\x64".as_slice(), &[b'a'; 70]].concat();
    let rest = [[b'a'; 30].as_slice(), b"\x01b"].concat();
    let lines = operation_lines(&[make_snippet(&long, 1), make_snippet(&rest, 2)]);
    assert_eq!(lines[1], "b 2+30");
}

#[test]
fn a_turn_that_was_kept_as_a_whole_is_followed_by_the_next() {
    let next = FlowSnippet { continues: false, begins_turn: true, ..make_snippet(b"b\x01c", 2) };
    let server = FlowSnippet { speaker: FlowSpeaker::Server, ..make_snippet(b"\x01x", 1) };
    assert_eq!(
        operation_lines(&[make_snippet(b"\x02a", 1), server, next]),
        ["x 1+0", "ab 1+0", "c 2+1"]
    );
    let next = FlowSnippet { continues: false, begins_turn: true, ..make_snippet(b"\x01c", 2) };
    let cut = FlowSnippet { cut: true, ..make_snippet(b"\x02a", 1) };
    assert_eq!(operation_lines(&[cut, server, next]), ["a 1+0", "x 1+0", "gap 0+0", "c~ 2+0"]);
    let full = [b"\x7f".as_slice(), &[b'a'; 127], b"\x7f", &[b'b'; 127]].concat();
    let lines = operation_lines(&[make_snippet(&full, 1), server, next]);
    assert_eq!(lines[2..], ["x 1+0", "gap 0+0", "c~ 2+0"]);
}

#[test]
fn unknown_bytes_are_skipped_until_the_next_turn() {
    let server = FlowSnippet { speaker: FlowSpeaker::Server, ..make_snippet(b"\x01x", 2) };
    let next = FlowSnippet { begins_turn: true, ..make_snippet(b"\x01c", 3) };
    let pieces = [make_snippet(b"\x01a?\x01b", 1), make_snippet(b"\x01b", 1), server, next];
    assert_eq!(operation_lines(&pieces), ["a 1+0", "x 2+0", "c~ 3+0"]);
}

#[test]
fn bytes_after_a_gap_within_a_turn_are_ignored() {
    let pieces = [
        make_snippet(b"\x01a", 1),
        FlowSnippet { continues: false, ..make_snippet(b"\x01b", 2) },
        make_snippet(b"\x01c", 3),
    ];
    assert_eq!(operation_lines(&pieces), ["a 1+0", "gap 0+0"]);
}
