//! Tables of spans with all column names.

use std::io::Cursor;

use proptest::prelude::*;
use request_flow::spans::SpanKind;

use super::super::collected::{SpanCollector, span_trees};
use crate::import_input::ImportInput;
use crate::tabular::TimeUnit;

const TABLE: &str = "\
trace,span,parent,service,operation,begin,end,host,kind,failed,http.route,caller,caller_begin,caller_end
t1,1,,shop,GET /cart,100,200,web1,server,,/cart,,,
t1,2,1,prices,\"price, of\",120,150,db1,,true,,shop,110,160
t1,3,1,shop,think,,,web1,internal,0,,,,
";

pub(super) fn samples() -> Vec<Vec<u8>> {
    let others =
        "traceID;x,id,name,start_us,duration_us,depth,order\n7,1,a,1,2,0,0\n7,2,b,1,1,1,1\n";
    vec![TABLE.into(), others.replace(";x", "").into()]
}

fn table(text: &str, unit: TimeUnit) -> Result<SpanCollector, String> {
    let mut kept = SpanCollector::default();
    let input = ImportInput { file: "x".into(), bytes: Box::new(Cursor::new(text.as_bytes())) };
    super::read_table(input, unit, &mut kept).map_err(|error| error.to_string())?;
    Ok(kept)
}

#[test]
fn rows_are_spans_with_their_callers_view() {
    let SpanCollector { spans, skipped, .. } = table(TABLE, TimeUnit::Microseconds).unwrap();
    assert_eq!(skipped, Vec::<String>::new());
    let [root, client, server, inner] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((&*root.node, &*root.host, root.kind), ("shop", "web1", SpanKind::Server));
    assert_eq!((root.begin, root.end, root.failed), (Some(100_000), Some(200_000), false));
    assert_eq!((root.parameter("http.route"), &root.parent), (Some("/cart"), &None));
    for half in [client, server] {
        assert_eq!((&*half.trace, &*half.id, half.parent.as_deref()), ("t1", "2", Some("1")));
        assert_eq!((&*half.operation, half.failed), ("price, of", true));
    }
    assert_eq!((client.kind, server.kind), (SpanKind::Client, SpanKind::Server));
    assert_eq!((&*client.node, &*client.host, &*server.host), ("shop", "", "db1"));
    assert_eq!((client.begin, client.end), (Some(110_000), Some(160_000)));
    assert_eq!((server.begin, server.end), (Some(120_000), Some(150_000)));
    assert_eq!((inner.begin, inner.end, inner.kind), (None, None, SpanKind::Internal));
    assert_eq!(inner.parameters, []);
}

#[test]
fn depth_and_order_replace_missing_parents() {
    let text = "trace_id,id,name,start_us,duration_us,depth,order\n7,1,a,1.5,2,0,0\n7,2,b,2,,1,1\n";
    let SpanCollector { spans, .. } = table(text, TimeUnit::Seconds).unwrap();
    assert_eq!((spans[0].depth, spans[0].order, spans[1].depth), (Some(0), Some(0), Some(1)));
    assert_eq!((spans[0].begin, spans[0].end, spans[1].end), (Some(1_500), Some(3_500), None));
    let text = "trace,span,parent,name,begin,depth\n7,1,,a,1,0\n";
    assert_eq!(table(text, TimeUnit::Nanoseconds).unwrap().spans[0].depth, None);
}

#[test]
fn a_call_of_an_unknown_caller_is_on_the_clock_of_its_span() {
    let text = "trace,span,service,host,name,begin,caller_begin\n7,1,s,h,a,5,4\n8,1,s,,a,5,4\n";
    let SpanCollector { spans, .. } = table(text, TimeUnit::Nanoseconds).unwrap();
    let nodes: Vec<_> = spans.iter().map(|span| (&*span.node, &*span.host)).collect();
    assert_eq!(nodes, [("", "h"), ("s", "h"), ("", "s"), ("s", "")]);
}

#[test]
fn only_the_wrong_row_is_skipped() {
    let text = "trace,span,name,begin,probability,order\n1,1,a,soon,,\n1,2,a,1,,\n,3,a,1,,\n1,,a,1,,\n1,5,a,1,2,\n1,6,a,1,0.5,x\n1,7,a,1";
    let SpanCollector { spans, skipped, .. } = table(text, TimeUnit::Nanoseconds).unwrap();
    assert_eq!(spans.iter().map(|span| &*span.id).collect::<Vec<_>>(), ["2"]);
    let lines: Vec<&str> = skipped.iter().map(|skip| &skip[..4]).collect();
    assert_eq!(lines, ["x:2:", "x:4:", "x:5:", "x:6:", "x:7:", "x:8:"]);
    assert!(skipped[0].contains("column 'begin': 'soon' is not a time"), "{skipped:?}");
    assert!(skipped[3].contains("column 'probability': '2' is not from 0 to 1"), "{skipped:?}");
    let error = table("", TimeUnit::Nanoseconds).unwrap_err();
    assert!(error.starts_with("x:1: there is no column 'trace'"), "{error}");
}

#[test]
fn words_for_kinds_and_failures() {
    for (word, kind) in [
        ("SPAN_KIND_CLIENT", SpanKind::Client),
        ("Internal", SpanKind::Internal),
        ("x", SpanKind::Unknown),
    ] {
        assert_eq!(super::span_kind(word), kind);
    }
    assert!(["1", "true", "ERROR", "timeout"].iter().all(|word| super::has_failed(word)));
    assert!(!["", "0", "False", "OK", "unset"].iter().any(|word| super::has_failed(word)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_round_trip(spans in span_trees(), cut in any::<prop::sample::Index>()) {
        let names: std::collections::BTreeSet<&str> =
            spans.iter().flat_map(|span| &span.parameters).map(|(name, _)| name.as_str()).collect();
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = "trace,span,parent,service,host,operation,kind,begin,end,failed".to_owned();
        for name in &names {
            text.push(',');
            text.push_str(&quoted(name));
        }
        text.push('\n');
        for span in &spans {
            let time = |time: Option<i64>| time.map_or(String::new(), |time| time.to_string());
            let (begin, end, kind) = (time(span.begin), time(span.end), format!("{:?}", span.kind));
            let parent = span.parent.as_deref().unwrap_or_default();
            let mut fields = vec![
                span.trace.as_str(), &span.id, parent, &span.node, &span.host, &span.operation, &kind,
                &begin, &end, if span.failed { "yes" } else { "" },
            ];
            for name in &names {
                fields.push(span.parameter(name).unwrap_or_default());
            }
            text.push_str(&fields.into_iter().map(quoted).collect::<Vec<_>>().join(","));
            text.push('\n');
        }
        // White space around a name, and parameters without a value, do not come back.
        let mut expected = spans.clone();
        for span in &mut expected {
            span.operation = span.operation.trim_ascii().to_owned();
            span.parameters.retain(|(_, value)| !value.is_empty());
        }
        let kept = table(&text, TimeUnit::Nanoseconds).unwrap();
        prop_assert_eq!(kept.skipped, Vec::<String>::new());
        prop_assert_eq!(&kept.spans, &expected);

        let mut cut = cut.index(text.len() + 1);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        if let Ok(part) = table(&text[..cut], TimeUnit::Nanoseconds) {
            // The last row may be truncated.
            let whole = part.spans.len().saturating_sub(1).min(expected.len());
            prop_assert_eq!(&part.spans[..whole], &expected[..whole]);
        }
    }
}
