//! Bytes in pieces, and the messages that are made of them.

use super::*;
use crate::operation::{Operation, Role, Said};
use crate::piece::Class;

/// Messages of a length in one byte and a text, `?` for one that is nothing known.
struct Toy;

impl Messages for Toy {
    const NAME: &'static str = "toy";
    const BOUND: usize = 64;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let length = usize::from(heard.bytes[0]);
        if heard.bytes[0] == b'?' {
            return Step::Lost;
        }
        let text = heard.bytes.get(1..).unwrap_or_default();
        if text.len() < length && !heard.ended {
            return Step::More;
        }
        let text = &text[..text.len().min(length)];
        let name =
            format!("{}{}", String::from_utf8_lossy(text), if heard.after_gap { "~" } else { "" });
        out.push(Operation::new(heard.place(0), Role::OneWay, "toy").named(name));
        Step::Skip(1 + length as u64)
    }

    fn gap(&mut self, _: Speaker, out: &mut Out<'_>) {
        out.push(Operation::new(Place::default(), Role::OneWay, "toy").named("gap"));
    }
}

fn piece(bytes: &[u8], ticks: u64) -> Piece<'_> {
    Piece {
        speaker: Speaker::Client,
        class: Class::Other,
        bytes,
        continues: true,
        begins_turn: false,
        cut: false,
        datagram: false,
        place: Place { ticks, at: 0 },
    }
}

fn told(pieces: &[Piece<'_>]) -> Vec<String> {
    let (mut toys, mut out) = (Streams::new(Toy), Vec::new());
    for piece in pieces {
        toys.take(piece, &mut Out::new(&mut out, piece.speaker));
    }
    toys.finish(&mut Out::new(&mut out, Speaker::Client));
    let told = |Said { operation: of, .. }: &Said| {
        format!("{} {}+{}", of.name, of.place.ticks, of.place.at)
    };
    out.iter().map(told).collect()
}

#[test]
fn messages_have_the_places_of_their_first_bytes() {
    let pieces = [piece(b"\x01a\x03b", 1), piece(b"cd\x02e", 2), piece(b"f\x01g", 3)];
    assert_eq!(told(&pieces), ["a 1+0", "bcd 1+2", "ef 2+2", "g 3+1"]);
}

#[test]
fn a_message_that_is_skipped_may_be_still_to_come() {
    let long = [b"\x64".as_slice(), &[b'a'; 70]].concat();
    let rest = [[b'a'; 30].as_slice(), b"\x01b"].concat();
    let told = told(&[piece(&long, 1), piece(&rest, 2)]);
    assert_eq!(told[1], "b 2+30");
}

#[test]
fn a_turn_that_was_kept_as_a_whole_is_followed_by_the_next() {
    let next = Piece { continues: false, begins_turn: true, ..piece(b"b\x01c", 2) };
    let server = Piece { speaker: Speaker::Server, ..piece(b"\x01x", 1) };
    assert_eq!(told(&[piece(b"\x02a", 1), server, next]), ["x 1+0", "ab 1+0", "c 2+1"]);
    let next = Piece { continues: false, begins_turn: true, ..piece(b"\x01c", 2) };
    let cut = Piece { cut: true, ..piece(b"\x02a", 1) };
    assert_eq!(told(&[cut, server, next]), ["a 1+0", "x 1+0", "gap 0+0", "c~ 2+0"]);
    let full = [b"\x7f".as_slice(), &[b'a'; 127], b"\x7f", &[b'b'; 127]].concat();
    let told = told(&[piece(&full, 1), server, next]);
    assert_eq!(told[2..], ["x 1+0", "gap 0+0", "c~ 2+0"]);
}

#[test]
fn what_is_not_known_is_passed_until_the_next_turn() {
    let server = Piece { speaker: Speaker::Server, ..piece(b"\x01x", 2) };
    let next = Piece { begins_turn: true, ..piece(b"\x01c", 3) };
    let pieces = [piece(b"\x01a?\x01b", 1), piece(b"\x01b", 1), server, next];
    assert_eq!(told(&pieces), ["a 1+0", "x 2+0", "c~ 3+0"]);
}

#[test]
fn bytes_behind_a_gap_within_a_turn_say_nothing() {
    let pieces =
        [piece(b"\x01a", 1), Piece { continues: false, ..piece(b"\x01b", 2) }, piece(b"\x01c", 3)];
    assert_eq!(told(&pieces), ["a 1+0", "gap 0+0"]);
}
