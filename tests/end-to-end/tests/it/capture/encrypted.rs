//! Encrypted connections (`SOCKCAP_PROTOCOLS`): what real programs send over TLS is in their logs
//! as far as it names messages, at the calls of their sockets, and the programs are not affected.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use end_to_end::capture::{
    ReadLog, TestRecording, preloaded_library, program_path, python_path, resources_library,
    run_successfully,
};
use end_to_end::oracle::free_port;
use protocols::operations::{RecognisedOperations, operations_of_log};
use socket_log::LogRecord;
use socket_log::encode::Direction::{self, Receive, Send};
use socket_log::layout::snippet;

use super::heads::{holds_secrets, recorded_command, write_file};
use super::servers::without_rights;

/// A key and a certificate in the files `key` and `certificate` of the recording.
pub(super) fn make_certificate(recording: &TestRecording) {
    let mut openssl = Command::new(program_path("openssl"));
    openssl.args("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost".split(' '));
    openssl.args(["-keyout", "key", "-out", "certificate"]).current_dir(recording.file_path(""));
    run_successfully(&mut openssl);
}

/// The operations of one direction of a log: names and statuses.
fn operation_words(log: &ReadLog, wanted: Direction) -> Vec<String> {
    let RecognisedOperations { entries, .. } = operations_of_log(&log.log);
    let of = entries.into_iter().filter(|entry| entry.direction == wanted);
    let each = of.map(|entry| format!("{}{}", entry.operation.name, entry.operation.status));
    each.collect()
}

/// Whether each operation of the log is in a call of its flow, direction and time.
fn is_at_calls(log: &ReadLog) -> bool {
    let calls: Vec<_> = log
        .entries
        .iter()
        .filter_map(|entry| match entry.record {
            LogRecord::Transfer { direction, flow, .. } => Some((entry.ticks, flow, direction)),
            _ => None,
        })
        .collect();
    let of = |entry: &protocols::operations::OperationEntry| {
        (entry.operation.place.ticks, entry.flow, entry.direction)
    };
    operations_of_log(&log.log).entries.iter().all(|entry| calls.contains(&of(entry)))
}

/// The program of a log.
fn program_of(log: &ReadLog) -> String {
    let path = Path::new(&log.log.header().executable).to_owned();
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Starts a server that listens on `port`, and waits until it does.
fn start_server(command: &mut Command, port: u16) -> Child {
    let child = command.spawn().unwrap();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        sleep(Duration::from_millis(20));
    }
    child
}

fn stop_server(mut child: Child, signal: &str) {
    run_successfully(Command::new("kill").args(["-s", signal, &child.id().to_string()]));
    child.wait().unwrap();
}

#[test]
fn requests_to_nginx_of_curl_and_wget() {
    let recording = TestRecording::new();
    make_certificate(&recording);
    fs::write(recording.file_path("page"), "SECRET".repeat(50_000)).unwrap();
    let (plain, tls, http2) = (free_port(), free_port(), free_port());
    let root = recording.file_path("").into_os_string().into_string().unwrap();
    let with_key = format!("ssl_certificate {root}certificate; ssl_certificate_key {root}key;");
    let configuration = format!(
        "daemon off; worker_processes 1; master_process off; pid {root}pid; error_log {root}errors;
         events {{}}
         http {{ access_log off; sendfile on; client_body_temp_path {root}a;
           proxy_temp_path {root}b; fastcgi_temp_path {root}c; uwsgi_temp_path {root}d;
           scgi_temp_path {root}e; root {root};
           server {{ listen 127.0.0.1:{plain}; }}
           server {{ listen 127.0.0.1:{tls} ssl; {with_key} }}
           server {{ listen 127.0.0.1:{http2} ssl http2; {with_key} }} }}"
    );
    let configuration = write_file(&recording, "nginx.conf", &configuration);
    let mut nginx =
        recorded_command(&recording, "nginx", &["-e", "stderr", "-p", &root, "-c", &configuration]);
    let nginx = start_server(&mut nginx, http2);
    let secrets = "header = \"Cookie: SECRET\"\nuser = a:SECRET\n";
    let secrets = write_file(&recording, "secrets", secrets);
    let places = [("http", plain), ("https", tls), ("https", http2)];
    for (scheme, port) in places {
        // Three requests on one connection.
        let urls =
            ["page", "none", "page"].map(|page| format!("{scheme}://127.0.0.1:{port}/{page}"));
        let mut curl = recorded_command(&recording, "curl", &["-sk", "-K", &secrets]);
        assert!(run_successfully(curl.args(&urls)).len() > 600_000);
    }
    // GnuTLS.
    let url = format!("https://127.0.0.1:{tls}/page");
    let quiet = ["-q", "-O", "-", "--no-check-certificate", "--header", "Cookie: x", &url];
    assert_eq!(run_successfully(&mut recorded_command(&recording, "wget", &quiet)).len(), 300_000);
    stop_server(nginx, "QUIT");
    assert!(!holds_secrets(&recording));

    let asked = ["GET /page", "GET /none", "GET /page"];
    let answered = ["200", "404", "200"];
    let logs = recording.read_logs();
    let of = |name: &str| logs.iter().filter(|log| program_of(log) == name).collect::<Vec<_>>();
    assert_eq!(of("curl").len(), 3);
    for curl in of("curl") {
        assert_eq!(operation_words(curl, Send), asked);
        assert_eq!(operation_words(curl, Receive), answered);
    }
    let [wget] = of("wget")[..] else { panic!("one log") };
    assert_eq!(operation_words(wget, Send), asked[..1]);
    assert_eq!(operation_words(wget, Receive), answered[..1]);
    let [nginx] = of("nginx")[..] else { panic!("one log") };
    let four = |of: [&'static str; 3]| [&of[..], &of[..], &of[..], &of[..1]].concat();
    assert_eq!(operation_words(nginx, Receive), four(asked));
    assert_eq!(operation_words(nginx, Send), four(answered));
    assert!(logs.iter().all(is_at_calls));
    let classes = |log: &ReadLog| {
        let heads = log.complete_records().filter_map(|record| match record {
            LogRecord::Head(head) => Some((head.plain, head.class)),
            _ => None,
        });
        heads.collect::<std::collections::BTreeSet<_>>()
    };
    let expected = [(false, snippet::HTTP1), (true, snippet::HTTP1), (true, snippet::HTTP2)];
    assert_eq!(classes(nginx), expected.into());
}

/// A server and its client in one process, with direct calls; and then the same with asyncio, where
/// the TLS library has no socket.
const PYTHON: &str = r#"
import asyncio, http.client, http.server, ssl, threading
class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b"SECRETBODY" * 10000
        self.send_response(404 if "none" in self.path else 200)
        self.send_header("Set-Cookie", "SECRET=1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate", "key")
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
theirs = ssl._create_unverified_context()
client = http.client.HTTPSConnection("127.0.0.1", server.server_port, context=theirs)
secret = {"Authorization": "Basic SECRET"}
for path, size in ("/a/1?q=2", 9), ("/none", 0), ("/b", 2000000):
    client.request("POST", path, body=b"SECRET" * size, headers=secret); client.getresponse().read()
client.close()

# Two requests in one record, read in pieces of a few bytes, and one in records of a byte each.
raw = theirs.wrap_socket(__import__("socket").create_connection(server.server_address))
post = b"POST /%d HTTP/1.1\r\nContent-Length: 6\r\nCookie: SECRET\r\n\r\nSECRET"
raw.sendall(post % 1 + post % 2)
for byte in post % 3: raw.send(bytes([byte]))
got = 0
while got < 300000: got += raw.recv(9).count(b"SECRETBODY"[:1]) * 10
raw.close()

async def talk():
    async def serve(reader, writer):
        writer.write(await reader.readline()); await writer.drain(); writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    address = server.sockets[0].getsockname()
    reader, writer = await asyncio.open_connection(*address, ssl=theirs)
    writer.write(b"GET /SECRET HTTP/1.1\r\n")
    assert (await reader.read()).startswith(b"GET"); writer.close()
asyncio.run(talk())
print("right")
"#;

#[test]
fn python_at_both_ends() {
    let asked = ["/a/{}", "/none", "/b", "/{}", "/{}", "/{}"].map(|path| format!("POST {path}"));
    let answered = ["200", "404", "200", "200", "200", "200"].map(str::to_owned);
    let mut expected = [asked, answered].concat();
    expected.sort();
    for library in [preloaded_library(), resources_library()] {
        let recording = TestRecording::new();
        make_certificate(&recording);
        let script = write_file(&recording, "shop.py", PYTHON);
        let mut command = recording.recorded_command(python_path());
        command.env("LD_PRELOAD", library).env("SOCKCAP_PROTOCOLS", "1").arg(script);
        assert_eq!(run_successfully(&mut command), "right\n");
        let log = recording.only_log();
        // Both ends of the connection are in this process.
        for direction in [Send, Receive] {
            let mut names = operation_words(&log, direction);
            names.sort();
            assert_eq!(names, expected, "{direction:?}");
        }
        assert!(is_at_calls(&log));
        assert!(!holds_secrets(&recording));
    }
}

#[test]
fn postgres_and_psql() {
    let recording = TestRecording::new();
    make_certificate(&recording);
    fs::set_permissions(recording.file_path(""), fs::Permissions::from_mode(0o777)).unwrap();
    let key = recording.file_path("key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    if run_successfully(Command::new("id").arg("-u")).trim() == "0" {
        chown(&key, Some(65534), None).unwrap();
    }
    let cluster = recording.file_path("cluster").into_os_string().into_string().unwrap();
    let mut initdb = without_rights(&recording, "initdb");
    initdb.env_remove("LD_PRELOAD").args(["-D", &cluster, "-U", "test", "-A", "trust"]);
    run_successfully(initdb.args(["--no-sync", "-E", "UTF8"]));
    let port = free_port();
    let text = port.to_string();
    let mut server = without_rights(&recording, "postgres");
    server.args(["-D", &cluster, "-k", &cluster, "-h", "127.0.0.1", "-p", &text, "-F"]);
    server.args(["-c", "ssl=on", "-c", "ssl_cert_file=../certificate"]);
    server.args(["-c", "ssl_key_file=../key"]).env("SOCKCAP_PROTOCOLS", "1");
    let server = start_server(&mut server, port);
    let is_ready = || {
        let mut ask = Command::new(program_path("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &text]).status().unwrap().success()
    };
    while !is_ready() {
        sleep(Duration::from_millis(50));
    }
    let statements = "create table books (n int, s text);
        insert into books values (1, 'SECRET');
        select s from books where s = 'SECRET';
        select 1/0;
        \\bind SECRET\nselect $1::text \\g\n";
    let statements = write_file(&recording, "statements", statements);
    let mut psql = without_rights(&recording, "psql");
    psql.env("SOCKCAP_PROTOCOLS", "1").env("PGSSLMODE", "require").env("HOME", &cluster);
    psql.args(["-h", "127.0.0.1", "-p", &text, "-U", "test", "-d", "postgres", "-At"]);
    run_successfully(psql.args(["-f", &statements]));
    stop_server(server, "INT");

    let logs = recording.read_logs();
    let names = |log: &ReadLog, direction| -> Vec<String> {
        operation_words(log, direction).into_iter().filter(|name| name.contains("books")).collect()
    };
    let expected = ["CREATE TABLE books", "INSERT books", "SELECT books"];
    let [psql] = &logs.iter().filter(|log| program_of(log) == "psql").collect::<Vec<_>>()[..]
    else {
        panic!("one log of psql")
    };
    assert_eq!(names(psql, Send), expected);
    let server =
        logs.iter().find(|log| program_of(log) == "postgres" && !names(log, Receive).is_empty());
    let server = server.expect("a process that served psql");
    assert_eq!(names(server, Receive), expected);
    for (log, answers) in [(*psql, Receive), (server, Send)] {
        let statuses = operation_words(log, answers);
        assert!(statuses.contains(&"22012".to_owned()), "a division by zero: {statuses:?}");
        assert!(is_at_calls(log));
    }
    // Literals are blanked before and after names replace the snippets.
    assert!(!holds_secrets(&recording));
    for log in &logs {
        protocols::operations::replace_snippets(log.log.path(), |_| false).unwrap();
    }
    assert!(!holds_secrets(&recording));
}

/// The server and the client that come with NSS. The server answers by a call with several buffers.
#[test]
fn nss_at_both_ends() {
    let recording = TestRecording::new();
    let root = recording.file_path("").into_os_string().into_string().unwrap();
    fs::create_dir(recording.file_path("keys")).unwrap();
    let noise: Vec<u8> =
        (0..2000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(recording.file_path("noise"), noise).unwrap();
    let certutil = |arguments: &str| {
        let mut certutil = Command::new(program_path("certutil"));
        run_successfully(certutil.args(arguments.split(' ')).current_dir(&root));
    };
    certutil("-N -d sql:keys --empty-password");
    certutil("-S -d sql:keys -n shop -s CN=localhost -x -t CT,C,C -z noise -v 12");
    let port = free_port();
    let text = port.to_string();
    let mut server = recorded_command(&recording, "selfserv", &["-d", "sql:keys", "-n", "shop"]);
    let server = start_server(server.args(["-p", &text, "-w", ""]), port);
    let request = "GET /user/1234/cart HTTP/1.0\r\nHost: shop\r\nCookie: SECRET\r\n\r\n";
    let request = fs::File::open(write_file(&recording, "request", request)).unwrap();
    let mut client = recorded_command(&recording, "tstclnt", &["-h", "localhost", "-p", &text]);
    let answer = run_successfully(client.args(["-d", "sql:keys", "-o"]).stdin(request));
    assert!(answer.contains("HTTP/1.0 200 OK"), "{answer}");
    stop_server(server, "KILL");
    assert!(!holds_secrets(&recording));
    let logs = recording.read_logs();
    let of = |name: &str| logs.iter().find(|log| program_of(log) == name).expect("a log");
    for (log, asks, answers) in [(of("tstclnt"), Send, Receive), (of("selfserv"), Receive, Send)] {
        assert_eq!(operation_words(log, asks), ["GET /user/{}/cart"]);
        assert_eq!(operation_words(log, answers), ["200"]);
        assert!(is_at_calls(log));
    }
}

/// A library with functions of OpenSSL, and a module that depends on it and calls one.
const LIBRARY: &str = "int SSL_read(void *s, void *b, int n) { return NUMBER + n; }\n\
    int SSL_read_ex(void *s, void *b, unsigned long n, unsigned long *m) { *m = n; return 1; }\n";
const MODULE: &str = "int SSL_read(void *, void *, int);\n\
    int SSL_read_ex(void *, void *, unsigned long, unsigned long *);\n\
    int ask(int n) { unsigned long m = 0; int got = SSL_read(0, 0, n);\n\
      return SSL_read_ex(0, 0, 5, &m) == 1 && m == 5 ? got : -5; }\n";
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **files) {
    int (*read)(void *, void *, int) = dlsym(RTLD_DEFAULT, "SSL_read");
    int (*read_ex)(void *, void *, unsigned long, unsigned long *) =
        dlsym(RTLD_DEFAULT, "SSL_read_ex");
    printf("%d %d\n", read ? read(0, 0, 1) : 0, read_ex ? read_ex(0, 0, 1, 0) : 0);
    for (int round = 0; round < 2; round++)
        for (int file = 1; file < count; file++) {
            void *module = dlopen(files[file], RTLD_NOW | RTLD_LOCAL);
            int (*ask)(int) = dlsym(module, "ask");
            printf("%d\n", ask(round) + ask(round));
            dlclose(module);
        }
    return 0;
}
"#;

/// A process may have two such libraries, opened and closed with modules: each module uses the
/// functions of its own.
#[test]
fn each_module_calls_the_library_that_it_needs() {
    let recording = TestRecording::new();
    let directory = recording.file_path("");
    let cc = |arguments: &[&str]| {
        let mut cc = Command::new(program_path("cc"));
        run_successfully(cc.args(arguments).arg("-Wl,-rpath,$ORIGIN").current_dir(&directory));
    };
    write_file(&recording, "library.c", LIBRARY);
    write_file(&recording, "module.c", MODULE);
    write_file(&recording, "program.c", PROGRAM);
    for (number, library, module) in [("10", "one", "m1.so"), ("20", "two", "m2.so")] {
        let (define, file) = (format!("-DNUMBER={number}"), format!("lib{library}.so"));
        cc(&["-shared", "-fPIC", &define, "-o", &file, "library.c"]);
        let link = format!("-l{library}");
        cc(&["-shared", "-fPIC", "-o", module, "module.c", "-L.", &link]);
    }
    cc(&["-o", "program", "program.c", "-ldl"]);
    for protocols in ["0", "1"] {
        let mut command = recording.recorded_command(directory.join("program"));
        command.env("SOCKCAP_PROTOCOLS", protocols).args(["./m1.so", "./m2.so"]);
        assert_eq!(run_successfully(&mut command), "-1 0\n20\n40\n22\n42\n", "{protocols}");
    }
}
