//! Files of switches that are cut off, overwritten, or still being written: every complete record
//! is read back, and nothing else is.

use std::path::Path;

use proptest::prelude::*;

use super::record::RECORD_BYTES;
use super::{SwitchEntry, SwitchEvent, SwitchFileHeader, SwitchLog, SwitchWriter, ThreadSwitch};
use crate::layout::HEADER_BYTES;
use crate::{DamageKind, LogDamage, OpenError, RecordingId, SocketLog};

const BEGIN: i64 = 1_000_000;

fn about() -> SwitchFileHeader {
    SwitchFileHeader {
        host: "web".to_owned(),
        pid: 77,
        pid_namespace: 5,
        boot_id: [3; 16],
        recording: RecordingId::new([9; 16]),
        monotonic: BEGIN,
        realtime: 1_700_000_000_000_000_000,
    }
}

/// The bytes of a file with these records, written in batches of three.
fn written(switches: &[ThreadSwitch]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("77-1.switches");
    let mut writer = SwitchWriter::create(&path, &about()).unwrap();
    for batch in switches.chunks(3) {
        batch.iter().for_each(|switch| writer.push(switch));
        writer.flush(BEGIN).unwrap();
    }
    writer.finish(BEGIN).unwrap();
    std::fs::read(path).unwrap()
}

fn read(bytes: Vec<u8>) -> (Vec<ThreadSwitch>, Vec<LogDamage>) {
    let log = SwitchLog::from_bytes(Path::new("x"), bytes).unwrap();
    let (mut switches, mut damage) = (Vec::new(), Vec::new());
    log.for_each(|found| match found {
        SwitchEntry::Switch(switch) => switches.push(switch),
        SwitchEntry::Damaged(place) => damage.push(place),
    });
    (switches, damage)
}

fn switch(number: u32, event: SwitchEvent) -> ThreadSwitch {
    let time = BEGIN + i64::from(number);
    ThreadSwitch { time, processor: number as u16 % 4, thread: number + 1, process: 0, event }
}

fn events() -> impl Strategy<Value = Vec<SwitchEvent>> {
    let event = prop_oneof![
        Just(SwitchEvent::In),
        Just(SwitchEvent::Out { preempted: true }),
        Just(SwitchEvent::Out { preempted: false }),
        Just(SwitchEvent::Exit),
        Just(SwitchEvent::Exec),
        Just(SwitchEvent::Mark),
        any::<u32>().prop_map(|creator| SwitchEvent::Start { creator }),
        any::<u32>().prop_map(|records| SwitchEvent::Lost { records }),
        "[a-z]{0,15}".prop_map(|text| {
            let mut name = [0; 16];
            name[..text.len()].copy_from_slice(text.as_bytes());
            SwitchEvent::Name(name)
        }),
    ];
    proptest::collection::vec(event, 0..40)
}

fn all(events: &[SwitchEvent]) -> Vec<ThreadSwitch> {
    (0..).zip(events).map(|(number, event)| switch(number, *event)).collect()
}

#[test]
fn the_file_has_a_log_header_but_is_not_a_log() {
    let bytes = written(&[]);
    let log = SwitchLog::from_bytes(Path::new("x"), bytes.clone()).unwrap();
    let header = log.header();
    assert_eq!((header.host.as_str(), header.pid, header.pid_namespace), ("web", 77, 5));
    assert_eq!((header.boot_id, header.start.monotonic), ([3; 16], BEGIN));
    assert!(header.has_ended());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hosts/db/77-1.switches");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(SocketLog::open(&path), Err(OpenError::NotALog { .. })));
    assert_eq!(SwitchLog::open(&path).unwrap().header().host, "db", "whose directory it is in");
    let log = crate::write::LogWriter::new("web", 7, "/bin/x").to_bytes();
    let refused = SwitchLog::from_bytes(Path::new("x"), log);
    assert!(matches!(refused, Err(OpenError::NotALog { .. })));
}

#[test]
fn a_file_that_is_being_written_ends_with_its_last_whole_record() {
    let switches = all(&[SwitchEvent::In, SwitchEvent::Out { preempted: false }]);
    let mut bytes = written(&switches);
    bytes.truncate(bytes.len() - 1);
    let (found, damage) = read(bytes.clone());
    assert_eq!(found, switches[..1]);
    assert_eq!(
        damage.iter().map(|damage| damage.fault).collect::<Vec<_>>(),
        [DamageKind::Truncated]
    );
    let state = std::mem::offset_of!(crate::layout::FileHeader, state);
    bytes[state] = 0;
    assert_eq!(read(bytes), (switches[..1].to_vec(), vec![]), "the file does not record its end");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn written_records_are_read_back(events in events()) {
        let switches = all(&events);
        prop_assert_eq!(read(written(&switches)), (switches, vec![]));
    }

    #[test]
    fn a_cut_file_has_all_records_before_the_cut(
        events in events(), cut in any::<prop::sample::Index>(),
    ) {
        let switches = all(&events);
        let mut bytes = written(&switches);
        let at = HEADER_BYTES + cut.index(bytes.len() - HEADER_BYTES + 1);
        bytes.truncate(at);
        let (found, _) = read(bytes.clone());
        prop_assert!(found.len() <= switches.len());
        let whole = (at - HEADER_BYTES) / RECORD_BYTES;
        let names = |switches: &[ThreadSwitch]| {
            switches.iter().filter(|switch| matches!(switch.event, SwitchEvent::Name(_))).count()
        };
        prop_assert!(found.len() + names(&found) >= whole, "{} of {}", found.len(), whole);
        // If the last one is a name, only a half of it may be there.
        let before = found.len().saturating_sub(1);
        prop_assert_eq!(&found[..before], &switches[..before]);
        crate::fuzz::switches(&bytes);
    }

    #[test]
    fn a_damaged_byte_spoils_only_one_record(
        events in events(), at in any::<prop::sample::Index>(), flip in 1u8..,
    ) {
        let switches = all(&events);
        let mut bytes = written(&switches);
        prop_assume!(bytes.len() > HEADER_BYTES);
        let at = HEADER_BYTES + at.index(bytes.len() - HEADER_BYTES);
        bytes[at] ^= flip;
        let (found, damage) = read(bytes.clone());
        prop_assert_eq!(damage.len(), 1);
        let place = (at - HEADER_BYTES) / RECORD_BYTES * RECORD_BYTES + HEADER_BYTES;
        prop_assert_eq!((damage[0].offset, damage[0].bytes), (place as u64, RECORD_BYTES as u64));
        // A name that lost its first or second half is not returned as another.
        let others = found.iter().filter(|switch| !switches.contains(switch)).count();
        prop_assert!(others <= 1 && found.len() + 1 >= switches.len());
        crate::fuzz::switches(&bytes);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        events in events(), noise in any::<Vec<u8>>(), at in 0..5_000usize,
    ) {
        let mut bytes = written(&all(&events));
        let at = at.min(bytes.len());
        let end = bytes.len().min(at + noise.len());
        bytes.splice(at..end, noise);
        crate::fuzz::switches(&bytes);
        crate::fuzz::log(&bytes);
    }
}
