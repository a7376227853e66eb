//! Frames of HTTP/2 and header blocks. The blocks are those of RFC 7541, appendix C, or made here.

use std::mem::MaybeUninit;

use proptest::prelude::*;

use super::fuzz;
use super::hpack::{HeaderBlocks, QueryBlanker};
use super::sink::{SnippetClass, SnippetRun, SnippetSink};
use super::talk::By::{Client, Server};
use super::talk::{By, Talk};
use crate::tuning::MAX_KEPT_FRAME_BYTES;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A field with a literal name, as an entry of the table.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let length = [value.len() as u8];
    [&[0x40, name.len() as u8], name.as_bytes(), &length, value.as_bytes()].concat()
}

/// A field with the name of a table entry.
fn named(index: u8, value: &str) -> Vec<u8> {
    assert!(index < 63);
    [&[0x40 | index, value.len() as u8], value.as_bytes()].concat()
}

fn kept(talk: &Talk, by: By) -> Vec<u8> {
    talk.kept.iter().filter(|kept| kept.by == by).flat_map(|kept| kept.bytes.clone()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

struct Whole(Vec<u8>);

impl SnippetSink for Whole {
    fn begin_run(&mut self, _: SnippetRun) {}

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    fn put_blanks(&mut self, count: usize) {
        self.0.resize(self.0.len() + count, b'*');
    }
}

/// Result of blocks, one after another, each passed in parts of `size` bytes.
fn blanked(blocks: &[Vec<u8>], size: usize) -> Vec<Vec<u8>> {
    // SAFETY: all zeros are valid.
    let mut walk = unsafe { MaybeUninit::<HeaderBlocks>::zeroed().assume_init() };
    let mut query = QueryBlanker::default();
    let mut each = |block: &Vec<u8>| {
        let mut whole = Whole(Vec::new());
        walk.begin_block();
        block.chunks(size).for_each(|part| walk.walk_block(part, &mut query, &mut whole));
        assert_eq!(whole.0.len(), block.len());
        whole.0
    };
    blocks.iter().map(&mut each).collect()
}

#[test]
fn frames_that_identify_messages_are_kept() {
    let block = [&[0x83, 0x86][..], &named(4, "/a"), &literal("cookie", "SECRET")].concat();
    let headers = frame(1, END_HEADERS, 1, &block);
    let settings = frame(4, 0, 0, &[0, 3, 0, 0, 0, 100]);
    let reset = frame(3, 0, 5, &[0, 0, 0, 8]);
    let data = frame(0, 0, 1, b"SECRET");
    let end = frame(0, END_STREAM, 1, b"SECRET");
    let ping = frame(6, 0, 0, b"SECRET12");
    let said = [PREFACE, &settings, &headers, &data, &ping, &data, &end, &reset].concat();
    let hidden = [&[0x83, 0x86][..], &named(4, "/a"), &literal("cookie", "******")].concat();
    let expected = [&settings[..], &frame(1, END_HEADERS, 1, &hidden), &end[..9], &reset].concat();
    for size in 1..=said.len() {
        let mut talk = Talk::new();
        talk.say_parts(Client, &said, size);
        assert_eq!(kept(&talk, Client), expected, "in transfers of {size} bytes");
        assert!(
            talk.kept.iter().all(|kept| kept.run.class == SnippetClass::Http2 && !kept.run.cut)
        );
        let mut talk = Talk::new();
        talk.say_in(Client, &said.chunks(size).collect::<Vec<_>>());
        assert_eq!(kept(&talk, Client), expected, "in buffers of {size} bytes");
    }
    let mut talk = Talk::new();
    talk.say(Client, &said);
    let places: Vec<_> = talk
        .kept
        .iter()
        .map(|kept| (kept.run.offset, kept.run.length, kept.run.continues))
        .collect();
    let at = |frame: &[u8]| said.windows(frame.len()).position(|window| window == frame).unwrap();
    assert_eq!(
        places,
        [
            (at(&settings), settings.len(), false),
            (at(&headers), headers.len(), false),
            (at(&end), 9, false),
            (at(&reset), reset.len(), false)
        ],
        "each frame is a run at its place"
    );
}

#[test]
fn a_server_is_recognised_by_its_settings() {
    let settings = frame(4, 0, 0, &[0, 3, 0, 0, 0, 100]);
    let answer = frame(1, END_HEADERS, 1, &[0x88]);
    for size in [1, 4, 9, 100] {
        let said = [&settings[..], &answer].concat();
        // Before the client has sent anything.
        let mut talk = Talk::new();
        talk.say_parts(Server, &said, size);
        assert_eq!(kept(&talk, Server), said, "{size}");
        assert!(talk.kept.iter().all(|kept| kept.run.class == SnippetClass::Http2));
    }
}

#[test]
fn an_upgrade_to_http2_is_followed() {
    let mut talk = Talk::new();
    talk.say(Client, "GET / HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: SECRET\r\n\r\n");
    let switches = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
    let frames = [frame(4, 0, 0, &[]), frame(1, END_HEADERS, 1, &[0x88])].concat();
    talk.say(Server, [&switches[..], &frames].concat());
    talk.say(Client, [PREFACE, &frame(4, 0, 0, &[])].concat());
    assert_eq!(kept(&talk, Server), [&switches[..], &frames].concat());
    let client = "GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n";
    assert_eq!(kept(&talk, Client), [client.as_bytes(), &frame(4, 0, 0, &[])].concat());
}

#[test]
fn padding_priorities_promises_and_continuations_are_handled() {
    let block = [&[0x82][..], &literal("cookie", "SECRET"), &[0x86]].concat();
    let hidden = [&[0x82][..], &literal("cookie", "******"), &[0x86]].concat();
    let around =
        |block: &[u8], padding: &[u8]| [&[5][..], b"\0\0\0\x01\x10", block, padding].concat();
    let (flags, promise) = (PADDED | PRIORITY, [b"\0\0\0\x02", &block[..]].concat());
    for at in 0..block.len() {
        let (first, second) = block.split_at(at);
        let said = [
            frame(4, 0, 0, &[]),
            frame(1, flags, 1, &around(first, b"SECRE")),
            frame(9, END_HEADERS, 1, second),
            frame(5, END_HEADERS, 1, &promise),
        ]
        .concat();
        let (first, second) = hidden.split_at(at);
        let expected = [
            frame(4, 0, 0, &[]),
            frame(1, flags, 1, &around(first, b"*****")),
            frame(9, END_HEADERS, 1, second),
            frame(5, END_HEADERS, 1, &[b"\0\0\0\x02", &hidden[..]].concat()),
        ]
        .concat();
        for size in [1, 3, said.len()] {
            let mut talk = Talk::new();
            talk.say_parts(Server, &said, size);
            assert_eq!(kept(&talk, Server), expected, "cut at {at}, {size} bytes each");
        }
    }
}

#[test]
fn values_of_chosen_fields_are_kept_in_every_encoding_of_the_name() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let first = [
        literal("traceparent", trace),
        literal("x-token", "SECRET"),
        named(4, "/cart"),
        named(32, "SECRET"),
        named(58, "SECRET"),
    ]
    .concat();
    // The newest entry has the number 62: user-agent, cookie, :path, x-token, traceparent. Those
    // with this pattern are numbers of 4 bits and more, and become no entries.
    let by_entry = |index: u8, value: &str| {
        [&[0x0f, index - 15, value.len() as u8], value.as_bytes()].concat()
    };
    let second =
        |secret: &str| [by_entry(66, trace), by_entry(65, secret), by_entry(64, "/b")].concat();
    let hidden = [
        literal("traceparent", trace),
        literal("x-token", "******"),
        named(4, "/cart"),
        named(32, "******"),
        named(58, "******"),
    ]
    .concat();
    for size in [1, 2, 5, 1000] {
        let found = blanked(&[first.clone(), second("SECRET")], size);
        assert_eq!(found, [hidden.clone(), second("******")], "{size}");
    }
}

/// Fields of a block, with chosen and other names.
fn fields() -> impl Strategy<Value = Vec<u8>> {
    let value = || {
        let bytes = prop_oneof![
            3 => prop::collection::vec(any::<u8>(), 0..9),
            1 => prop::collection::vec(any::<u8>(), 0..300),
        ];
        (any::<bool>(), bytes).prop_map(|(is_coded, value)| {
            let mut length = match value.len() {
                length @ ..0x7f => vec![length as u8],
                length @ ..0xff => vec![0x7f, (length - 0x7f) as u8],
                length => vec![0x7f, (length - 0x7f) as u8 | 0x80, ((length - 0x7f) >> 7) as u8],
            };
            length[0] |= u8::from(is_coded) << 7;
            [length, value].concat()
        })
    };
    // Whole fields, by short and long numbers, table sizes, and named ones.
    let first = prop_oneof![
        4 => (0x80..=0xffu8).prop_map(|byte| vec![byte]),
        1 => (0x20..0x40u8).prop_map(|byte| vec![byte]),
    ];
    let begin = prop_oneof![
        (0x41..0x7fu8).prop_map(|byte| vec![byte]),
        (1..0x0fu8).prop_map(|byte| vec![byte]),
        (0x11..0x1fu8).prop_map(|byte| vec![byte]),
        // `:path`, `cookie`, and entries that were made before, as entries or not.
        prop::sample::select(vec![vec![0x44], vec![0x60], vec![0x7e]]),
        (0..4u8).prop_map(|more| vec![0x7f, more]),
        (0x2f..0x35u8).prop_map(|more| vec![0x0f, more]),
        prop::sample::select(vec!["traceparent", "x-token", "grpc-status"]).prop_map(|name| [
            &[0x40, name.len() as u8],
            name.as_bytes()
        ]
        .concat()),
    ];
    let named = (begin, value()).prop_map(|(begin, value)| [begin, value].concat());
    let field = prop_oneof![first, named];
    prop::collection::vec(field, 0..6).prop_map(|fields| fields.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// The fast path for whole frames keeps the same as the byte-by-byte path.
    #[test]
    fn frames_are_kept_alike_however_they_are_split(
        frames in prop::collection::vec((0..9u8, 0..2u8, fields()), 1..8),
        size in 1..30u8,
    ) {
        let frames = frames.iter().map(|(kind, end, payload)| match kind {
            0 => frame(0, *end, 1, payload),
            1 => frame(9, END_HEADERS, 1, payload),
            2 => frame(1, END_HEADERS | PADDED, 1, payload),
            3 => frame(1, END_HEADERS | PRIORITY, 1, payload),
            _ => frame(1, END_HEADERS | end, 1, payload),
        });
        let frames: Vec<u8> = frames.flatten().collect();
        fuzz::frames(&[&[size], &frames[..]].concat());
    }
}

/// A kept value of 127 bytes, with a length of two bytes. Read as one byte, its last byte would
/// begin another kept field, which extends to the secret one.
#[test]
fn a_secret_after_a_long_value_is_blanked() {
    let path = [&[0x04, 0x7f, 0][..], &[b'a'; 126], &[0x44]].concat();
    let block = |secret: u8| {
        [&path[..], &literal("cookie", &char::from(secret).to_string().repeat(56))].concat()
    };
    let said = [frame(4, 0, 0, &[]), frame(1, END_HEADERS, 1, &block(b'S'))].concat();
    let mut talk = Talk::new();
    talk.say(Server, &said[..9]).say(Server, &said[9..]);
    let expected = [frame(4, 0, 0, &[]), frame(1, END_HEADERS, 1, &block(b'*'))].concat();
    assert_eq!(kept(&talk, Server), expected);
}

#[test]
fn header_blocks_of_the_rfc_are_blanked() {
    // C.4: Huffman-coded requests. The last has the field custom-key: custom-value.
    let requests = [
        hex("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"),
        hex("8286 84be 5886 a8eb 1064 9cbf"),
        hex("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"),
    ];
    let expected = [
        requests[0].clone(),
        // cache-control: no-cache
        [&hex("8286 84be 5806")[..], b"******"].concat(),
        [&hex("8287 85bf 4088 25a8 49e9 5ba9 7d7f 09")[..], b"*********"].concat(),
    ];
    // C.6: responses. Only :status is kept of them.
    let answers = [
        hex("4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b
             ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3"),
        hex("4883 640e ffc1 c0bf"),
    ];
    let stars = |count: usize| "*".repeat(count).into_bytes();
    let first =
        [&hex("4882 6402 5805")[..], &stars(5), &hex("6116"), &stars(22), &hex("6e11"), &stars(17)]
            .concat();
    for size in [1, 2, 3, 1000] {
        assert_eq!(blanked(&requests, size), expected);
        assert_eq!(blanked(&answers, size), [first.clone(), answers[1].clone()]);
    }
}

#[test]
fn invalid_blocks_are_blanked() {
    // A number of too many bytes, and a field that breaks off.
    let endless = [&[0x7f][..], &[0xff; 8], b"SECRET"].concat();
    let found = blanked(&[endless, b"\x82SECRET".to_vec()], 1000);
    assert!(found.iter().all(|block| !block.windows(6).any(|window| window == b"SECRET")));
    let found = blanked(&[vec![0x44, 5, b'/'], b"\x82\x44\x06SECRET".to_vec()], 1000);
    assert_eq!(found[1], b"*********");
}

#[test]
fn long_blocks_are_cut_and_later_frames_are_found() {
    let value = "v".repeat(20_000);
    // The length of the value in three bytes.
    let length = [0x7f, (20_000 - 127) as u8 | 0x80, ((20_000 - 127) >> 7) as u8 | 0x80, 1];
    assert_eq!(127 + 33 + ((155 - 128) << 7) + (1 << 14), 20_000);
    let block = [&[0x44][..], &length, value.as_bytes(), &literal("cookie", "SECRET")].concat();
    let next = frame(1, END_HEADERS, 3, &named(62, "SECRET"));
    let said = [frame(4, 0, 0, &[]), frame(1, END_HEADERS, 1, &block), next].concat();
    for size in [100, 1000, said.len()] {
        let mut talk = Talk::new();
        talk.say_parts(Server, &said, size);
        let kept = kept(&talk, Server);
        assert_eq!(kept.len(), 9 + 9 + MAX_KEPT_FRAME_BYTES + 17, "{size}");
        // The entry that was left out still has its name.
        assert!(kept.ends_with(&frame(1, END_HEADERS, 3, &named(62, "******"))));
        assert!(talk.kept.iter().any(|kept| kept.run.cut));
    }
}

#[test]
fn frames_are_found_again_after_unseen_bytes() {
    let mut talk = Talk::new();
    let data = frame(0, 0, 1, &[b'x'; 1000]);
    let answer = frame(1, END_HEADERS, 1, &[0x88]);
    talk.say(Server, [&frame(4, 0, 0, &[])[..], &data[..100]].concat());
    talk.pass(Server, 909).say(Server, [&data[..], &answer].concat());
    assert_eq!(kept(&talk, Server), [frame(4, 0, 0, &[]), answer.clone()].concat());
    // Beyond the end of a frame: nothing more is known.
    talk.say(Server, &data[..100]).pass(Server, 910).say(Server, &answer);
    assert_eq!(kept(&talk, Server), [frame(4, 0, 0, &[]), answer].concat());
}
