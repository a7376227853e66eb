//! Round trip of trees through files of each format, compressed or not, and through the join to
//! both tables.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use message_trace::DataDir;
use proptest::prelude::*;
use request_flow::NameInterner;
use request_flow::tables::{ColumnSelection, RequestTables};
use serde_json::json;

use crate::importer_spec::ImporterSpec;
use crate::spans::{JAEGER, KIEKER, SPANS, ZIPKIN};
use crate::summary::ImportSummary;

/// Step of a tree, as all formats can express it.
#[derive(Clone, Debug, PartialEq)]
struct SyntheticStep {
    trace: u64,
    place: u64,
    parent: Option<u64>,
    depth: u32,
    class: String,
    begin: i64,
    end: i64,
}

impl SyntheticStep {
    /// Operation, with a name that is not part of another step's name: such steps could be both
    /// ends of a call.
    fn operation(&self) -> String {
        format!("{}.f", self.class)
    }
}

/// Trees from a walk: at each step an operation begins within the open one, or the open one ends.
/// An operation that begins with none open is the root of a trace.
fn step_trees() -> impl Strategy<Value = Vec<SyntheticStep>> {
    prop::collection::vec((any::<bool>(), 0u8..3), 1..40).prop_map(|walk| {
        let (mut all, mut open, mut time) = (Vec::<SyntheticStep>::new(), Vec::<usize>::new(), 0);
        let (mut trace, mut place) = (0, 0);
        let ends = vec![(false, 0); walk.len()];
        for (begins, class) in walk.into_iter().chain(ends) {
            time += 1_000;
            if begins {
                (trace, place) = if open.is_empty() { (trace + 1, 0) } else { (trace, place + 1) };
                let parent = open.last().map(|above| all[*above].place);
                let (depth, class) = (open.len() as u32, format!("a.C{class}"));
                open.push(all.len());
                all.push(SyntheticStep { trace, place, parent, depth, class, begin: time, end: 0 });
            } else if let Some(ended) = open.pop() {
                all[ended].end = time;
            }
        }
        all
    })
}

fn in_json(made: &[SyntheticStep]) -> [(&'static ImporterSpec, String); 2] {
    let hex = |number: u64| format!("{:016x}", number + 1);
    let zipkin: Vec<_> = made
        .iter()
        .map(|of| {
            json!({"traceId": hex(of.trace), "id": hex(of.place), "parentId": of.parent.map(hex),
                "name": of.operation(), "timestamp": of.begin / 1_000, "duration": (of.end - of.begin) / 1_000,
                "localEndpoint": {"serviceName": of.class, "ipv4": "10.0.0.1"}})
        })
        .collect();
    let jaeger = made.chunk_by(|a, b| a.trace == b.trace).map(|made| {
        let spans = made.iter().map(|of| {
            let refers = |parent| {
                json!({"refType": "CHILD_OF", "traceID": hex(of.trace), "spanID": hex(parent)})
            };
            let parents: Vec<_> = of.parent.into_iter().map(refers).collect();
            json!({"traceID": hex(of.trace), "spanID": hex(of.place), "references": parents,
                "operationName": of.operation(), "startTime": of.begin / 1_000,
                "duration": (of.end - of.begin) / 1_000, "processID": of.class})
        });
        let host = json!([{"key": "hostname", "type": "string", "value": "10.0.0.1"}]);
        let processes = made
            .iter()
            .map(|of| (of.class.clone(), json!({"serviceName": of.class, "tags": host})))
            .collect::<serde_json::Map<_, _>>();
        let spans: Vec<_> = spans.collect();
        json!({"traceID": hex(made[0].trace), "spans": spans, "processes": processes})
    });
    let jaeger: Vec<_> = jaeger.collect();
    [(&ZIPKIN, json!(zipkin).to_string()), (&JAEGER, json!({"data": jaeger}).to_string())]
}

fn in_lines(made: &[SyntheticStep]) -> [(&'static ImporterSpec, String); 2] {
    let mut spans = "trace,span,parent,service,host,operation,begin,end\n".to_owned();
    let mut kieker = String::new();
    for of in made {
        let SyntheticStep { trace, place, parent, depth, class, begin, end } = of;
        let operation = of.operation();
        let parent = parent.map_or(String::new(), |parent| parent.to_string());
        spans += &format!("{trace},{place},{parent},{class},10.0.0.1,{operation},{begin},{end}\n");
        kieker += &format!("$1;0;{operation}();s;{trace};{begin};{end};10.0.0.1;{place};{depth}\n");
    }
    [(&SPANS, spans), (&KIEKER, kieker)]
}

/// Writes `text` to a file, compressed in one of four ways.
fn write_compressed(path: &Path, text: &str, way: usize) {
    let bytes = match way {
        0 => text.as_bytes().to_vec(),
        1 => {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        }
        2 => zstd::encode_all(text.as_bytes(), 0).unwrap(),
        _ => {
            let options = lzma_rust2::XzOptions::with_preset(1);
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        }
    };
    fs::write(path, bytes).unwrap();
}

fn import_file(kind: &ImporterSpec, file: &Path, data: &DataDir) -> ImportSummary {
    let importer = (kind.make)(&kind.parse_flags(&[]).unwrap()).unwrap();
    importer.import_files(&[PathBuf::from(file)], data, &()).unwrap()
}

/// Depth, node, host, and both times of each step, by request.
type RequestSteps = Vec<Vec<(u32, String, String, Option<i64>, Option<i64>)>>;

fn read_steps(summary: &ImportSummary) -> RequestSteps {
    let data = DataDir::new(&summary.written[0]);
    let tables =
        RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::ALL).unwrap();
    let mut names = NameInterner::default();
    let requests = tables.read_all(&mut names).unwrap();
    let steps = requests.iter().map(|request| {
        let steps = request.steps.iter().zip(request.step_depths()).map(|(step, depth)| {
            let name = |number| names.name_of(number).to_owned();
            (depth, name(step.node), name(step.host), step.begin, step.end)
        });
        steps.collect()
    });
    steps.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_round_trip_through_the_tables(made in step_trees(), way in 0usize..4) {
        let expected: RequestSteps = made
            .chunk_by(|a, b| a.trace == b.trace)
            .map(|made| {
                let step = |of: &SyntheticStep| {
                    (of.depth, of.class.clone(), "10.0.0.1".to_owned(), Some(of.begin), Some(of.end))
                };
                made.iter().map(step).collect()
            })
            .collect();
        if made.is_empty() {
            return Ok(());
        }
        let directory = tempfile::tempdir().unwrap();
        let map = directory.path().join("kieker.map");
        fs::write(map, "$1=kieker.common.record.controlflow.OperationExecutionRecord\n").unwrap();
        let data = DataDir::new(directory.path());
        for (kind, text) in in_json(&made).into_iter().chain(in_lines(&made)) {
            let file = directory.path().join(format!("{}.dat", kind.about.name));
            write_compressed(&file, &text, way);
            let summary = import_file(kind, &file, &data);
            prop_assert_eq!(summary.skipped.total(), 0, "{}", kind.about.name);
            prop_assert_eq!(&read_steps(&summary), &expected, "{}", kind.about.name);
        }
    }
}

#[test]
fn damage_in_one_line_skips_only_that_part() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let span = |place: u64| SyntheticStep {
        trace: 1,
        place,
        parent: Some(0).filter(|_| place > 0),
        depth: u32::from(place > 0),
        class: "a".into(),
        begin: 1_000 * place as i64,
        end: 9_000,
    };
    let made: Vec<SyntheticStep> = (0..5).map(span).collect();
    for (kind, text) in in_json(&made) {
        let third = format!("\"{:016x}\"", 3);
        // A quote is lost, a brace is lost, and a brace is too many.
        let lost_quote = text.replacen(&third, &third[..17], 1);
        let place = text.find(&third).unwrap();
        let end = place + text[place..].find('}').unwrap();
        let lost_brace = format!("{}{}", &text[..end], &text[end + 1..]);
        let one_more = format!("{}}}{}", &text[..end], &text[end..]);
        for (damaged, left) in [(lost_quote, 4), (lost_brace, 4), (one_more, 5)] {
            let file = directory.path().join("x.json");
            fs::write(&file, &damaged).unwrap();
            let summary = import_file(kind, &file, &data);
            assert!(summary.made >= left - 1, "{}: {summary:?}\n{damaged}", kind.about.name);
            assert!(summary.skipped.total() >= 1, "{summary:?}");
            let skip = summary.skipped.first[0].to_string();
            assert!(skip.contains("x.json:1: "), "{skip}");
        }
    }
}
