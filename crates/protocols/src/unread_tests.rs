//! Tests of unreadable turns, in conversations of all protocols.

use std::collections::BTreeSet;

use super::*;
use crate::flow_snippet::SnippetRule;
use crate::kinds::PROTOCOLS;
use crate::test_conversation::{OwnedSnippet, TestConversation, spoken_operations};

/// Protocols that emit an operation for each turn that begins a message, even an unreadable one.
const OF_TURNS: [&str; 5] = ["memcached", "mysql", "postgresql", "redis", "smtp"];

/// Turn number of each snippet.
fn turn_numbers(pieces: &[OwnedSnippet]) -> Vec<usize> {
    let mut turn = 0;
    let begins = pieces.iter().map(|piece| usize::from(piece.of.begins_turn));
    begins
        .map(|begins| {
            turn += begins;
            turn
        })
        .collect()
}

/// Numbers of the turns in which their sender has an operation.
fn operation_turns(pieces: &[OwnedSnippet]) -> BTreeSet<usize> {
    let turns = turn_numbers(pieces);
    let turn = |said: crate::operation::SpokenOperation| {
        let ticks = said.operation.place.ticks;
        let at = pieces.iter().position(|piece| piece.of.place.ticks == ticks)?;
        (pieces[at].of.speaker == said.speaker).then_some(turns[at])
    };
    spoken_operations(pieces).into_iter().filter_map(turn).collect()
}

/// Conversations of protocols with turns that may be blanked as a whole.
fn blankable_conversations() -> impl Iterator<Item = (&'static str, Vec<OwnedSnippet>)> {
    let of = PROTOCOLS.iter().flat_map(|protocol| {
        (protocol.samples)().into_iter().map(|talk| (protocol.about.name, talk.snippets()))
    });
    of.filter(|(_, pieces)| {
        pieces.iter().all(|piece| piece.of.class == SnippetRule::Other && !piece.of.datagram)
    })
}

/// The conversation with a turn of `length` bytes that were not understood.
fn blank_turn(pieces: &[OwnedSnippet], turn: usize, length: usize) -> Vec<OwnedSnippet> {
    let mut changed = Vec::new();
    for (piece, of) in pieces.iter().zip(turn_numbers(pieces)) {
        if of != turn {
            changed.push(piece.clone());
        } else if piece.of.begins_turn {
            let of = crate::flow_snippet::FlowSnippet { cut: length > 256, ..piece.of };
            changed.push(OwnedSnippet { bytes: vec![BLANK; length.min(256)], of });
        }
    }
    changed
}

/// An unknown statement loses only its own name.
#[test]
fn an_unreadable_turn_hides_no_other() {
    for (name, pieces) in blankable_conversations() {
        if !OF_TURNS.contains(&name) {
            continue;
        }
        let all = operation_turns(&pieces);
        // An incomplete message at the end could be anything.
        for turn in 1..turn_numbers(&pieces).last().copied().unwrap_or(0) {
            for length in [1, 3, 4, 5, 100, 300] {
                let left = operation_turns(&blank_turn(&pieces, turn, length));
                if left.is_empty() {
                    // The conversation is not recognised, so it has no names.
                    continue;
                }
                let missing: Vec<_> = all.difference(&left).collect();
                assert!(missing.is_empty(), "{name}: {missing:?} without {turn} of {length}");
            }
        }
    }
}

fn expected_line(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|of| (*of).to_owned()).collect()
}

#[test]
fn a_turn_of_blanks_is_a_request_without_a_name() {
    let packet = |number: u8, body: &[u8]| {
        [&(body.len() as u32).to_le_bytes()[..3], &[number], body].concat()
    };
    let query = |text: &str| packet(0, &[b"\x03", text.as_bytes()].concat());
    let answer = packet(1, b"\0\0\0\x02\0\0\0");
    let talk = TestConversation::other_protocol()
        .client_says(query("SELECT a FROM books"))
        .server_says(&answer);
    let talk = talk
        .client_says("*".repeat(300))
        .server_says(&answer)
        .client_says("***")
        .server_says(&answer);
    let talk = talk.client_says(query("SELECT a FROM b")).server_says(&answer);
    let expected = ["> SELECT books", "<", ">", "<", ">", "<", "> SELECT b", "<"];
    assert_eq!(talk.operation_lines(), expected_line(&expected));
}

/// Unknown bytes at the beginning of a turn, or before the protocol is recognised.
#[test]
fn turns_without_a_name_have_operations() {
    let memcached =
        TestConversation::other_protocol().client_says("get a\r\n").server_says("END\r\n");
    let odd =
        memcached.client_says("frob a\r\n").server_says("FROBBED\r\n").client_says("get b\r\n");
    assert_eq!(
        odd.server_says("END\r\n").operation_lines(),
        expected_line(&["> get", "< END", ">", "<", "> get", "< END"])
    );
    let late = TestConversation::other_protocol()
        .client_says("frob\r\n")
        .server_says("x\r\n")
        .client_says("frob\r\n");
    let late = late.server_says("x\r\n").client_says("get b\r\n").server_says("END\r\n");
    assert_eq!(late.operation_lines(), expected_line(&[">", "<", ">", "<", "> get", "< END"]));
}

/// A turn that seems to continue an earlier message, but does not, begins a message.
#[test]
fn a_turn_after_an_incomplete_message_is_read_separately() {
    let talk = TestConversation::other_protocol()
        .client_says("get a\r\n")
        .server_says("END\r\n")
        .client_says("get")
        .server_says("ERROR\r\n");
    let talk = talk.client_says("get b\r\n").server_says("END\r\n");
    assert_eq!(
        talk.operation_lines(),
        expected_line(&["> get", "< END", ">", "< ERROR!", "> get", "< END"])
    );
}
