//! Traces of Jaeger, as its API returns them, in all ways of packing them, intact and damaged.

use proptest::prelude::*;
use request_flow::spans::SpanKind;
use serde_json::{Value, json};

use super::super::collected::{CollectedSpan, SpanCollector, collect_spans, span_trees};

/// Response of the API to a request for a trace.
pub(super) const ANSWER: &str = r#"{
  "data": [
    {
      "traceID": "4ee30ae3adb7a7f5",
      "spans": [
        {
          "traceID": "4ee30ae3adb7a7f5",
          "spanID": "4ee30ae3adb7a7f5",
          "flags": 1,
          "operationName": "HTTP GET /dispatch",
          "references": [],
          "startTime": 1700000000000001,
          "duration": 700000,
          "tags": [
            {"key": "sampler.param", "type": "bool", "value": true},
            {"key": "span.kind", "type": "string", "value": "server"},
            {"key": "http.status_code", "type": "int64", "value": 200},
            {"key": "peer.service", "type": "string", "value": "browser"}
          ],
          "logs": [{"timestamp": 1700000000000009, "fields": [{"key": "event", "type": "string", "value": "x"}]}],
          "processID": "p1",
          "warnings": null
        },
        {
          "traceID": "4ee30ae3adb7a7f5",
          "spanID": "2b",
          "flags": 1,
          "operationName": "SQL SELECT",
          "references": [
            {"refType": "FOLLOWS_FROM", "traceID": "4ee30ae3adb7a7f5", "spanID": "99"},
            {"refType": "CHILD_OF", "traceID": "77", "spanID": "98"},
            {"refType": "CHILD_OF", "traceID": "4ee30ae3adb7a7f5", "spanID": "4ee30ae3adb7a7f5"}
          ],
          "startTime": 1700000000000101,
          "duration": 300000,
          "tags": [
            {"key": "span.kind", "type": "string", "value": "client"},
            {"key": "peer.service", "type": "string", "value": "mysql"},
            {"key": "error", "type": "bool", "value": true}
          ],
          "logs": [],
          "processID": "p2",
          "warnings": null
        }
      ],
      "processes": {
        "p1": {"serviceName": "frontend", "tags": [
          {"key": "ip", "type": "string", "value": "10.0.0.1"},
          {"key": "hostname", "type": "string", "value": "web1"}
        ]},
        "p2": {"serviceName": "customer", "tags": [{"key": "ip", "type": "string", "value": "10.0.0.2"}]}
      },
      "warnings": null
    }
  ],
  "total": 0,
  "limit": 0,
  "offset": 0,
  "errors": null
}"#;

fn jaeger(text: &str) -> SpanCollector {
    collect_spans(text, super::read_text)
}

#[test]
fn a_response_of_the_api() {
    let SpanCollector { spans, skipped, .. } = jaeger(ANSWER);
    assert_eq!(skipped, Vec::<String>::new());
    let [server, client] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((&*server.trace, &*server.id), ("4ee30ae3adb7a7f5", "4ee30ae3adb7a7f5"));
    assert_eq!((&server.parent, client.parent.as_deref()), (&None, Some("4ee30ae3adb7a7f5")));
    assert_eq!((server.kind, client.kind), (SpanKind::Server, SpanKind::Client));
    assert_eq!((&*server.node, &*server.host), ("frontend", "web1"));
    assert_eq!((&*client.node, &*client.host), ("customer", "10.0.0.2"));
    assert_eq!((server.peer.as_deref(), client.peer.as_deref()), (None, Some("mysql")));
    let begin = 1_700_000_000_000_001_000;
    assert_eq!((server.begin, server.end), (Some(begin), Some(begin + 700_000_000)));
    assert_eq!((server.failed, client.failed), (false, true));
    assert_eq!(server.operation, "HTTP GET /dispatch");
    assert_eq!(server.parameter("http.status_code"), Some("200"));
    assert_eq!(server.parameter("sampler.param"), Some("true"));
    assert_eq!(server.parameter("ip"), Some("10.0.0.1"));
    assert_eq!(client.parameter("references"), Some("FOLLOWS_FROM 4ee30ae3adb7a7f5:99"));
}

#[test]
fn missing_values_are_unknown() {
    let text = r#"{"spans":[{"spanID":"1","processID":"p9","tags":null,"references":null}],"traceID":"a"}
        {"traceID":"a","spanID":"2","parentSpanID":"1","startTime":5,"process":{"serviceName":"s"},
         "tags":[{"key":"otel.status_code","value":"ERROR"},{"key":"db.system","value":"redis"}]}
        {"traceID":"a","spanID":"3","parentSpanID":"0","references":[{"refType":"FOLLOWS_FROM","spanID":"2"}]}
        {"traceID":"a","spanID":"4","tags":[{"key":"error","value":false}]}"#;
    let SpanCollector { spans, skipped, .. } = jaeger(text);
    assert_eq!(skipped, Vec::<String>::new());
    let parents: Vec<_> = spans.iter().map(|span| span.parent.as_deref()).collect();
    assert_eq!(parents, [None, Some("1"), Some("2"), None]);
    assert!(spans.iter().all(|span| span.trace == "a" && span.end.is_none()));
    assert_eq!((&*spans[0].node, &*spans[1].node, &*spans[1].host), ("", "s", ""));
    assert_eq!((spans[1].begin, spans[1].peer.as_deref()), (Some(5_000), Some("redis")));
    let failed: Vec<bool> = spans.iter().map(|span| span.failed).collect();
    assert_eq!(failed, [false, true, false, false]);
}

/// Ids and nodes of all spans.
fn seen(spans: &[CollectedSpan]) -> Vec<(&str, &str)> {
    spans.iter().map(|span| (&*span.id, &*span.node)).collect()
}

#[test]
fn intact_spans_of_a_damaged_trace_find_their_processes() {
    let span = |id: &str| format!(r#"{{"traceID":"a","spanID":"{id}","processID":"p1"}}"#);
    let trace = |spans: &str, service: &str| {
        format!(
            r#"{{"traceID":"a","spans":[{spans}],"processes":{{"p1":{{"serviceName":"{service}"}}}}}}"#
        )
    };
    let first = trace(&span("1"), "one");
    let last = trace(&span("9"), "nine");
    for (middle, why) in [
        // A quote is missing.
        (r#"{"traceID":"a","spanID:"3","processID":"p1"}"#, "x:2: expected `:`"),
        // JSON, but not a time.
        (r#"{"traceID":"a","spanID":"3","startTime":"soon"}"#, "x:2: \"soon\" is not a number"),
    ] {
        let damaged = trace(&format!("{},{middle},\n{}", span("2"), span("4")), "two");
        let text = format!("{{\"data\":[{first},\n{damaged},\n{last}],\"total\":0}}");
        let SpanCollector { spans, skipped, .. } = jaeger(&text);
        assert_eq!(seen(&spans), [("1", "one"), ("2", "two"), ("4", "two"), ("9", "nine")]);
        assert_eq!(skipped.len(), 1, "{skipped:?}");
        assert!(skipped[0].starts_with(why), "{skipped:?}");
    }
    // Without the processes, the nodes are unknown.
    let damaged = trace(&format!("{},{}", span("2"), span("4")), "two");
    let cut = &damaged[..damaged.find("p1\":").unwrap()];
    let SpanCollector { spans, skipped, .. } = jaeger(&format!("[{first},\n{cut}"));
    assert_eq!(seen(&spans), [("1", "one"), ("2", ""), ("4", "")]);
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert!(skipped[0].starts_with("x:2: EOF"), "{skipped:?}");
}

#[test]
fn other_values_are_skipped_with_their_line() {
    let text = "{\"data\":null,\"errors\":[\n{\"code\":404,\"msg\":\"trace not found\"}]}\n\
                {\"traceID\":\"a\",\"spans\":[{\"spanID\":\"\"}]}";
    let SpanCollector { spans, skipped, .. } = jaeger(text);
    assert_eq!((spans.len(), skipped.len()), (0, 2));
    assert!(skipped[0].starts_with("x:2: "), "{skipped:?}");
    assert!(skipped[1].starts_with("x:3: neither traceID nor spanID"), "{skipped:?}");
}

/// A trace in Jaeger's JSON.
fn written(spans: &[&CollectedSpan]) -> Value {
    let mut processes = serde_json::Map::new();
    let tag = |key: &str, value: &str| json!({"key": key, "type": "string", "value": value});
    let mut all = Vec::new();
    for span in spans {
        let mut process = json!({"serviceName": span.node, "tags": [tag("ip", &span.host)]});
        if span.host.len() % 2 == 0 {
            process["tags"].as_array_mut().unwrap().clear();
        }
        let name = format!("p{}{}", span.node, span.host);
        processes.insert(name.clone(), process);
        let mut tags: Vec<Value> =
            span.parameters.iter().map(|(name, value)| tag(name, value)).collect();
        if span.kind != SpanKind::Unknown {
            tags.push(tag("span.kind", &format!("{:?}", span.kind).to_lowercase()));
        }
        if span.failed {
            tags.push(json!({"key": "error", "type": "bool", "value": true}));
        }
        let refers = |parent: &String| json!({"refType": "CHILD_OF", "traceID": span.trace, "spanID": parent});
        let mut value = json!({
            "traceID": span.trace,
            "spanID": span.id,
            "operationName": span.operation,
            "references": span.parent.iter().map(refers).collect::<Vec<_>>(),
            "startTime": span.begin.unwrap() / 1_000,
            "tags": tags,
            "logs": [],
            "processID": name,
        });
        if let Some(end) = span.end {
            value["duration"] = json!((end - span.begin.unwrap()) / 1_000);
        }
        all.push(value);
    }
    json!({"traceID": spans[0].trace, "spans": all, "processes": processes, "warnings": null})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_round_trip(mut spans in span_trees(), packing in 0..4, cut in any::<prop::sample::Index>()) {
        spans.sort_by_key(|span| span.trace.clone());
        for span in &mut spans {
            if span.host.len() % 2 == 0 {
                span.host.clear();
            }
        }
        let traces: Vec<Vec<&CollectedSpan>> =
            spans.chunk_by(|a, b| a.trace == b.trace).map(|all| all.iter().collect()).collect();
        let all: Vec<Value> = traces.iter().map(|spans| written(spans)).collect();
        let text = match packing {
            0 => json!(all).to_string(),
            1 => serde_json::to_string_pretty(&json!({"data": all, "total": 0, "errors": null})).unwrap(),
            2 => all.iter().map(|value| format!("{value}\n")).collect(),
            _ => all.iter().map(|value| format!("{}\n", json!({"data": [value]}))).collect(),
        };
        let mut kept = jaeger(&text);
        prop_assert_eq!(&kept.skipped, &Vec::<String>::new());
        for span in &mut kept.spans {
            span.parameters.retain(|(name, _)| !["error", "span.kind", "ip"].contains(&&**name));
        }
        prop_assert_eq!(&kept.spans, &spans);

        // In a truncated file, the intact spans are read, and the rest is reported.
        let mut cut = cut.index(text.len() + 1);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let part = jaeger(&text[..cut]);
        let ids = |spans: &[CollectedSpan]| spans.iter().map(|span| span.id.clone()).collect::<Vec<_>>();
        prop_assert!(part.skipped.len() <= 1, "{:?}", part.skipped);
        prop_assert_eq!(ids(&part.spans), ids(&spans[..part.spans.len()]));
        let whole = text[..cut].matches("\"operationName\"").count().saturating_sub(1);
        prop_assert!(part.spans.len() >= whole);
        // An empty file lacks nothing.
        let is_told = !part.skipped.is_empty() || packing >= 2 || cut == 0;
        prop_assert!(part.spans.len() == spans.len() || is_told);
    }
}
