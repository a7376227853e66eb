//! Readers as they should be, and as they should not.

use std::net::Ipv4Addr;

use super::*;

/// There is one path.
fn reply(request: &Request<'_>) -> Answer {
    match (request.path, request.method) {
        ("/metrics", "GET") => {
            let text = format!(
                "it was {} who asked {:?}\n",
                request.host.unwrap_or("nobody"),
                request.query
            );
            Answer::of("text/x-test", text.into_bytes())
        }
        ("/metrics", _) => Answer::refusal(405, "only reading"),
        _ => Answer::refusal(404, "nothing else"),
    }
}

/// Serves while `test` runs, which is told where.
fn serving(deadline: Duration, test: impl FnOnce(SocketAddr)) {
    serving_with(reply, deadline, test);
}

fn serving_with(
    reply: impl Fn(&Request<'_>) -> Answer + Sync,
    deadline: Duration,
    test: impl FnOnce(SocketAddr),
) {
    let server = Server::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().with_deadline(deadline);
    let (address, stop) = (server.address().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| server.run(&reply, &stop));
        // The server is to end where a test fails, too.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(address)));
        stop.store(true, Relaxed);
        if let Err(cause) = result {
            std::panic::resume_unwind(cause);
        }
    });
}

/// What is answered to these bytes: the status, and all of it.
fn ask(address: SocketAddr, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    read(stream)
}

fn read(mut stream: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

/// Long enough for every answer, however busy the machine.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn what_is_asked_for_is_answered() {
    serving(LONG, |address| {
        for (request, said) in [
            (
                "GET /metrics HTTP/1.1\r\nAccept: */*\r\nhOst:  x:1 \r\n\r\n",
                "it was x:1 who asked \"\"\n",
            ),
            ("GET /metrics?a=b?c HTTP/1.0\r\n\r\n", "it was nobody who asked \"a=b?c\"\n"),
        ] {
            let (status, answer) = ask(address, request.as_bytes());
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!((status, body), (200, said));
            assert!(head.contains("\r\nContent-Type: text/x-test\r\n"), "{head}");
            assert!(head.contains("\r\nCache-Control: no-store\r\n"), "{head}");
            assert!(head.contains("\r\nX-Content-Type-Options: nosniff\r\n"), "{head}");
            assert!(head.contains("\r\nCross-Origin-Resource-Policy: same-origin\r\n"), "{head}");
            assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
        }
    });
}

#[test]
fn nothing_else_is() {
    serving(LONG, |address| {
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
            let (status, answer) = ask(address, format!("{line}\r\n\r\n").as_bytes());
            assert_eq!(status, expected, "{line}: {answer}");
            assert!(!answer.contains("who asked"), "{line}");
            assert_eq!(answer.contains("Allow: GET\r\n"), expected == 405, "{line}");
        }
    });
}

#[test]
fn a_big_head_is_refused_and_a_large_one_is_not() {
    serving(LONG, |address| {
        let request = |length: usize| {
            let begin = "GET /metrics HTTP/1.1\r\nCookie: ";
            format!("{begin}{}\r\n\r\n", "x".repeat(length - begin.len() - 4))
        };
        assert_eq!(ask(address, request(MAX_HEAD_BYTES).as_bytes()).0, 200);
        for length in [MAX_HEAD_BYTES + 1, 4 * MAX_HEAD_BYTES, 16 << 20] {
            let (status, answer) = ask(address, request(length).as_bytes());
            assert_eq!(status, 431, "{answer}");
        }
    });
}

#[test]
fn a_reader_that_sends_a_byte_at_a_time_is_served() {
    serving(LONG, |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        for byte in b"GET /metrics HTTP/1.1\r\n\r\n" {
            stream.write_all(&[*byte]).unwrap();
        }
        assert_eq!(read(stream).0, 200);
    });
}

#[test]
fn readers_that_say_nothing_hold_up_nobody_for_long() {
    // With more of them than threads, the next one is served when their time is over.
    serving(Duration::from_millis(200), |address| {
        let silent: Vec<TcpStream> =
            (0..THREADS + 2).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut half = TcpStream::connect(address).unwrap();
        half.write_all(b"GET /metrics HT").unwrap();
        for stream in silent {
            let (status, answer) = read(stream);
            assert_eq!(status, 408, "{answer}");
        }
        assert_eq!(read(half).0, 408);
    });
}

#[test]
fn a_connection_that_nobody_uses_is_not_kept_however_long_an_answer_may_take() {
    serving(Duration::from_secs(3600), |address| {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        assert_eq!(read(stream).0, 408);
    });
}

#[test]
fn readers_are_served_at_once() {
    let (go, wait) = std::sync::mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let reply = move |request: &Request<'_>| match request.path {
        "/go" => {
            go.send(()).unwrap();
            Answer::of("text/x-test", b"gone"[..].to_vec())
        }
        // Answered only when the other one was.
        _ => match wait.lock().unwrap().recv_timeout(LONG) {
            Ok(()) => Answer::of("text/x-test", b"waited"[..].to_vec()),
            Err(_) => Answer::refusal(500, "nobody else was served"),
        },
    };
    serving_with(reply, LONG, |address| {
        let mut first = TcpStream::connect(address).unwrap();
        first.write_all(b"GET /wait HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(ask(address, b"GET /go HTTP/1.1\r\n\r\n").0, 200);
        assert_eq!(read(first).0, 200);
    });
}

#[test]
fn a_byte_now_and_then_gains_no_time() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    reader.write_all(b"GET").unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut stream = Until { stream, end: Instant::now() };
    let mut byte = [0];
    // There is something to read, and room to write.
    assert_eq!(stream.read(&mut byte).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(stream.write(&byte).unwrap_err().kind(), ErrorKind::TimedOut);
}

#[test]
fn a_reader_that_does_not_read_is_given_up() {
    let reply = |_: &Request<'_>| Answer::of("text/x-test", vec![b'x'; 1 << 20]);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    reader.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let (stream, _) = listener.accept().unwrap();
    // Little room, so that the answer does not fit into the kernel.
    socket2::SockRef::from(&stream).set_send_buffer_size(4096).unwrap();
    let error = answer(stream, Duration::from_millis(200), &reply).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
}

#[test]
fn who_leaves_is_no_harm() {
    serving(LONG, |address| {
        drop(TcpStream::connect(address).unwrap());
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /met").unwrap();
        drop(stream);
        assert_eq!(ask(address, b"GET /metrics HTTP/1.1\r\n\r\n").0, 200);
    });
}
