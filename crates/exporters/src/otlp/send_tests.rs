//! A small collector, and the requests and responses that it exchanges with the client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};

use super::*;
use crate::otlp::writer::{CallDetails, OtlpWriter};
use crate::traces::{OperationLookup, SpanWriter, spans, testing};

const QUICK: RetryPolicy = RetryPolicy { tries: 3, wait: Duration::from_millis(1) };

/// A request: its first line and headers, and its body.
type ReceivedRequest = (String, Vec<u8>);

/// A collector that gives these responses, each on a connection of its own.
fn collector(answers: Vec<(&'static str, Vec<u8>)>) -> (String, JoinHandle<Vec<ReceivedRequest>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for (status, answer) in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(&stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
            }
            let length = head.lines().find_map(|line| {
                let (key, value) = line.split_once(": ")?;
                key.eq_ignore_ascii_case("content-length").then(|| value.parse().unwrap())
            });
            let mut body = vec![0; length.unwrap()];
            reader.read_exact(&mut body).unwrap();
            requests.push((head, body));
            let length = answer.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
            );
            (&stream).write_all(&[head.as_bytes(), &answer].concat()).unwrap();
        }
        requests
    });
    (address, thread)
}

fn send(address: &str, headers: &[&str]) -> Result<CollectorClient, Error> {
    let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
    let operations = OperationLookup::default();
    let known = CallDetails { spent: None, operations: &operations };
    let mut otlp = OtlpWriter::new(CollectorClient::new(address, &headers, QUICK)?, known);
    let calls = testing::calls();
    otlp.write_spans(&spans::spans_of_calls(&calls), &testing::parties("web"))?;
    otlp.finish()?;
    Ok(otlp.into_requests())
}

#[test]
fn a_collector_gets_the_spans_and_temporary_errors_are_retried() {
    let busy = "503 Service Unavailable";
    let (address, thread) = collector(vec![
        (busy, vec![]),
        ("429 Too Many\r\nretry-after: 0", vec![]),
        ("200 OK", vec![]),
    ]);
    let sent = send(&format!("{address}/"), &["x-tenant=a=b"]).unwrap();
    assert_eq!(sent.rejected, (0, String::new()));
    let requests = thread.join().unwrap();
    for (head, body) in &requests {
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        let head = head.to_ascii_lowercase();
        assert!(
            head.contains("content-type: application/x-protobuf") && head.contains("x-tenant: a=b"),
            "{head}"
        );
        assert_eq!(body, &requests[0].1);
    }
    let read = ExportTraceServiceRequest::decode(&requests[2].1[..]).unwrap();
    let spans = read.resource_spans.iter().map(|node| node.scope_spans[0].spans.len());
    assert_eq!(spans.sum::<usize>(), 8);
}

#[test]
fn rejected_spans_are_summed_over_all_requests() {
    let partial =
        ExportTracePartialSuccess { rejected_spans: 3, error_message: "too old".to_owned() };
    let answer = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let (address, thread) = collector(vec![("200 OK", answer); 2]);
    let operations = OperationLookup::default();
    let known = CallDetails { spent: None, operations: &operations };
    let mut otlp = OtlpWriter::new(
        CollectorClient::new(&format!("{address}/custom"), &[], QUICK).unwrap(),
        known,
    );
    let (calls, parties) = (testing::calls(), testing::parties("web"));
    for _ in 0..2 {
        otlp.write_spans(&spans::spans_of_calls(&calls), &parties).unwrap();
    }
    assert_eq!(otlp.into_requests().rejected, (6, "too old".to_owned()));
    assert!(thread.join().unwrap()[0].0.starts_with("POST /custom HTTP/1.1\r\n"));
}

#[test]
fn an_address_with_a_path_or_a_query_is_unchanged() {
    for rest in ["/?tenant=1", "/otlp/v1/traces"] {
        let (address, thread) = collector(vec![("200 OK", vec![])]);
        send(&format!("{address}{rest}"), &[]).unwrap();
        assert!(thread.join().unwrap()[0].0.starts_with(&format!("POST {rest} HTTP/1.1\r\n")));
    }
}

#[test]
fn each_wait_is_twice_the_last_unless_the_collector_asks_for_another() {
    let retries = RetryPolicy { tries: 6, wait: Duration::from_millis(500) };
    let milliseconds = |tries, asked: Option<u64>| {
        retries.wait_time(tries, asked.map(Duration::from_secs)).as_millis()
    };
    assert_eq!([1, 2, 3, 5].map(|tries| milliseconds(tries, None)), [500, 1000, 2000, 8000]);
    assert_eq!([0, 7].map(|asked| milliseconds(1, Some(asked))), [0, 7000]);
    assert_eq!((milliseconds(1, Some(3600)), milliseconds(99, None)), (30_000, 30_000));
}

#[test]
fn long_responses_are_shortened_in_errors() {
    let (address, thread) =
        collector(vec![("403 Forbidden", vec![b'x'; 500]), ("500 Oh", vec![b'x'; 70_000])]);
    let error = || send(&address, &[]).err().unwrap().to_string();
    let [long, too_long] = [error(), error()];
    assert!(long.contains(&format!("answered 403: {}; give", "x".repeat(200))), "{long}");
    // A response that is too long is not read to its end. The error is permanent.
    assert!(too_long.ends_with("the collector answered 500; see its own log"), "{too_long}");
    thread.join().unwrap();
}

#[test]
fn permanent_errors_are_reported_with_a_hint() {
    let (address, thread) = collector(vec![("401 Unauthorized", b"no\n\x08token".to_vec())]);
    let error = send(&address, &[]).err().unwrap().to_string();
    assert!(
        error.contains(
            "401: no token; give the header that it requires with \
                            --header"
        ),
        "{error}"
    );
    thread.join().unwrap();
    let (address, thread) = collector(vec![("307 Moved\r\nlocation: /there", vec![])]);
    let error = send(&address, &[]).err().unwrap().to_string();
    assert!(error.contains("307; give the address that it redirects to"), "{error}");
    thread.join().unwrap();
    let (address, thread) = collector(vec![("502 Bad Gateway", vec![]); 3]);
    let error = send(&address, &[]).err().unwrap().to_string();
    assert!(error.contains("it answered 502, after 3 tries; is a collector listening"), "{error}");
    thread.join().unwrap();
    // Nothing listens on the port any more.
    let error = send(&address, &[]).err().unwrap().to_string();
    assert!(error.contains("after 3 tries"), "{error}");
    for address in ["localhost:4318", "ftp://there", "http://", "http://a b"] {
        let error = send(address, &[]).err().unwrap().to_string();
        assert!(error.contains("such as http://localhost:4318"), "{error}");
    }
    for header in ["authorization", "a b=c", "a=\u{1}"] {
        let error = send("http://localhost:1", &[header]).err().unwrap().to_string();
        assert!(error.contains("is not a header"), "{error}");
    }
}
