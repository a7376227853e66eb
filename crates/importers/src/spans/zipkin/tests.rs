//! Spans of Zipkin, as in its documentation, in all ways of packing them.

use proptest::prelude::*;
use request_flow::spans::SpanKind;
use serde_json::{Value, json};

use super::super::collected::{CollectedSpan, SpanCollector, collect_spans, span_trees};

/// Reports of a client and a server that share an id.
pub(super) const CALL: &str = r#"[
  {
    "id": "352bff9a74ca9ad2",
    "traceId": "5af7183fb1d4cf5f",
    "parentId": "6b221d5bc9e6496c",
    "name": "get /api",
    "timestamp": 1556604172355737,
    "duration": 1431,
    "kind": "SERVER",
    "shared": true,
    "localEndpoint": {"serviceName": "backend", "ipv4": "192.168.99.1", "port": 3306},
    "remoteEndpoint": {"ipv4": "172.19.0.2", "port": 58648},
    "tags": {"http.method": "GET", "http.path": "/api"}
  },
  {
    "id": "352bff9a74ca9ad2",
    "traceId": "00000000000000005af7183fb1d4cf5f",
    "parentId": "6b221d5bc9e6496c",
    "name": "get",
    "timestamp": 1556604172355000,
    "duration": 3000,
    "kind": "CLIENT",
    "localEndpoint": {"serviceName": "frontend", "ipv6": "2001:db8::c001"},
    "remoteEndpoint": {"serviceName": "backend", "ipv4": "192.168.99.1"},
    "annotations": [{"timestamp": 1556604172355001, "value": "ws"}],
    "tags": {"error": ""}
  }
]"#;

fn zipkin(text: &str) -> SpanCollector {
    collect_spans(text, super::read_text)
}

#[test]
fn both_halves_of_a_call() {
    let SpanCollector { spans, skipped, .. } = zipkin(CALL);
    assert_eq!(skipped, Vec::<String>::new());
    let [server, client] = &spans[..] else { panic!("{spans:?}") };
    for half in [server, client] {
        assert_eq!((&*half.trace, &*half.id), ("5af7183fb1d4cf5f", "352bff9a74ca9ad2"));
        assert_eq!(half.parent.as_deref(), Some("6b221d5bc9e6496c"));
    }
    assert_eq!((server.kind, client.kind), (SpanKind::Server, SpanKind::Client));
    assert_eq!((&*server.node, &*server.host), ("backend", "192.168.99.1"));
    assert_eq!((&*client.node, &*client.host), ("frontend", "2001:db8::c001"));
    assert_eq!((server.peer.as_deref(), client.peer.as_deref()), (None, Some("backend")));
    let begin = 1_556_604_172_355_737_000;
    assert_eq!((server.begin, server.end), (Some(begin), Some(begin + 1_431_000)));
    assert_eq!((server.failed, client.failed), (false, true));
    assert_eq!(server.operation, "get /api");
    assert_eq!(server.parameter("http.path"), Some("/api"));
    assert_eq!(server.parameter("localEndpoint.port"), Some("3306"));
    assert_eq!(server.parameter("remoteEndpoint.address"), Some("172.19.0.2"));
}

#[test]
fn missing_values_are_unknown() {
    let text = r#"{"traceId":"a","id":"b"}
        {"traceId":"a","id":"c","parentId":null,"timestamp":0,"duration":5,"tags":null,"kind":null}
        {"traceId":"a","id":"d","timestamp":7,"tags":{"error":"false","otel.status_code":"OK"}}
        {"traceId":"a","id":"e","tags":{"otel.status_code":"ERROR","n":1}}"#;
    let SpanCollector { spans, skipped, .. } = zipkin(text);
    assert_eq!(skipped, Vec::<String>::new());
    for span in &spans {
        assert_eq!(
            (&span.parent, &*span.node, &*span.host, span.kind),
            (&None, "", "", SpanKind::Unknown)
        );
    }
    let times: Vec<_> = spans.iter().map(|span| (span.begin, span.end)).collect();
    assert_eq!(times, [(None, None), (None, None), (Some(7_000), None), (None, None)]);
    let failed: Vec<bool> = spans.iter().map(|span| span.failed).collect();
    assert_eq!(failed, [false, false, false, true]);
    assert_eq!(spans[3].parameter("n"), Some("1"));
}

#[test]
fn a_server_knows_its_caller_by_name_only() {
    let span = |remote: &str| {
        format!(r#"{{"traceId":"a","id":"1","kind":"SERVER","remoteEndpoint":{remote}}}"#)
    };
    let peer = |remote: &str| zipkin(&span(remote)).spans[0].peer.clone();
    assert_eq!(peer(r#"{"serviceName":"shop","ipv4":"10.0.0.1"}"#).as_deref(), Some("shop"));
    assert_eq!(peer(r#"{"ipv4":"10.0.0.1"}"#), None);
}

#[test]
fn other_values_are_skipped_with_their_line() {
    let text = r#"[{"traceId":"a","id":"1"},
{"traceId":"a","id":"2","binaryAnnotations":[]},
{"traceId":"","id":"3"},
{"traceId":"a","id":"4","timestamp":"soon"},
{"id":"5"},
{"traceId":"a","id":"6"}]"#;
    let SpanCollector { spans, skipped, .. } = zipkin(text);
    assert_eq!(spans.iter().map(|span| &*span.id).collect::<Vec<_>>(), ["1", "6"]);
    assert!(skipped[0].starts_with("x:2: request it from Zipkin through /api/v2"), "{skipped:?}");
    assert!(skipped[1].starts_with("x:3: neither traceId nor id"), "{skipped:?}");
    assert!(skipped[2].starts_with("x:4: \"soon\" is not a number of microseconds"), "{skipped:?}");
    assert!(skipped[3].starts_with("x:5: missing field `traceId`"), "{skipped:?}");
}

/// A span in Zipkin's JSON.
fn written(span: &CollectedSpan) -> Value {
    let mut value = json!({
        "traceId": format!("{:0>32}", span.trace),
        "id": format!("{:0>16}", span.id),
        "name": span.operation,
        "timestamp": span.begin.unwrap() / 1_000,
        "localEndpoint": {"serviceName": span.node, "ipv4": span.host},
    });
    let tags: serde_json::Map<String, Value> =
        span.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    value["tags"] = Value::Object(tags);
    if span.failed {
        value["tags"]["error"] = json!("it broke");
    }
    if let Some(parent) = &span.parent {
        value["parentId"] = json!(format!("{parent:0>16}"));
    }
    if let Some(end) = span.end {
        value["duration"] = json!((end - span.begin.unwrap()) / 1_000);
    }
    if span.kind != SpanKind::Unknown {
        value["kind"] = json!(format!("{:?}", span.kind).to_uppercase());
    }
    value
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_round_trip(spans in span_trees(), packing in 0..4, cut in any::<prop::sample::Index>()) {
        let all: Vec<Value> = spans.iter().map(written).collect();
        let lines = |all: &[Value]| all.iter().map(|value| format!("{value}\n")).collect::<String>();
        let text = match packing {
            0 => json!(all).to_string(),
            1 => serde_json::to_string_pretty(&json!([all, []])).unwrap(),
            2 => lines(&all),
            _ => lines(&all.chunks(2).map(|some| json!(some)).collect::<Vec<_>>()),
        };
        let mut kept = zipkin(&text);
        prop_assert_eq!(&kept.skipped, &Vec::<String>::new());
        for span in &mut kept.spans {
            span.parameters.retain(|(name, _)| name != "error");
            span.parameters.sort();
        }
        prop_assert_eq!(&kept.spans, &spans);

        // In a truncated file, the intact spans are read, and the rest is reported.
        let mut cut = cut.index(text.len() + 1);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let part = zipkin(&text[..cut]);
        prop_assert!(part.spans.len() <= spans.len() && part.skipped.len() <= 1);
        let ids = |spans: &[CollectedSpan]| spans.iter().map(|span| span.id.clone()).collect::<Vec<_>>();
        prop_assert_eq!(ids(&part.spans), ids(&spans[..part.spans.len()]));
        let rest = text[cut..].trim_start_matches([',', '[', ']', ' ', '\n']);
        prop_assert!(!part.skipped.is_empty() || part.spans.len() == spans.len() || rest.starts_with('{'), "{}", &text[..cut]);
    }
}
