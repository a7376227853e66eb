//! Traces in the Common Trace Format, which the test writes byte by byte and babeltrace2 reads:
//! whole, cut off within the last packet, and with a description that cannot be read.

use std::fs;
use std::path::Path;

use events::{EventReader, Piece};
use importers::{Error, IMPORTERS, Summary};
use message_trace::DataDir;
use out_of_core::Names;
use registry::Given;

/// What a stream looks like: packets with the processor, of events with a time and a number.
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

/// A packet, whose first event has this number; the numbers are microseconds, too.
fn packet(first: u64, processor: u32) -> Vec<u8> {
    let time = |number: u64| (number * 1000).to_le_bytes();
    let bits = 8 * (24 + 36 + 12 * EVENTS);
    let mut bytes = 0xc1fc_1fc1_u32.to_le_bytes().to_vec();
    bytes.extend(UUID.to_be_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(time(first));
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
fn write(trace: &Path, streams: &[&[u8]]) {
    let _ = fs::remove_dir_all(trace);
    fs::create_dir_all(trace).unwrap();
    fs::write(trace.join("metadata"), METADATA).unwrap();
    for (number, stream) in streams.iter().enumerate() {
        fs::write(trace.join(format!("channel0_{number}")), stream).unwrap();
    }
}

/// Imports a trace: the times of the events in microseconds, with their processors.
fn import(trace: &Path) -> Result<(Summary, Vec<(i64, i32)>), Error> {
    let data = DataDir::new(trace.with_extension("data"));
    let _ = fs::remove_dir_all(data.path());
    let kind = registry::find(IMPORTERS, "ctf").unwrap();
    let summary = (kind.make)(&Given::default()).import(&[trace.to_owned()], &data, &())?;
    let mut events = Vec::new();
    let mut reader = EventReader::open(&summary.written).unwrap();
    let (mut names, mut piece) = (Names::default(), Piece::default());
    while reader.next(&mut names, &mut piece).unwrap() {
        events.extend(piece.events().iter().map(|event| (event.time / 1000, event.processor)));
    }
    Ok((summary, events))
}

#[test]
fn whatever_is_whole_of_a_trace_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let one = [packet(10, 0), packet(30, 0)].concat();
    let other = [packet(20, 1), packet(40, 1)].concat();
    write(&trace, &[&one, &other]);
    let (summary, all) = import(&trace).unwrap();
    let expected: Vec<(i64, i32)> = [(10, 0), (20, 1), (30, 0), (40, 1)]
        .into_iter()
        .flat_map(|(first, processor)| (first..first + 5).map(move |time| (time, processor)))
        .collect();
    assert_eq!((all, summary.skipped.total()), (expected.clone(), 0));

    let whole = one.len() / 2;
    for length in [whole + 1, whole + 3, whole + 19, whole + 25, whole + 61, one.len() - 1] {
        write(&trace, &[&one[..length], &other]);
        let (summary, found) = import(&trace).unwrap();
        let kept: Vec<_> =
            expected.iter().copied().filter(|(time, _)| !(30..35).contains(time)).collect();
        assert_eq!(found, kept, "{length}");
        let told = summary.skipped.causes["packet that is cut off"];
        assert!((1..=3).contains(&told), "{length}: {told}");
        let place = summary.skipped.first[0].place.to_string();
        assert!(place.contains("trace/channel0_0"), "{place}");
        assert_eq!(fs::read(trace.join("channel0_0")).unwrap().len(), length);
    }
}

#[test]
fn a_trace_that_cannot_be_read_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    write(&trace, &[&packet(10, 0)]);
    fs::write(trace.join("metadata"), "/* CTF 1.8 */ trace { nonsense").unwrap();
    let error = import(&trace).unwrap_err().to_string();
    assert!(error.contains("trace") && error.contains("babeltrace2"), "{error}");
    let error = import(&trace.join("metadata")).unwrap_err().to_string();
    assert!(error.contains("no directory"), "{error}");
}
