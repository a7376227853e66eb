//! Logs of Kieker of all versions: intact, unfinished and damaged.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::collected::{CollectedSpan, SpanCollector};
use super::super::texts::FileText;
use super::log::KiekerLogReader;
use super::types::RecordTypes;
use crate::summary::FilePosition;

const MAP: &str = "\
$0=kieker.common.record.misc.KiekerMetadataRecord
$1=kieker.common.record.controlflow.OperationExecutionRecord
$2=kieker.common.record.flow.trace.TraceMetadata
$3=kieker.common.record.flow.trace.operation.BeforeOperationEvent
$4=kieker.common.record.flow.trace.operation.AfterOperationEvent
$5=kieker.common.record.flow.trace.operation.AfterOperationFailedEvent
$6=kieker.common.record.flow.trace.operation.constructor.BeforeConstructorEvent
$7=kieker.common.record.flow.trace.operation.constructor.AfterConstructorEvent
$8=kieker.common.record.flow.trace.operation.constructor.CallConstructorEvent
$9=kieker.common.record.flow.trace.ConstructionEvent
$10=kieker.common.record.system.CPUUtilizationRecord
";

const EXECUTIONS: &str = "\
$0;1;1.9;KIEKER;web1;1;false;0;NANOSECONDS;1
$1;90;public void shop.Cart.add(int);s1;-7;20;60;web1;1;1
$1;91;shop.Main.main(java.lang.String[]);<no-session-id>;-7;10;70;web1;0;0
$1;92;main();N/A;-1;80;90;N/A;-1;-1
";

const EVENTS: &str = "\
$0;1;1.9;KIEKER;web1;1;false;0;NANOSECONDS;1
$2;5;7;13;s1;web2;7;-1
$3;11;10;7;0;public void shop.Main.main(java.lang.String[]);shop.Main
$8;12;11;7;1;public void shop.Main.main(java.lang.String[]);shop.Main;public shop.Cart.<init>();shop.Cart
$6;13;12;7;2;public shop.Cart.<init>();shop.Cart
$9;14;13;7;3;shop.Cart;4711
$7;15;14;7;4;public shop.Cart.<init>();shop.Cart
$3;16;15;7;5;shop.Cart;public void shop.Basket.add(int)
$5;17;20;7;6;shop.Cart;public void shop.Basket.add(int);java.lang.Error: full
$4;18;30;7;7;public void shop.Main.main(java.lang.String[]);shop.Main
";

pub(super) fn samples() -> Vec<Vec<u8>> {
    let only = |types: &[&str]| -> String {
        MAP.lines()
            .filter(|line| types.iter().any(|of| line.starts_with(of)))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    let whole = |map: &str, records: &str| format!("{map}\0{records}").into_bytes();
    let of_events = ["$0", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9"];
    vec![
        whole(&only(&["$0", "$1="]), EXECUTIONS),
        whole(&only(&of_events), EVENTS),
        whole(MAP, &format!("{EXECUTIONS}{EVENTS}")),
    ]
}

/// Reads the spans of a log, the skipped parts, and the notes.
fn log(records: &str, events: bool) -> (SpanCollector, Vec<String>) {
    let mut kept = SpanCollector::default();
    // The table of a log with one of both has no types of the other.
    let has = |number: u32| records.lines().any(|line| line.starts_with(&format!("${number};")));
    let map: String = (0..)
        .zip(MAP.lines())
        .filter(|(number, _)| has(*number))
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let types = RecordTypes::from_text(map.as_bytes(), Path::new("map"), &mut kept);
    let mut reader = KiekerLogReader::new(types, events);
    for (number, line) in (1..).zip(records.lines()) {
        let text = FileText { at: FilePosition::Line(number), bytes: line.as_bytes() };
        reader.read_line(text, Path::new("log/x"), &mut kept).unwrap();
    }
    let notes = reader.finish_log(&mut kept).unwrap();
    (kept, notes)
}

/// Trace, order, depth, node and both times of a span.
type DescribedSpan<'a> = (&'a str, Option<i64>, Option<u32>, &'a str, Option<i64>, Option<i64>);

fn seen(spans: &[CollectedSpan]) -> Vec<DescribedSpan<'_>> {
    fn one(span: &CollectedSpan) -> DescribedSpan<'_> {
        let CollectedSpan { trace, order, depth, node, begin, end, .. } = span;
        (trace, *order, *depth, node, *begin, *end)
    }
    spans.iter().map(one).collect()
}

#[test]
fn executions() {
    let (SpanCollector { spans, skipped, .. }, notes) = log(EXECUTIONS, false);
    assert_eq!((skipped, notes), (vec![], vec![]));
    let expected = [
        ("-7", Some(1), Some(1), "shop.Cart", Some(20), Some(60)),
        ("-7", Some(0), Some(0), "shop.Main", Some(10), Some(70)),
        ("x:4", None, None, "", Some(80), Some(90)),
    ];
    assert_eq!(seen(&spans), expected);
    assert_eq!((&*spans[0].operation, &*spans[0].id), ("public void shop.Cart.add(int)", "1"));
    assert_eq!((&*spans[0].host, &*spans[2].host), ("web1", ""));
    assert_eq!((spans[0].parameter("session"), spans[1].parameter("session")), (Some("s1"), None));
}

#[test]
fn executions_of_2010_begin_with_an_experiment() {
    let (SpanCollector { spans, skipped, .. }, _) =
        log("$1;90;3;shop.Cart.add(int);s1;8;20;60;web1;1;1\n", false);
    assert_eq!(skipped, Vec::<String>::new());
    assert_eq!(seen(&spans), [("8", Some(1), Some(1), "shop.Cart", Some(20), Some(60))]);
    assert_eq!(
        (spans[0].parameter("experiment"), spans[0].parameter("session")),
        (Some("3"), Some("s1"))
    );
}

#[test]
fn times_are_in_the_unit_of_the_log() {
    let records = EXECUTIONS.replace("NANOSECONDS", "MILLISECONDS");
    assert_eq!(log(&records, false).0.spans[0].begin, Some(20_000_000));
    let (kept, _) = log(&EXECUTIONS.replace("NANOSECONDS", "FORTNIGHTS"), false);
    assert!(kept.skipped[0].starts_with("log/x:1: field 7: \"FORTNIGHTS\""), "{:?}", kept.skipped);
}

#[test]
fn events_become_executions() {
    let (SpanCollector { spans, skipped, .. }, notes) = log(EVENTS, false);
    assert_eq!(skipped, Vec::<String>::new());
    let expected = [
        ("7", Some(2), Some(1), "shop.Cart", Some(12), Some(14)),
        ("7", Some(5), Some(1), "shop.Basket", Some(15), Some(20)),
        ("7", Some(0), Some(0), "shop.Main", Some(10), Some(30)),
    ];
    assert_eq!(seen(&spans), expected);
    assert_eq!(spans.iter().map(|span| span.failed).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(spans[1].parameter("cause"), Some("java.lang.Error: full"));
    // The object's class differs from the class that has the operation.
    assert_eq!(
        (spans[1].parameter("class"), spans[0].parameter("class")),
        (Some("shop.Cart"), None)
    );
    for span in &spans {
        assert_eq!(
            (&*span.host, span.parameter("thread"), span.parameter("session")),
            ("web2", Some("13"), Some("s1"))
        );
        assert_eq!(span.parameter("parent.trace"), None);
    }
    assert_eq!(notes, ["records of ConstructionEvent, not used: 1"]);
}

#[test]
fn a_trace_names_its_parent_at_its_root() {
    let (SpanCollector { spans, .. }, _) = log(&EVENTS.replace("web2;7;-1", "web2;6;3"), false);
    assert_eq!(spans[0].parameter("parent.trace"), None);
    let root = &spans[2];
    assert_eq!(
        (root.parameter("parent.trace"), root.parameter("parent.order")),
        (Some("6"), Some("3"))
    );
}

#[test]
fn unfinished_or_broken_traces_are_kept_as_far_as_they_go() {
    // Neither the failed operation nor the root ends.
    let lines: Vec<&str> = EVENTS.lines().collect();
    let (kept, notes) = log(&lines[..8].join("\n"), false);
    let expected = [
        ("7", Some(2), Some(1), "shop.Cart", Some(12), Some(14)),
        ("7", Some(5), Some(1), "shop.Basket", Some(15), None),
        ("7", Some(0), Some(0), "shop.Main", Some(10), None),
    ];
    assert_eq!(seen(&kept.spans), expected);
    assert_eq!(notes[0], "operations that began and did not end: 2");

    // The end of the inner operation is lost.
    let (kept, notes) = log(&[&lines[..8], &lines[9..]].concat().join("\n"), false);
    assert_eq!(
        seen(&kept.spans)[1..],
        [
            ("7", Some(5), Some(1), "shop.Basket", Some(15), None),
            ("7", Some(0), Some(0), "shop.Main", Some(10), Some(30)),
        ]
    );
    assert_eq!(
        notes[..2],
        ["operations that began and did not end: 1", "traces that miss some of their events: 1"]
    );

    // The log begins in the middle, and the trace's own record is missing, too.
    let (kept, notes) = log(&[&lines[..1], &lines[8..]].concat().join("\n"), false);
    assert_eq!(
        seen(&kept.spans),
        [
            ("7", Some(6), Some(0), "shop.Basket", None, Some(20)),
            ("7", Some(7), Some(0), "shop.Main", None, Some(30)),
        ]
    );
    assert_eq!((&*kept.spans[0].host, kept.spans[0].failed), ("web1", true));
    assert_eq!(
        notes,
        ["operations that ended and had not begun: 2", "traces that miss some of their events: 1"]
    );

    // The called operation was not recorded.
    let (_, notes) = log(&lines[..4].join("\n"), false);
    assert_eq!(notes[1], "calls of unrecorded operations, seen at the caller only: 1");
}

#[test]
fn a_log_with_events_and_executions_counts_once() {
    let both = format!("{EXECUTIONS}{EVENTS}");
    let (kept, notes) = log(&both, false);
    assert_eq!(kept.spans.len(), 3);
    assert!(kept.spans.iter().all(|span| span.trace != "7"));
    let twice = "the log has its operations twice; the executions are used (with --events, the events); skipped records: 9";
    assert_eq!(notes, [twice]);
    let (kept, notes) = log(&both, true);
    assert!(kept.spans.len() == 3 && kept.spans.iter().all(|span| span.trace == "7"));
    assert!(
        notes[0].ends_with("(without --events, the executions); skipped records: 3"),
        "{notes:?}"
    );
}

#[test]
fn only_the_damaged_record_is_skipped() {
    let records = EXECUTIONS.replace("-7;20;60", "-7;soon;60")
        + "$10;1;host;1;0.5\n$99;1;x\ncut\n$1;91;shop.Main.ma\n";
    let (kept, notes) = log(&records, false);
    assert_eq!(kept.spans.len(), 2);
    let expected = [
        "log/x:2: field 4: \"soon\" is not a whole number",
        "log/x:5: CPUUtilizationRecord does not concern operations",
        "log/x:6: its type $99 is not in the map",
        "log/x:7: it must begin with the number of a type and a time, as in $1;1500;...",
        "log/x:8: it has only 1 fields",
    ];
    assert_eq!(kept.skipped, expected);
    assert_eq!(notes, ["records of CPUUtilizationRecord, not used: 1"]);
}

/// A random walk through a stack: at each step an operation begins, or the last one ends.
fn walk() -> impl Strategy<Value = Vec<(bool, u8)>> {
    prop::collection::vec((any::<bool>(), 0u8..3), 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// In any walk, truncated anywhere, a finished operation has both times and an unfinished one
    /// has one, and each has its depth.
    #[test]
    fn stacks_round_trip(walk in walk(), cut in 0usize..60) {
        let (mut stack, mut expected, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        for (begins, operation) in walk {
            if begins || stack.is_empty() {
                let order = lines.len() as i64;
                lines.push(format!("$3;1;{order};7;{order};a.C{operation}.f();a.C{operation}"));
                stack.push((order, format!("a.C{operation}")));
            } else if let Some((order, class)) = stack.pop() {
                let end = lines.len() as i64;
                lines.push(format!("$4;1;{end};7;{end};{class}.f();{class}"));
                if end < cut as i64 {
                    expected.push((order, stack.len() as u32, class, Some(end)));
                }
            }
        }
        lines.truncate(cut);
        let ended: Vec<i64> = expected.iter().map(|(order, ..)| *order).collect();
        let mut open = Vec::new();
        for (order, line) in (0..).zip(&lines) {
            if line.starts_with("$3") {
                let depth = lines[..order as usize].iter().map(|line| if line.starts_with("$3") { 1 } else { -1i32 }).sum::<i32>();
                if !ended.contains(&order) {
                    let class = line.split(';').next_back().unwrap().to_owned();
                    open.push((order, depth as u32, class, None));
                }
            }
        }
        expected.extend(open.into_iter().rev());
        let (kept, _) = log(&lines.join("\n"), false);
        let read: Vec<_> = kept.spans.iter().map(|span| {
            prop_assert_eq!(span.begin, span.order);
            Ok((span.order.unwrap(), span.depth.unwrap(), span.node.clone(), span.end))
        }).collect::<Result<_, TestCaseError>>()?;
        prop_assert_eq!(read, expected);
    }
}

#[test]
fn folders_are_read_with_their_files_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { directory.path().join(name) };
    for folder in ["one", "two"] {
        fs::create_dir(at(folder)).unwrap();
        let map: String = MAP
            .lines()
            .filter(|line| !line.starts_with("$1="))
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(at(folder).join("kieker.map"), map).unwrap();
        let half = EVENTS.find("$6").unwrap();
        let trace = |text: &str| text.replace(";7;", if folder == "one" { ";7;" } else { ";8;" });
        fs::write(at(folder).join("k-000.dat"), trace(&EVENTS[..half])).unwrap();
        fs::write(at(folder).join("k-001.dat"), trace(&EVENTS[half..])).unwrap();
    }
    fs::write(at("two/k.bin"), "x").unwrap();
    let data = message_trace::DataDir::new(at("data"));
    let importer = (super::KIEKER.make)(&super::KIEKER.parse_flags(&[]).unwrap()).unwrap();
    let summary = importer.import_files(&[directory.path().to_owned()], &data, &()).unwrap();
    assert_eq!((summary.read, summary.made, summary.files), (6, 6, 6));
    assert_eq!(summary.skipped.causes.keys().collect::<Vec<_>>(), [&"file that is not text"]);
    assert!(summary.notes.iter().all(|note| !note.contains("did not end")), "{:?}", summary.notes);
}
