//! `sockcap record -p` of programs of every kind, with their own memory all around the library: the
//! end of a recording leaves nothing of it, and a second one works.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use end_to_end::capture::{TestRecording, program_path, python_path, run_successfully};
use end_to_end::oracle::free_port;
use end_to_end::repository;
use socket_log::LogRecord;
use test_support::code::changed_code;

use super::attach::{AttachedRecorder, ServerProcess, send_signal};
use super::servers::without_rights;

/// The port of a server, and a request that it answers in some way.
#[derive(Clone, Copy)]
pub(super) struct AskedServer {
    pub(super) port: u16,
    pub(super) question: &'static [u8],
}

/// Number of requests at a time.
const TIMES: usize = 5;

impl AskedServer {
    /// Sends one request on a new connection.
    pub(super) fn ask_once(self) {
        let got = (0..600).any(|_| {
            let got = self.try_once();
            if !got {
                std::thread::sleep(Duration::from_millis(50));
            }
            got
        });
        assert!(got, "port {} does not answer", self.port);
    }

    fn try_once(self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(self.question).is_ok()
            && stream.read(&mut [0; 100]).is_ok_and(|length| length > 0)
    }

    pub(super) fn ask_again_and_again(self) {
        (0..TIMES).for_each(|_| self.ask_once());
    }
}

/// A process and all its descendants.
pub(super) fn process_family(process: u32) -> BTreeSet<u32> {
    let parent = |process: u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let all: Vec<u32> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let mut family = BTreeSet::from([process]);
    loop {
        let is_fresh = |child: &&u32| {
            !family.contains(*child) && parent(**child).is_some_and(|of| family.contains(&of))
        };
        let fresh: Vec<u32> = all.iter().filter(is_fresh).copied().collect();
        if fresh.is_empty() {
            return family;
        }
        family.extend(fresh);
    }
}

/// The remains of the library in a process: parts of a log, and memory with words that occur only
/// in the library or in its note.
pub(super) fn leftovers_in(process: u32) -> Vec<String> {
    const NOTE: &str = "sockcap\0note 1\0\0";
    const LIBRARY: &str = "SOCKCAP_INJECTOR";
    let Ok(maps) = fs::read_to_string(format!("/proc/{process}/maps")) else { return Vec::new() };
    let memory = File::open(format!("/proc/{process}/mem")).unwrap();
    let has = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains(".sclog") {
            return true;
        }
        // Mapped from no file, and no larger than what is put into a process or next to it.
        let (start, end) = words[0].split_once('-').unwrap();
        let number = |word| u64::from_str_radix(word, 16).unwrap();
        let (start, length) = (number(start), number(end) - number(start));
        if words[4] != "0" || !words[1].starts_with('r') || length > 64 << 20 {
            return false;
        }
        let mut bytes = vec![0; length as usize];
        if memory.read_exact_at(&mut bytes, start).is_err() {
            return false;
        }
        // The standard library searches text faster than these tests, which are not optimized.
        let text = String::from_utf8_lossy(&bytes);
        text.contains(if line.contains(" r--p ") { NOTE } else { LIBRARY })
    };
    maps.lines().filter(|line| has(line)).map(str::to_owned).collect()
}

/// Number of transfers and datagrams in all logs of a recording.
pub(super) fn count_transfers(recording: &TestRecording) -> usize {
    let is_moved = |record: &LogRecord| {
        matches!(record, LogRecord::Transfer { .. } | LogRecord::Datagram { .. })
    };
    let of_log = |log: &end_to_end::capture::ReadLog| {
        log.entries.iter().filter(|entry| is_moved(&entry.record)).count()
    };
    recording.read_logs().iter().map(of_log).sum()
}

/// A data directory that other users can access.
pub(super) fn shared_recording() -> TestRecording {
    let recording = TestRecording::new();
    fs::set_permissions(recording.file_path(""), fs::Permissions::from_mode(0o755)).unwrap();
    recording
}

/// Asserts that nothing of the library is in a process or its children.
#[track_caller]
pub(super) fn assert_without(name: &str, process: u32) {
    for process in process_family(process) {
        // A process that has ended meanwhile has nothing.
        if fs::read_link(format!("/proc/{process}/exe")).is_ok() {
            assert!(changed_code(process).is_empty(), "{name}: process {process} is changed");
            assert_eq!(leftovers_in(process), Vec::<String>::new(), "{name}: process {process}");
        }
    }
}

/// Records a program twice. `meanwhile` runs while it is recorded. Prints a line of the table in
/// docs/injection.md.
#[track_caller]
pub(super) fn check_attach(
    name: &str,
    process: u32,
    asked: AskedServer,
    mut meanwhile: impl FnMut(),
) {
    asked.ask_again_and_again();
    let mut counts = Vec::new();
    for _ in 0..2 {
        let recording = shared_recording();
        let recorder = AttachedRecorder::begin_recording(&recording, process);
        assert!(!recorder.said_first.contains("warning"), "{name}: {}", recorder.said_first);
        asked.ask_again_and_again();
        meanwhile();
        asked.ask_again_and_again();
        recorder.end_recording();
        assert_without(name, process);
        let count = count_transfers(&recording);
        assert!(count > 2 * TIMES, "{name}: {count} records");
        asked.ask_again_and_again();
        assert_eq!(count_transfers(&recording), count, "{name}: it goes on recording");
        counts.push(count);
    }
    println!("| {name} | {} | {} |", counts[0], counts[1]);
}

/// A server with memory mapped all around the library.
pub(super) struct CrowdedServer {
    pub(super) server: ServerProcess,
    output: BufReader<ChildStdout>,
    pub(super) asked: AskedServer,
}

impl CrowdedServer {
    pub(super) fn compile_crowded(
        files: &TestRecording,
        compiler: &str,
        flags: &[&str],
    ) -> std::path::PathBuf {
        let binary = files.file_path(&format!("neighbours-{compiler}{}", flags.concat()));
        let source = repository().join("tests/programs/neighbours.c");
        let mut command = Command::new(program_path(compiler));
        command.args(["-O1", "-pthread", "-Wall"]).args(flags).arg("-o").arg(&binary).arg(source);
        run_successfully(&mut command);
        binary
    }

    pub(super) fn begin_server(binary: &Path, arguments: &[&str]) -> CrowdedServer {
        let mut command = Command::new(binary);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = ServerProcess(command.spawn().unwrap());
        let mut output = BufReader::new(server.0.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("port ").unwrap().parse().unwrap();
        let asked = AskedServer { port, question: b"question" };
        CrowdedServer { server, output, asked }
    }

    pub(super) fn process_id(&self) -> u32 {
        self.server.0.id()
    }

    /// Makes the server perform an action.
    #[track_caller]
    pub(super) fn await_action(&mut self, what: &str) {
        writeln!(self.server.0.stdin.as_mut().unwrap(), "{what}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n", "{what}");
    }
}

/// Builds of the server with neighbouring mappings.
const BUILDS: [(&str, &[&str]); 4] = [
    ("gcc", &[]),
    ("gcc", &["-static"]),
    ("gcc", &["-static-pie", "-fPIE"]),
    ("musl-gcc", &["-static"]),
];

#[test]
fn a_library_is_removed_whatever_is_mapped_next_to_it() {
    let files = TestRecording::new();
    for (compiler, flags) in BUILDS {
        let binary = CrowdedServer::compile_crowded(&files, compiler, flags);
        let mut neighbours = CrowdedServer::begin_server(&binary, &["3"]);
        let (process, asked) = (neighbours.process_id(), neighbours.asked);
        // Mapped before the recording, too, so that the library is put between the mappings.
        neighbours.await_action("readers");
        neighbours.await_action("named");
        let name = format!("neighbours.c, {compiler} {}", flags.concat());
        check_attach(&name, process, asked, || {
            for what in ["beside", "jit", "huge", "divide", "beside", "free"] {
                neighbours.await_action(what);
            }
            neighbours.await_action("beside");
        });
    }
}

/// A widely used server, in which the master process waits in one call forever.
fn nginx_command(recording: &TestRecording, port: u16) -> Command {
    let file = |name: &str| recording.file_path(name).into_os_string().into_string().unwrap();
    let settings = file("nginx.conf");
    let configuration = format!(
        "daemon off; worker_processes 2; pid {0}pid; error_log {0}errors; events {{}}
         http {{ access_log off; client_body_temp_path {0}a; proxy_temp_path {0}b;
                 fastcgi_temp_path {0}c; uwsgi_temp_path {0}d; scgi_temp_path {0}e;
           server {{ listen 127.0.0.1:{port}; location / {{ return 200 short; }} }} }}",
        file("")
    );
    fs::write(&settings, configuration).unwrap();
    let mut command = Command::new(program_path("nginx"));
    command.args(["-e", "stderr", "-p", &file(""), "-c", &settings]);
    command
}

/// Key and certificate for `openssl s_server`.
fn make_certificate(recording: &TestRecording) -> [String; 2] {
    let [key, certificate] = ["key", "certificate"]
        .map(|name| recording.file_path(name).into_os_string().into_string().unwrap());
    let what = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a"];
    let mut openssl = Command::new(program_path("openssl"));
    run_successfully(openssl.args(what).args(["-keyout", &key, "-out", &certificate]));
    [key, certificate]
}

/// Starts a server in a folder of its own, and records it twice.
fn check_server(
    name: &str,
    question: &'static [u8],
    command: impl FnOnce(&TestRecording, u16) -> Command,
) {
    let files = shared_recording();
    let port = free_port();
    let mut command = command(&files, port);
    command.current_dir(files.file_path("")).stdin(Stdio::piped());
    let errors = File::create(files.file_path("said")).unwrap();
    command.stdout(errors.try_clone().unwrap()).stderr(errors);
    let server = ServerProcess(command.spawn().unwrap());
    let asked = AskedServer { port, question };
    asked.ask_once();
    // The processes that it starts with its first requests exist now.
    check_attach(name, server.0.id(), asked, || ());
    send_signal(server.0.id(), rustix::process::Signal::TERM);
}

const HTTP: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// TLS record with a greeting that is too short, which is answered with an alert.
const HELLO: &[u8] = b"\x16\x03\x01\0\x05\x01\0\0\x01\0";

#[test]
fn nginx_is_left_without_the_library() {
    check_server("nginx", HTTP, nginx_command);
}

#[test]
fn openssl_is_left_without_the_library() {
    check_server("openssl s_server", HELLO, |files, port| {
        let [key, certificate] = make_certificate(files);
        let mut command = Command::new(program_path("openssl"));
        command.args(["s_server", "-www", "-port", &port.to_string()]);
        command.args(["-key", &key, "-cert", &certificate]);
        command
    });
}

/// A command with a port in one of its arguments.
fn with_port(name: &str, port: u16, arguments: &[&str]) -> Command {
    let mut command = Command::new(program_path(name));
    command.args(arguments.iter().map(|word| word.replace("PORT", &port.to_string())));
    command
}

#[test]
#[ignore = "it takes a minute; scripts/test --all runs it"]
fn servers_of_many_kinds_are_left_without_the_library() {
    check_server("redis", b"PING\r\n", |_, port| {
        with_port("redis-server", port, &["--save", "", "--port", "PORT"])
    });
    check_server("memcached", b"version\r\n", |_, port| {
        with_port("memcached", port, &["-l", "127.0.0.1", "-p", "PORT", "-U", "0", "-u", "nobody"])
    });
    check_server("haproxy", HTTP, |files, port| {
        let settings = files.file_path("haproxy.cfg");
        let text = "global\n nbthread 2\ndefaults\n mode http\n timeout connect 5s\n \
                    timeout client 50s\n timeout server 50s\nfrontend f\n bind 127.0.0.1:PORT\n \
                    http-request return status 200\n";
        fs::write(&settings, text.replace("PORT", &port.to_string())).unwrap();
        with_port("haproxy", port, &["-db", "-f", settings.to_str().unwrap()])
    });
    // A query for the name of the root, by TCP.
    let name = b"\0\x11\x12\x34\x01\0\0\x01\0\0\0\0\0\0\0\0\x02\0\x01";
    check_server("dnsmasq", name, |_, port| {
        let common = ["--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"];
        let mut command = with_port("dnsmasq", port, &common);
        command.args(["--bind-interfaces", "--user=root", "--listen-address=127.0.0.1"]);
        command.args(["--address=/#/10.1.2.3", "--pid-file", "--port", &port.to_string()]);
        command
    });
    check_server("busybox httpd, static", HTTP, |_, port| {
        with_port("busybox", port, &["httpd", "-f", "-p", "127.0.0.1:PORT"])
    });
    check_server("socat", b"question", |_, port| {
        with_port("socat", port, &["TCP-LISTEN:PORT,fork,reuseaddr", "PIPE"])
    });
    check_server("lighttpd", HTTP, |files, port| {
        let settings = files.file_path("lighttpd.conf");
        let text = format!(
            "server.document-root = \"{}\"\nserver.port = {port}\nserver.bind = \"127.0.0.1\"\n",
            files.file_path("").display()
        );
        fs::write(&settings, text).unwrap();
        with_port("lighttpd", port, &["-D", "-f", settings.to_str().unwrap()])
    });
    check_server("tinyproxy", HTTP, |files, port| {
        let settings = files.file_path("tinyproxy.conf");
        fs::write(&settings, format!("Port {port}\nListen 127.0.0.1\nTimeout 60\n")).unwrap();
        with_port("tinyproxy", port, &["-d", "-c", settings.to_str().unwrap()])
    });
    // CONNECT, with a session of its own.
    let connect = b"\x10\x0d\0\x04MQTT\x04\x02\0\x3c\0\x01a";
    check_server("mosquitto", connect, |_, port| with_port("mosquitto", port, &["-p", "PORT"]));
    check_server("stunnel", HELLO, |files, port| {
        let [key, certificate] = make_certificate(files);
        let settings = files.file_path("stunnel.conf");
        let text = format!(
            "foreground = yes\npid =\n[s]\naccept = 127.0.0.1:{port}\nconnect = 127.0.0.1:9\n\
             key = {key}\ncert = {certificate}\n"
        );
        fs::write(&settings, text).unwrap();
        with_port("stunnel4", port, &[settings.to_str().unwrap()])
    });
    check_server("caddy (Go)", HTTP, |_, port| {
        let mut command =
            with_port("caddy", port, &["file-server", "--listen", "127.0.0.1:PORT", "--browse"]);
        command.env("HOME", "/nonexistent");
        command
    });
    postgres();
}

#[test]
#[ignore = "it takes a minute; scripts/test --all runs it"]
fn servers_in_many_languages_are_left_without_the_library() {
    check_server("python3 -m http.server", HTTP, |_, port| {
        let mut command = Command::new(python_path());
        command.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
        command
    });
    check_server("python3, asyncio", b"question", |_, port| {
        let script = "import asyncio\n\
            async def serve(r, w):\n w.write(await r.read(100)); await w.drain(); w.close()\n\
            async def main():\n s = await asyncio.start_server(serve, '127.0.0.1', PORT)\n \
            await s.serve_forever()\nasyncio.run(main())";
        let mut command = Command::new(python_path());
        command.args(["-c", &script.replace("PORT", &port.to_string())]);
        command
    });
    check_server("python3, processes", b"question", |_, port| {
        let script = "import socketserver\n\
            class H(socketserver.BaseRequestHandler):\n \
            def handle(self): self.request.sendall(self.request.recv(100))\n\
            socketserver.ForkingTCPServer.allow_reuse_address = True\n\
            socketserver.ForkingTCPServer(('127.0.0.1', PORT), H).serve_forever()";
        let mut command = Command::new(python_path());
        command.args(["-c", &script.replace("PORT", &port.to_string())]);
        command
    });
    check_server("node", HTTP, |_, port| {
        let script = "require('http').createServer((q, a) => a.end('x')).listen(PORT, '127.0.0.1')";
        with_port("node", port, &["-e", script])
    });
    check_server("node, workers", HTTP, |files, port| {
        let script = files.file_path("workers.js");
        let text = "const c = require('cluster'); if (c.isPrimary || c.isMaster) { c.fork(); \
                    c.fork() } else require('http').createServer((q, a) => a.end('x'))\
                    .listen(+process.argv[2], '127.0.0.1')";
        fs::write(&script, text).unwrap();
        with_port("node", port, &[script.to_str().unwrap(), "PORT"])
    });
    check_server("node, huge pages", HTTP, |_, port| {
        let script = "require('http').createServer((q, a) => a.end('x')).listen(PORT, '127.0.0.1')";
        with_port("node", port, &["--use-largepages=silent", "-e", script])
    });
    for collector in ["-XX:+UseSerialGC", "-XX:+UseG1GC", "-XX:+UseTransparentHugePages"] {
        check_server(&format!("java {collector}"), b"question\n", |files, port| {
            let source = files.file_path("Answers.java");
            let text = "import java.net.*; public class Answers { \
                public static void main(String[] a) throws Exception { \
                ServerSocket s = new ServerSocket(Integer.parseInt(a[0])); \
                for (;;) { Socket c = s.accept(); new Thread(() -> { try { \
                byte[] b = new byte[100]; int n = c.getInputStream().read(b); \
                c.getOutputStream().write(b, 0, n); c.close(); \
                } catch (Exception e) { } }).start(); } } }";
            fs::write(&source, text).unwrap();
            with_port("java", port, &[collector, "-Xmx64m", source.to_str().unwrap(), "PORT"])
        });
    }
    check_server("perl", b"question\n", |_, port| {
        let script = "use IO::Socket; my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', \
            LocalPort => PORT, Listen => 9, ReuseAddr => 1); \
            while (my $c = $s->accept) { sysread $c, my $l, 100; syswrite $c, $l; close $c }";
        with_port("perl", port, &["-e", &script.replace("PORT", &port.to_string())])
    });
}

/// This server refuses to run with root's rights.
fn postgres() {
    // Its first message, and its end.
    let startup = b"\0\0\0\x13\0\x03\0\0user\0test\0\0";
    check_server("postgres", startup, |files, port| {
        fs::set_permissions(files.file_path(""), fs::Permissions::from_mode(0o777)).unwrap();
        let cluster = files.file_path("cluster").into_os_string().into_string().unwrap();
        let mut initdb = without_rights(files, "initdb");
        initdb.env_remove("LD_PRELOAD").current_dir("/");
        run_successfully(initdb.args(["-D", &cluster, "-U", "test", "-A", "trust", "--no-sync"]));
        let mut server = without_rights(files, "postgres");
        server.env_remove("LD_PRELOAD").env_remove("SOCKCAP_DIR").env_remove("SOCKCAP_HOST");
        server.args(["-D", &cluster, "-k", &cluster, "-h", "127.0.0.1", "-F", "-p"]);
        server.arg(port.to_string());
        server
    });
}

#[test]
#[ignore = "it takes a minute; scripts/test --all runs it"]
fn programs_of_our_own_are_left_without_the_library() {
    let files = TestRecording::new();
    // Next to nothing is recorded of dynamic programs of musl: see docs/injection.md.
    let builds: [(&str, &[&str]); 5] = [
        ("gcc", &[]),
        ("gcc", &["-no-pie"]),
        ("gcc", &["-static"]),
        ("gcc", &["-static-pie", "-fPIE"]),
        ("musl-gcc", &["-static"]),
    ];
    for (compiler, flags) in builds {
        let binary = CrowdedServer::compile_crowded(&files, compiler, flags);
        let of = |what: &str| format!("neighbours.c, {compiler} {}: {what}", flags.concat());
        for what in ["beside", "jit", "huge", "divide", "named", "readers", "lock", "fork"] {
            let mut neighbours = CrowdedServer::begin_server(&binary, &["3"]);
            let (process, asked) = (neighbours.process_id(), neighbours.asked);
            neighbours.await_action("beside");
            check_attach(&of(what), process, asked, || neighbours.await_action(what));
        }
        for what in ["beside", "limit"] {
            let mut neighbours = CrowdedServer::begin_server(&binary, &["3"]);
            let (process, asked) = (neighbours.process_id(), neighbours.asked);
            neighbours.await_action(what);
            check_attach(&of(&format!("{what}, before")), process, asked, || ());
        }
        let neighbours = CrowdedServer::begin_server(&binary, &["200"]);
        check_attach(&of("200 threads"), neighbours.process_id(), neighbours.asked, || ());
    }
}
