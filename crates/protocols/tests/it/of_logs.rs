//! Snippets of a log become operations, whichever threads wrote them.

use protocols::operations::{OperationEntry, operations_of_log};
use socket_log::SocketLog;
use socket_log::encode::{self, Direction, FlowOrigin, FlowRole, SnippetHeader};
use socket_log::write::{LogWriter, TCP, inet_address};

use crate::synthetic_logs::{http_snippet, server_log};

fn operation_tuples(
    entries: &[OperationEntry],
) -> Vec<(u64, protocols::MessageRole, &str, &str, bool)> {
    let of = |entry: &OperationEntry| entry.operation.place.ticks;
    entries
        .iter()
        .map(|entry| {
            let operation = &entry.operation;
            let (name, status) = (operation.name.as_str(), operation.status.as_str());
            (of(entry), operation.role, name, status, operation.is_error)
        })
        .collect()
}

#[test]
fn requests_and_responses_come_in_the_order_of_time() {
    let log = SocketLog::from_bytes("made".as_ref(), server_log().to_bytes()).unwrap();
    let all = operations_of_log(&log);
    assert_eq!(
        operation_tuples(&all.entries),
        [
            (200, protocols::MessageRole::Request, "GET /user/{}/cart", "", false),
            (250, protocols::MessageRole::Response, "", "500", true),
            (300, protocols::MessageRole::Request, "GET /user/{}/cart", "", false),
            (350, protocols::MessageRole::Response, "", "200", false),
        ]
    );
    let directions: Vec<Direction> = all.entries.iter().map(|entry| entry.direction).collect();
    let (sent, received) = (Direction::Send, Direction::Receive);
    assert_eq!(directions, [received, sent, received, sent]);
    assert_eq!(all.blank, 0);
}

#[test]
fn a_response_that_comes_first_is_not_the_clients() {
    // A connection that was found in use has an unknown client.
    let mut log = socket_log::write::LogWriter::new("web", 7, "/bin/server");
    log.flow(100, 1, socket_log::write::TCP, socket_log::encode::FlowOrigin::Found, 11);
    log.snippet(&http_snippet(Direction::Send, 1, 200), b"HTTP/1.1 404 Not Found\r\n\r\n");
    log.snippet(&http_snippet(Direction::Receive, 1, 300), b"GET /a HTTP/1.1\r\n\r\n");
    let log = SocketLog::from_bytes("made".as_ref(), log.to_bytes()).unwrap();
    let entries = operations_of_log(&log).entries;
    let names: Vec<&str> = entries.iter().map(|entry| entry.operation.name.as_str()).collect();
    assert!(names.contains(&"GET /a"), "{entries:?}");
}

/// An operation of one end may become known only when the other end sends more, or the flow ends;
/// it still belongs to its sender.
#[test]
fn a_response_without_an_end_is_the_servers() {
    let mut log = LogWriter::new("web", 7, "/bin/client");
    log.flow(100, 1, TCP, FlowOrigin::Socket, 11);
    log.endpoints(100, 1, FlowRole::Connect, &[], &inet_address(([127, 0, 0, 1], 5432).into()), 0);
    let ask = [b"Q\0\0\0\x18SELECT 1 FROM books".as_slice(), &[0]].concat();
    // The beginning of rows.
    let rows = [b"T\0\0\0\x06\0\0D\0\0\x10\0".as_slice(), &[b'a'; 30]].concat();
    for (ticks, direction, bytes) in [
        (200, Direction::Send, &ask),
        (250, Direction::Receive, &rows),
        (300, Direction::Send, &ask),
        (350, Direction::Receive, &rows),
    ] {
        let class = socket_log::layout::snippet::OTHER;
        let cut = direction == Direction::Receive;
        let head = SnippetHeader { class, cut, ..http_snippet(direction, 1, ticks) };
        log.snippet(&head, bytes);
    }
    let log = SocketLog::from_bytes("made".as_ref(), log.to_bytes()).unwrap();
    let entries = operations_of_log(&log).entries;
    let directions: Vec<_> =
        entries.iter().map(|of| (of.operation.place.ticks, of.direction)).collect();
    let (sent, received) = (Direction::Send, Direction::Receive);
    assert_eq!(directions, [(200, sent), (250, received), (300, sent), (350, received)]);
    assert_eq!(entries[0].operation.name, "SELECT books");
}

/// The bytes before a connection is encrypted are a separate conversation from the plaintext after
/// it, and the plaintext of one call keeps its order.
#[test]
fn plaintext_is_a_new_conversation() {
    let mut log = LogWriter::new("web", 7, "/bin/client");
    log.flow(100, 1, TCP, FlowOrigin::Socket, 11);
    log.endpoints(100, 1, FlowRole::Connect, &[], &inet_address(([127, 0, 0, 1], 5432).into()), 0);
    // A handshake. Parts of it may be captured.
    let class = socket_log::layout::snippet::OTHER;
    let hello = b"\x16\x03\x01\x02\x00\x01\x00";
    log.send(200, 1, 90)
        .snippet(&SnippetHeader { class, ..http_snippet(Direction::Send, 1, 200) }, hello);
    log.receive(250, 1, 90)
        .snippet(&SnippetHeader { class, ..http_snippet(Direction::Receive, 1, 250) }, hello);
    // The call was more than 2^32 ticks before the program read its text.
    let (early, late) = (300, 300 + (5 << 32));
    for (at, text) in [(0, b"get a\r\n"), (40, b"get b\r\n")] {
        let length = text.len() as u32;
        let continues = at > 0;
        let of = http_snippet(Direction::Send, 1, early);
        let head = SnippetHeader { class, plain: true, offset: at, length, continues, ..of };
        let words: Vec<u32> =
            encode::snippet_header(&head).into_iter().chain(encode::padded_words(text)).collect();
        log.raw_record(late, &words);
    }
    let log = SocketLog::from_bytes("made".as_ref(), log.to_bytes()).unwrap();
    let found: Vec<_> = operations_of_log(&log)
        .entries
        .into_iter()
        .map(|of| (of.operation.place.ticks, of.operation.place.at, of.operation.name))
        .collect();
    let expected = [(early, 0, "get"), (early, 40, "get")];
    assert_eq!(found, expected.map(|(ticks, at, name)| (ticks, at, name.to_owned())));
}

/// gRPC's library writes names and lengths of fields from separate buffers, and the last of its
/// trailers is a zero length: a snippet of one zero byte.
#[test]
fn a_zero_that_continues_a_frame_is_not_blank() {
    let mut log = LogWriter::new("shop", 7, "/bin/server");
    log.flow(100, 1, TCP, FlowOrigin::Accept, 11);
    log.endpoints(100, 1, FlowRole::Accept, &inet_address(([127, 0, 0, 1], 80).into()), &[], 0);
    let frame = |flags: u8, stream: u8, block: &[u8]| {
        [&[0, 0, block.len() as u8, 1, flags, 0, 0, 0, stream], block].concat()
    };
    let settings = b"\0\0\0\x04\0\0\0\0\0".as_slice();
    let mut said = |direction, ticks, pieces: &[&[u8]]| {
        let mut at = 0;
        for (index, bytes) in pieces.iter().enumerate() {
            let class = socket_log::layout::snippet::HTTP2;
            let of = SnippetHeader {
                class,
                offset: at,
                continues: index > 0,
                ..http_snippet(direction, 1, ticks)
            };
            log.snippet(&of, bytes);
            at += bytes.len() as u32;
        }
    };
    said(Direction::Receive, 200, &[settings]);
    said(Direction::Send, 210, &[settings]);
    for stream in [1, 3, 5] {
        let time = 1000 * u64::from(stream);
        let ask =
            frame(4, stream, b"\x83\0\x05:path\x08/a.B/See\0\x0ccontent-type\x10application/grpc");
        said(Direction::Receive, time, &[&ask]);
        said(Direction::Send, time + 10, &[&frame(4, stream, b"\x88")]);
        // The first response has the name and the value, the others their index in the table.
        let status: &[u8] =
            if stream == 1 { b"\x40\x0bgrpc-status\x010\0\x0c" } else { b"\xbe\0\x0c" };
        let trailers = frame(5, stream, &[status, b"grpc-message\0"].concat());
        let (rest, zero) = trailers.split_at(trailers.len() - 1);
        let (begin, name) = rest.split_at(rest.len() - 12);
        said(Direction::Send, time + 20, &[begin, name, zero]);
    }
    let log = SocketLog::from_bytes("made".as_ref(), log.to_bytes()).unwrap();
    let all = operations_of_log(&log);
    let mut statuses: Vec<&str> =
        all.entries.iter().map(|entry| entry.operation.status.as_str()).collect();
    statuses.retain(|status| !status.is_empty());
    assert_eq!((statuses, all.blank), (vec!["OK"; 3], 0));
}
