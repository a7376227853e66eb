//! Samples as the library keeps them, with secrets and values blanked: they are told as without.

use snippets::{Context, blank_datagram, blank_turn};

use crate::kinds::PROTOCOLS;
use crate::piece::{Class, Speaker};
use crate::talk::{Owned, Talk, operations};

/// The pieces of a conversation as the library writes them.
pub(crate) fn blanked(talk: &Talk) -> Vec<Owned> {
    let mut pieces = talk.pieces();
    let mut context = Context::default();
    let mut turn: Vec<u8> = Vec::new();
    for piece in &mut pieces {
        if piece.of.class != Class::Other {
            continue;
        }
        if piece.of.datagram {
            blank_datagram(&mut piece.bytes);
            continue;
        }
        if piece.of.begins_turn {
            turn.clear();
        }
        let before = turn.len();
        turn.extend(&piece.bytes);
        let mut kept = turn.clone();
        let direction = u8::from(piece.of.speaker == Speaker::Server);
        blank_turn(&mut kept, &mut context, direction);
        piece.bytes = kept.split_off(before);
    }
    pieces
}

#[test]
fn operations_are_those_of_what_was_said() {
    for protocol in PROTOCOLS {
        // The library has a way of its own for messages of Redis.
        for talk in (protocol.samples)().iter().filter(|_| protocol.about.name != "redis") {
            let pieces = blanked(talk);
            let text: Vec<String> = pieces
                .iter()
                .map(|of| String::from_utf8_lossy(&of.bytes).escape_debug().to_string())
                .collect();
            assert_eq!(operations(&pieces), talk.operations(), "{text:#?}");
        }
    }
}

#[test]
fn nothing_of_a_client_s_own_is_kept() {
    for protocol in PROTOCOLS {
        for talk in (protocol.samples)().iter().filter(|_| protocol.about.name != "redis") {
            for piece in blanked(talk).iter().filter(|piece| piece.of.class == Class::Other) {
                let text = String::from_utf8_lossy(&piece.bytes).to_lowercase();
                // Topics and routes are names, from which what may be somebody's is left out later.
                let text = text.replace("user.alice", "");
                let own = ["alice", "secret"].into_iter().find(|own| text.contains(own));
                assert_eq!(own, None, "{}: {text:?}", protocol.about.name);
            }
        }
    }
}
