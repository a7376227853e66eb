//! `sockcap export` for other tools: the output is read back by OpenTelemetry's own schema, by a
//! JSON reader and by Graphviz, and has the calls and parents of the table of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use end_to_end::capture::program_path;
use end_to_end::command::{assert_succeeds, run_sockcap, to_text};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use prost::Message;

/// The directory of a synthetic trace of overlapping requests, already analyzed; one for all tests.
fn synthetic_trace() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        // Statics are never dropped, so it is at a path where the next run replaces it.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exports");
        fs::remove_dir_all(&root)
            .or_else(|error| if root.exists() { Err(error) } else { Ok(()) })
            .unwrap();
        fs::create_dir_all(&root).unwrap();
        let directory = tempfile::tempdir_in(root).unwrap();
        assert_succeeds(&["synth", "multi-tier", "--instances", "20"], directory.path());
        assert_succeeds(&["analyze"], directory.path());
        directory
    });
    made.path()
}

/// All spans, each with the name of its service.
fn spans_by_service(data: &[u8]) -> Vec<(String, Span)> {
    let data = TracesData::decode(data).unwrap();
    let mut all = Vec::new();
    for node in data.resource_spans {
        let attributes = node.resource.unwrap().attributes;
        let name = attributes.iter().find(|attribute| attribute.key == "service.name").unwrap();
        let Some(Value::StringValue(name)) = name.value.clone().unwrap().value else {
            unreachable!()
        };
        all.extend(
            node.scope_spans.into_iter().flat_map(|s| s.spans).map(|span| (name.clone(), span)),
        );
    }
    all
}

fn find_attribute(span: &Span, key: &str) -> Option<Value> {
    span.attributes.iter().find(|attribute| attribute.key == key)?.value.clone()?.value
}

/// The call that a span is of.
fn call_of_span(span: &Span) -> i64 {
    let Some(Value::IntValue(call)) = find_attribute(span, "sockcap.call") else { unreachable!() };
    call
}

#[test]
fn the_spans_and_their_parents_are_those_of_the_table_of_calls() {
    let directory = synthetic_trace();
    let table = assert_succeeds(&["export", "calls"], directory);
    let rows: Vec<Vec<&str>> =
        table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_succeeds(&["export", "otlp", "--format", "protobuf", "-o", "traces.pb"], directory);
    let spans = spans_by_service(&fs::read(directory.join("traces.pb")).unwrap());
    let at_both_ends = rows.iter().map(|row| {
        usize::from(!row[8].is_empty() || !row[11].is_empty())
            + usize::from(!row[9].is_empty() || !row[10].is_empty())
    });
    assert_eq!(spans.len(), at_both_ends.sum::<usize>());

    let by_id: BTreeMap<&[u8], &(String, Span)> =
        spans.iter().map(|s| (&s.1.span_id[..], s)).collect();
    assert_eq!(by_id.len(), spans.len());
    // The rows of the table are in the order of the calls' numbers.
    let numbers: BTreeSet<i64> = spans.iter().map(|(_, span)| call_of_span(span)).collect();
    assert_eq!(numbers.len(), rows.len());
    let row_of: BTreeMap<i64, &Vec<&str>> = numbers.into_iter().zip(&rows).collect();
    let mut made_for = 0;
    for (service, span) in &spans {
        let row = row_of[&call_of_span(span)];
        let is_caller = span.kind() == SpanKind::Client || span.kind() == SpanKind::Producer;
        assert_eq!(service, row[if is_caller { 3 } else { 4 }]);
        let parent = by_id.get(&span.parent_span_id[..]).map(|(_, parent)| parent);
        assert_eq!(parent.is_some(), !span.parent_span_id.is_empty());
        assert!(parent.is_none_or(|parent| parent.trace_id == span.trace_id));
        // The parent is within the same call; for the outermost span, the call above is the one in
        // the table.
        if parent.is_none_or(|parent| call_of_span(parent) != call_of_span(span)) {
            assert_eq!(parent.map_or("", |parent| row_of[&call_of_span(parent)][0]), row[1]);
            made_for += usize::from(parent.is_some());
            let Some(Value::DoubleValue(probability)) = find_attribute(span, "sockcap.probability")
            else {
                unreachable!()
            };
            assert_eq!(probability, row[2].parse::<f64>().unwrap());
        }
    }
    assert_eq!(made_for, rows.iter().filter(|row| !row[1].is_empty()).count());
    let traces: BTreeSet<&[u8]> = spans.iter().map(|(_, span)| &span.trace_id[..]).collect();
    assert_eq!(traces.len(), rows.iter().filter(|row| row[1].is_empty()).count());
}

fn trace_ids(spans: &[(String, Span)]) -> BTreeSet<Vec<u8>> {
    spans.iter().map(|(_, span)| span.trace_id.clone()).collect()
}

/// A trace that extends beyond a batch of messages is complete, even if no more traces are wanted.
#[test]
fn the_last_of_limited_traces_is_complete() {
    let directory = tempfile::tempdir_in(synthetic_trace()).unwrap();
    assert_succeeds(
        &["synth", "multi-tier", "--instances", "5", "--parallel", "1"],
        directory.path(),
    );
    assert_succeeds(&["analyze", "--stretch", "20"], directory.path());
    let export = |arguments: &[&str]| {
        let output = run_sockcap(
            &[&["export", "otlp", "--format", "protobuf"], arguments].concat(),
            directory.path(),
        );
        assert!(output.status.success(), "{output:?}");
        spans_by_service(&output.stdout)
    };
    let all = export(&[]);
    for limit in 1..=trace_ids(&all).len() {
        let some = export(&["--limit", &limit.to_string()]);
        let wanted = trace_ids(&some);
        assert_eq!(wanted.len(), limit);
        let whole = all.iter().filter(|(_, span)| wanted.contains(&span.trace_id)).count();
        assert_eq!(some.len(), whole, "the first {limit}");
    }
}

#[test]
fn every_format_has_the_same_spans_of_selected_patterns_and_traces() {
    let directory = synthetic_trace();
    let export = |arguments: &[&str]| {
        let arguments = [&["export"], arguments].concat();
        let output = run_sockcap(&arguments, directory);
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let protobuf = ["otlp", "--format", "protobuf"];
    let all = spans_by_service(&export(&protobuf));
    let some = spans_by_service(&export(&[&protobuf[..], &["--limit", "10"]].concat()));
    assert_eq!(trace_ids(&some).len(), 10);
    let whole = |spans: &[(String, Span)]| {
        let wanted = trace_ids(spans);
        all.iter().filter(|(_, span)| wanted.contains(&span.trace_id)).count() == spans.len()
    };
    assert!(whole(&some));
    let of_pattern = spans_by_service(&export(&[&protobuf[..], &["--pattern", "0"]].concat()));
    let patterns = assert_succeeds(&["export", "patterns"], directory);
    let count: usize =
        patterns.lines().nth(1).unwrap().split(',').nth(21).unwrap().parse().unwrap();
    let found = trace_ids(&of_pattern).len();
    assert!(whole(&of_pattern) && found > 0 && found <= count, "{found} of {count}");

    let lines = to_text(&export(&["otlp"]));
    let mut from_json = 0;
    for line in lines.lines() {
        let read: TracesData = serde_json::from_str(line).unwrap();
        from_json += read
            .resource_spans
            .iter()
            .flat_map(|n| &n.scope_spans)
            .map(|s| s.spans.len())
            .sum::<usize>();
    }
    let chrome: serde_json::Value = serde_json::from_slice(&export(&["chrome"])).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    let above = all.iter().filter(|(_, span)| !span.parent_span_id.is_empty()).count();
    assert_eq!((from_json, of("X"), of("s"), of("f")), (all.len(), all.len(), above, above));
    // The same input gives the same output.
    assert_eq!(export(&["perfetto"]), export(&["perfetto"]));
}

#[test]
fn graphs_are_drawn_and_stacks_add_up() {
    let directory = synthetic_trace();
    for graph in ["pattern", "calls", "figure8", "delays", "map"] {
        let written = assert_succeeds(&["export", "dot", "--what", graph], directory);
        assert!(written.starts_with("digraph") && written.contains(" -> "), "{written}");
        assert!(draw_graph(&written).contains("<svg"), "{graph}");
    }
    let tree = assert_succeeds(&["contexts", "--format", "dot"], directory);
    let operations = tree.lines().filter(|line| line.contains("n0 -> ")).count();
    assert!(draw_graph(&tree).matches("class=\"node\"").count() > operations, "{tree}");
    let map = assert_succeeds(&["export", "dot", "--what", "map", "--limit", "3"], directory);
    assert_eq!(map.lines().filter(|line| line.contains(" -> ")).count(), 3);
    let stacks = assert_succeeds(&["export", "folded", "--pattern", "0"], directory);
    assert!(stacks.lines().all(|line| line.starts_with("CLIENT;WS")), "{stacks}");
    let diagram = assert_succeeds(&["export", "mermaid"], directory);
    assert!(diagram.starts_with("sequenceDiagram\n    participant n0 as CLIENT\n"), "{diagram}");
}

/// Graphviz's rendering.
fn draw_graph(graph: &str) -> String {
    let mut dot = Command::new(program_path("dot"))
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    dot.stdin.take().unwrap().write_all(graph.as_bytes()).unwrap();
    let output = dot.wait_with_output().unwrap();
    assert!(output.status.success());
    to_text(&output.stdout)
}

/// A client that calls a server in another process, which does not answer the last time.
const TALK: &str = r#"
import os, socket
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    peer, _ = server.accept()
    while data := peer.recv(100):
        if data != b"last":
            peer.sendall(data + data)
    os._exit(0)
client = socket.create_connection(server.getsockname())
for question in (b"one", b"two"):
    client.sendall(question)
    client.recv(100)
client.sendall(b"last")
client.close()
os.wait()
"#;

#[test]
fn a_collector_gets_the_recorded_spans() {
    let directory = tempfile::tempdir().unwrap();
    run_sockcap(&["record", "--", "/usr/bin/python3", "-c", TALK], directory.path());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let collector = std::thread::spawn(move || answer_once(&listener));
    let sent =
        run_sockcap(&["export", "otlp", "--to", &url, "--header", "x-tenant=t"], directory.path());
    assert!(sent.status.success() && sent.stdout.is_empty(), "{sent:?}");
    assert!(to_text(&sent.stderr).contains("6 spans of 3 traces sent to"), "{sent:?}");
    let (head, body) = collector.join().unwrap();
    assert!(head.starts_with("POST /v1/traces ") && head.contains("x-tenant: t"), "{head}");
    let spans = spans_by_service(&body);
    let kinds: Vec<SpanKind> = spans.iter().map(|(_, span)| span.kind()).collect();
    let of = |kind: SpanKind| kinds.iter().filter(|known| **known == kind).count();
    assert_eq!((of(SpanKind::Client), of(SpanKind::Server)), (2, 2));
    assert_eq!((of(SpanKind::Producer), of(SpanKind::Consumer)), (1, 1));
    for (_, span) in &spans {
        let Some(Value::IntValue(port)) = find_attribute(span, "server.port") else {
            unreachable!()
        };
        assert!(span.name.ends_with(&format!(":{port}")), "{}", span.name);
        assert_eq!(
            find_attribute(span, "network.transport"),
            Some(Value::StringValue("tcp".to_owned()))
        );
        assert_eq!(find_attribute(span, "sockcap.not_seen").is_some(), span.kind() as i32 > 3);
        assert!(
            span.start_time_unix_nano <= span.end_time_unix_nano
                && span.start_time_unix_nano > 1 << 60
        );
    }
}

/// Accepts one request, reports success, and returns its head and body.
fn answer_once(listener: &TcpListener) -> (String, Vec<u8>) {
    let (stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(&stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let head = head.to_ascii_lowercase().replacen("post", "POST", 1);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    (&stream)
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .unwrap();
    (head, body)
}

#[test]
fn incompatible_flags_are_wrong_usage() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("calls.csv"), CALLS).unwrap();
    assert_succeeds(&["import", "calls", "calls.csv"], directory.path());
    let refused = |arguments: &[&str], status: i32, why: &str| {
        let output = run_sockcap(&[&["export"], arguments].concat(), directory.path());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {output:?}");
        assert!(to_text(&output.stderr).contains(why), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty());
    };
    refused(&["calls", "--format", "protobuf"], 2, "not a format for this export");
    refused(&["otlp", "--format", "csv"], 2, "not a format for this export");
    refused(&["mermaid", "--format", "json"], 2, "not a format for this export");
    refused(&["chrome", "--to", "http://localhost:1"], 2, "--to is for otlp");
    refused(&["otlp", "--what", "map"], 2, "--what is for dot");
    refused(&["dot", "--what", "map", "--pattern", "1"], 2, "--pattern is for");
    refused(&["mermaid", "--limit", "1"], 2, "--limit is for");
    refused(&["otlp", "--header", "a=b"], 2, "--to");
    refused(&["otlp", "--to", "localhost"], 1, "such as http://localhost:4318");
    refused(&["otlp", "--pattern", "7"], 1, "there is no pattern 7; patterns are numbered 0 to 0");
    refused(&["dot", "--pattern", "7"], 1, "there is no pattern 7");
    assert!(!Path::new(&directory.path().join("out")).exists());
    refused(&["folded", "--pattern", "7", "-o", "out"], 1, "there is no pattern 7");
}

const CALLS: &str = "\
call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv,req_bytes,resp_bytes
a,client,web,1000,2000,8000,9000,10,20
b,web,db,3000,4000,5000,6000,30,40
";
