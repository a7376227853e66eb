//! Traces in the Common Trace Format, which the test writes byte by byte and babeltrace2 reads:
//! complete, truncated within the last packet, and with an unreadable description.

use std::fs;
use std::path::Path;

use events::{EventBatch, EventReader};
use importers::{Error, IMPORTERS, ImportSummary};
use message_trace::DataDir;
use out_of_core::NameInterner;

/// The layout of a stream: packets with the processor, of events with a time and a number.
const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace {
    major = 1;
    minor = 8;
    uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564";
    byte_order = le;
    packet.header := struct { uint32_t magic; integer { size = 8; align = 8; } uuid[16]; uint32_t stream_id; };
};
clock {
    name = monotonic;
    freq = 1000000000;
    offset = 0;
};
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
stream {
    id = 0;
    packet.context := struct {
        time_t timestamp_begin;
        time_t timestamp_end;
        uint64_t content_size;
        uint64_t packet_size;
        uint32_t cpu_id;
    };
    event.header := struct { time_t timestamp; };
};
event {
    name = "app:work";
    id = 0;
    stream_id = 0;
    fields := struct { uint32_t number; };
};
"#;

/// The UUID in bytes.
const UUID: u128 = 0x2a64_22d0_6cee_11e0_8c08_cb07_d7b3_a564;

/// Number of events in a packet.
const EVENTS: u64 = 5;

/// A packet with its first event having this number; the numbers are microseconds, too.
fn make_packet(first: u64, processor: u32) -> Vec<u8> {
    packet_since(first, first, processor)
}

/// A packet with the start time `begin`.
fn packet_since(begin: u64, first: u64, processor: u32) -> Vec<u8> {
    let time = |number: u64| (number * 1000).to_le_bytes();
    let bits = 8 * (24 + 36 + 12 * EVENTS);
    let mut bytes = 0xc1fc_1fc1_u32.to_le_bytes().to_vec();
    bytes.extend(UUID.to_be_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(time(begin));
    bytes.extend(time(first + EVENTS - 1));
    bytes.extend(bits.to_le_bytes());
    bytes.extend(bits.to_le_bytes());
    bytes.extend(processor.to_le_bytes());
    for number in first..first + EVENTS {
        bytes.extend(time(number));
        bytes.extend((number as u32).to_le_bytes());
    }
    assert_eq!(bytes.len() as u64 * 8, bits);
    bytes
}

/// Writes a trace with these streams.
fn write_trace(trace: &Path, streams: &[&[u8]]) {
    let _ = fs::remove_dir_all(trace);
    fs::create_dir_all(trace).unwrap();
    fs::write(trace.join("metadata"), METADATA).unwrap();
    for (number, stream) in streams.iter().enumerate() {
        fs::write(trace.join(format!("channel0_{number}")), stream).unwrap();
    }
}

/// Imports a trace: the times of the events in microseconds, with their processors.
fn import_trace(trace: &Path) -> Result<(ImportSummary, Vec<(i64, i32)>), Error> {
    let data = DataDir::new(trace.with_extension("data"));
    let _ = fs::remove_dir_all(data.path());
    let kind = registry::find_entry(IMPORTERS, "ctf").unwrap();
    let summary = (kind.make)(&kind.parse_flags(&[]).unwrap()).unwrap().import_files(
        &[trace.to_owned()],
        &data,
        &(),
    )?;
    let mut events = Vec::new();
    let mut reader = EventReader::open(&summary.written).unwrap();
    let (mut names, mut piece) = (NameInterner::default(), EventBatch::default());
    while reader.read_next(&mut names, &mut piece).unwrap() {
        events.extend(piece.events().iter().map(|event| (event.time / 1000, event.processor)));
    }
    Ok((summary, events))
}

#[test]
fn complete_parts_of_a_trace_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let one = [make_packet(10, 0), make_packet(30, 0)].concat();
    let other = [make_packet(20, 1), make_packet(40, 1)].concat();
    write_trace(&trace, &[&one, &other]);
    let (summary, all) = import_trace(&trace).unwrap();
    let expected: Vec<(i64, i32)> = [(10, 0), (20, 1), (30, 0), (40, 1)]
        .into_iter()
        .flat_map(|(first, processor)| (first..first + 5).map(move |time| (time, processor)))
        .collect();
    assert_eq!((all, summary.skipped.total()), (expected.clone(), 0));

    let whole = one.len() / 2;
    for length in [whole + 1, whole + 3, whole + 19, whole + 25, whole + 61, one.len() - 1] {
        write_trace(&trace, &[&one[..length], &other]);
        let (summary, found) = import_trace(&trace).unwrap();
        let kept: Vec<_> =
            expected.iter().copied().filter(|(time, _)| !(30..35).contains(time)).collect();
        assert_eq!(found, kept, "{length}");
        let skipped = summary.skipped.causes["truncated packet"];
        assert!((1..=3).contains(&skipped), "{length}: {skipped}");
        let place = summary.skipped.first[0].place.to_string();
        assert!(place.contains("trace/channel0_0"), "{place}");
        assert_eq!(fs::read(trace.join("channel0_0")).unwrap().len(), length);
    }
}

/// As old tracers and tracers that lose events write: babeltrace2 stops reading such a trace at the
/// second packet of the stream.
#[test]
fn all_events_are_read_though_packets_overlap() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let overlapping = |processor: u32| {
        let mut stream = make_packet(10, processor);
        for first in (20..200).step_by(10) {
            stream.extend(packet_since(first - 7, first, processor));
        }
        stream
    };
    let streams = [overlapping(0), overlapping(1)];
    write_trace(&trace, &[&streams[0], &streams[1]]);
    let (summary, all) = import_trace(&trace).unwrap();
    let mut expected: Vec<(i64, i32)> = (10..200)
        .step_by(10)
        .flat_map(|first| (first..first + 5).flat_map(|time| [(time, 0), (time, 1)]))
        .collect();
    assert_eq!((summary.skipped.total(), summary.read), (0, 190), "{summary:#?}");
    let sorted = |mut events: Vec<(i64, i32)>| {
        events.sort_unstable();
        events
    };
    assert_eq!(sorted(all), expected);

    // Truncation of such a stream is reported as for any other.
    write_trace(&trace, &[&streams[0], &streams[1][..streams[1].len() - 1]]);
    let (summary, all) = import_trace(&trace).unwrap();
    expected.retain(|event| !matches!(event, (190.., 1)));
    assert_eq!(sorted(all), expected);
    assert_eq!(summary.skipped.causes["truncated packet"], 1, "{summary:#?}");
    assert_eq!(summary.skipped.total(), 1, "{summary:#?}");
}

#[test]
fn a_problem_with_one_trace_of_a_directory_does_not_hide_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let both = directory.path().join("both");
    let overlapping = [make_packet(10, 0), packet_since(12, 20, 0)].concat();
    write_trace(&both.join("a"), &[&overlapping]);
    write_trace(&both.join("b"), &[&make_packet(30, 1)]);
    let (summary, all) = import_trace(&both).unwrap();
    let times = |range: std::ops::Range<i64>, processor| range.map(move |time| (time, processor));
    let of_b: Vec<(i64, i32)> = times(30..35, 1).collect();
    let of_both: Vec<_> =
        times(10..15, 0).chain(times(20..25, 0)).chain(of_b.iter().copied()).collect();
    assert_eq!((all, summary.skipped.total()), (of_both, 0), "{summary:#?}");

    fs::write(both.join("a/metadata"), "/* CTF 1.8 */ trace { nonsense").unwrap();
    let (summary, all) = import_trace(&both).unwrap();
    assert_eq!(all, of_b);
    let skip = &summary.skipped.first[0];
    assert!(skip.to_string().contains("both/a/channel0_0"), "{skip}");
    assert!(skip.why.contains("babeltrace2"), "{skip}");
    // CTF 2 is described by JSON, after a byte that begins a text of a sequence of these.
    let ctf_2 = "\u{1e}{\"type\":\"preamble\",\"version\":2}\n";
    fs::write(both.join("a/metadata"), ctf_2).unwrap();
    let (summary, all) = import_trace(&both).unwrap();
    assert_eq!(all, of_b);
    assert!(summary.skipped.first[0].why.contains("CTF 2"), "{summary:#?}");
    let error = import_trace(&both.join("a")).unwrap_err().to_string();
    assert!(error.contains("CTF 2") && error.contains("babeltrace2 2.1"), "{error}");
}

#[test]
fn an_unreadable_trace_is_reported_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    write_trace(&trace, &[&make_packet(10, 0)]);
    fs::write(trace.join("metadata"), "/* CTF 1.8 */ trace { nonsense").unwrap();
    let error = import_trace(&trace).unwrap_err().to_string();
    assert!(error.contains("trace") && error.contains("babeltrace2"), "{error}");
    let error = import_trace(&trace.join("metadata")).unwrap_err().to_string();
    assert!(error.contains("not a directory"), "{error}");
}
