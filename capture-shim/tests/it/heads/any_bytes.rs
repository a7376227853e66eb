//! Any bytes in any parts: nothing panics, limits of kept bytes hold, and secrets are never kept.

use proptest::prelude::*;

use super::fuzz;
use super::sink::SnippetClass;
use super::talk::{By, Kept, Talk};
use crate::tuning::{MAX_KEPT_FRAME_BYTES, MAX_KEPT_LINES_BYTES, MAX_KEPT_TURN_BYTES};

/// Pieces of a conversation: meaningful ones, and any others.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&'static [u8]> = vec![
        b"GET / HTTP/1.1\r\n",
        b"POST /a HTTP/1.1\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 101 X\r\nUpgrade: h2c\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Host: a\r\n",
        b"\r\n",
        b"\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\0\0\0\x04\0\0\0\0\0",
        b"\0\0\x05\x01\x2c\0\0\0\x01",
        b"\0\0\x03\x09\x04\0\0\0\x01\x82\x84\x40",
        b"\x16\x03\x01\x02\0\x01",
        b"PROXY TCP4 1.1.1.1 2.2.2.2 3 4\r\n",
        b"x-b3-traceid: 5",
        b"*1\r\n$4\r\nPING\r\n",
    ];
    prop_oneof![
        4 => prop::sample::select(known).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 1..40),
        1 => (any::<u8>(), 1..5000usize).prop_map(|(byte, count)| vec![byte; count]),
    ]
}

/// Transfers of both ends.
fn transfers() -> impl Strategy<Value = Vec<(By, Vec<u8>)>> {
    let by = prop_oneof![Just(By::Client), Just(By::Server)];
    let said = prop::collection::vec(piece(), 1..8).prop_map(|pieces| pieces.concat());
    prop::collection::vec((by, said), 1..12)
}

/// Longest head of each class that may be kept.
fn longest(class: SnippetClass) -> usize {
    match class {
        SnippetClass::Http1 => MAX_KEPT_LINES_BYTES,
        SnippetClass::Http2 => MAX_KEPT_FRAME_BYTES + 9,
        SnippetClass::Other => MAX_KEPT_TURN_BYTES,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn arbitrary_bytes_cause_no_panic(said in transfers(), sizes in prop::collection::vec(1..50usize, 1..5)) {
        let mut talk = Talk::new();
        for (index, (by, bytes)) in said.iter().enumerate() {
            let size = sizes[index % sizes.len()];
            match index % 4 {
                0 => talk.say(*by, bytes),
                1 => talk.say_in(*by, &bytes.chunks(size).collect::<Vec<_>>()),
                2 => talk.pass(*by, bytes.len() as u64),
                _ => talk.say_parts(*by, bytes, size),
            };
        }
        for by in [By::Client, By::Server] {
            let mut length = 0;
            for Kept { run, bytes, .. } in talk.kept.iter().filter(|kept| kept.by == by) {
                prop_assert_eq!(run.length, bytes.len());
                length = if run.continues { length + run.length } else { run.length };
                prop_assert!(length <= longest(run.class), "{:?}", run);
            }
        }
    }

    /// Kept bytes were sent, whatever is sent and whatever happens.
    #[test]
    fn kept_bytes_were_sent(
        pieces in prop::collection::vec((any::<u8>(), 0..4u8, piece(), 0..60usize), 1..20),
    ) {
        let mut bytes = Vec::new();
        for (flags, event, piece, cut) in &pieces {
            // Most pieces are bytes. Some of these arrive in parts.
            let flags = if *event == 0 { *flags } else { flags & 0x7f };
            let (begin, end) = piece.split_at(*cut.min(&piece.len()));
            for part in [begin, end] {
                bytes.push(flags);
                bytes.extend((part.len() as u16).to_le_bytes());
                bytes.extend(part);
            }
        }
        fuzz::any(&bytes);
        fuzz::frames(&pieces.into_iter().flat_map(|(_, _, piece, _)| piece).collect::<Vec<u8>>());
    }

    #[test]
    fn secrets_are_never_kept(
        cuts in prop::collection::vec(0..2000usize, 0..12),
        length in 0..300usize,
        name in prop::sample::select(vec!["Cookie", "authorization", "X-Api-Key", "Set-Cookie", "Proxy-Authorization"]),
        seen in any::<bool>(),
    ) {
        let secret = "SECRET".repeat(1 + length / 6);
        let request = format!("POST /a HTTP/1.1\r\nHost: a\r\n{name}: {secret}\r\nContent-Length: {}\r\n\r\n{secret}", secret.len());
        let answer = format!("HTTP/1.1 200 OK\r\n{name}: {secret}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{secret}\r\n0\r\n\r\n", secret.len());
        let mut talk = Talk::new();
        for _ in 0..2 {
            for (by, said) in [(By::Client, &request), (By::Server, &answer)] {
                let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % said.len()).collect();
                cuts.extend([0, said.len()]);
                cuts.sort_unstable();
                for part in cuts.windows(2).filter(|part| part[0] < part[1]) {
                    talk.say(by, &said[part[0]..part[1]]);
                    if seen {
                        // As if another thread were in the same direction.
                        talk.say_at(by, 0, u64::MAX / 2, &[]);
                    }
                }
            }
        }
        for kept in &talk.kept {
            prop_assert!(!kept.text().contains("SECRET"), "{:?}", kept);
        }
    }
}
