//! The library against the kernel's own view: real programs run under `strace` and the library at once, and both must
//! tell of the same calls and bytes on sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::capture::{Recording, Traffic, library, program, python, successful};
use end_to_end::strace;
use socket_log::encode::Direction;

/// What all logs together say of one direction.
fn logged(recording: &Recording, wanted: Direction) -> Traffic {
    let mut sum = Traffic::default();
    for log in recording.logs() {
        for ((_, direction), traffic) in log.traffic() {
            if direction == wanted {
                sum.calls += traffic.calls;
                sum.bytes += traffic.bytes;
            }
        }
    }
    sum
}

/// Compares the logs with what strace wrote into the files, and returns what was sent.
fn compare(recording: &Recording, outputs: &[&str]) -> Traffic {
    let text: String = outputs.iter().map(|name| fs::read_to_string(recording.file(name)).unwrap()).collect();
    for direction in [Direction::Send, Direction::Receive] {
        let kernel = strace::traffic(&text, direction);
        assert_eq!(logged(recording, direction), kernel, "{direction:?}");
        assert!(kernel.calls > 0);
    }
    logged(recording, Direction::Send)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a server and waits until it accepts connections.
fn start(command: &mut Command, port: u16) -> Child {
    let mut server = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    for _ in 0..2000 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return server;
        }
        assert!(server.try_wait().unwrap().is_none(), "{command:?} ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.kill().unwrap();
    panic!("{command:?} does not listen on port {port}");
}

#[test]
fn python_does_what_the_kernel_saw() {
    let recording = Recording::new();
    let script = r#"
import socket, threading, subprocess, os, asyncio, sys
async def serve(reader, writer):
    while data := await reader.read(1000): writer.write(data); await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async def client(size):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for n in range(20): writer.write(b"m" * size); await reader.readexactly(size)
        writer.close(); await writer.wait_closed()
    await asyncio.gather(*(client(n * 300) for n in range(1, 8)))
asyncio.run(main())
def pairs():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        a, b = socket.socketpair(socket.AF_UNIX, kind)
        for n in range(1, 200): a.sendall(b"z" * n); b.recv(n)
threads = [threading.Thread(target=pairs) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
a, b = socket.socketpair()
for n in range(5):
    if os.fork() == 0: a.send(b"from a child"); os._exit(0)
    os.wait(); b.recv(100)
subprocess.run([sys.executable, "-c", "import os; os.write(1, b'to a socket')"], stdout=a, env={}); b.recv(100)
"#;
    let mut command = recording.command(python());
    successful(&mut strace::under(command.arg("-c").arg(script), &recording.file("trace")));
    let sent = compare(&recording, &["trace"]);
    assert!(sent.calls > 8 * 3 * 199 + 2 * 7 * 20 + 5);
}

#[test]
fn nginx_and_curl_do_what_the_kernel_saw() {
    let recording = Recording::new();
    // The workers are another user.
    fs::set_permissions(recording.file(""), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(recording.file("page"), "p".repeat(300_000)).unwrap();
    let (port, backend) = (free_port(), free_port());
    let configuration = format!(
        "daemon off; worker_processes 2; pid {0}/pid; error_log {0}/errors; events {{}}
         http {{ access_log off; sendfile on; client_body_temp_path {0}/a; proxy_temp_path {0}/b;
                 fastcgi_temp_path {0}/c; uwsgi_temp_path {0}/d; scgi_temp_path {0}/e;
           server {{ listen 127.0.0.1:{port}; root {0};
                     location /short {{ return 200 short; }}
                     location /proxy {{ proxy_pass http://127.0.0.1:{backend}/short; }} }}
           server {{ listen 127.0.0.1:{backend}; location / {{ return 200 behind; }} }} }}",
        recording.file("").display()
    );
    fs::write(recording.file("nginx.conf"), configuration).unwrap();
    let arguments = |command: &mut Command| {
        command
            .args(["-e", "stderr", "-p"])
            .arg(recording.file(""))
            .arg("-c")
            .arg(recording.file("nginx.conf"));
    };
    let mut command = recording.command(program("nginx"));
    arguments(&mut command);
    let mut server = start(&mut strace::under(&command, &recording.file("trace-nginx")), port);
    for n in 0..6 {
        for (path, length) in [("short", 5), ("proxy", 6), ("page", 300_000)] {
            let mut curl = recording.command(program("curl"));
            let curl = curl.args(["-s", &format!("http://127.0.0.1:{port}/{path}")]);
            let output = recording.file(&format!("trace-curl-{n}-{path}"));
            assert_eq!(successful(&mut strace::under(curl, &output)).len(), length);
        }
    }
    let mut quit = Command::new(program("nginx"));
    arguments(&mut quit);
    successful(quit.args(["-s", "quit"]));
    server.wait().unwrap();
    let names: Vec<String> = fs::read_dir(recording.file(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("trace-"))
        .collect();
    let sent = compare(&recording, &names.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(sent.bytes > 6 * 300_000);
}

#[test]
fn redis_does_what_the_kernel_saw() {
    let recording = Recording::new();
    let port = free_port().to_string();
    let mut command = recording.command(program("redis-server"));
    command.args(["--port", &port, "--save", "", "--bind", "127.0.0.1"]);
    let mut server =
        start(&mut strace::under(&command, &recording.file("trace-server")), port.parse().unwrap());
    let mut benchmark = recording.command(program("redis-benchmark"));
    benchmark.args(["-p", &port, "-n", "3000", "-c", "5", "-q", "-t", "set,get", "-d", "200"]);
    successful(&mut strace::under(&benchmark, &recording.file("trace-benchmark")));
    let mut stop = recording.command(program("redis-cli"));
    successful(&mut strace::under(
        stop.args(["-p", &port, "shutdown", "nosave"]),
        &recording.file("trace-cli"),
    ));
    server.wait().unwrap();
    let sent = compare(&recording, &["trace-server", "trace-benchmark", "trace-cli"]);
    assert!(sent.calls > 2 * 2 * 3000);
}

#[test]
fn the_library_depends_on_libc_alone() {
    let needed = successful(Command::new(program("readelf")).arg("-d").arg(library()));
    let needed: Vec<&str> = needed.lines().filter(|line| line.contains("NEEDED")).collect();
    assert_eq!(needed.len(), 1, "{needed:?}");
    assert!(needed[0].contains("[libc.so"), "{needed:?}");
}

#[test]
fn only_hooks_are_exported() {
    let symbols = successful(Command::new(program("nm")).args(["-D", "--defined-only"]).arg(library()));
    for symbol in symbols.lines().map(|line| line.rsplit(' ').next().unwrap()) {
        assert!(!symbol.contains("rust") && !symbol.contains("sockcap"), "{symbol}");
    }
    for hook in ["read", "__read_chk", "recvmmsg", "sendfile64", "close_range", "vfork", "execle", "syscall"]
    {
        assert!(symbols.lines().any(|line| line.ends_with(&format!(" {hook}"))), "{hook}");
    }
}
