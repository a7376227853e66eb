//! Fast paths, such as for heads that lie in one buffer as a whole: they keep the same bytes as the
//! line-by-line path, and their parts (newlines, names of lines) give the same results as the plain
//! versions.

use proptest::prelude::*;

use super::fields::{
    FIELDS, FieldChoice, LineStart, choose_field, classify_line, is_left_out, word_at,
};
use super::lines::{LineView, parse_first_line};
use super::newlines::{LineEnds, in_words};
use super::talk::By::{Client, Server};
use super::talk::Talk;
use super::usual::usual_first_line;

/// First lines, usual and strange, with and without a final carriage return.
fn first() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "GET",
        "POST",
        "PUT",
        "HEAD",
        "DELETE",
        "PATCH",
        "OPTIONS",
        "CONNECT",
        "PRI",
        "PROXY",
        "BREW",
        "get",
        "G=T",
        "HTTP/1.1",
        "HTTP/1.0",
        "HTTP/1.x",
        "HTTP/2",
        "RTSP/1.0",
        "",
        "*",
        "200",
        "204",
        "304",
        "101",
        "100",
        "99",
        "/a?b=c",
        "OK",
        "HTTP/2.0",
        "/ HTTP/1.1",
    ]);
    let usual = prop::sample::select(vec![
        "GET / HTTP/1.1",
        "HEAD /a HTTP/1.0",
        "POST /b?c HTTP/1.1",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 304 Not Modified",
        "HTTP/1.0 100 Continue",
        "HTTP/1.1 101 Switching",
    ]);
    let any = prop::collection::vec(words, 0..5).prop_map(|words| words.join(" "));
    let line = prop_oneof![3 => usual.prop_map(str::to_owned), 1 => any];
    (line, prop::sample::select(vec!["", "\r"])).prop_map(|(line, end)| line + end)
}

/// Lines of a header: kept ones, similar ones, others, and the empty one.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "Host:",
        "content-length:",
        "CONTENT-TYPE:",
        "Transfer-Encoding:",
        "upgrade:",
        "traceparent:",
        "X-Request-ID:",
        "b3:",
        "x-b3-sampled:",
        "X-B3-",
        "host",
        "hos",
        "Content-Lengthy:",
        "Cookie:",
        "Connection:",
        "Upgrade-Insecure-Requests:",
        "tracestate:",
        "x",
        "b",
        "c",
        "co\r",
        "Accept:",
        "content\rlength:",
        "traceparen",
        "x_b3-a:",
        "B\u{13}:",
        " Host:",
        "",
    ]);
    let value = prop::sample::select(vec![
        " 5",
        "5",
        " 0",
        " 18446744073709551616",
        " -1",
        "",
        " h2c",
        " websocket",
        " chunked",
        " a b",
        " 00000000000000000000000000000000000000000007",
        "\r",
    ]);
    // Some are so long that a head of them is cut.
    let long = prop_oneof![9 => Just(0), 1 => 500..1100usize];
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    let field = (name, value, long, end.clone())
        .prop_map(|(name, value, long, end)| format!("{name}{value}{}{end}", "y".repeat(long)));
    prop_oneof![6 => field, 2 => end.prop_map(str::to_owned)]
}

/// Bytes that other protocols begin with: messages of Redis, types and lengths, settings of HTTP/2,
/// TLS records.
fn other() -> impl Strategy<Value = Vec<u8>> {
    let begins: Vec<&[u8]> = vec![
        b"*1\r\n$4\r\nPING\r\n",
        b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
        b"*2\r\n$3\r\nGET\r\n$9\r\nab",
        b"*1\r\n$70\r\n",
        b"*0\r\n",
        b"$3\r\nabc\r\n",
        b"$-1\r\n",
        b"+OK\r\n",
        b"-ERR no\r\n",
        b":12\r\n",
        b"+OK",
        b"Q\0\0\0\x08abc\0",
        b"Q\0",
        b"\0\0\0\x05abc",
        b"\0\0\0\x04\0\0\0\0\0",
        b"\0\0\x06\x04\0\0",
        b"\x16\x03\x01\0\x05hello",
        b"\x16\x02",
        b"7 words",
        b"\xffwords",
        b"get key\r\n",
    ];
    // Some have more bytes than are kept.
    let long = prop_oneof![3 => Just(0), 1 => 90..400usize];
    (prop::sample::select(begins), long)
        .prop_map(|(begin, count)| [begin, &vec![b'y'; count]].concat())
}

/// Bytes of one end: heads, bodies, and others.
fn said() -> impl Strategy<Value = Vec<u8>> {
    let head = (first(), prop::collection::vec(line(), 0..14))
        .prop_map(|(first, lines)| format!("{first}\n{}", lines.concat()).into_bytes());
    let body = prop::collection::vec(any::<u8>(), 0..20);
    let long = (1..1500usize).prop_map(|count| vec![b'x'; count]);
    let piece = prop_oneof![6 => head, 2 => body, 1 => long, 3 => other()];
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn whole_heads_are_kept_like_heads_read_line_by_line(
        transfers in prop::collection::vec((any::<bool>(), said()), 1..8),
        size in 1..400usize,
    ) {
        let (mut talk, mut by_lines) = (Talk::new(), Talk::by_lines());
        for (index, (asks, bytes)) in transfers.iter().enumerate() {
            let by = if *asks { Client } else { Server };
            // Unchanged, in several buffers, and in several transfers.
            let size = if index % 3 == 0 { bytes.len().max(1) } else { size };
            let parts: Vec<&[u8]> = bytes.chunks(size).collect();
            for talk in [&mut talk, &mut by_lines] {
                match index % 3 {
                    2 => parts.iter().for_each(|part| { talk.say(by, part); }),
                    _ => { talk.say_in(by, &parts); }
                }
            }
        }
        prop_assert_eq!(&talk.kept, &by_lines.kept);
    }

    #[test]
    fn fast_and_plain_first_line_parsers_agree(line in first()) {
        if let Some(usual) = usual_first_line(line.as_bytes()) {
            prop_assert_eq!(Some(usual), parse_first_line(LineView::from_whole_line(line.as_bytes())));
        }
    }

    #[test]
    fn fast_and_plain_paths_choose_the_same_lines(
        line in line(),
        after in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let text = [line.as_bytes(), &after].concat();
        let line = &text[..text.iter().position(|byte| *byte == b'\n').unwrap()];
        let expected = match choose_field(line) {
            _ if matches!(line, b"" | b"\r") => LineStart::End,
            FieldChoice::Keep(field) => LineStart::Field(field),
            FieldChoice::Skip | FieldChoice::Undecided => LineStart::Other,
        };
        let first = word_at(&text, 0);
        prop_assert_eq!(classify_line(&text, 0, first), expected);
        prop_assert!(!is_left_out(first) || expected == LineStart::Other);
    }

    #[test]
    fn all_newlines_are_found(
        bytes in prop::collection::vec(
            prop_oneof![3 => Just(b'\n'), 1 => Just(b'\x0b'), 1 => Just(b'\x8a'), 9 => any::<u8>()],
            0..300,
        ),
        from in 0..40usize,
    ) {
        let text = &bytes[from.min(bytes.len())..];
        let is_newline = |index: &usize| text[*index] == b'\n';
        let ends: Vec<usize> = (0..text.len()).filter(is_newline).map(|index| index + 1).collect();
        prop_assert_eq!(LineEnds::in_text(text).collect::<Vec<_>>(), ends);
        for part in text.as_chunks().0 {
            let bits = part.iter().enumerate().map(|(at, byte)| u16::from(*byte == b'\n') << at);
            prop_assert_eq!(in_words(part), bits.sum::<u16>());
        }
    }
}

/// Messages of most clients and servers. At least these must be handled as a whole, or the test
/// above would compare one path with itself.
#[test]
fn usual_heads_take_the_fast_path() {
    let fields = "Host: shop\r\nUser-Agent: some/1.2\r\nAccept: */*\r\nX-Request-Id: 7\r\n";
    let body = "Content-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";
    let mut talk = Talk::new();
    for method in ["GET", "POST", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS"] {
        let before = talk.whole;
        let asked = format!("{method} /cart/1?a=b HTTP/1.1\r\n{fields}\r\n");
        talk.say(Client, &asked).say(Server, format!("HTTP/1.1 204 No Content\r\n{fields}\r\n"));
        // Several in one transfer, with a body between them.
        talk.say(Client, format!("POST / HTTP/1.0\r\n{fields}{body}{asked}"));
        talk.say(Server, format!("HTTP/1.1 200 OK\r\n{fields}{body}"));
        assert_eq!(talk.whole - before, 5, "{method}");
    }
    assert_eq!(talk.whole, talk.kept.len());
}

#[test]
fn heads_of_any_number_of_pieces_are_kept() {
    for count in 0..20 {
        let lines: String = (0..count).map(|n| format!("Accept: {n}\r\nb3: {n}\r\n")).collect();
        let head = format!("GET / HTTP/1.1\r\n{lines}Accept: all\r\n\r\n");
        let (mut talk, mut by_lines) = (Talk::new(), Talk::by_lines());
        assert_eq!(talk.say(Client, &head).kept, by_lines.say(Client, &head).kept, "{count}");
    }
}

/// Lines with any byte at any index.
#[test]
fn changed_first_lines_are_parsed_like_by_the_plain_parser() {
    for line in ["HTTP/1.1 200 OK\r", "HTTP/1.0 99", "GET / HTTP/1.1\r", "OPTIONS * HTTP/1.0"] {
        for (index, byte) in (0..line.len()).flat_map(|index| (0..=255).map(move |b| (index, b))) {
            let mut line = line.as_bytes().to_vec();
            line[index] = byte;
            let expected = parse_first_line(LineView::from_whole_line(&line));
            assert!(
                usual_first_line(&line).is_none_or(|usual| Some(usual) == expected),
                "{line:?}"
            );
        }
    }
}

#[test]
fn kept_names_are_recognised_in_any_case() {
    for (name, field) in FIELDS {
        let small = String::from_utf8(name.to_vec()).unwrap();
        for written in [small.clone(), small.to_uppercase()] {
            let line = format!("{written} 1\r\n");
            let text = line.as_bytes();
            assert_eq!(
                classify_line(text, 0, word_at(text, 0)),
                LineStart::Field(field),
                "{line:?}"
            );
            for index in 0..name.len() {
                let mut other = line.clone().into_bytes();
                other[index] ^= 1;
                assert_ne!(
                    classify_line(&other, 0, word_at(&other, 0)),
                    LineStart::Field(field),
                    "{index} of {line:?}"
                );
            }
        }
    }
}
