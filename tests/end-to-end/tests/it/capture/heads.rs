//! Snippets of messages (`SOCKCAP_PROTOCOLS`): what real programs sent is in their logs as far as
//! it names messages, without any secrets.

use std::fs;
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use socket_log::encode::Direction::{self, Receive, Send};
use socket_log::layout::snippet;
use socket_log::{LogRecord, Snippet};

pub(super) fn recorded_command(
    recording: &TestRecording,
    program: &str,
    arguments: &[&str],
) -> Command {
    let mut command = recording.recorded_command(end_to_end::capture::program_path(program));
    command.env("SOCKCAP_PROTOCOLS", "1").args(arguments);
    command
}

/// A file of the test with this text: arguments are in the headers of logs, and the contents of
/// files are not.
pub(super) fn write_file(recording: &TestRecording, name: &str, text: &str) -> String {
    let path = recording.file_path(name);
    fs::write(&path, text).unwrap();
    path.into_os_string().into_string().unwrap()
}

/// The snippets of one direction, with continuations joined, and the class of each.
pub(super) fn snippets_in_direction(log: &ReadLog, wanted: Direction) -> Vec<(u8, String)> {
    let mut heads: Vec<(u8, Vec<u8>)> = Vec::new();
    let records = log.complete_records().filter_map(|record| match record {
        LogRecord::Head(head) if head.direction == wanted => Some(head),
        _ => None,
    });
    for Snippet { class, continues, bytes, .. } in records {
        match heads.last_mut() {
            Some(last) if *continues => last.1.extend(bytes),
            _ => heads.push((*class, bytes.clone())),
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    heads.into_iter().map(|(class, bytes)| (class, text(bytes))).collect()
}

/// Searches all recorded files for the secrets of clients and servers.
pub(super) fn holds_secrets(recording: &TestRecording) -> bool {
    let logs = fs::read_dir(recording.data_dir().join("hosts/host")).unwrap();
    logs.map(|log| fs::read(log.unwrap().path()).unwrap())
        .any(|bytes| bytes.windows(6).any(|window| window == b"SECRET"))
}

const HTTP1: &str = r#"
import http.client, http.server, socket, threading
class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b"SECRETBODY" * 1000
        self.send_response(404 if "none" in self.path else 200)
        self.send_header("Set-Cookie", "SECRET=1"); self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)
    do_HEAD = do_GET
    def do_POST(self): self.rfile.read(int(self.headers["Content-Length"])); self.do_GET()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection("127.0.0.1", server.server_port)
secrets = {"Cookie": "SECRET", "Authorization": "Basic SECRET", "traceparent": "00-aa-bb-01"}
for method, path in (("GET", "/a/1?q=SECRET"), ("HEAD", "/a"), ("GET", "/none")):
    client.request(method, path, headers=secrets); client.getresponse().read()
client.request("POST", "/p", body=b"GET /SECRET HTTP/1.1\r\n\r\n" * 9, headers=secrets); client.getresponse().read()
# Two requests in one transfer, and one in transfers of a byte.
raw = socket.create_connection(server.server_address)
get = b"GET /%d HTTP/1.1\r\nCookie: SECRET\r\n\r\n"
raw.sendall(get % 1 + get % 2)
for byte in get % 3: raw.send(bytes([byte]))
got = b""
while got.count(b"SECRETBODY") < 3000: got += raw.recv(99)
"#;

#[test]
fn requests_and_answers_of_http1() {
    let recording = TestRecording::new();
    let shop = write_file(&recording, "shop.py", HTTP1);
    run_successfully(
        recorded_command(&recording, "python3", &[&shop]).env("PATH", "/usr/bin:/bin"),
    );
    let log = recording.only_log();
    assert!(log.log.header().heads);
    let first = |direction| -> Vec<String> {
        let heads = snippets_in_direction(&log, direction).into_iter();
        heads
            .filter(|(_, text)| !text.starts_with("HTTP/"))
            .map(|(class, text)| {
                assert_eq!(class, snippet::HTTP1, "{text}");
                text.lines().next().unwrap().to_owned()
            })
            .collect()
    };
    let asked = ["GET /a/1?", "HEAD /a", "GET /none", "POST /p", "GET /1", "GET /2", "GET /3"];
    let asked = asked.map(|request| format!("{request} HTTP/1.1"));
    assert_eq!(first(Send), asked);
    let mut received = first(Receive);
    received.sort();
    let mut sorted = asked.to_vec();
    sorted.sort();
    assert_eq!(received, sorted, "by several threads");
    let answers: Vec<String> =
        snippets_in_direction(&log, Receive).into_iter().map(|(_, text)| text).collect();
    let count = |status: &str| answers.iter().filter(|text| text.contains(status)).count();
    assert_eq!((count("HTTP/1.1 200 "), count("HTTP/1.1 404 ")), (6, 1));
    let request = snippets_in_direction(&log, Send).remove(0).1;
    let port = request.split("Host: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let kept = format!("GET /a/1? HTTP/1.1\r\nHost: {port}\r\ntraceparent: 00-aa-bb-01\r\n\r\n");
    assert_eq!(request, kept);
    assert!(!holds_secrets(&recording));
    // No snippets are kept by default.
    let plain = TestRecording::new();
    let mut command = plain.recorded_command(python_path());
    run_successfully(command.env("SOCKCAP_PROTOCOLS", "0").args(["-c", HTTP1]));
    assert!(!plain.only_log().log.header().heads);
    assert!(
        plain.only_log().complete_records().all(|record| !matches!(record, LogRecord::Head(_)))
    );
}

const HTTP2: &str = r#"
const http2 = require('http2');
const server = http2.createServer((request, answer) => {
  answer.writeHead(200, {'set-cookie': 'SECRET=1', 'content-type': 'text/plain'});
  answer.end('SECRETBODY'.repeat(100));
});
server.listen(0, '127.0.0.1', async () => {
  const client = http2.connect('http://127.0.0.1:' + server.address().port);
  for (let i = 0; i < 4; i++) await new Promise(done => {
    const headers = {':path': '/a/' + i, ':method': 'POST', cookie: '~SECRET~' + i, authorization: '~SECRET~', 'x-api-key': '~SECRET~', traceparent: '~00-aa-bb-0' + i};
    const request = client.request(headers);
    request.end('SECRETBODY'); request.on('data', () => {}); request.on('end', done);
  });
  client.close(); server.close();
});
"#;

#[test]
fn frames_of_http2() {
    let recording = TestRecording::new();
    run_successfully(&mut recorded_command(
        &recording,
        "node",
        &[&write_file(&recording, "shop.js", HTTP2)],
    ));
    let log = recording.only_log();
    assert!(!holds_secrets(&recording));
    let of = |direction: Direction, kind: u8| {
        let heads = log.complete_records().filter(move |record| {
            matches!(record, LogRecord::Head(head) if head.direction == direction
                && head.class == snippet::HTTP2 && !head.continues && head.bytes[3] == kind)
        });
        heads.count()
    };
    // Requests and responses, and the frames that end their bodies; the process is both ends.
    for direction in [Send, Receive] {
        assert_eq!((of(direction, 1), of(direction, 0)), (8, 8), "{direction:?}");
    }
    let all: String = snippets_in_direction(&log, Send).into_iter().map(|(_, text)| text).collect();
    assert!(all.contains("********"), "values of others are blank: {all:?}");
    // The cookie of each request differs, so its value is in each snippet.
    let blank = log.complete_records().filter(|record| {
        matches!(record, LogRecord::Head(head)
            if head.bytes.iter().filter(|byte| **byte == b'*').count() > 8)
    });
    assert!(blank.count() >= 8);
}

const OTHERS: &str = r#"
import socket
a, b = socket.socketpair()
a.send(b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n"); b.recv(4); b.recv(100)
b.send(b"x" * 1000); a.recv(1000, socket.MSG_PEEK); a.recv(1000)
c, d = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
c.send(b"question"); d.recv(100, socket.MSG_PEEK); d.recv(4)
"#;

#[test]
fn first_bytes_of_turns_and_datagrams() {
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(python_path());
    run_successfully(command.env("SOCKCAP_PROTOCOLS", "redis").args(["-c", OTHERS]));
    let log = recording.only_log();
    let command = "*2\r\n$3\r\nGET\r\n";
    // Snippets of unknown protocols are blanked.
    let long = "*".repeat(256);
    let other = |text: &str| (snippet::OTHER, text.to_owned());
    assert_eq!(
        snippets_in_direction(&log, Send),
        [other(command), other(&long), other("********")]
    );
    assert_eq!(snippets_in_direction(&log, Receive), [other(command), other(&long), other("****")]);
    let datagram = log.complete_records().filter_map(|record| match record {
        LogRecord::Head(head) if head.datagram => Some((head.direction, head.cut)),
        _ => None,
    });
    assert_eq!(datagram.collect::<Vec<_>>(), [(Send, false), (Receive, true)]);
    // Each has the time of its transfer.
    let mut latest = None;
    for entry in &log.entries {
        match &entry.record {
            LogRecord::Transfer { direction, flow, .. }
            | LogRecord::Datagram { direction, flow, .. } => {
                latest = Some((entry.ticks, *flow, *direction));
            }
            LogRecord::Head(head) => {
                assert_eq!(latest, Some((entry.ticks, head.flow, head.direction)));
            }
            _ => {}
        }
    }
}
