use proptest::prelude::*;
use tempfile::TempDir;

use std::path::{Path, PathBuf};

use super::*;
use crate::EventReader;

/// An event of a test: time, host, numbers that may be unknown, kind, and attributes.
type WrittenRow = (i64, u8, [i32; 3], u8, Vec<(u8, OwnValue)>);

/// Attribute value that owns its text.
#[derive(Clone, Debug, PartialEq)]
enum OwnValue {
    Int(i64),
    Real(f64),
    Text(String),
}

fn any_value() -> impl Strategy<Value = OwnValue> {
    prop_oneof![
        any::<i64>().prop_map(OwnValue::Int),
        (-1e9..1e9).prop_map(OwnValue::Real),
        "[a-c\"\n,]{0,3}".prop_map(OwnValue::Text),
    ]
}

fn rows(most: usize) -> impl Strategy<Value = Vec<WrittenRow>> {
    let numbers = [-1..3, 0..4, 0..4];
    let attributes = prop::collection::vec((0u8..4, any_value()), 0..4);
    prop::collection::vec((-50i64..50, 0u8..3, numbers, 0u8..3, attributes), 0..most)
}

fn value(own: &OwnValue) -> AttributeValue<'_> {
    match own {
        OwnValue::Int(number) => AttributeValue::Int(*number),
        OwnValue::Real(number) => AttributeValue::Real(*number),
        OwnValue::Text(text) => AttributeValue::Text(text),
    }
}

fn name(kind: &str, number: u8) -> String {
    if number == 0 && kind == "host" { String::new() } else { format!("{kind}/{number}") }
}

/// Writes rows as a table at `at`, with a memory limit of `limit` bytes.
fn write(rows: &[WrittenRow], limit: usize, at: &Path) -> (EventWriter, NameInterner) {
    let mut writer = EventWriter::create(at).unwrap();
    writer.limit = limit;
    let mut names = NameInterner::default();
    for (time, host, [processor, process, thread], kind, attributes) in rows {
        let event = Event {
            time: *time,
            host: names.intern(&name("host", *host)),
            kind: names.intern(&name("kind", *kind)),
            processor: *processor,
            process: *process,
            thread: *thread,
        };
        let attributes: Vec<_> = attributes
            .iter()
            .map(|(of, own)| (names.intern(&name("name", *of)), value(own)))
            .collect();
        writer.push_event(event, attributes, &names).unwrap();
    }
    (writer, names)
}

fn finish((writer, names): (EventWriter, NameInterner)) -> u64 {
    writer.finish(&names).unwrap()
}

/// Reads all rows of the tables in order, with the attributes of each sorted by type.
fn read(paths: &[PathBuf]) -> Vec<WrittenRow> {
    let mut reader = EventReader::open(paths).unwrap();
    let (mut names, mut piece) = (NameInterner::default(), EventBatch::default());
    let mut rows = Vec::new();
    while reader.read_next(&mut names, &mut piece).unwrap() {
        assert!((1..=BATCH_EVENTS).contains(&piece.len()));
        for (place, event) in piece.events().iter().enumerate() {
            let number = |name: &str| {
                name.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0)
            };
            let attributes = piece.attributes_of_event(place).map(|(name, value)| {
                let own = match value {
                    AttributeValue::Int(number) => OwnValue::Int(number),
                    AttributeValue::Real(number) => OwnValue::Real(number),
                    AttributeValue::Text(text) => OwnValue::Text(text.to_owned()),
                };
                (number(names.name_of(name)), own)
            });
            rows.push((
                event.time,
                number(names.name_of(event.host)),
                [event.processor, event.process, event.thread],
                number(names.name_of(event.kind)),
                attributes.collect(),
            ));
        }
    }
    assert_eq!(reader.event_count(), rows.len() as u64);
    rows
}

/// Expected rows: in the order of time, attributes in the order of their types.
fn expected(rows: &[WrittenRow]) -> Vec<WrittenRow> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.0);
    for row in &mut rows {
        row.4.sort_by_key(|(_, own)| match own {
            OwnValue::Int(_) => 0,
            OwnValue::Real(_) => 1,
            OwnValue::Text(_) => 2,
        });
    }
    rows
}

fn path(directory: &TempDir, name: &str) -> PathBuf {
    directory.path().join(name)
}

fn files(directory: &TempDir) -> usize {
    std::fs::read_dir(directory.path()).unwrap().count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn events_in_any_order_are_read_in_the_order_of_time(
        rows in rows(150),
        limit in prop_oneof![1usize..3000, Just(1 << 20)],
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = path(&directory, "a.parquet");
        let writer = write(&rows, limit, &path);
        prop_assert_eq!(writer.0.event_count(), rows.len() as u64);
        prop_assert_eq!(finish(writer), rows.len() as u64);
        prop_assert_eq!(read(&[path]), expected(&rows));
        prop_assert_eq!(files(&directory), 1);
    }

    #[test]
    fn tables_are_read_as_one(tables in prop::collection::vec(rows(40), 0..4)) {
        let directory = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (number, rows) in tables.iter().enumerate() {
            paths.push(path(&directory, &format!("{number}.parquet")));
            finish(write(rows, 1 << 20, &paths[number]));
        }
        prop_assert_eq!(read(&paths), expected(&tables.concat()));
        let found = crate::find_tables(directory.path()).unwrap();
        prop_assert_eq!(found, paths.iter().map(DataPath::from).collect::<Vec<_>>());
    }
}

fn row(time: i64, number: i32) -> WrittenRow {
    (time, 0, [number % 3, number, 7], 1, vec![(1, OwnValue::Int(i64::from(number)))])
}

#[test]
fn events_in_order_make_no_runs_and_late_ones_do() {
    let directory = tempfile::tempdir().unwrap();
    let table = path(&directory, "a.parquet");
    let ordered: Vec<WrittenRow> =
        (0..10_000).map(|number| row(i64::from(number / 3), number)).collect();
    let writer = write(&ordered, 4000, &table);
    assert_eq!((writer.0.runs.len(), writer.0.table.event_count() > 9_000), (0, true));
    finish(writer);
    assert_eq!(read(std::slice::from_ref(&table)), ordered);

    // Nearly in order: each at most ten places late.
    let mut nearly = ordered.clone();
    nearly.chunks_mut(10).for_each(<[WrittenRow]>::reverse);
    let writer = write(&nearly, 8000, &table);
    assert_eq!(writer.0.runs.len(), 0);
    finish(writer);
    assert_eq!(read(std::slice::from_ref(&table)), expected(&nearly));

    // Eight streams, one after the other: each except the first is a run, or two at its beginning.
    let streams: Vec<WrittenRow> =
        (0..8).flat_map(|_| ordered.iter().take(1000).cloned()).collect();
    let writer = write(&streams, 4000, &table);
    assert!((7..=14).contains(&writer.0.runs.len()), "{}", writer.0.runs.len());
    finish(writer);
    assert_eq!(read(std::slice::from_ref(&table)), expected(&streams));
}

#[test]
fn many_runs_are_merged_before_they_are_too_many() {
    let directory = tempfile::tempdir().unwrap();
    let table = path(&directory, "a.parquet");
    let backwards: Vec<WrittenRow> =
        (0..20_000).rev().map(|number| row(number.into(), number)).collect();
    let writer = write(&backwards, 4000, &table);
    assert!((2..=MAX_RUNS).contains(&writer.0.runs.len()), "{}", writer.0.runs.len());
    finish(writer);
    assert_eq!(read(&[table]), expected(&backwards));
}

#[test]
fn an_abandoned_writer_keeps_the_former_table() {
    let directory = tempfile::tempdir().unwrap();
    let table = path(&directory, "a.parquet");
    finish(write(&[row(5, 1)], 1, &table));
    drop(write(&[row(6, 1), row(5, 1), row(4, 1)], 1, &table));
    assert_eq!((read(&[table]), files(&directory)), (vec![row(5, 1)], 1));
}

#[test]
fn damaged_tables_and_other_tables_are_errors_that_name_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let table = path(&directory, "a.parquet");
    let rows: Vec<WrittenRow> = (0..5000).map(|number| row(number.into(), number)).collect();
    finish(write(&rows, 1 << 20, &table));
    let whole = std::fs::read(&table).unwrap();
    let outcome = |bytes: &[u8]| {
        std::fs::write(&table, bytes).unwrap();
        let mut reader = match EventReader::open(std::slice::from_ref(&table)) {
            Ok(reader) => reader,
            Err(error) => return Some(error.to_string()),
        };
        let (mut names, mut piece) = (NameInterner::default(), EventBatch::default());
        loop {
            match reader.read_next(&mut names, &mut piece) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
    };
    assert_eq!(outcome(&whole), None);
    for cut in [0, 3, whole.len() / 2, whole.len() - 1] {
        assert!(outcome(&whole[..cut]).unwrap().contains("a.parquet"), "{cut}");
    }
    let footer = whole.iter().rev().skip(4).take(4).fold(0, |all, byte| all << 8 | *byte as usize);
    for at in (0..whole.len() - footer - 8).step_by(whole.len() / 200) {
        let mut other = whole.clone();
        other[at] ^= 0x55;
        if let Some(error) = outcome(&other) {
            assert!(error.contains("a.parquet"), "{error}");
        }
    }
    message_trace::NodeList::default().write(&table).unwrap();
    let other = std::fs::read(&table).unwrap();
    assert!(outcome(&other).unwrap().contains("its columns do not form an event table"));
}
