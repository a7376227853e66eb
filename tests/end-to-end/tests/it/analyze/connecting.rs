//! The time that a caller waits for its connection is reported as such, and not as its own: on real
//! sockets, from the preloaded library to the report.

use std::fs;

use end_to_end::capture::TestRecording;
use end_to_end::command::assert_succeeds;
use end_to_end::repository;
use serde_json::Value;
use socket_log::LogRecord;

const REQUESTS: usize = 25;

/// The hop from the front to the back end in the most frequent pattern, that pattern, the mean
/// times of its instances in milliseconds, and the duration of each call to `connect`.
struct ConnectFigures {
    hop: Value,
    pattern: Value,
    waited: Vec<f64>,
    text: String,
}

fn record_connects(kind: &str) -> ConnectFigures {
    let directory = tempfile::tempdir().unwrap();
    let program = repository().join("tests/programs/connecting.py");
    let program = program.to_str().unwrap();
    assert_succeeds(
        &["record", "--", "/usr/bin/python3", program, kind, &REQUESTS.to_string()],
        directory.path(),
    );
    let report = |more: &[&str]| {
        assert_succeeds(
            &[&["report", "--node", "process", "--sort", "count"], more].concat(),
            directory.path(),
        )
    };
    let json: Value = serde_json::from_str(&report(&["--json"])).unwrap();
    let pattern = json["patterns"][0].clone();
    let is_asking = |hop: &&Value| hop["protocol"] == "unix-stream" && hop["dst_port"] != "*";
    let hop = pattern["hops"].as_array().unwrap().iter().find(is_asking).unwrap().clone();
    let waited = fs::read_to_string(directory.path().join("waited")).unwrap();
    let waited = waited.lines().map(|line| line.parse::<f64>().unwrap() / 1e6).collect();
    ConnectFigures { hop, pattern, waited, text: report(&["--color", "never"]) }
}

fn to_milliseconds(value: &Value) -> f64 {
    value.as_f64().unwrap() / 1e6
}

#[test]
fn callers_wait_for_a_connection_per_request() {
    let ConnectFigures { hop, pattern, waited, text } = record_connects("each");
    assert_eq!(pattern["count"], REQUESTS as u64, "one pattern");
    let measured = waited.iter().sum::<f64>() / REQUESTS as f64;
    assert!(measured > 10.0, "connect did not wait: {waited:?}");
    let told = to_milliseconds(&hop["connect_mean"]);
    // The duration of the call is known to a 32nd.
    assert!(told > 0.95 * measured && told < measured + 1.0, "{told} ms for {measured} ms: {hop}");
    assert_eq!(hop["connect_count"], REQUESTS as u64);
    // The sender's own work is a sleep of 10 ms, plus delays of the machine.
    let node = to_milliseconds(&hop["node_mean"]);
    assert!((10.0..10.0 + 0.5 * measured).contains(&node), "{node} ms: {hop}");
    // All delays together are the whole, as the pattern is a chain.
    let parts = ["node_mean", "network_mean", "connect_mean"];
    let hops = pattern["hops"].as_array().unwrap();
    let sum: f64 =
        hops.iter().flat_map(|hop| parts.map(|part| hop[part].as_f64().unwrap_or(0.0))).sum();
    let whole = pattern["duration_mean"].as_f64().unwrap();
    assert!((sum / whole - 1.0).abs() < 0.01, "{sum} of {whole}: {pattern}");
    assert!(text.contains("connect   in share") && text.contains("100%"), "{text}");
}

#[test]
fn a_connection_made_before_the_requests_belongs_to_none() {
    let ConnectFigures { hop, waited, text, .. } = record_connects("once");
    assert!(waited.len() == 1 && waited[0] > 10.0, "{waited:?}");
    assert_eq!(hop.get("connect_mean"), None, "{hop}");
    assert!(!text.contains("connect   in share"), "{text}");
}

#[test]
fn a_call_without_a_wait_has_no_connecting_time() {
    let recording = TestRecording::new();
    recording.run_python(
        "import socket; server = socket.create_server(('127.0.0.1', 0))\n\
         for blocks in (True, False):\n    end = socket.socket(); end.setblocking(blocks)\n    \
         end.connect_ex(server.getsockname())",
    );
    let log = recording.only_log();
    let named = log.complete_records().filter_map(|record| match record {
        LogRecord::Endpoints { took: Some(_), under_way, .. } => Some(*under_way),
        _ => None,
    });
    assert_eq!(named.collect::<Vec<_>>(), [false, true]);
}
