//! Tests of every protocol on its samples: damaged, divided and truncated.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::cases::run_cases;
use crate::fuzz::{encode_snippets, fuzz, fuzz_names};
use crate::operation::{ProtocolOperation, SpokenOperation};
use crate::test_conversation::{
    OwnedSnippet, TestConversation, run_conversation, spoken_operations,
};

fn all_samples() -> impl Iterator<Item = (&'static ProtocolSpec, TestConversation)> {
    let of = |protocol: &'static ProtocolSpec| {
        (protocol.samples)().into_iter().map(move |of| (protocol, of))
    };
    PROTOCOLS.iter().copied().flat_map(of)
}

fn encode_conversation(talk: &TestConversation) -> Vec<u8> {
    encode_snippets(talk.snippets().iter().map(OwnedSnippet::as_snippet))
}

#[test]
fn registry_entries_are_complete() {
    assert_eq!(registry::registry_faults(PROTOCOLS), Vec::<String>::new());
    for protocol in PROTOCOLS {
        assert!(protocol.recognised.ends_with('.'), "{protocol:?}");
        let operations: Vec<_> =
            (protocol.samples)().iter().map(TestConversation::parse_operations).collect();
        assert!(
            operations.iter().all(|operations| !operations.is_empty()),
            "{protocol:?} tells nothing of a sample"
        );
        let is_own = |of: &ProtocolOperation| of.protocol == protocol.about.name;
        assert!(operations.iter().flatten().any(is_own), "{protocol:?} is in none of its samples");
        assert_eq!(protocol_name(protocol.about.name), Some(protocol.about.name));
    }
    assert_eq!(protocol_name("gopher"), None);
}

/// Writes the samples as fuzzing seeds of their protocols, if `scripts/fuzz` asks for them.
#[test]
fn seeds_for_fuzzing() {
    let mut numbers = std::collections::HashMap::new();
    let mut seeds = Vec::new();
    for (protocol, talk) in all_samples() {
        let seed = encode_conversation(&talk);
        fuzz(protocol, &seed);
        // The blanking of snippets is fuzzed with the same conversations.
        seeds.extend([("heads", seed.clone()), (protocol.about.name, seed)]);
    }
    for text in TEXTS {
        fuzz_names(text.as_bytes());
        seeds.push(("names", text.as_bytes().to_vec()));
    }
    let Some(corpus) = std::env::var_os("FUZZ_SEEDS") else { return };
    for (target, seed) in seeds {
        let directory = Path::new(&corpus).join(target);
        std::fs::create_dir_all(&directory).unwrap();
        let number = numbers.entry(target).or_insert(0);
        std::fs::write(directory.join(format!("seed-{number}")), seed).unwrap();
        *number += 1;
    }
}

/// Texts from which names are built.
const TEXTS: &[&str] = &[
    "/api/v1/products/OLJCESPC7Z.html;a=b?x=/y#z",
    "http://alice:secret@shop.test/how-to-cook/%61lice",
    "user.alice.created-550e8400_orders2024",
    "SELECT a, f('x') FROM s.books AS b JOIN \"c d\" ON b.x = c.y WHERE b.i IN (1, 2e3) LIMIT 10",
    "INSERT INTO `books` (a, b) VALUES (_utf8'x''y', 0x1f), ($$z$$, $1) /* why */ -- so",
    "WITH w AS (UPDATE t SET a = E'\\n' RETURNING *) DELETE FROM ONLY w USING u WHERE a::int > ?",
    "CREATE USER x PASSWORD 'y'; SET z = DEFAULT; CALL p(@a, N'b')",
];

#[test]
fn any_texts() {
    for text in TEXTS {
        run_cases(300, mutate_bytes(text.as_bytes().to_vec()), |bytes| fuzz_names(&bytes));
    }
}

/// Mutates a conversation: some bytes are changed, removed or duplicated.
fn mutate_bytes(whole: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = whole.len();
    let change = (0..length, 0..length, any::<u8>(), 0u8..5);
    proptest::collection::vec(change, 0..6).prop_map(move |changes| {
        let mut bytes = whole.clone();
        for (a, b, byte, kind) in changes {
            let (a, b) = (a.min(b).min(bytes.len()), a.max(b).min(bytes.len()));
            match kind {
                0 => bytes.truncate(b),
                1 => drop(bytes.drain(a..b)),
                2 => bytes.extend_from_within(a..b),
                3 => bytes.insert(a, byte),
                _ => bytes.iter_mut().skip(a).take(1).for_each(|changed| *changed = byte),
            }
        }
        bytes
    })
}

#[test]
fn damaged_conversations() {
    for (protocol, talk) in all_samples() {
        run_cases(300, mutate_bytes(encode_conversation(&talk)), |bytes| fuzz(protocol, &bytes));
    }
}

#[test]
fn any_bytes() {
    for protocol in PROTOCOLS {
        let bytes = proptest::collection::vec(any::<u8>(), 0..400);
        run_cases(200, bytes, |bytes| fuzz(protocol, &bytes));
    }
}

/// Divides snippets at random; the operations stay the same.
#[test]
fn operations_do_not_depend_on_the_division_of_snippets() {
    for (protocol, talk) in all_samples() {
        let whole = talk.snippets();
        if whole.iter().any(|piece| piece.of.datagram) {
            continue;
        }
        let expected = sort_operations(spoken_operations(&whole));
        let cuts = proptest::collection::vec(any::<prop::sample::Index>(), whole.len() * 3);
        run_cases(60, cuts, |cuts| {
            let divided: Vec<OwnedSnippet> = whole
                .iter()
                .zip(cuts.chunks(3))
                .flat_map(|(piece, cuts)| {
                    let length = piece.bytes.len();
                    let mut at: Vec<usize> = cuts.iter().map(|of| of.index(length + 1)).collect();
                    at.extend([0, length]);
                    at.sort_unstable();
                    at.dedup();
                    at.windows(2)
                        .map(|ends| part_of_snippet(piece, ends[0], ends[1]))
                        .collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(sort_operations(spoken_operations(&divided)), expected, "{protocol:?}");
        });
    }
}

/// Part of a snippet, as the library would have written it.
fn part_of_snippet(piece: &OwnedSnippet, begin: usize, end: usize) -> OwnedSnippet {
    let mut of = piece.of;
    of.continues |= begin > 0;
    of.begins_turn &= begin == 0;
    of.cut &= end == piece.bytes.len();
    of.place.at += begin as u32;
    OwnedSnippet { bytes: piece.bytes[begin..end].to_vec(), of }
}

fn sort_operations(mut said: Vec<SpokenOperation>) -> Vec<SpokenOperation> {
    said.sort_by_key(|said| said.operation.place);
    said
}

/// Truncates conversations at every byte: the certain operations equal the beginning of the whole
/// conversation's, and an incomplete message yields the same operation or less of it.
#[test]
fn truncated_conversations_yield_the_beginning_of_the_operations() {
    for (protocol, talk) in all_samples() {
        let whole = talk.snippets();
        let (all, _) = run_conversation(&whole);
        for number in 0..whole.len() {
            for length in 0..whole[number].bytes.len() {
                let mut pieces = whole[..number].to_vec();
                if length > 0 {
                    pieces.push(part_of_snippet(&whole[number], 0, length));
                }
                let (certain, mut conversation) = run_conversation(&pieces);
                assert_eq!(certain, all[..certain.len()], "{protocol:?}, piece {number}");
                let mut rest = Vec::new();
                conversation.finish_conversation(&mut rest);
                let full = spoken_operations(&whole);
                for operation in rest {
                    let SpokenOperation { speaker, operation } = operation;
                    let is_less =
                        |SpokenOperation { speaker: by, operation: of }: &&SpokenOperation| {
                            (*by, of.place, of.role) == (speaker, operation.place, operation.role)
                                && is_within(of.protocol, operation.protocol)
                                && of.name.starts_with(&operation.name)
                                && (operation.status.is_empty() || of.status == operation.status)
                        };
                    assert!(full.iter().any(|of| is_less(&of)), "{protocol:?}: {operation:?}");
                }
            }
        }
    }
}

/// Whether `other` is an incomplete form of the operation `of`.
fn is_within(of: &str, other: &str) -> bool {
    of == other || matches!((of, other), ("websocket", "http") | ("grpc", "http2"))
}
