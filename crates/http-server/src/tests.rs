//! Well-behaved and misbehaving clients.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Instant;

use super::connection::{ServerConnection, StepOutcome};
use super::tuning::{ANSWER_THREADS, MAX_HEAD_BYTES, MAX_IDLE};
use super::*;

/// Answers the one path that exists.
fn reply_to(request: &HttpRequest<'_>) -> HttpAnswer {
    match (request.path, request.method) {
        ("/metrics", "GET") => {
            let text =
                format!("host {} query {:?}\n", request.host.unwrap_or("none"), request.query);
            HttpAnswer::with_body("text/x-test", text.into_bytes())
        }
        ("/metrics", _) => HttpAnswer::refusal(405, "only reading"),
        _ => HttpAnswer::refusal(404, "nothing else"),
    }
}

/// Runs a server while `test` runs, which receives its address.
fn with_server(deadline: Duration, test: impl FnOnce(SocketAddr)) {
    serving_with(reply_to, deadline, test);
}

fn serving_with(
    reply: impl Fn(&HttpRequest<'_>) -> HttpAnswer + Sync,
    deadline: Duration,
    test: impl FnOnce(SocketAddr),
) {
    let server = HttpServer::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().with_deadline(deadline);
    let (address, stop) = (server.address().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| server.run(&reply, &stop));
        // The server must also stop if a test fails.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(address)));
        stop.store(true, Relaxed);
        if let Err(cause) = result {
            std::panic::resume_unwind(cause);
        }
    });
}

/// Sends these bytes, and returns the status and the whole answer.
fn ask_bytes(address: SocketAddr, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    read_answer(stream)
}

fn read_answer(mut stream: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

/// Long enough for every answer on a busy machine.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn known_paths_are_answered() {
    with_server(LONG, |address| {
        for (request, expected) in [
            (
                "GET /metrics HTTP/1.1\r\nAccept: */*\r\nhOst:  x:1 \r\n\r\n",
                "host x:1 query \"\"\n",
            ),
            ("GET /metrics?a=b?c HTTP/1.0\r\n\r\n", "host none query \"a=b?c\"\n"),
        ] {
            let (status, answer) = ask_bytes(address, request.as_bytes());
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!((status, body), (200, expected));
            assert!(head.contains("\r\nContent-Type: text/x-test\r\n"), "{head}");
            assert!(head.contains("\r\nCache-Control: no-store\r\n"), "{head}");
            assert!(head.contains("\r\nX-Content-Type-Options: nosniff\r\n"), "{head}");
            assert!(head.contains("\r\nCross-Origin-Resource-Policy: same-origin\r\n"), "{head}");
            assert!(head.contains("\r\nReferrer-Policy: no-referrer\r\n"), "{head}");
            assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
        }
    });
}

#[test]
fn other_requests_are_refused() {
    with_server(LONG, |address| {
        for (line, expected) in [
            ("GET / HTTP/1.1", 404),
            ("GET /metrics/ HTTP/1.1", 404),
            ("GET /../metrics HTTP/1.1", 404),
            ("POST /other HTTP/1.1", 404),
            ("POST /metrics HTTP/1.1", 405),
            ("HEAD /metrics HTTP/1.1", 405),
            ("get /metrics HTTP/1.1", 405),
            ("GET /metrics HTTP/2.0", 400),
            ("GET /metrics", 400),
            ("GET  /metrics HTTP/1.1", 400),
            ("\u{16}\u{3}\u{1}", 400),
            ("", 400),
        ] {
            let (status, answer) = ask_bytes(address, format!("{line}\r\n\r\n").as_bytes());
            assert_eq!(status, expected, "{line}: {answer}");
            assert!(!answer.contains("query"), "{line}");
            assert_eq!(answer.contains("Allow: GET\r\n"), expected == 405, "{line}");
        }
    });
}

#[test]
fn a_big_head_is_refused_and_a_large_one_is_not() {
    with_server(LONG, |address| {
        let request = |length: usize| {
            let begin = "GET /metrics HTTP/1.1\r\nCookie: ";
            format!("{begin}{}\r\n\r\n", "x".repeat(length - begin.len() - 4))
        };
        assert_eq!(ask_bytes(address, request(MAX_HEAD_BYTES).as_bytes()).0, 200);
        for length in [MAX_HEAD_BYTES + 1, 4 * MAX_HEAD_BYTES, 16 << 20] {
            let (status, answer) = ask_bytes(address, request(length).as_bytes());
            assert_eq!(status, 431, "{answer}");
        }
    });
}

#[test]
fn a_client_that_sends_single_bytes_is_served() {
    with_server(LONG, |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        for byte in b"GET /metrics HTTP/1.1\r\n\r\n" {
            stream.write_all(&[*byte]).unwrap();
        }
        assert_eq!(read_answer(stream).0, 200);
    });
}

#[test]
fn silent_clients_do_not_block_others_for_long() {
    // There are more of them than threads, so the next request is served after their deadline.
    with_server(Duration::from_millis(200), |address| {
        let silent: Vec<TcpStream> =
            (0..ANSWER_THREADS + 2).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut half = TcpStream::connect(address).unwrap();
        half.write_all(b"GET /metrics HT").unwrap();
        for stream in silent {
            let (status, answer) = read_answer(stream);
            assert_eq!(status, 408, "{answer}");
        }
        assert_eq!(read_answer(half).0, 408);
    });
}

#[test]
fn an_unused_connection_is_closed_whatever_the_deadline_of_answers() {
    with_server(Duration::from_secs(3600), |address| {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        assert_eq!(read_answer(stream).0, 408);
    });
}

#[test]
fn clients_are_served_concurrently() {
    let (go, wait) = std::sync::mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let reply = move |request: &HttpRequest<'_>| match request.path {
        "/go" => {
            go.send(()).unwrap();
            HttpAnswer::with_body("text/x-test", b"gone"[..].to_vec())
        }
        // This one is answered only after the other one.
        _ => match wait.lock().unwrap().recv_timeout(LONG) {
            Ok(()) => HttpAnswer::with_body("text/x-test", b"waited"[..].to_vec()),
            Err(_) => HttpAnswer::refusal(500, "nobody else was served"),
        },
    };
    serving_with(reply, LONG, |address| {
        let mut first = TcpStream::connect(address).unwrap();
        first.write_all(b"GET /wait HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(ask_bytes(address, b"GET /go HTTP/1.1\r\n\r\n").0, 200);
        assert_eq!(read_answer(first).0, 200);
    });
}

#[test]
fn occasional_bytes_do_not_extend_the_deadline() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, peer) = listener.accept().unwrap();
    let now = Instant::now();
    let mut connection = ServerConnection::new(stream, peer, now, LONG).unwrap();
    let before = connection.time_left(now);
    reader.write_all(b"GET").unwrap();
    while connection.advance_step() != StepOutcome::Pending {}
    assert!(before <= LONG && connection.time_left(now) == before);
    assert_eq!(connection.time_left(now + before), Duration::ZERO);
}

#[test]
fn slow_clients_do_not_block_others() {
    let reply = |request: &HttpRequest<'_>| match request.path {
        "/large" => HttpAnswer::with_body("text/x-test", vec![b'x'; 32 << 20]),
        _ => HttpAnswer::with_body("text/x-test", b"small".to_vec()),
    };
    // The deadline of the connections is later than the end of the test.
    serving_with(reply, Duration::from_secs(3600), |address| {
        // More than there are threads.
        let slow: Vec<TcpStream> = (0..2 * ANSWER_THREADS)
            .map(|_| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(b"GET /large HTTP/1.1\r\n\r\n").unwrap();
                // The answer has begun, and is longer than the kernel's buffers.
                stream.read_exact(&mut [0; 100]).unwrap();
                stream
            })
            .collect();
        assert_eq!(ask_bytes(address, b"GET /small HTTP/1.1\r\n\r\n").0, 200);
        drop(slow);
    });
}

#[test]
fn silent_clients_make_room_for_others() {
    with_server(Duration::from_secs(3600), |address| {
        let silent: Vec<TcpStream> =
            (0..3 * MAX_IDLE).map(|_| TcpStream::connect(address).unwrap()).collect();
        assert_eq!(ask_bytes(address, b"GET /metrics HTTP/1.1\r\n\r\n").0, 200);
        // The oldest connections were evicted with an answer.
        let oldest = silent.into_iter().next().unwrap();
        assert_eq!(read_answer(oldest).0, 503);
    });
}

#[test]
fn a_client_that_does_not_read_is_dropped() {
    let large: std::sync::Arc<[u8]> = vec![b'x'; 32 << 20].into();
    let reply = |_: &HttpRequest<'_>| HttpAnswer::with_body("text/x-test", large.clone());
    serving_with(reply, Duration::from_millis(50), |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // The kernel reports nothing until the server has closed the connection, and then a reset.
        stream.set_write_timeout(Some(LONG)).unwrap();
        let refused = (0..10_000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            stream.write_all(b"more").err()
        });
        assert!(refused.is_some());
    });
}

#[test]
fn clients_that_disconnect_do_no_harm() {
    with_server(LONG, |address| {
        drop(TcpStream::connect(address).unwrap());
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /met").unwrap();
        drop(stream);
        assert_eq!(ask_bytes(address, b"GET /metrics HTTP/1.1\r\n\r\n").0, 200);
    });
}
