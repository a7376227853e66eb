//! Protocols on any bytes, for fuzzing and property tests.

use crate::conversation::Conversation;
use crate::names::{Dialect, label, path, statement};
use crate::operation::{Operation, Out, Said};
use crate::piece::{Class, Piece, Place, Speaker};
use crate::protocol::Protocol;
use crate::tuning::{DETAIL_BYTES, NAME_BYTES};

/// Bits of the byte in front of each piece.
const SERVER: u8 = 1;
const CONTINUES: u8 = 2;
const BEGINS_TURN: u8 = 4;
const CUT: u8 = 8;
const DATAGRAM: u8 = 16;
const HTTP1: u8 = 32;
const HTTP2: u8 = 64;

/// Gives any bytes as pieces to the parser of a protocol, and to a conversation. Panics where these
/// break their word: names are short and printable, and places are those of pieces.
pub fn fuzz(protocol: &Protocol, bytes: &[u8]) {
    let (mut of_parser, mut of_conversation) = (Vec::new(), Vec::new());
    let (mut parser, mut conversation) = ((protocol.open)(), Conversation::new());
    let pieces = decode(bytes);
    for piece in &pieces {
        // A parser that gave way is not asked again.
        if !matches!(
            parser.take(piece, &mut Out::new(&mut of_parser, piece.speaker)),
            crate::parser::Next::Same
        ) {
            parser = (protocol.open)();
        }
        conversation.take(piece, &mut of_conversation);
    }
    parser.finish(&mut Out::new(&mut of_parser, Speaker::Client));
    conversation.finish(&mut of_conversation);
    of_parser.iter().chain(&of_conversation).for_each(|said| check(said, &pieces));
}

/// Gives any bytes as a text to what makes names. Panics where these are long or not printable.
pub fn fuzz_names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut names = vec![path(&text), label(&text)];
    for dialect in [Dialect::PostgreSql, Dialect::MySql] {
        for whole in [true, false] {
            let summary = statement(bytes, whole, dialect);
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

fn check(Said { speaker, operation }: &Said, pieces: &[Piece<'_>]) {
    let Operation { name, status, detail, place, .. } = operation;
    assert!(name.len() <= NAME_BYTES && status.len() <= 32, "{operation:?}");
    assert!(detail.len() <= DETAIL_BYTES, "{operation:?}");
    assert!([name, status, detail].iter().all(|text| is_printable(text)), "{operation:?}");
    let is_place =
        |piece: &Piece<'_>| piece.place.ticks == place.ticks && piece.speaker == *speaker;
    assert!(pieces.iter().any(is_place), "{speaker:?}: {operation:?}");
}

/// A piece is a byte of flags, its length in two bytes (little-endian), and its bytes.
fn decode(mut bytes: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while let [flags, low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (piece, behind) = rest.split_at(length);
        let is = |flag| flags & flag != 0;
        pieces.push(Piece {
            speaker: if is(SERVER) { Speaker::Server } else { Speaker::Client },
            class: match (is(HTTP1), is(HTTP2)) {
                (true, _) => Class::Http1,
                (_, true) => Class::Http2,
                _ => Class::Other,
            },
            bytes: piece,
            continues: is(CONTINUES),
            begins_turn: is(BEGINS_TURN),
            cut: is(CUT),
            datagram: is(DATAGRAM),
            place: Place { ticks: pieces.len() as u64, at: 0 },
        });
        bytes = behind;
    }
    pieces
}

/// The bytes that stand for pieces, as `fuzz` reads them.
#[cfg(test)]
pub(crate) fn encode<'a>(pieces: impl IntoIterator<Item = Piece<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        let flags = [
            (piece.speaker == Speaker::Server, SERVER),
            (piece.continues, CONTINUES),
            (piece.begins_turn, BEGINS_TURN),
            (piece.cut, CUT),
            (piece.datagram, DATAGRAM),
            (piece.class == Class::Http1, HTTP1),
            (piece.class == Class::Http2, HTTP2),
        ];
        bytes.push(flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum());
        bytes.extend((piece.bytes.len() as u16).to_le_bytes());
        bytes.extend(piece.bytes);
    }
    bytes
}
