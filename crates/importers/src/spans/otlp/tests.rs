//! OTLP files in all layouts, intact and damaged.

use std::path::PathBuf;

use message_trace::DataDir;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use proptest::prelude::*;
use prost::Message;
use request_flow::spans::SpanKind;
use request_flow::tables::{ColumnSelection, RequestTables};
use request_flow::{NameInterner, Request};

use super::samples::{LAYOUTS, REQUEST, request};
use super::*;
use crate::fuzz::input_of;
use crate::importer::Importer;
use crate::spans::collected::{CollectedSpan, SpanCollector, collect_spans, span_trees};
use crate::spans::fuzz::count_spans;
use crate::summary::ImportSummary;

/// Requests and their names.
type Requests = (Vec<Request>, Vec<String>);

/// Imports files into a separate directory.
fn import(files: &[Vec<u8>]) -> Result<(ImportSummary, Requests), Error> {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> =
        (0..files.len()).map(|number| directory.path().join(format!("{number}.spans"))).collect();
    for (path, bytes) in paths.iter().zip(files) {
        std::fs::write(path, bytes).unwrap();
    }
    let data = DataDir::new(directory.path().join("data"));
    let importer = SpanImporter { name: Some("x".into()), format: OtlpFormat };
    let summary = importer.import_files(&paths, &data, &())?;
    let made = DataDir::new(data.spans_dir().import_named("x").directory);
    let tables =
        RequestTables::open(made.requests_path(), made.steps_path(), ColumnSelection::ALL).unwrap();
    let mut names = NameInterner::default();
    let requests = tables.read_all(&mut names).unwrap();
    assert!(made.clocks_path().is_file());
    Ok((summary, (requests, names.iter().map(str::to_owned).collect())))
}

/// Counts the spans of a file that are kept, and returns the summary.
fn count(bytes: &[u8]) -> (u64, ImportSummary) {
    count_spans(|reading| OtlpFormat.read_file(input_of(bytes).unwrap(), reading)).unwrap()
}

/// Reads the spans of a JSON text.
fn of_json(text: &str) -> SpanCollector {
    collect_spans(text, json::read_json)
}

/// Spans of a request as protobuf.
fn of_protobuf(message: &[u8]) -> SpanCollector {
    let mut kept = SpanCollector::default();
    let text = FileText { at: FilePosition::Offset(0), bytes: message };
    protobuf::read_request(text, Path::new("x"), &mut kept).unwrap();
    kept
}

#[test]
fn a_span_has_all_required_fields() {
    let SpanCollector { spans, skipped, .. } = of_json(REQUEST);
    assert_eq!(skipped, [""; 0]);
    let [server, client] = &spans[..] else { panic!("{spans:?}") };
    let pairs = |of: &[(&str, &str)]| -> Vec<(String, String)> {
        of.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    };
    let shared = CollectedSpan {
        trace: "5b8efff798038103d269b633813fc60c".into(),
        id: "eee19b7ec3c1b174".into(),
        parent: None,
        depth: None,
        order: None,
        node: "shop".into(),
        host: "web1".into(),
        operation: "GET /cart".into(),
        kind: SpanKind::Server,
        peer: None,
        begin: Some(1_700_000_000_000_000_000),
        end: Some(1_700_000_000_050_000_000),
        failed: true,
        bytes: [None, Some(12)],
        parameters: pairs(&[
            ("k8s.pod.name", "shop-1"),
            ("http.route", "/cart"),
            ("otel.status_description", "no"),
        ]),
    };
    assert_eq!(*server, shared);
    assert_eq!(
        *client,
        CollectedSpan {
            id: "eee19b7ec3c1b175".into(),
            parent: Some("eee19b7ec3c1b174".into()),
            operation: "get".into(),
            kind: SpanKind::Client,
            peer: Some("cache".into()),
            begin: Some(1_700_000_000_010_000_000),
            end: Some(1_700_000_000_040_000_000),
            failed: false,
            bytes: [None; 2],
            parameters: pairs(&[
                ("k8s.pod.name", "shop-1"),
                ("peer.service", "cache"),
                ("hit", "true"),
                ("share", "0.5"),
                ("tags", r#"[1,"a\"b"]"#),
                ("map", r#"{"k":-2}"#),
            ]),
            ..shared
        }
    );
    assert_eq!(of_protobuf(&request().encode_to_vec()).spans, spans);
}

#[test]
fn names_and_values_may_be_written_in_other_ways() {
    let expected = of_json(REQUEST).spans;
    for (what, changes) in [
        (
            "with underscores",
            &[
                ("resourceSpans", "resource_spans"),
                ("scopeSpans", "scope_spans"),
                ("traceId", "trace_id"),
                ("spanId", "span_id"),
                ("parentSpanId", "parent_span_id"),
                ("startTimeUnixNano", "start_time_unix_nano"),
                ("endTimeUnixNano", "end_time_unix_nano"),
                ("stringValue", "string_value"),
                ("kvlistValue", "kvlist_value"),
            ][..],
        ),
        ("of before 2022", &[("scopeSpans", "instrumentationLibrarySpans")]),
        (
            "as Tempo answers",
            &[
                ("{\"resourceSpans\"", "{\"trace\":{\"batches\""),
                ("\"status\":{}}]}]}]}", "\"status\":{}}]}]}]}}"),
            ],
        ),
        (
            "numbers as numbers",
            &[
                ("\"1700000000000000000\"", "1700000000000000000"),
                ("\"intValue\":\"12\"", "\"intValue\":12"),
            ],
        ),
        (
            "numbers as names",
            &[
                ("\"kind\":2", "\"kind\":\"SPAN_KIND_SERVER\""),
                ("\"kind\":3", "\"kind\":\"CLIENT\""),
                ("\"code\":2", "\"code\":\"STATUS_CODE_ERROR\""),
            ],
        ),
        (
            "ids in base64",
            &[
                ("\"5b8efff798038103d269b633813fc60c\"", "\"W47/95gDgQPSabYzgT/GDA==\""),
                ("\"eee19b7ec3c1b174\"", "\"7uGbfsPBsXQ=\""),
            ],
        ),
        ("nothing as null", &[("\"parentSpanId\":\"\"", "\"parentSpanId\":null"), ("{}", "null")]),
        ("with other members", &[("{\"traceId\"", "{\"flags\":[1,{\"a\":[]}],\"traceId\"")]),
    ] {
        let mut text = REQUEST.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let SpanCollector { spans, skipped, .. } = of_json(&text);
        assert_eq!((skipped, &spans), (vec![], &expected), "{what}");
    }
}

#[test]
fn a_resource_may_follow_its_spans_or_be_missing() {
    let mut value: serde_json::Value = serde_json::from_str(REQUEST).unwrap();
    let part = value["resourceSpans"][0].as_object_mut().unwrap();
    let (resource, scopes) = (part.remove("resource").unwrap(), part["scopeSpans"].to_string());
    let after = format!(r#"{{"resourceSpans":[{{"scopeSpans":{scopes},"resource":{resource}}}]}}"#);
    assert_eq!(of_json(&after).spans, of_json(REQUEST).spans);
    let without = of_json(&value.to_string());
    assert!(
        without.spans.iter().all(|span| span.node == "unknown_service" && span.host.is_empty())
    );
    assert_eq!(without.spans.len(), 2);
    // A single message may have the same form.
    let mut message = request();
    message.resource_spans[0].resource = None;
    assert_eq!(of_protobuf(&message.encode_to_vec()).spans, without.spans);
}

#[test]
fn invalid_spans_are_skipped_and_the_others_kept() {
    for (from, to, why) in [
        (
            "\"spanId\":\"eee19b7ec3c1b174\",",
            "",
            "no traceId or no spanId; its name is 'GET /cart'",
        ),
        (
            "\"eee19b7ec3c1b174\",\"parent",
            "\"0000000000000000\",\"parent",
            "no traceId or no spanId",
        ),
        ("\"1700000000050000000\"", "\"soon\"", "not a number of nanoseconds"),
        ("\"1700000000050000000\"", "18446744073709551615", "not a number of nanoseconds"),
        ("\"1700000000000000000\"", "{\"a\":1}", "not a number of nanoseconds"),
    ] {
        assert!(REQUEST.contains(from), "{from}");
        let read = of_json(&REQUEST.replacen(from, to, 1));
        assert_eq!(read.spans.len(), 1, "{to}");
        assert!(read.skipped[0].starts_with("x:1: ") && read.skipped[0].contains(why), "{read:?}");
    }
    // Times that were not set are unknown.
    let read = of_json(&REQUEST.replace("\"1700000000050000000\"", "\"0\""));
    assert_eq!((read.spans[0].begin.is_some(), read.spans[0].end), (true, None));
}

#[test]
fn all_layouts_become_the_same_requests() {
    let mut other = request();
    for span in &mut other.resource_spans[0].scope_spans[0].spans {
        span.trace_id[0] ^= 1;
    }
    let requests = [request(), other];
    let (_, expected) = import(&[(LAYOUTS[0].file)(&requests)]).unwrap();
    assert_eq!(expected.0.len(), 2);
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::read::GzEncoder::new(bytes, flate2::Compression::fast());
        let mut compressed = Vec::new();
        encoder.read_to_end(&mut compressed).unwrap();
        compressed
    };
    for layout in LAYOUTS {
        let file = (layout.file)(&requests);
        for files in [vec![gzip(&file)], vec![file]] {
            let (summary, read) = import(&files).unwrap();
            assert_eq!((summary.read, summary.made, summary.skipped.total()), (4, 4, 0));
            assert_eq!(read, expected, "{}", layout.name);
        }
        // Two files form one trace.
        let files: Vec<Vec<u8>> =
            requests.iter().map(|of| (layout.file)(std::slice::from_ref(of))).collect();
        assert_eq!(import(&files).unwrap().1, expected, "{}", layout.name);
    }
}

#[test]
fn a_file_without_spans_is_an_error() {
    let error = |bytes: &[u8]| import(&[bytes.to_vec()]).unwrap_err().to_string();
    assert!(error(b"").contains("it has no spans below 'resourceSpans'"));
    assert!(
        error(b"{\"resourceSpans\": []}\n{\"resourceLogs\": []}\n").contains("it has no spans")
    );
    assert!(error(b"id,name\n1,2\n").contains("it is neither JSON nor protobuf of OTLP"));
    let cut_off = error(&REQUEST.as_bytes()[..300]);
    assert!(
        cut_off.contains("damaged part of a file: 1") && cut_off.contains("0.spans:1: "),
        "{cut_off}"
    );
}

/// End of each span of [`REQUEST`] in `bytes`, as written by `write`.
fn ends(bytes: &[u8], write: impl Fn(&Span) -> Vec<u8>) -> Vec<usize> {
    let request = request();
    let spans = request.resource_spans[0].scope_spans[0].spans.iter();
    spans
        .map(|span| {
            let text = write(span);
            memchr::memmem::find(bytes, &text).unwrap() + text.len()
        })
        .collect()
}

#[test]
fn a_truncated_file_yields_its_complete_spans() {
    let json = serde_json::to_vec(&request()).unwrap();
    let message = request().encode_to_vec();
    let of_json = ends(&json, |span| serde_json::to_vec(span).unwrap());
    let of_message = ends(&message, |span| span.encode_to_vec());
    for (bytes, ends) in [(&json, of_json), (&message, of_message)] {
        for cut in 20..bytes.len() {
            let (kept, summary) = count(&bytes[..cut]);
            let whole = ends.iter().filter(|end| **end <= cut).count() as u64;
            assert_eq!(kept, whole, "{cut}");
            assert!(summary.skipped.total() >= 1, "{cut}");
        }
        assert_eq!(count(bytes), (2, ImportSummary { read: 2, ..ImportSummary::default() }));
    }
}

#[test]
fn damage_skips_only_the_damaged_part() {
    let whole = format!("{REQUEST}\n").repeat(3);
    let second = REQUEST.len() + 1;
    let of_second = |place: &str| second + REQUEST.find(place).unwrap();
    let at_line_2 = |bytes: &[u8], kept: u64| {
        let (read, summary) = count(bytes);
        assert_eq!(read, kept, "{summary:?}");
        assert!(summary.skipped.first.iter().all(|skip| skip.place.at == FilePosition::Line(2)));
        assert!(summary.skipped.total() > 0);
    };
    for (place, byte, kept) in [
        // A colon and a quote of the first span, and a brace of the last one.
        ("\":\"eee19b7ec3c1b174\",\"parent", b'x', 5),
        ("\"GET /cart", b'x', 5),
        ("}]}]}]}", b'x', 5),
        // A bracket around both spans.
        ("[{\"traceId", b'x', 6),
        // A quote in the resource.
        ("\"service.name", b'x', 6),
    ] {
        let mut bytes = whole.clone().into_bytes();
        bytes[of_second(place)] = byte;
        at_line_2(&bytes, kept);
    }
    let mut cut = whole.into_bytes();
    cut.drain(of_second("\"name\":\"get\"")..of_second("}]}]}]}"));
    at_line_2(&cut, 5);
    // A frame between others.
    let frames = (LAYOUTS[6].file)(&[request(), request(), request()]);
    let middle = frames.len() / 3;
    let mut bytes = frames.clone();
    bytes[middle + 4..2 * middle].fill(0xff);
    let (kept, summary) = count(&bytes);
    assert_eq!((kept, summary.skipped.total()), (4, 1));
    assert_eq!(summary.skipped.first[0].place.at, FilePosition::Offset(middle as u64));
}

/// A span in OpenTelemetry's own types, with its resource.
fn written(span: &CollectedSpan) -> ResourceSpans {
    let attribute = |(key, value): (&str, &str)| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(Value::StringValue(value.to_owned())) }),
        ..KeyValue::default()
    };
    let id = |hex: &str| u64::from_str_radix(hex, 16).unwrap().to_be_bytes().to_vec();
    let attributes = span.parameters.iter().map(|(name, value)| attribute((name, value)));
    let resource = [("service.name", &*span.node), ("host.name", &*span.host)];
    let of = Span {
        trace_id: u128::from_str_radix(&span.trace, 16).unwrap().to_be_bytes().to_vec(),
        span_id: id(&span.id),
        parent_span_id: span.parent.as_deref().map(id).unwrap_or_default(),
        name: span.operation.clone(),
        kind: match span.kind {
            SpanKind::Unknown => 0,
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
            SpanKind::Client => 3,
            SpanKind::Producer => 4,
            SpanKind::Consumer => 5,
        },
        start_time_unix_nano: span.begin.unwrap_or_default() as u64,
        end_time_unix_nano: span.end.unwrap_or_default() as u64,
        attributes: attributes.collect(),
        status: Some(Status { code: 2 * i32::from(span.failed), ..Status::default() }),
        ..Span::default()
    };
    ResourceSpans {
        resource: Some(Resource {
            attributes: resource.into_iter().map(attribute).collect(),
            ..Resource::default()
        }),
        scope_spans: vec![ScopeSpans { spans: vec![of], ..ScopeSpans::default() }],
        ..ResourceSpans::default()
    }
}

/// Requests with that many spans each.
fn requests(spans: &[CollectedSpan], at_once: usize) -> Vec<ExportTraceServiceRequest> {
    let request = |chunk: &[CollectedSpan]| ExportTraceServiceRequest {
        resource_spans: chunk.iter().map(written).collect(),
    };
    spans.chunks(at_once).map(request).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn arbitrary_spans_round_trip(spans in span_trees(), at_once in 1usize..5) {
        let (mut json, mut protobuf) = (Vec::new(), Vec::new());
        for request in requests(&spans, at_once) {
            json.extend(of_json(&serde_json::to_string(&request).unwrap()).spans);
            protobuf.extend(of_protobuf(&request.encode_to_vec()).spans);
        }
        prop_assert_eq!(&json, &spans);
        prop_assert_eq!(&protobuf, &spans);
    }
}

proptest! {
    // Each case imports a file in two layouts, with all output.
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn arbitrary_trees_become_the_same_requests(spans in span_trees(), at_once in 1usize..5) {
        prop_assume!(!spans.is_empty());
        let requests = requests(&spans, at_once);
        let imported = |layout: usize| import(&[(LAYOUTS[layout].file)(&requests)]).unwrap().1;
        let expected = imported(0);
        let parents = spans.iter().filter(|span| span.parent.is_some()).count();
        let steps = |of: &Requests| of.0.iter().map(|of| of.steps.len()).sum::<usize>();
        prop_assert!(steps(&expected) <= spans.len() && expected.0.len() == spans.len() - parents);
        for layout in [2, 4] {
            prop_assert_eq!(&imported(layout), &expected, "{}", LAYOUTS[layout].name);
        }
    }
}
