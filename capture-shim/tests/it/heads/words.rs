//! Kept bytes of protocols other than HTTP, and of encrypted data.

use super::sink::SnippetClass;
use super::talk::By::{Client, Server};
use super::talk::Talk;
use crate::tuning::MAX_KEPT_TURN_BYTES;

#[test]
fn the_first_bytes_of_a_turn_are_kept() {
    let mut talk = Talk::new();
    let long: Vec<u8> = (0..1000).map(|byte| byte as u8 | 0x80).collect();
    talk.say(Client, b"*1\r\n$4\r\nPING\r\n").say(Server, b"+PONG\r\n").say(Client, &long);
    talk.say(Client, &long).say(Server, b"+OK\r\n");
    let heads: Vec<Vec<u8>> = talk.kept.iter().map(|kept| kept.bytes.clone()).collect();
    let expected: [&[u8]; 4] =
        [b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n", &long[..MAX_KEPT_TURN_BYTES], b"+OK\r\n"];
    assert_eq!(heads, expected);
    assert!(
        talk.kept.iter().all(|kept| kept.run.class == SnippetClass::Other && !kept.run.continues)
    );
    assert_eq!(
        talk.kept.iter().map(|kept| kept.run.cut).collect::<Vec<_>>(),
        [false, false, true, false]
    );
}

#[test]
fn a_turn_may_come_in_parts() {
    for size in 1..300 {
        let said: Vec<u8> = (0..600).map(|byte| byte as u8 | 0x80).collect();
        let mut talk = Talk::new();
        talk.say_parts(Client, &said, size);
        let kept: Vec<u8> = talk.kept.iter().flat_map(|kept| kept.bytes.clone()).collect();
        assert_eq!(kept, said[..MAX_KEPT_TURN_BYTES], "{size}");
        let continued = talk.kept.iter().map(|kept| kept.run.continues);
        assert!(continued.enumerate().all(|(index, continues)| continues == (index > 0)));
        // The next turn begins anew.
        let before = talk.kept.len();
        talk.say(Server, "x").say(Client, "yes");
        assert_eq!(talk.kept[before + 1].bytes, b"yes");
        assert!(!talk.kept[before + 1].run.continues);
    }
}

#[test]
fn text_that_begins_like_a_method_is_kept_once_it_is_classified() {
    let mut talk = Talk::new();
    talk.say(Client, "P").say(Client, "ING\r\n");
    assert_eq!(talk.heads(Client), [(SnippetClass::Other, "PING\r\n".into())]);
    assert_eq!((talk.kept[0].transfer, talk.kept[0].run.offset), (1, 0));
    // A method alone makes no request.
    let mut talk = Talk::new();
    talk.say(Client, "DELETE FROM users\r\n");
    assert_eq!(talk.heads(Client), [(SnippetClass::Other, "DELETE FROM users\r\n".into())]);
}

#[test]
fn unseen_bytes_end_a_turn() {
    let mut talk = Talk::new();
    talk.say(Client, "begins").pass(Client, 10).say(Client, "goes on");
    talk.say(Server, "answers").say(Client, "asks");
    let kept = ["begins", "asks"].map(|text| (SnippetClass::Other, text.to_owned()));
    assert_eq!(talk.heads(Client), kept);
}

#[test]
fn nothing_of_encrypted_bytes_is_kept() {
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfcSECRET";
    for size in [1, 2, 5, hello.len()] {
        let mut talk = Talk::new();
        talk.say_parts(Client, hello, size);
        talk.say(Server, b"\x16\x03\x03\x00\x7a\x02SECRET")
            .say(Client, b"\x17\x03\x03\x00\x20SECRET");
        // In the middle of a record.
        talk.say(Server, b"SECRET").say(Client, "GET / HTTP/1.1\r\n\r\n");
        assert_eq!(talk.kept, [], "{size}");
    }
    // After a turn that was not encrypted.
    let mut talk = Talk::new();
    talk.say(Server, "220 mail\r\n").say(Client, "STARTTLS\r\n").say(Server, "220 go\r\n");
    talk.say(Client, hello).say(Server, b"\x16\x03\x03\x00\x7a\x02SECRET");
    assert_eq!(talk.kept.len(), 3);
}

#[test]
fn a_proxy_header_is_skipped() {
    let header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01\0\x50\0\x51";
    let mut talk = Talk::new();
    talk.say(Client, [&header[..], b"GET / HTTP/1.1\r\nCookie: SECRET\r\n\r\n"].concat());
    assert_eq!(talk.heads(Client), [(SnippetClass::Http1, "GET / HTTP/1.1\r\n\r\n".into())]);
}

#[test]
fn a_packet_header_and_its_body_are_one_turn() {
    let mut wrong = Vec::new();
    for length in 1..=255_u8 {
        let mut talk = Talk::new();
        let body = [&[3], "SHOW FULL COLUMNS FROM `x`".repeat(10).as_bytes()].concat();
        for _ in 0..2 {
            talk.say(Client, [length, 0, 0, 0]).say(Client, &body[..usize::from(length)]);
            talk.say(Server, [7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        }
        let of_client = talk.kept.iter().filter(|kept| kept.by == Client);
        let runs: Vec<_> = of_client.map(|kept| (kept.run.continues, kept.bytes.len())).collect();
        let one = [(false, 4), (true, usize::from(length).min(252))];
        if runs != [one, one].concat() {
            wrong.push((length, runs));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
