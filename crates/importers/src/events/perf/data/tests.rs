//! perf.data compared with the text that `perf script` wrote from the same file.

use ::events::Event;
use out_of_core::NameInterner;

use crate::events::format::EventFormat;
use crate::events::perf::perf_import::PerfImport;
use crate::events::sink::EventSink;
use crate::events::source::EventSource;
use crate::summary::ImportSummary;

const SMALL: &[u8] = include_bytes!("../../../../tests/perf/small.data");
const SMALL_TEXT: &[u8] = include_bytes!("../../../../tests/perf/small.txt");
const PACKED: &[u8] = include_bytes!("../../../../tests/perf/compressed.data");
const PACKED_TEXT: &[u8] = include_bytes!("../../../../tests/perf/compressed.txt");
const PIPE: &[u8] = include_bytes!("../../../../tests/perf/pipe.data");
const PIPE_TEXT: &[u8] = include_bytes!("../../../../tests/perf/pipe.txt");

fn read(bytes: &[u8], offset: Option<i64>) -> (EventSink, ImportSummary) {
    let (mut sink, mut summary) = (EventSink::without_output(), ImportSummary::default());
    let perf = PerfImport { host: None, offset };
    perf.read_source(&EventSource::Bytes(bytes), &mut sink, &mut summary).unwrap();
    (sink, summary)
}

/// Events in the order of time, each with its attributes as texts.
fn sorted(sink: &EventSink) -> Vec<(Event, String, Vec<String>)> {
    let mut events: Vec<(Event, String, Vec<String>)> = (0..sink.batch.len())
        .map(|place| {
            let event = sink.batch.event_at(place);
            let attributes = sink.batch.attributes_of_event(place);
            let attributes = attributes
                .map(|(name, value)| format!("{}={value:?}", sink.names.name_of(name)))
                .collect();
            let kind = sink.names.name_of(event.kind).to_owned();
            (
                Event { kind: NameInterner::UNKNOWN, host: NameInterner::UNKNOWN, ..event },
                kind,
                attributes,
            )
        })
        .collect();
    events.sort_by_key(|(event, ..)| event.time);
    events
}

#[test]
fn data_and_its_text_have_the_same_events() {
    for (data, text) in [(SMALL, SMALL_TEXT), (PACKED, PACKED_TEXT), (PIPE, PIPE_TEXT)] {
        let (own, summary) = read(data, Some(0));
        let (printed, of_text) = read(text, Some(0));
        assert_eq!((summary.skipped.total(), of_text.skipped.total()), (0, 0), "{summary:?}");
        let (own, printed) = (sorted(&own), sorted(&printed));
        assert_eq!(own.len(), printed.len());
        for ((event, kind, attributes), (of_text, kind_of_text, printed)) in
            own.iter().zip(&printed)
        {
            assert_eq!((event, kind), (of_text, kind_of_text));
            // perf applies changes of commands in the order of time, and our reader in the order of
            // records.
            let is_own = |attribute: &&String| !attribute.starts_with("comm=");
            for attribute in printed.iter().filter(is_own) {
                assert!(attributes.contains(attribute), "{kind}: {attribute} in {attributes:?}");
            }
        }
    }
}

/// The pipe's file with its samples in compressed records of this type, each with at most `length`
/// bytes of the records: type 81 of perf up to 6.15 and, with a preceding size and trailing zeros,
/// type 83 of later ones.
fn packed_pipe(kind: u32, length: usize) -> Vec<u8> {
    use std::io::Write;
    let (header, mut records) = PIPE.split_at(16);
    let (mut whole, mut samples) = (header.to_vec(), Vec::new());
    while let Some((head, rest)) = records.split_first_chunk::<8>() {
        let kind = u32::from_le_bytes(*head.first_chunk().unwrap());
        let mut size = usize::from(u16::from_le_bytes([head[6], head[7]]));
        if kind == 66 {
            let formats = u32::from_le_bytes(*rest.first_chunk().unwrap());
            size += formats.next_multiple_of(8) as usize;
        }
        // The kernel's record types have smaller numbers; perf adds records that tell how to read
        // them.
        if kind < 64 { &mut samples } else { &mut whole }.extend(&records[..size]);
        records = &records[size..];
    }
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    for piece in samples.chunks(length) {
        encoder.write_all(piece).unwrap();
        encoder.flush().unwrap();
        let packed = std::mem::take(encoder.get_mut());
        let mut body = packed.clone();
        if kind == 83 {
            body = [&(packed.len() as u64).to_le_bytes()[..], &packed].concat();
            body.resize(body.len().next_multiple_of(8), 0);
        }
        let size = body.len() as u16 + 8;
        whole.extend(kind.to_le_bytes());
        whole.extend([[0; 2], size.to_le_bytes()].concat());
        whole.extend(body);
    }
    whole
}

#[test]
fn both_kinds_of_compressed_records_are_unpacked() {
    let (plain, _) = read(PIPE, None);
    let mut padded = [false; 8];
    for length in [64, 100, 333, 1 << 20] {
        for kind in [81, 83] {
            let bytes = packed_pipe(kind, length);
            padded[bytes.len() % 8] = true;
            let (unpacked, summary) = read(&bytes, None);
            assert_eq!(summary.skipped.total(), 0, "{kind}, {length}: {summary:#?}");
            assert_eq!(sorted(&unpacked), sorted(&plain), "{kind}, {length}");
        }
    }
    assert!(padded.iter().filter(|has| **has).count() > 2, "sizes are of all kinds: {padded:?}");
    // A record that states a greater length than it has.
    let mut damaged = packed_pipe(83, 1 << 20);
    let at = damaged.len() - 1;
    damaged.truncate(at - at % 8);
    let (_, summary) = read(&damaged, None);
    assert_eq!(summary.skipped.total(), 1, "{summary:#?}");
}

#[test]
fn a_file_knows_its_host_and_the_wall_clock() {
    let (sink, summary) = read(SMALL, None);
    assert_eq!(summary.notes, Vec::<String>::new());
    let event = sink.batch.event_at(0);
    assert_eq!(sink.names.name_of(event.host), "vm");
    let hour = 1_795_636_000_000_000_000..1_795_640_000_000_000_000;
    assert!(hour.contains(&event.time), "{}", event.time);
}

#[test]
fn complete_records_of_a_truncated_pipe_are_kept() {
    let (whole, _) = read(PIPE, None);
    let (cut, summary) = read(&PIPE[..PIPE.len() - 10], None);
    assert!(cut.event_count() <= whole.event_count());
    assert_eq!(summary.skipped.total(), 1);
    let why = &summary.skipped.first[0].why;
    assert!(why.contains("was the file cut off?"), "{why}");
}

#[test]
fn a_missing_end_of_a_file_is_reported() {
    let (sink, summary) = read(&SMALL[..SMALL.len() / 4], None);
    assert_eq!(sink.event_count(), 0);
    assert!(summary.notes.iter().any(|note| note.contains("the data after its records")));
    let mut other = SMALL.to_vec();
    other[8] = 9;
    let (mut sink, mut summary) = (EventSink::without_output(), ImportSummary::default());
    let perf = PerfImport { host: None, offset: None };
    let error = perf.read_source(&EventSource::Bytes(&other), &mut sink, &mut summary).unwrap_err();
    assert!(error.to_string().contains("its header has 9 bytes"), "{error}");
    let swapped = [b"2ELIFREP", &SMALL[8..]].concat();
    let error =
        perf.read_source(&EventSource::Bytes(&swapped), &mut sink, &mut summary).unwrap_err();
    assert!(error.to_string().contains("other byte order"), "{error}");
}
