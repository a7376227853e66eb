//! The order of rows and files makes no difference to a table of events, except among events of
//! one time, which stay in the order in which they were read. Traces of CTF are tested in
//! `ctf/spec.rs`, as babeltrace2 reads their files.

use std::fs;
use std::path::PathBuf;

use ::events::{EventBatch, EventReader};
use message_trace::DataDir;
use out_of_core::NameInterner;
use proptest::prelude::*;

use crate::events::{EVENTS, PERF};
use crate::importer_spec::ImporterSpec;

/// Event, as all formats can express it. Its time is in microseconds since the Unix epoch.
#[derive(Clone, Debug)]
struct WrittenEvent {
    time_us: i64,
    processor: i32,
    thread: i32,
    kind: &'static str,
    value: i64,
}

impl WrittenEvent {
    fn object(&self) -> String {
        let WrittenEvent { time_us, processor, thread, kind, value } = self;
        let place = format!(r#""time":{time_us},"cpu":{processor},"tid":{thread}"#);
        format!(r#"{{{place},"event":"app/{kind}","value":{value}}}"#)
    }

    fn row(&self) -> String {
        let WrittenEvent { time_us, processor, thread, kind, value } = self;
        format!("{time_us},{processor},{thread},app/{kind},{value}")
    }

    fn perf_line(&self) -> String {
        let WrittenEvent { time_us, processor, thread, kind, value } = self;
        let (seconds, rest) = (time_us / 1_000_000, time_us % 1_000_000);
        format!("work {thread} [{processor:03}] {seconds}.{rest:06}: app:{kind}: value={value}")
    }
}

const HEADER: &str = "time,cpu,tid,event,value\n";

/// Formats the events as a file in each format.
fn in_formats(events: &[WrittenEvent]) -> [(&'static ImporterSpec, String); 3] {
    let lines = |line: fn(&WrittenEvent) -> String| -> String {
        events.iter().map(|event| line(event) + "\n").collect()
    };
    [
        (&EVENTS, lines(WrittenEvent::object)),
        (&EVENTS, HEADER.to_owned() + &lines(WrittenEvent::row)),
        (&PERF, lines(WrittenEvent::perf_line)),
    ]
}

/// All events of an import of these files, as text, after their times; events of one time are
/// sorted.
fn imported(kind: &ImporterSpec, files: &[Vec<u8>]) -> Vec<(i64, String)> {
    let directory = tempfile::tempdir().unwrap();
    let write = |(place, bytes): (usize, &Vec<u8>)| {
        let file = directory.path().join(format!("{place}.log"));
        fs::write(&file, bytes).unwrap();
        file
    };
    let files: Vec<PathBuf> = files.iter().enumerate().map(write).collect();
    let importer = (kind.make)(&kind.parse_flags(&[]).unwrap()).unwrap();
    let data = DataDir::new(directory.path().join("data"));
    let summary = importer.import_files(&files, &data, &()).unwrap();
    let mut reader = EventReader::open(&summary.written).unwrap();
    let (mut names, mut piece) = (NameInterner::default(), EventBatch::default());
    let mut all = Vec::new();
    while reader.read_next(&mut names, &mut piece).unwrap() {
        for (place, event) in piece.events().iter().enumerate() {
            let attributes: Vec<String> = piece
                .attributes_of_event(place)
                .map(|(name, value)| format!("{}={value:?}", names.name_of(name)))
                .collect();
            let [host, kind] = [event.host, event.kind].map(|name| names.name_of(name));
            let ids = (event.processor, event.process, event.thread);
            all.push((event.time, format!("{host} {kind} {ids:?} {attributes:?}")));
        }
    }
    assert!(all.is_sorted_by_key(|(time, _)| *time), "{}: {all:#?}", kind.about.name);
    all.sort();
    all
}

/// Events of few times, so that several have the same one.
fn events() -> impl Strategy<Value = Vec<WrittenEvent>> {
    let kind = prop::sample::select(vec!["begin", "done"]);
    let one = (0..9_i64, 0..4, 1..5, kind, -3..4_i64);
    let one = one.prop_map(|(after_us, processor, thread, kind, value)| {
        let time_us = 1_700_000_000_000_000 + after_us;
        WrittenEvent { time_us, processor, thread, kind, value }
    });
    prop::collection::vec(one, 1..14)
}

/// Text with a header and without one, and perf.data: each file has its own host and clock.
#[test]
fn files_of_perf_in_any_order_are_one_table() {
    let mut files = (PERF.samples)();
    let expected = imported(&PERF, &files);
    assert!(!expected.is_empty());
    for _ in 0..2 {
        for _ in 0..files.len() {
            files.rotate_left(1);
            assert_eq!(imported(&PERF, &files), expected);
        }
        files.reverse();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn rows_and_files_in_any_order_are_one_table(
        (ordered, shuffled) in events().prop_flat_map(|all| {
            (Just(all.clone()), Just(all).prop_shuffle())
        }),
    ) {
        let parts: Vec<_> = shuffled.chunks(shuffled.len().div_ceil(3)).map(in_formats).collect();
        for (place, (kind, text)) in in_formats(&ordered).into_iter().enumerate() {
            let texts: Vec<Vec<u8>> =
                parts.iter().map(|part| part[place].1.clone().into_bytes()).collect();
            let whole = imported(kind, &[text.into_bytes()]);
            prop_assert_eq!(whole.len(), ordered.len(), "{}", kind.about.name);
            prop_assert_eq!(whole, imported(kind, &texts), "{}", kind.about.name);
        }
    }
}
