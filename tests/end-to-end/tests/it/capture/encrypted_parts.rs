//! Message heads that a program passes to a TLS library in two calls: each is one snippet with one
//! name, at the call with its first part.

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use protocols::operations::operations_of_log;
use socket_log::LogRecord;
use socket_log::encode::Direction::{self, Receive, Send};
use socket_log::layout::snippet;

use super::encrypted::make_certificate;
use super::heads::{holds_secrets, snippets_in_direction, write_file};

/// A client and a server in one process. The second part of a head is only sent when the other end
/// has the first.
const PARTS: &str = r#"
import socket, ssl, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate", "key")
listening = socket.create_server(("127.0.0.1", 0))
def said(by, to, parts):
    for part in parts:
        by.sendall(part)
        assert to.recv(1000) == part
asked = [(b"GET /user/12", b"34/cart HTTP/1.1\r\nHost: shop\r\nCookie: SECRET\r\n\r\n"),
         (b"GET /none HTTP/1.1\r\nCookie: SECRET\r\nHo", b"st: shop\r\n\r\n")]
answered = [(b"HTTP/1.1 20", b"0 OK\r\nSet-Cookie: SECRET\r\nContent-Length: 0\r\n\r\n"),
            (b"HTTP/1.1 404 None\r\nContent-Len", b"gth: 6\r\n\r\nSECRET")]
servers = []
accept = lambda: servers.append(context.wrap_socket(listening.accept()[0], server_side=True))
accepts = threading.Thread(target=accept)
accepts.start()
client = ssl._create_unverified_context().wrap_socket(socket.create_connection(listening.getsockname()))
accepts.join()
for request, answer in zip(asked, answered):
    said(client, servers[0], request)
    said(servers[0], client, answer)
print("right")
"#;

/// Times of the latest four sends of the flow on which a name was sent: the two parts of each head.
fn latest_sends(log: &ReadLog, name: &str) -> [u64; 4] {
    let entries = operations_of_log(&log.log).entries;
    let mut entries_of_name = entries.iter().filter(|entry| entry.direction == Send);
    let flow =
        entries_of_name.find(|entry| operation_with_status(entry) == name).expect("a name").flow;
    let mut sends: Vec<u64> = log
        .entries
        .iter()
        .filter(|entry| {
            matches!(entry.record, LogRecord::Transfer { direction: Send, flow: of, .. } if of == flow)
        })
        .map(|entry| entry.ticks)
        .collect();
    // The connection was made on a separate thread.
    sends.sort_unstable();
    *sends.last_chunk().expect("two heads in two parts each")
}

/// The name of an operation, with its status.
fn operation_with_status(entry: &protocols::operations::OperationEntry) -> String {
    format!("{}{}", entry.operation.name, entry.operation.status)
}

/// Times of the calls with the names of one direction.
fn times_of_names(log: &ReadLog, wanted: Direction, names: [&str; 2]) -> [u64; 2] {
    let entries = operations_of_log(&log.log).entries;
    names.map(|name| {
        let mut entries_of_name = entries
            .iter()
            .filter(|entry| entry.direction == wanted && operation_with_status(entry) == name);
        let place = entries_of_name.next().expect("a name").operation.place.ticks;
        assert!(entries_of_name.next().is_none(), "{name} occurs once");
        place
    })
}

#[test]
fn snippets_in_two_parts_are_at_their_first_part() {
    let recording = TestRecording::new();
    make_certificate(&recording);
    let script = write_file(&recording, "parts.py", PARTS);
    let mut command = recording.recorded_command(python_path());
    command.env("SOCKCAP_PROTOCOLS", "1").arg(script);
    assert_eq!(run_successfully(&mut command), "right\n");
    assert!(!holds_secrets(&recording));
    let log = recording.only_log();
    let kept = [
        "GET /user/1234/cart HTTP/1.1\r\nHost: shop\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "GET /none HTTP/1.1\r\nHost: shop\r\n\r\n",
        "HTTP/1.1 404 None\r\nContent-Length: 6\r\n\r\n",
    ]
    .map(|text| (snippet::HTTP1, text.to_owned()));
    for names in [["GET /user/{}/cart", "GET /none"], ["200", "404"]] {
        let sends = latest_sends(&log, names[0]);
        let [first, second, third, fourth] = sends;
        assert!(first < second && second < third && third < fourth, "{sends:?}");
        assert_eq!(times_of_names(&log, Send, names), [first, third]);
        // They arrived before their second parts were sent.
        let came = times_of_names(&log, Receive, names);
        assert!((first..second).contains(&came[0]), "{came:?} of {sends:?}");
        assert!((third..fourth).contains(&came[1]), "{came:?} of {sends:?}");
    }
    for direction in [Send, Receive] {
        assert_eq!(snippets_in_direction(&log, direction), kept, "{direction:?}");
    }
}
