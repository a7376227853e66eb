//! A recording with protocols keeps only names: nothing else that a client sent is in any file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{program_path, python_path, run_successfully};
use end_to_end::sockcap_program;
use protocols::operations::OperationFile;

/// A server and its client in one process, which requests two pages. There are secrets in the
/// address, in headers and in both bodies; none of them is an argument of the program.
const TALK: &str = r#"
import http.client, http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = b"answer " + b"se" + b"same"
        self.send_response(500 if "fail" in self.path else 200)
        for name, value in [("content-length", str(len(body))), ("set-cookie", "key=open" + "it")]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection(*server.server_address)
for path in ["/user/" + "86" + "7530/cart?token=hun" + "ter2", "/fail/86" + "7530"]:
    client.request("POST", path, "text of pa" + "tience", {"cookie": "id=open" + "it"})
    client.getresponse().read()
client.close()
server.shutdown()
"#;

/// All files below a directory.
fn list_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_recording_with_protocols_keeps_only_names() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let script = place.path().join("talk.py");
    fs::write(&script, TALK).unwrap();
    let mut record = Command::new(sockcap_program());
    record.args(["record", "-d"]).arg(&data).arg("--").arg(python_path()).arg(&script);
    run_successfully(record.env("SOCKCAP_PROTOCOLS", "1"));

    let mut found = Vec::new();
    for path in list_files(&data) {
        let bytes = fs::read(&path).unwrap();
        for secret in ["867530", "hunter2", "openit", "sesame", "patience"] {
            let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_there, "{secret} is in {}", path.display());
        }
        if path.extension().is_some_and(|extension| extension == protocols::operations::EXTENSION) {
            let file = OperationFile::open(&path).unwrap();
            let unread = file.for_each(|entry| {
                let of = entry.operation;
                found.push((of.name, of.status, of.is_error));
            });
            assert_eq!(unread.unwrap(), 0);
        }
    }
    // Each message is recorded by both ends.
    found.sort();
    let twice = |name: &str, status: &str, is_error| {
        [
            (name.to_owned(), status.to_owned(), is_error),
            (name.to_owned(), status.to_owned(), is_error),
        ]
    };
    let expected = [
        twice("", "200", false),
        twice("", "500", true),
        twice("POST /fail/{}", "", false),
        twice("POST /user/{}/cart", "", false),
    ];
    assert_eq!(found, expected.concat());
}

/// A server and a client in separate processes, over TLS. The secrets are in no argument.
const ENCRYPTED: &str = r#"
import http.client, http.server, os, ssl
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = (b"answer " + b"se" + b"same") * 5000
        self.send_response(500 if "fail" in self.path else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate", "key")
child = os.fork()
if child == 0:
    server.socket = context.wrap_socket(server.socket, server_side=True)
    for _ in range(2): server.handle_request()
    os._exit(0)
theirs = ssl._create_unverified_context()
for _ in range(2):
    client = http.client.HTTPSConnection(*server.server_address, context=theirs)
    for path in ["/user/" + "86" + "7530/cart?token=hun" + "ter2", "/fail/86" + "7530"]:
        client.request("POST", path, "text of pa" + "tience", {"cookie": "id=open" + "it"})
        client.getresponse().read()
    client.close()
assert os.waitpid(child, 0)[1] == 0
"#;

/// Names from encrypted data belong to messages that the sockets transferred, each to one.
#[test]
fn names_of_encrypted_messages_find_their_messages() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    fs::write(place.path().join("talk.py"), ENCRYPTED).unwrap();
    let mut openssl = Command::new(program_path("openssl"));
    openssl.args("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost".split(' '));
    openssl.args(["-keyout", "key", "-out", "certificate"]).current_dir(place.path());
    run_successfully(&mut openssl);
    let mut record = Command::new(sockcap_program());
    record.args(["record", "-d"]).arg(&data).arg("--").arg(python_path()).arg("talk.py");
    run_successfully(record.env("SOCKCAP_PROTOCOLS", "1").current_dir(place.path()));
    run_successfully(Command::new(sockcap_program()).args(["reconcile", "-d"]).arg(&data));
    for path in list_files(&data) {
        let bytes = fs::read(&path).unwrap();
        for secret in ["867530", "hunter2", "openit", "sesame", "patience"] {
            let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_there, "{secret} is in {}", path.display());
        }
    }
    let outcome = fs::read_to_string(data.join("reconciliation.json")).unwrap();
    let outcome: serde_json::Value = serde_json::from_str(&outcome).unwrap();
    // Four requests and four responses: both ends record that a message begins there.
    assert_eq!(outcome["operations"], 8, "{outcome}");
    assert_eq!(outcome.get("operations_without_message"), None, "{outcome}");
}
