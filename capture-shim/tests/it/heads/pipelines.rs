//! Messages of Redis: each of a pipeline is kept with its identifying words, however it is cut into
//! transfers, and without its keys and values.

use proptest::prelude::*;

use super::sink::SnippetClass;
use super::talk::By::{self, Client, Server};
use super::talk::Talk;
use crate::tuning::{MAX_KEPT_REDIS_BYTES, MAX_KEPT_TURN_BYTES};

/// A command in the form that clients send.
fn command(words: &[&str]) -> String {
    let text = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
    format!("*{}\r\n{}", words.len(), words.iter().map(text).collect::<String>())
}

/// Kept messages of `by`: the bytes of each, where they begin, and whether more of them was left
/// out.
fn messages(talk: &Talk, by: By) -> Vec<(String, usize, bool)> {
    let mut messages: Vec<(Vec<u8>, usize, bool)> = Vec::new();
    for kept in talk.kept.iter().filter(|kept| kept.by == by) {
        assert_eq!(kept.run.class, SnippetClass::Other);
        match messages.last_mut() {
            Some((bytes, _, cut)) if kept.run.continues => {
                assert!(!*cut, "{kept:?} continues after bytes that were left out");
                bytes.extend(&kept.bytes);
                *cut = kept.run.cut;
            }
            _ => messages.push((kept.bytes.clone(), kept.place, kept.run.cut)),
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    messages.into_iter().map(|(bytes, place, cut)| (text(bytes), place, cut)).collect()
}

/// Messages, each with its kept bytes.
fn message() -> impl Strategy<Value = (String, String)> {
    let known = [
        (command(&["PING"]), "*1\r\n$4\r\nPING\r\n"),
        (command(&["GET", "SECRET"]), "*2\r\n$3\r\nGET\r\n"),
        (command(&["SET", "SECRET", &"SECRET".repeat(90)]), "*3\r\n$3\r\nSET\r\n"),
        (command(&[&"SECRET".repeat(20), "a"]), "*2\r\n$120\r\n"),
        (command(&["", "SECRET"]), "*2\r\n$0\r\n\r\n"),
        ("*0\r\n".into(), "*0\r\n"),
        ("*-1\r\n".into(), "*-1\r\n"),
        ("*2\r\n*1\r\n$6\r\nSECRET\r\n:1\r\n".into(), "*2\r\n*1\r\n"),
        ("*2\r\n:7\r\n*2\r\n+SECRET\r\n$-1\r\n".into(), "*2\r\n:7\r\n"),
    ];
    prop::sample::select(known.map(|(said, kept)| (said, kept.to_owned())).to_vec())
}

/// Messages that only a server begins with.
fn answer() -> impl Strategy<Value = (String, String)> {
    let text = "x".repeat(200);
    let known = [
        ("+OK\r\n".to_owned(), "+OK\r\n".to_owned()),
        (":12\r\n".into(), ":12\r\n".into()),
        ("$6\r\nSECRET\r\n".into(), "$6\r\n".into()),
        ("$-1\r\n".into(), "$-1\r\n".into()),
        ("=10\r\ntxt:SECRET\r\n".into(), "=10\r\n".into()),
        ("!9\r\nERR nosir\r\n".into(), "!9\r\nERR nosir\r\n".into()),
        ("%1\r\n+a\r\n*1\r\n$6\r\nSECRET\r\n".into(), "%1\r\n+a\r\n".into()),
        (">2\r\n$4\r\npush\r\n$6\r\nSECRET\r\n".into(), ">2\r\n$4\r\npush\r\n".into()),
        ("_\r\n".into(), "_\r\n".into()),
        (format!("-ERR {text}\r\n"), format!("-ERR {}", &text[..MAX_KEPT_REDIS_BYTES - 5])),
    ];
    prop_oneof![1 => message(), 2 => prop::sample::select(known.to_vec())]
}

/// Sends messages in parts of these sizes, and checks the kept bytes of each.
fn check(talk: &mut Talk, by: By, said: &[(String, String)], sizes: &[usize]) {
    let before = messages(talk, by).len();
    let begin = talk.said(by);
    let bytes: Vec<u8> = said.iter().flat_map(|(said, _)| said.bytes()).collect();
    let (mut rest, mut at) = (&bytes[..], begin);
    for (index, size) in sizes.iter().cycle().enumerate() {
        let (part, after) = rest.split_at(rest.len().min(*size));
        match index % 2 {
            0 => talk.say(by, part),
            _ => talk.say_in(by, &part.chunks(1 + size / 3).collect::<Vec<_>>()),
        };
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    let mut expected = Vec::new();
    for (said, kept) in said {
        expected.push((kept.clone(), at, kept != said));
        at += said.len();
    }
    assert_eq!(messages(talk, by)[before..], expected);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn each_command_and_each_reply_is_kept(
        turns in prop::collection::vec(
            (prop::collection::vec(message(), 1..9), prop::collection::vec(answer(), 1..9)), 1..4),
        sizes in prop::collection::vec(prop_oneof![1..9usize, 1..900usize], 1..6),
    ) {
        let mut talk = Talk::new();
        check(&mut talk, Client, &[(command(&["PING"]), command(&["PING"]))], &sizes);
        for (asked, answered) in turns {
            check(&mut talk, Client, &asked, &sizes);
            check(&mut talk, Server, &answered, &sizes);
        }
        prop_assert!(talk.kept.iter().all(|kept| !kept.text().contains("SECRET")));
    }
}

#[test]
fn both_ends_may_send_at_the_same_time() {
    let set = command(&["SET", "key", "value"]);
    let (begin, end) = set.split_at(25);
    let mut talk = Talk::new();
    talk.say(Client, format!("{set}{begin}")).say(Server, "+OK\r\n+O").say(Client, end);
    talk.say(Server, "K\r\n").say(Client, &set);
    let of = |by| -> Vec<usize> { messages(&talk, by).iter().map(|(_, at, _)| *at).collect() };
    assert_eq!((of(Client), of(Server)), (vec![0, set.len(), 2 * set.len()], vec![0, 5]));
}

#[test]
fn text_that_only_begins_like_a_command_is_kept_as_a_turn() {
    let long = format!("*{}", "x".repeat(1000));
    let imap = "* OK [CAPABILITY IMAP4rev1] ready\r\n";
    for said in [imap, "*2\r\nx", "*2\r\n$x", "*x", "*1\rx", "*12345678901234567890\r\n", &long] {
        for size in [1, 2, 3, said.len()] {
            let mut talk = Talk::new();
            talk.say_parts(Server, said, size).say(Client, "a1 NOOP\r\n").say(Server, said);
            let kept = &said[..said.len().min(MAX_KEPT_TURN_BYTES)];
            let expected = (kept.to_owned(), kept.len() < said.len());
            let messages = messages(&talk, Server);
            let found: Vec<_> = messages.into_iter().map(|(text, _, cut)| (text, cut)).collect();
            let is_same = |(text, _): &(String, bool)| *text == expected.0;
            assert!(found.len() == 2 && found.iter().all(is_same), "{said:?} by {size}: {found:?}");
            assert_eq!(found[1].1, expected.1);
        }
    }
}

#[test]
fn replies_without_a_command_are_not_recognised() {
    let mut talk = Talk::new();
    talk.say(Server, "+OK\r\n+OK\r\n");
    assert_eq!(messages(&talk, Server), [("+OK\r\n+OK\r\n".into(), 0, false)]);
}

#[test]
fn other_bytes_after_a_message_are_kept_as_a_turn() {
    let ping = command(&["PING"]);
    let mut talk = Talk::new();
    // A command as people type it, a text that does not end, and an invalid number.
    talk.say(Client, format!("{ping}PING\r\n")).say(Server, "+PONG\r\n+PONG\r\n");
    talk.say(Client, "*1\r\n$4\r\nPINGS\r\n").say(Server, "-ERR what\r\n");
    talk.say(Client, &ping).say(Server, "$x\r\n").say(Client, &ping);
    let text =
        |by| -> Vec<String> { messages(&talk, by).into_iter().map(|(said, ..)| said).collect() };
    assert_eq!(text(Client), [&ping, "PING\r\n", "*1\r\n$4\r\nPINGS\r\n", &ping, &ping]);
    assert_eq!(text(Server), ["+PONG\r\n", "+PONG\r\n", "-ERR what\r\n", "$x\r\n"]);
    // Bytes after a message with an omitted rest are not known to begin anything.
    let mut talk = Talk::new();
    talk.say(Client, command(&["GET", "a"])).say(Server, "$3\r\nabc").say(Server, "defgh");
    assert_eq!(messages(&talk, Server), [("$3\r\n".into(), 0, true)]);
}
