//! The order of rows, files and parts of spans makes no difference in any format.

use std::fs;
use std::path::PathBuf;

use message_trace::DataDir;
use proptest::prelude::*;
use request_flow::tables::{ColumnSelection, RequestTables};
use request_flow::{NameInterner, Step};
use serde_json::{Value, json};

use crate::importer_spec::ImporterSpec;
use crate::spans::{JAEGER, KIEKER, OTLP, SPANS, ZIPKIN};

/// Report on a span at one time, as all formats can express it. Times are microseconds.
#[derive(Clone, Debug)]
struct SpanReport {
    trace: u64,
    id: u64,
    parent: u64,
    node: &'static str,
    kind: &'static str,
    begin: Option<i64>,
    end: Option<i64>,
    failed: bool,
}

/// Base of all times, in microseconds since the Unix epoch, so that none is 0.
const BEGIN_US: i64 = 1_700_000_000_000_000;

impl SpanReport {
    fn operation(&self) -> String {
        format!("{} {}", self.node, self.id)
    }

    fn time(&self) -> (Option<i64>, Option<i64>) {
        let at = |time: Option<i64>| time.map(|time| BEGIN_US + time);
        (at(self.begin), at(self.end))
    }

    fn zipkin(&self) -> Value {
        let (begin, end) = self.time();
        let tags = if self.failed { json!({"error": "yes"}) } else { json!({}) };
        let kind = (!self.kind.is_empty()).then(|| self.kind.to_uppercase());
        json!({"traceId": hex(self.trace), "id": hex(self.id), "parentId": hex(self.parent),
            "kind": kind, "name": self.operation(), "timestamp": begin,
            "duration": begin.zip(end).map(|(begin, end)| end - begin), "tags": tags,
            "localEndpoint": {"serviceName": self.node}})
    }

    fn jaeger(&self) -> Value {
        let (begin, end) = self.time();
        let tag = |key: &str, value: &str| json!({"key": key, "type": "string", "value": value});
        let mut tags = vec![tag("span.kind", self.kind)];
        tags.extend(self.failed.then(|| tag("error", "true")));
        let parent = json!({"refType": "CHILD_OF", "spanID": hex(self.parent)});
        json!({"traceID": hex(self.trace), "spanID": hex(self.id), "references": [parent],
            "operationName": self.operation(), "startTime": begin,
            "duration": begin.zip(end).map_or(0, |(begin, end)| end - begin), "tags": tags,
            "process": {"serviceName": self.node, "tags": []}})
    }

    fn otlp(&self) -> Value {
        let (begin, end) = self.time();
        let ns = |time: Option<i64>| (1_000 * time.unwrap_or(0)).to_string();
        let kinds = ["", "internal", "server", "client", "producer", "consumer"];
        let kind = kinds.iter().position(|kind| *kind == self.kind);
        let span = json!({"traceId": format!("{:032x}", self.trace), "spanId": hex(self.id),
            "parentSpanId": hex(self.parent), "name": self.operation(), "kind": kind,
            "startTimeUnixNano": ns(begin), "endTimeUnixNano": ns(end),
            "status": {"code": if self.failed { 2 } else { 0 }}});
        let node = json!({"key": "service.name", "value": {"stringValue": self.node}});
        json!({"resourceSpans": [{"resource": {"attributes": [node]},
            "scopeSpans": [{"spans": [span]}]}]})
    }

    fn table_row(&self) -> String {
        let (begin, end) = self.time();
        let text = |time: Option<i64>| time.map_or(String::new(), |time| time.to_string());
        let SpanReport { trace, id, parent, node, kind, failed, .. } = self;
        let (begin, end, operation) = (text(begin), text(end), self.operation());
        let parent = Some(parent).filter(|parent| **parent > 0).map(u64::to_string);
        let parent = parent.unwrap_or_default();
        format!("{trace},{id},{parent},{node},{kind},{operation},{begin},{end},{failed}")
    }
}

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

const HEADER: &str = "trace,span,parent,service,kind,operation,begin_us,end_us,failed\n";

/// Formats the reports as a file in each format.
fn in_formats(reports: &[SpanReport]) -> [(&'static ImporterSpec, String); 4] {
    let lines = |line: fn(&SpanReport) -> String| -> String {
        reports.iter().map(|report| line(report) + "\n").collect()
    };
    [
        (&ZIPKIN, lines(|report| report.zipkin().to_string())),
        (&JAEGER, lines(|report| report.jaeger().to_string())),
        (&OTLP, lines(|report| report.otlp().to_string())),
        (&SPANS, HEADER.to_owned() + &lines(SpanReport::table_row)),
    ]
}

/// Table of types of a log of Kieker's executions.
const EXECUTION_TYPES: &str = "$1=kieker.common.record.controlflow.OperationExecutionRecord\n";

/// Table of types of a log of Kieker's events.
const EVENT_TYPES: &str = "\
$3=kieker.common.record.flow.trace.operation.BeforeOperationEvent
$4=kieker.common.record.flow.trace.operation.AfterOperationEvent
";

/// Events of a trace of Kieker. An operation begins, and then for each of `begins` another one
/// begins within it, or the innermost one ends.
fn kieker_events(trace: u8, begins: &[bool]) -> Vec<String> {
    let (mut open, mut lines) = (Vec::new(), Vec::new());
    for (order, begins) in [true].iter().chain(begins).enumerate() {
        let (kind, operation) = if *begins {
            open.push(order);
            (3, order)
        } else {
            let Some(operation) = open.pop() else { continue };
            (4, operation)
        };
        let time = 10 * order + usize::from(trace);
        let name = format!("a.C{operation}");
        lines.push(format!("${kind};0;{time};{trace};{order};{name}.f();{name}\n"));
    }
    lines
}

/// All steps of an import of these files, as text.
fn imported(kind: &ImporterSpec, files: &[String]) -> Vec<String> {
    imported_with_types(EXECUTION_TYPES, kind, files)
}

/// All steps of an import of these files, as text; Kieker's have this table of types.
fn imported_with_types(types: &str, kind: &ImporterSpec, files: &[String]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("kieker.map"), types).unwrap();
    let write = |(place, text): (usize, &String)| {
        let file = directory.path().join(format!("{place}.dat"));
        fs::write(&file, text).unwrap();
        file
    };
    let files: Vec<PathBuf> = files.iter().enumerate().map(write).collect();
    let importer = (kind.make)(&kind.parse_flags(&[]).unwrap()).unwrap();
    let data = DataDir::new(directory.path());
    let summary = importer.import_files(&files, &data, &()).unwrap();
    assert_eq!(summary.skipped.total(), 0, "{}: {summary:?}", kind.about.name);
    let data = DataDir::new(&summary.written[0]);
    let tables =
        RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::ALL).unwrap();
    let mut names = NameInterner::default();
    let requests = tables.read_all(&mut names).unwrap();
    let mut all = Vec::new();
    for request in &requests {
        for (place, step) in request.steps.iter().enumerate() {
            let parameters = request.parameters.of_step(place);
            let parameters: Vec<_> =
                parameters.map(|(name, value)| (names.name_of(name), value)).collect();
            let text = [step.node, step.host, step.operation].map(|name| names.name_of(name));
            let unknown = NameInterner::UNKNOWN;
            let step = Step { node: unknown, host: unknown, operation: unknown, ..*step };
            all.push(format!("{} {text:?} {parameters:?} {step:?}", request.trace));
        }
    }
    all
}

/// Reports on few spans, so that several concern the same one.
fn reports() -> impl Strategy<Value = Vec<SpanReport>> {
    let kind = prop::sample::select(vec!["", "internal", "server", "client", "consumer"]);
    let time = || prop::option::weighted(0.8, 0..9_i64);
    let node = prop::sample::select(vec!["shop", "stock"]);
    let one = (1..3_u64, 1..5_u64, 0..5_u64, node, kind, (time(), time()), any::<bool>());
    let one = one.prop_map(|(trace, id, parent, node, kind, (begin, lasts), failed)| {
        let end = begin.zip(lasts).map(|(begin, lasts)| begin + lasts);
        SpanReport { trace, id, parent, node, kind, begin, end, failed }
    });
    prop::collection::vec(one, 1..14)
}

/// Divides items into three parts at most.
fn in_three<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
    all.chunks(all.len().div_ceil(3)).map(<[T]>::to_vec).collect()
}

/// A call with its server's span reported at its begin, at its end with a later begin time, and
/// once more without kind and times, but with its failure: no report contains the whole span.
fn call_in_parts() -> Vec<SpanReport> {
    let of = |id, parent, node, kind, begin, end| SpanReport {
        trace: 1,
        id,
        parent,
        node,
        kind,
        begin,
        end,
        failed: false,
    };
    vec![
        of(1, 0, "shop", "server", Some(0), Some(90_000)),
        of(2, 1, "shop", "client", Some(10_000), Some(64_000)),
        of(3, 2, "stock", "server", Some(12_000), None),
        of(3, 2, "stock", "server", Some(13_000), Some(62_000)),
        SpanReport { failed: true, ..of(3, 2, "stock", "", None, None) },
    ]
}

#[test]
fn parts_of_a_span_are_merged_in_every_format() {
    let reports = call_in_parts();
    for turn in 0..reports.len() {
        let mut turned = reports.clone();
        turned.rotate_left(turn);
        for (kind, text) in in_formats(&turned) {
            let steps = imported(kind, &[text]);
            assert_eq!(steps.len(), 2, "{}: {steps:#?}", kind.about.name);
            let at = |after_us: i64| 1_000 * (BEGIN_US + after_us);
            let [begin, end] = [at(12_000), at(62_000)];
            let [sent, received] = [at(10_000), at(64_000)];
            let expected = format!(
                "begin: Some({begin}), end: Some({end}), caller_begin: Some({sent}), \
                 caller_end: Some({received}), failed: true"
            );
            assert!(steps[1].contains(&expected), "{}: {}", kind.about.name, steps[1]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_and_files_in_any_order_are_one_import(
        (ordered, shuffled) in reports().prop_flat_map(|all| {
            (Just(all.clone()), Just(all).prop_shuffle())
        }),
    ) {
        for (place, (kind, text)) in in_formats(&ordered).into_iter().enumerate() {
            let parts = in_three(&shuffled);
            let texts: Vec<String> =
                parts.iter().map(|part| in_formats(part)[place].1.clone()).collect();
            prop_assert_eq!(imported(kind, &[text]), imported(kind, &texts), "{}", kind.about.name);
        }
    }

    #[test]
    fn executions_of_kieker_in_any_order_are_one_import(
        (ordered, shuffled) in prop::collection::vec((0..2_u8, 0..6_u8, 0..4_u8, 1..9_i64), 1..14)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let line = |(trace, order, depth, time): &(u8, u8, u8, i64)| {
            let end = time + 3;
            format!("$1;0;a.C{depth}.f();s;{trace};{time};{end};h;{order};{depth}\n")
        };
        let files: Vec<String> = in_three(&shuffled).iter()
            .map(|part| part.iter().map(line).collect())
            .collect();
        let whole: String = ordered.iter().map(line).collect();
        prop_assert_eq!(imported(&KIEKER, &[whole]), imported(&KIEKER, &files));
    }

    /// A trace is a stack of operations, so its own events are in order.
    #[test]
    fn traces_of_kieker_interleaved_in_any_way_are_one_import(
        (traces, one, other) in
            prop::collection::vec(prop::collection::vec(any::<bool>(), 0..8), 1..4)
                .prop_flat_map(|traces| {
                    let turns = traces.iter().enumerate();
                    let turns = turns.flat_map(|(place, begins)| vec![place; begins.len() + 1]);
                    let turns: Vec<usize> = turns.collect();
                    (Just(traces), Just(turns.clone()).prop_shuffle(), Just(turns).prop_shuffle())
                }),
    ) {
        let import = |turns: &[usize]| {
            let of_trace = |(trace, begins): (u8, &Vec<bool>)| kieker_events(trace, begins);
            let mut left: Vec<_> =
                (1..).zip(&traces).map(of_trace).map(Vec::into_iter).collect();
            let lines: Vec<String> = turns.iter().filter_map(|place| left[*place].next()).collect();
            let files: Vec<String> = in_three(&lines).iter().map(|part| part.concat()).collect();
            imported_with_types(EVENT_TYPES, &KIEKER, &files)
        };
        prop_assert_eq!(import(&one), import(&other));
    }
}
