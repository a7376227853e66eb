//! Heads of HTTP/1, whole and in parts, usual and strange.

use super::sink::SnippetClass;
use super::talk::By::{Client, Server};
use super::talk::Talk;
use crate::tuning::{MAX_KEPT_LINES_BYTES, MAX_KEPT_UNFINISHED_BYTES};

const REQUEST: &str = "POST /cart/7?card=SECRET HTTP/1.1\r\nHost: shop\r\nUser-Agent: curl\r\n\
    Cookie: SECRET\r\nAuthorization: Basic SECRET\r\nContent-Type: text/plain\r\n\
    traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
    X-B3-TraceId: 80f1\r\nContent-Length: 11\r\n\r\n";
const KEPT: &str = "POST /cart/7? HTTP/1.1\r\nHost: shop\r\nContent-Type: text/plain\r\n\
    traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
    X-B3-TraceId: 80f1\r\nContent-Length: 11\r\n\r\n";
const GET: &str = "GET / HTTP/1.1\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[test]
fn the_first_line_and_chosen_lines_are_kept() {
    let mut talk = Talk::new();
    talk.say(Client, format!("{REQUEST}SECRET body"));
    assert_eq!(talk.heads(Client), [(SnippetClass::Http1, KEPT.into())]);
    let answer = "HTTP/1.1 404 Not Found\r\nServer: x\r\nSet-Cookie: SECRET\r\nb3: 0\r\n\
        x-request-id: 5\r\nContent-Length: 6\r\n\r\nSECRET";
    talk.say(Server, answer);
    let kept = "HTTP/1.1 404 Not Found\r\nb3: 0\r\nx-request-id: 5\r\nContent-Length: 6\r\n\r\n";
    assert_eq!(talk.http1(Server), [kept]);
    let run = talk.kept[0].run;
    assert_eq!((run.offset, run.continues, run.cut), (0, false, false));
}

#[test]
fn consecutive_requests_in_one_transfer_are_found() {
    let mut talk = Talk::new();
    let body = "GET / HTTP/";
    talk.say(Client, format!("{REQUEST}{body}{GET}{REQUEST}{body}"));
    assert_eq!(talk.http1(Client), [KEPT, GET, KEPT], "a body of known length is passed over");
    let offsets: Vec<usize> = talk.kept.iter().map(|kept| kept.run.offset).collect();
    let second = REQUEST.len() + body.len();
    assert_eq!(offsets, [0, second, second + GET.len()]);
    assert!(talk.kept.iter().all(|kept| !kept.run.continues));
}

#[test]
fn a_head_in_parts_is_kept_as_a_whole() {
    let said = format!("{REQUEST}SECRET body{GET}");
    for size in 1..said.len() {
        let mut talk = Talk::new();
        talk.say_parts(Client, said.as_bytes(), size);
        assert_eq!(talk.http1(Client), [KEPT, GET], "in transfers of {size} bytes");
        assert_eq!(talk.heads(Client).len(), 2, "{:?}", talk.kept);
        let mut talk = Talk::new();
        talk.say_in(Client, &said.as_bytes().chunks(size).collect::<Vec<_>>());
        assert_eq!(talk.http1(Client), [KEPT, GET], "in buffers of {size} bytes");
    }
}

#[test]
fn an_overlong_first_line_has_no_gap() {
    let line = format!("GET /{} HTTP/1.1\r\n", "a".repeat(400));
    for first in [MAX_KEPT_UNFINISHED_BYTES - 1, MAX_KEPT_UNFINISHED_BYTES, 300] {
        let mut talk = Talk::new();
        // The line's end arrives alone: it must not be joined to the bytes kept before.
        talk.say(Client, &line[..first]).say(Client, &line[first..400]);
        talk.say(Client, format!("{}\r\n", &line[400..]));
        let kept = line[..MAX_KEPT_UNFINISHED_BYTES].to_owned();
        assert_eq!(talk.http1(Client), [kept], "{first}");
    }
}

#[test]
fn a_line_in_parts_after_many_pieces_is_complete() {
    for lines in 0..20 {
        let chosen = "Host: a\r\nCookie: SECRET\r\n".repeat(lines);
        let said = format!("GET / HTTP/1.1\r\n{chosen}Content-Type: text/plain\r\n\r\n");
        let kept = said.replace("Cookie: SECRET\r\n", "");
        let mut talk = Talk::new();
        talk.say(Client, &said[..said.len() - 12]).say(Client, &said[said.len() - 12..]);
        assert_eq!(talk.http1(Client), [kept], "{lines}");
    }
}

#[test]
fn bodies_absent_from_a_response_are_not_expected() {
    let long = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    let cases = [
        ("HEAD / HTTP/1.1\r\n\r\n", long),
        (GET, "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n"),
        (GET, "HTTP/1.1 204 No Content\r\n\r\n"),
        ("CONNECT a:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
    ];
    for (request, answer) in cases {
        let mut talk = Talk::new();
        // In one transfer, where only the count shows where the second begins.
        talk.say(Client, format!("{request}{GET}"));
        talk.say(Server, format!("{answer}{OK}"));
        assert_eq!(talk.http1(Server), [answer, OK], "to {request:?}");
    }
}

#[test]
fn an_interim_response_is_followed_by_another() {
    let mut talk = Talk::new();
    let asks = "PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 18\r\n\r\n";
    talk.say(Client, asks).say(Server, "HTTP/1.1 100 Continue\r\n\r\n");
    // The body, which looks like a request, begins a turn.
    talk.say(Client, GET).say(Server, OK).say(Client, GET);
    assert_eq!(talk.http1(Server), ["HTTP/1.1 100 Continue\r\n\r\n", OK]);
    let kept = "PUT / HTTP/1.1\r\nContent-Length: 18\r\n\r\n";
    assert_eq!(talk.http1(Client), [kept, GET], "the body is no request");
}

#[test]
fn bodies_of_unknown_length_end_where_a_transfer_begins_with_a_head() {
    let mut talk = Talk::new();
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nSet-Cookie: SECRET\r\n\r\n";
    talk.say(Client, GET).say(Server, format!("{chunked}6\r\nSECRET\r\n"));
    talk.say(Server, "6\r\nSECRET\r\n0\r\n\r\n").say(Client, GET).say(Server, OK);
    let kept = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(talk.http1(Server), [kept, OK]);
    // Text that only begins like a request is none.
    talk.say(Client, "GET SECRET HTTP\r\n").say(Client, "GET /SECRET");
    assert_eq!(talk.http1(Client), [GET, GET]);
    assert_eq!(talk.heads(Client).len(), 2, "nothing else is kept where HTTP/1 is spoken");
}

#[test]
fn another_protocol_after_an_upgrade_is_left_out() {
    let mut talk = Talk::new();
    let upgrade = "GET / HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Key: SECRET\r\n\r\n";
    let switches = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    talk.say(Client, upgrade).say(Server, switches);
    talk.say(Client, b"\x81\x86\0\0\0\0SECRET").say(Server, b"\x81\x06SECRET");
    talk.say(Client, b"\x81\x86\0\0\0\0SECRET");
    assert_eq!(talk.http1(Client), ["GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"]);
    assert_eq!(talk.http1(Server), [switches]);
    assert_eq!(talk.kept.len(), 2);
}

#[test]
fn strange_heads() {
    let long = "x".repeat(100_000);
    let cases = [
        ("GET / HTTP/1.0\nHOST: a\nCOOKIE: SECRET\n\n", "GET / HTTP/1.0\nHOST: a\n\n"),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n SECRET\r\nCookie: a\r\n\tSECRET\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        ("\r\nGET / HTTP/1.1\r\nCookie: SECRET\r\n\r\n", GET),
        ("BREW /pot HTTP/1.1\r\nCookie: SECRET\r\n\r\n", "BREW /pot HTTP/1.1\r\n\r\n"),
        (
            "DESCRIBE rtsp://a RTSP/1.0\r\nCookie: SECRET\r\n\r\n",
            "DESCRIBE rtsp:// RTSP/1.0\r\n\r\n",
        ),
        (
            "GET http://alice:SECRET@shop/cart?SECRET=SECRET HTTP/1.1\r\n\r\n",
            "GET http:///cart? HTTP/1.1\r\n\r\n",
        ),
        ("GET /a?SECRET SECRET?SECRET HTTP/1.1\n\n", "GET /a?  HTTP/1.1\n\n"),
        ("GET /? HTTP/1.0\r\n\r\n", "GET /? HTTP/1.0\r\n\r\n"),
        ("CONNECT shop:443 HTTP/1.1\r\n\r\n", "CONNECT shop:443 HTTP/1.1\r\n\r\n"),
        ("OPTIONS * HTTP/1.1\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\r\n"),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\nCookie: SECRET\r\n\r\n", GET),
        ("GET / HTTP/1.1\r\nHost : SECRET\r\nhosts: SECRET\r\nhos: SECRET\r\n\r\n", GET),
        ("GET / HTTP/1.1\r\n\rHost: SECRET\r\n\r\n", GET),
        (&format!("GET / HTTP/1.1\r\nCookie: SECRET{long}\r\n\r\n"), GET),
    ];
    for (said, kept) in cases {
        for size in [said.len(), 1, 7, 16, 100] {
            let mut talk = Talk::new();
            talk.say_parts(Client, said.as_bytes(), size);
            assert_eq!(
                talk.heads(Client),
                [(SnippetClass::Http1, kept.into())],
                "{size}: {said:.100?}"
            );
        }
    }
}

/// Kept bytes of a request with that first line, in one buffer or in parts of it.
fn kept_line(line: &str, size: usize) -> String {
    let mut talk = Talk::new();
    talk.say_parts(Client, format!("{line}\r\nHost: shop\r\n\r\n").as_bytes(), size);
    let [head] = &talk.http1(Client)[..] else { panic!("{line}: {:?}", talk.kept) };
    head.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn passwords_in_targets_are_left_out() {
    let methods = ["GET", "POST", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS", "CONNECT", "BREW"];
    for method in methods {
        for user in ["alice:SECRET", "7alice:SECRET", "4711:9SECRET", "9SECRET", "SECRET"] {
            for scheme in ["http", "https"] {
                for (path, kept) in [("", ""), ("/cart", "/cart"), ("/cart?SECRET", "/cart?")] {
                    let line = format!("{method} {scheme}://{user}@shop{path} HTTP/1.1");
                    let kept = format!("{method} {scheme}://{kept} HTTP/1.1");
                    assert_eq!(kept_line(&line, 1000), kept, "{line}");
                    // In parts a method has to be known.
                    for size in [1, 7, 30, 50].into_iter().filter(|_| method != "BREW") {
                        let kept = kept_line(&line, size);
                        assert!(!kept.contains("SECRET"), "{line}, in parts of {size}: {kept}");
                    }
                }
            }
        }
    }
}

#[test]
fn targets_without_secrets_are_kept() {
    for (target, kept) in [
        ("CONNECT shop:443", "CONNECT shop:443"),
        ("CONNECT 10.0.0.1:8443", "CONNECT 10.0.0.1:8443"),
        ("CONNECT my_shop-1.test:80", "CONNECT my_shop-1.test:80"),
        ("CONNECT alice:9SECRET@host:443", "CONNECT alice:9"),
        ("CONNECT alice:SECRET@host:443", "CONNECT alice:"),
        ("CONNECT a%20b:SECRET@host:443", "CONNECT a"),
        ("CONNECT a:123456789@host:443", "CONNECT a:12345"),
        ("LOCK shop:9SECRET@host:443", "LOCK shop:"),
        ("INVITE sip:4711:SECRET@pbx", "INVITE sip:"),
        ("INVITE sip:a/b?c:SECRET@pbx", "INVITE sip:"),
        ("REGISTER sips:SECRET@pbx", "REGISTER sips:"),
        ("GET svn+ssh://alice:SECRET@shop/a", "GET svn+ssh:///a"),
        ("GET h2c://alice:SECRET@shop/a", "GET h2c:///a"),
        ("GET a_b:SECRET@shop/SECRET", "GET a"),
        ("GET  http://alice:SECRET@shop/a?SECRET", "GET  http:///a?"),
        ("OPTIONS *", "OPTIONS *"),
        ("GET /a:b@c", "GET /a:b@c"),
        ("GET /cart;jsessionid=SECRET", "GET /cart;"),
        ("GET /cart;jsessionid=SECRET?SECRET", "GET /cart;?"),
        ("GET /cart;a=SECRET;b=SECRET/7;SECRET/item", "GET /cart;/7;/item"),
        ("PUT http://alice:SECRET@shop/cart;SECRET", "PUT http:///cart;"),
        ("GET /cart?a;SECRET", "GET /cart?"),
    ] {
        for version in ["HTTP/1.1", "SIP/2.0"] {
            let line = format!("{target} {version}");
            // After a query, only the version of HTTP/1.1 can be distinguished from text after a
            // space.
            let is_recognised = version == "HTTP/1.1" || !kept.contains('?');
            let expected = format!("{kept} {}", if is_recognised { version } else { "" });
            assert_eq!(kept_line(&line, 1000), expected, "{line}");
            // Less is kept of longer lines in parts.
            for size in [1, 7, 16].into_iter().filter(|_| line.len() < 39) {
                assert_eq!(kept_line(&line, size), expected, "{line}, in parts of {size}");
            }
        }
    }
}

/// Programs that forget to encode a query send its spaces as they are.
#[test]
fn a_query_with_spaces_leaves_the_end_of_its_line() {
    for words in 1..30 {
        let line = format!("GET /search?{} HTTP/1.1", vec!["SECRET"; words].join(" "));
        let expected = format!("GET /search?{}HTTP/1.1", " ".repeat(words));
        assert_eq!(kept_line(&line, 1000), expected, "{words} words");
    }
}

#[test]
fn long_heads_are_cut_and_later_heads_are_found() {
    let long = "x".repeat(100_000);
    let said = format!("GET /{long} HTTP/1.1\r\nHost: {long}\r\nContent-Length: 1\r\n\r\nS{GET}");
    let mut talk = Talk::new();
    talk.say(Client, &said);
    let begins = &said[..MAX_KEPT_UNFINISHED_BYTES];
    assert_eq!(talk.http1(Client), [begins, GET], "longer than what is searched for its end");
    assert!(talk.kept[0].run.cut);
    let said = format!("GET / HTTP/1.1\r\nHost: {long}\r\nContent-Length: 1\r\n\r\nS{GET}");
    for size in [said.len(), 1000, 100] {
        let mut talk = Talk::new();
        talk.say_parts(Client, said.as_bytes(), size);
        let [first, second] = &talk.http1(Client)[..] else { panic!("two heads") };
        assert_eq!(first.len(), MAX_KEPT_LINES_BYTES);
        assert_eq!(second, GET);
        assert!(talk.kept.iter().any(|kept| kept.run.cut));
    }
}

#[test]
fn bodies_of_invalid_length_end_where_a_transfer_begins() {
    for line in [
        "Content-Length: -1",
        "Content-Length: 1x",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: 99999999999999999999",
        "Content-Length:",
    ] {
        let mut talk = Talk::new();
        talk.say(Client, format!("POST / HTTP/1.1\r\n{line}\r\n\r\n{GET}")).say(Client, GET);
        assert_eq!(talk.http1(Client).len(), 2, "{line}");
        assert_eq!(talk.http1(Client)[1], GET);
    }
}

#[test]
fn unseen_bytes_are_counted() {
    let mut talk = Talk::new();
    let long = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    talk.say(Client, format!("{GET}{GET}{GET}")).say(Server, long).pass(Server, 400);
    talk.pass(Server, 600).say(Server, format!("{long}abc")).pass(Server, 997).say(Server, OK);
    assert_eq!(talk.http1(Server), [long, long, OK]);
    // More than the body has: a head was among them.
    talk.say(Client, GET).say(Server, long).pass(Server, 1001).say(Server, format!("SECRET{OK}"));
    talk.say(Server, OK);
    assert_eq!(talk.http1(Server), [long, long, OK, long, OK]);
}

#[test]
fn concurrent_threads_reset_the_state() {
    let mut talk = Talk::new();
    talk.say_at(Client, 10, 20, &[b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n"]);
    // This call was made before the previous one had returned.
    talk.say_at(Client, 15, 30, &[b"\r\nSECRET"]).say_at(Client, 40, 50, &[GET.as_bytes()]);
    let heads = talk.http1(Client);
    assert_eq!(heads.len(), 2, "{heads:?}");
    assert!(!heads.concat().contains("SECRET"));
    // Several transfers of one call are in order.
    let mut talk = Talk::new();
    talk.say_at(Client, 10, 20, &[b"POST / HTTP/1.1\r\nContent-Le"]);
    talk.say_at(Client, 10, 20, &[b"ngth: 18\r\n\r\n"]).say_at(Client, 20, 21, &[GET.as_bytes()]);
    assert_eq!(talk.http1(Client), ["POST / HTTP/1.1\r\nContent-Length: 18\r\n\r\n"]);
}

#[test]
fn joining_in_the_middle_keeps_nothing_of_the_current_message() {
    let mut talk = Talk::joined();
    talk.say(Client, "oken: SECRET\r\nCookie: SECRET\r\n\r\n").say(Server, OK);
    talk.say(Client, REQUEST);
    assert_eq!(talk.heads(Client), [(SnippetClass::Http1, KEPT.into())]);
}
