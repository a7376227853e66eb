//! Servers that load no library, recorded by `sockcap record --inject`, with strace attached to the
//! same run and the clients' own counts: all three have the same bytes of each connection, and
//! strace and the log the same calls.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use end_to_end::capture::{TestRecording, program_path, run_successfully};
use end_to_end::oracle::free_port;
use end_to_end::repository;
use end_to_end::strace::ConnectionDirection;
use end_to_end::strace_comparison::{CountingClient, StracedProgram};
use rustix::process::Signal;
use socket_log::encode::Direction;

use super::inject;

/// Bytes that clients sent to and received from a server, by their own addresses.
type ClientCounts = BTreeMap<SocketAddr, [u64; 2]>;

/// Compares the clients' counts with the server's messages.
#[track_caller]
fn assert_counted(
    moved: &BTreeMap<ConnectionDirection, Vec<u64>>,
    server: SocketAddr,
    counts: &ClientCounts,
) {
    assert!(!counts.is_empty());
    for (client, count) in counts {
        let sum = |direction| {
            moved.get(&(server, *client, direction)).map_or(0, |sizes| sizes.iter().sum::<u64>())
        };
        assert_eq!([Direction::Receive, Direction::Send].map(sum), *count, "{client}");
    }
}

/// Sends HTTP requests from several concurrent clients, the same number from each, and returns
/// their counts.
fn ask_with_clients(
    port: u16,
    clients: usize,
    times: usize,
    request: impl Fn(usize) -> [String; 2] + Sync,
) -> ClientCounts {
    let one = |number: usize| {
        let mut client = CountingClient::connect(port);
        for time in 0..times {
            let [head, body] = request(number * times + time);
            let (status, answer) = client.send_request(&head, &body);
            assert_eq!(status, 200, "{head} {}", String::from_utf8_lossy(&answer));
        }
        (client.address(), [client.sent, client.received])
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..clients).map(|number| scope.spawn(move || one(number))).collect();
        all.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

fn get_request(path: &str) -> [String; 2] {
    [format!("GET {path}"), String::new()]
}

#[test]
fn busybox_serves_files_in_children() {
    let recording = TestRecording::new();
    fs::create_dir_all(recording.file_path("www")).unwrap();
    fs::write(recording.file_path("www/page"), vec![b'x'; 300_000]).unwrap();
    let port = free_port();
    let busybox = program_path("busybox");
    let address = format!("127.0.0.1:{port}");
    let command = [busybox.to_str().unwrap(), "httpd", "-f", "-p", &address, "-h", "www"];
    let server = StracedProgram::begin_recording(&recording, &command, port);
    let mut counts = ClientCounts::new();
    for _ in 0..20 {
        // It answers one request per connection.
        counts.extend(ask_with_clients(port, 2, 1, |_| get_request("/page")));
    }
    let address = server.address();
    let moved = server.compare_at_end(&recording, Signal::TERM);
    assert_counted(&moved, address, &counts);
}

/// A server in C, with threads.
fn static_server(compiler: &str) {
    let recording = TestRecording::new();
    let binary = recording.file_path("attached");
    let source = repository().join("tests/programs/attached.c");
    let mut command = Command::new(program_path(compiler));
    command.args(["-O1", "-pthread", "-Wall", "-static", "-o"]).arg(&binary).arg(source);
    run_successfully(&mut command);
    let port = free_port();
    let command = [binary.to_str().unwrap(), "8", &port.to_string()];
    let server = StracedProgram::begin_recording(&recording, &command, port);
    let one = || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        for _ in 0..300 {
            client.write_all(b"question").unwrap();
            client.read_exact(&mut [0; 8]).unwrap();
        }
        (client.local_addr().unwrap(), [2400, 2400])
    };
    let counts = std::thread::scope(|scope| {
        let all: Vec<_> = (0..6).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let address = server.address();
    let moved = server.compare_at_end(&recording, Signal::TERM);
    assert_counted(&moved, address, &counts);
}

#[test]
fn a_static_server_of_glibc() {
    static_server("gcc");
}

#[test]
fn a_static_server_of_musl() {
    static_server("musl-gcc");
}

#[test]
#[ignore = "needs Debian's caddy, which `scripts/test --all` installs"]
fn caddy_serves_files_and_is_a_proxy() {
    let recording = TestRecording::new();
    fs::create_dir_all(recording.file_path("www")).unwrap();
    fs::write(recording.file_path("www/page"), vec![b'x'; 300_000]).unwrap();
    fs::write(recording.file_path("www/short"), vec![b'x'; 100]).unwrap();
    let [port, back_port] = [free_port(), free_port()];
    let configuration = format!(
        "{{\n admin off\n auto_https off\n}}\n\
         http://127.0.0.1:{port} {{\n reverse_proxy 127.0.0.1:{back_port}\n}}\n\
         http://127.0.0.1:{back_port} {{\n root * www\n file_server\n}}\n"
    );
    fs::write(recording.file_path("Caddyfile"), configuration).unwrap();
    let caddy = program_path("caddy");
    let home = format!("HOME={}", recording.file_path("home").display());
    let command = ["env", &home, caddy.to_str().unwrap(), "run", "--config", "Caddyfile"];
    let server = StracedProgram::begin_recording(&recording, &command, port);
    let pages = |number| get_request(if number % 10 == 0 { "/page" } else { "/short" });
    let counts = ask_with_clients(port, 8, 50, pages);
    let back_counts = ask_with_clients(back_port, 4, 50, pages);
    let address = server.address();
    let moved = server.compare_at_end(&recording, Signal::TERM);
    assert_counted(&moved, address, &counts);
    assert_counted(&moved, SocketAddr::from(([127, 0, 0, 1], back_port)), &back_counts);
    let received: u64 = counts.values().map(|[_, received]| received).sum();
    assert!(received > 40 * 300_000, "{received}");
}

#[test]
#[ignore = "needs Debian's prometheus, which `scripts/test --all` installs"]
fn prometheus_is_called_and_calls_itself() {
    let recording = TestRecording::new();
    let port = free_port();
    let configuration = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: itself\n  \
         static_configs:\n  - targets: ['127.0.0.1:{port}']\n"
    );
    fs::write(recording.file_path("prometheus.yml"), configuration).unwrap();
    let prometheus = program_path("prometheus");
    let listen = format!("--web.listen-address=127.0.0.1:{port}");
    let command = [prometheus.to_str().unwrap(), "--config.file=prometheus.yml", &listen];
    let command = [&command[..], &["--storage.tsdb.path=tsdb"]].concat();
    let server = StracedProgram::begin_recording(&recording, &command, port);
    let ready = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        CountingClient::connect(port).send_request("GET /-/ready", "").0 == 200
    });
    assert!(ready);
    let counts = ask_with_clients(port, 6, 40, |number| {
        get_request(["/api/v1/query?query=up", "/metrics", "/api/v1/status/config"][number % 3])
    });
    let address = server.address();
    let moved = server.compare_at_end(&recording, Signal::TERM);
    assert_counted(&moved, address, &counts);
}

#[test]
#[ignore = "needs Debian's etcd, which `scripts/test --all` installs"]
fn etcd_is_called_by_http_and_grpc() {
    let recording = TestRecording::new();
    let [port, peers] = [free_port(), free_port()];
    let etcd = program_path("etcd");
    let [client, peer] = [port, peers].map(|port| format!("http://127.0.0.1:{port}"));
    let cluster = format!("--initial-cluster=default={peer}");
    let own = [&client, &peer].map(|address| address.as_str());
    let command = [
        etcd.to_str().unwrap(),
        "--data-dir=etcd",
        "--listen-client-urls",
        own[0],
        "--advertise-client-urls",
        own[0],
        "--listen-peer-urls",
        own[1],
        "--initial-advertise-peer-urls",
        own[1],
        &cluster,
    ];
    let server = StracedProgram::begin_recording(&recording, &command, port);
    // Its gateway calls itself by gRPC.
    let counts = ask_with_clients(port, 6, 40, |number| match number % 2 {
        0 => ["POST /v3/kv/put".to_owned(), r#"{"key": "Zm9v", "value": "YmFy"}"#.to_owned()],
        _ => ["POST /v3/kv/range".to_owned(), r#"{"key": "Zm9v"}"#.to_owned()],
    });
    for _ in 0..5 {
        let mut ctl = Command::new(program_path("etcdctl"));
        ctl.env("ETCDCTL_API", "3").args(["--endpoints", &client, "put", "foo", "bar"]);
        assert_eq!(run_successfully(&mut ctl), "OK\n");
    }
    let address = server.address();
    let moved = server.compare_at_end(&recording, Signal::TERM);
    assert_counted(&moved, address, &counts);
}

/// Answers each command with 1, as Redis does, until the test ends.
fn serve_redis() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = |mut connection: TcpStream| {
        // The client waits for the response.
        while connection.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {
            let _ = connection.write_all(b":1\r\n");
        }
    };
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            std::thread::spawn(move || answer(connection));
        }
    });
    port
}

/// A front end that is called by HTTP and calls prices by gRPC, which calls stock, which calls
/// Redis.
#[test]
#[ignore = "compiles gRPC of Debian's golang-google-grpc-dev, which `scripts/test --all` installs"]
fn services_of_go_by_grpc() {
    let recording = TestRecording::new();
    let binary = recording.file_path("go_grpc");
    run_successfully(
        inject::go_command(&recording, "1.27.3")
            .args(["build", "-o"])
            .arg(&binary)
            .arg(repository().join("tests/systems/apps/go_grpc/main.go"))
            .env_remove("GOFLAGS")
            .env("GO111MODULE", "off")
            .env("GOPATH", "/usr/share/gocode")
            .env("CGO_ENABLED", "0"),
    );
    let ports = [serve_redis(), free_port(), free_port(), free_port()];
    let [_, stock, prices, front] = ports;
    let names = ["REDIS_PORT", "STOCK_PORT", "PRICES_PORT"];
    let env: Vec<String> =
        names.iter().zip(ports).map(|(name, port)| format!("{name}={port}")).collect();
    let begin = |role: &str, port: u16| {
        let own = format!("PORT={port}");
        let mut command = vec!["env", &own];
        command.extend(env.iter().map(String::as_str));
        command.extend([binary.to_str().unwrap(), role]);
        StracedProgram::begin_recording(&recording, &command, port)
    };
    let servers = [begin("stock", stock), begin("prices", prices), begin("front", front)];
    let counts = ask_with_clients(front, 20, 20, |number| get_request(&format!("/item/{number}")));
    let address = servers[2].address();
    let [of_stock, of_prices, of_front] =
        servers.map(|server| server.compare_at_end(&recording, Signal::TERM));
    assert_counted(&of_front, address, &counts);
    // Bytes that one sent are the bytes that the next one received.
    for (asking, asked) in [(&of_front, &of_prices), (&of_prices, &of_stock)] {
        let mut together = 0;
        for ((own, other, direction), sizes) in asked {
            let opposite = match direction {
                Direction::Send => Direction::Receive,
                Direction::Receive => Direction::Send,
            };
            if let Some(sent) = asking.get(&(*other, *own, opposite)) {
                assert_eq!(sent.iter().sum::<u64>(), sizes.iter().sum::<u64>());
                together += 1;
            }
        }
        assert_eq!(together, 2);
    }
}
