//! Parsers on arbitrary bytes, for fuzzing and property tests.

use crate::conversation::Conversation;
use crate::flow_snippet::{FlowSnippet, FlowSpeaker, LogPosition, SnippetRule};
use crate::names::{StatementDialect, reduce_label, summarise_statement, target_route};
use crate::operation::{OperationSink, ProtocolOperation, SpokenOperation};
use crate::protocol::ProtocolSpec;
use crate::tuning::{DETAIL_BYTES, NAME_BYTES};

/// Bits of the flag byte before each snippet.
const SERVER: u8 = 1;
const CONTINUES: u8 = 2;
const BEGINS_TURN: u8 = 4;
const CUT: u8 = 8;
const DATAGRAM: u8 = 16;
const HTTP1: u8 = 32;
const HTTP2: u8 = 64;

/// Passes arbitrary bytes as snippets to the parser of a protocol, and to a conversation. Panics if
/// an invariant is violated: names are short and printable, and each operation has the log position
/// of a snippet.
pub fn fuzz(protocol: &ProtocolSpec, bytes: &[u8]) {
    let (mut of_parser, mut of_conversation) = (Vec::new(), Vec::new());
    let (mut parser, mut conversation) = ((protocol.open)(), Conversation::new());
    let pieces = decode_snippets(bytes);
    for piece in &pieces {
        // A parser that has left the flow is not called again.
        if !matches!(
            parser.parse_snippet(piece, &mut OperationSink::new(&mut of_parser, piece.speaker)),
            crate::parser::FlowContinuation::Same
        ) {
            parser = (protocol.open)();
        }
        conversation.add_snippet(piece, &mut of_conversation);
    }
    parser.finish_parsing(&mut OperationSink::new(&mut of_parser, FlowSpeaker::Client));
    conversation.finish_conversation(&mut of_conversation);
    of_parser.iter().chain(&of_conversation).for_each(|said| check_operation(said, &pieces));
}

/// Passes arbitrary bytes as text to the functions that build names. Panics if the names are long
/// or not printable.
pub fn fuzz_names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut names = vec![target_route(&text), reduce_label(&text)];
    for dialect in [StatementDialect::PostgreSql, StatementDialect::MySql] {
        for whole in [true, false] {
            let summary = summarise_statement(bytes, whole, dialect);
            assert!(summary.detail.len() <= DETAIL_BYTES, "{summary:?}");
            assert!(is_printable(&summary.detail), "{summary:?}");
            names.push(summary.name);
        }
    }
    for name in names {
        assert!(name.len() <= NAME_BYTES && is_printable(&name), "{name:?}");
    }
}

fn is_printable(text: &str) -> bool {
    text.chars().all(|of| of == ' ' || of.is_ascii_graphic())
}

fn check_operation(
    SpokenOperation { speaker, operation }: &SpokenOperation,
    pieces: &[FlowSnippet<'_>],
) {
    let ProtocolOperation { name, status, detail, place, .. } = operation;
    assert!(name.len() <= NAME_BYTES && status.len() <= 32, "{operation:?}");
    assert!(detail.len() <= DETAIL_BYTES, "{operation:?}");
    assert!([name, status, detail].iter().all(|text| is_printable(text)), "{operation:?}");
    let is_place =
        |piece: &FlowSnippet<'_>| piece.place.ticks == place.ticks && piece.speaker == *speaker;
    assert!(pieces.iter().any(is_place), "{speaker:?}: {operation:?}");
}

/// Decodes snippets, each stored as a flag byte, a length of two bytes (little-endian), and the
/// bytes.
fn decode_snippets(mut bytes: &[u8]) -> Vec<FlowSnippet<'_>> {
    let mut pieces = Vec::new();
    while let [flags, low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (piece, after) = rest.split_at(length);
        let is = |flag| flags & flag != 0;
        pieces.push(FlowSnippet {
            speaker: if is(SERVER) { FlowSpeaker::Server } else { FlowSpeaker::Client },
            class: match (is(HTTP1), is(HTTP2)) {
                (true, _) => SnippetRule::Http1,
                (_, true) => SnippetRule::Http2,
                _ => SnippetRule::Other,
            },
            bytes: piece,
            continues: is(CONTINUES),
            begins_turn: is(BEGINS_TURN),
            cut: is(CUT),
            datagram: is(DATAGRAM),
            place: LogPosition { ticks: pieces.len() as u64, at: 0 },
        });
        bytes = after;
    }
    pieces
}

/// Encodes snippets as bytes that `fuzz` decodes.
#[cfg(test)]
pub(crate) fn encode_snippets<'a>(pieces: impl IntoIterator<Item = FlowSnippet<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        let flags = [
            (piece.speaker == FlowSpeaker::Server, SERVER),
            (piece.continues, CONTINUES),
            (piece.begins_turn, BEGINS_TURN),
            (piece.cut, CUT),
            (piece.datagram, DATAGRAM),
            (piece.class == SnippetRule::Http1, HTTP1),
            (piece.class == SnippetRule::Http2, HTTP2),
        ];
        bytes.push(flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum());
        bytes.extend((piece.bytes.len() as u16).to_le_bytes());
        bytes.extend(piece.bytes);
    }
    bytes
}
