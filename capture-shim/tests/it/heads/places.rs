//! Positions of heads: each is that of its first byte, however the stream is cut into transfers and
//! buffers.

use proptest::prelude::*;

use super::talk::{By, Talk};

const GET: &[u8] = b"GET /a/b HTTP/1.1\r\nhost: x\r\naccept: some\r\n\r\n";
const POST: &[u8] = b"POST /c HTTP/1.1\r\naccept: some\r\ncontent-length: 7\r\n\r\nGET / b";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nserver: a\r\ncontent-length: 2\r\n\r\nok";
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const HEADERS: &[u8] = b"\0\0\x03\x01\x04\0\0\0\x01\x82\x84\x86";
const DATA: &[u8] = b"\0\0\x0b\0\0\0\0\0\x01hello world";

/// Sends `bytes` in transfers of these sizes, every other one in buffers of these sizes.
fn say(talk: &mut Talk, by: By, bytes: &[u8], sizes: &[usize]) {
    let mut rest = bytes;
    for (index, size) in sizes.iter().cycle().enumerate() {
        let (part, after) = rest.split_at(rest.len().min(*size));
        let buffer = if index % 2 == 0 { part.len() } else { sizes[index % sizes.len()] / 2 };
        talk.say_in(by, &part.chunks(buffer.max(1)).collect::<Vec<_>>());
        rest = after;
        if rest.is_empty() {
            return;
        }
    }
}

/// Positions of the kept heads of `by`.
fn places(talk: &Talk, by: By) -> Vec<usize> {
    let begins = talk.kept.iter().filter(|kept| kept.by == by && !kept.run.continues);
    begins.map(|kept| kept.place).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn http1_heads_have_the_position_of_their_first_byte(sizes in prop::collection::vec(1..60usize, 1..6)) {
        let mut talk = Talk::new();
        for request in [GET, POST, GET] {
            say(&mut talk, By::Client, request, &sizes);
            say(&mut talk, By::Server, OK, &sizes);
        }
        prop_assert_eq!(places(&talk, By::Client), [0, GET.len(), GET.len() + POST.len()]);
        prop_assert_eq!(places(&talk, By::Server), [0, OK.len(), 2 * OK.len()]);
    }

    #[test]
    fn frames_have_the_position_of_their_first_byte(sizes in prop::collection::vec(1..60usize, 1..6)) {
        let mut talk = Talk::new();
        let settings = PREFACE.len() - 9;
        let bytes = [PREFACE, HEADERS, DATA, HEADERS].concat();
        say(&mut talk, By::Client, &bytes, &sizes);
        let frames: Vec<usize> =
            places(&talk, By::Client).into_iter().filter(|place| *place >= settings).collect();
        let first = PREFACE.len();
        let second = first + HEADERS.len() + DATA.len();
        prop_assert_eq!(frames, [settings, first, second]);
    }

    #[test]
    fn server_frames_have_the_position_of_their_first_byte(sizes in prop::collection::vec(1..60usize, 1..6)) {
        let mut talk = Talk::new();
        talk.say(By::Client, PREFACE);
        let settings = &PREFACE[PREFACE.len() - 9..];
        say(&mut talk, By::Server, &[settings, HEADERS].concat(), &sizes);
        prop_assert_eq!(places(&talk, By::Server), [0, 9]);
    }

    #[test]
    fn turns_have_the_position_of_their_first_byte(sizes in prop::collection::vec(1..60usize, 1..6)) {
        let mut talk = Talk::new();
        for turn in [&b"GETEX a\r\n"[..], b"HELO me\r\n", b"*1\r\n$4\r\nPING\r\n"] {
            say(&mut talk, By::Client, turn, &sizes);
            say(&mut talk, By::Server, b"250 HTTP is not spoken\r\n", &sizes);
        }
        prop_assert_eq!(places(&talk, By::Client), [0, 9, 18]);
        prop_assert_eq!(places(&talk, By::Server), [0, 24, 48]);
    }
}
