//! Property tests of the reader on logs that are complete, cut off, overwritten, shifted or half
//! written. It never panics, it returns every complete record at its proper place, and it reports
//! where something is wrong.

mod written;

use proptest::prelude::*;

use super::decode::{self, DecodeStep};
use crate::encode::{Direction, FlowOrigin, RareWords, reservation_word};
use crate::layout::{CHUNK_BYTES, CHUNK_HEADER_WORDS, HEADER_BYTES, MAX_RARE_WORDS};
use crate::write::{LogWriter, TCP};
use crate::{DamageKind, LogDamage, LogEntry, LogRecord, OpenError, SocketLog};
use written::{Written, records};

fn write(records: &[Written]) -> Vec<u8> {
    let mut log = LogWriter::new("host", 7, "/bin/x");
    for record in records {
        log.set_thread(record.entry.tid).raw_record(record.entry.ticks, &record.words);
    }
    log.to_bytes()
}

fn open(bytes: &[u8]) -> Result<SocketLog, OpenError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    SocketLog::open(file.path())
}

/// All records except anchors, and the damage.
fn read(bytes: &[u8]) -> (Vec<LogEntry>, Vec<LogDamage>) {
    let mut entries = Vec::new();
    let damage = open(bytes).unwrap().for_each(|entry| {
        if !matches!(entry.record, LogRecord::Anchor(_)) {
            entries.push(entry);
        }
    });
    (entries, damage)
}

/// Every record of a whole log with its place in the file.
fn places(bytes: &[u8]) -> Vec<(std::ops::Range<usize>, LogEntry)> {
    let mut places = Vec::new();
    for chunk in open(bytes).unwrap().chunks() {
        let mut entries = Vec::new();
        chunk.for_each(|entry| entries.push(entry));
        let mut entries = entries.into_iter();
        let words: Vec<u32> = bytes[chunk.offset as usize..chunk.offset as usize + CHUNK_BYTES]
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let mut at = CHUNK_HEADER_WORDS;
        while let DecodeStep::Record { words: length, .. } = decode::decode_step(&words[at..]) {
            let start = chunk.offset as usize + 4 * at;
            places.push((start..start + 4 * length, entries.next().unwrap()));
            at += length;
        }
        assert!(entries.next().is_none());
    }
    places
}

/// Whether `found` contains all of `wanted`, in that order.
fn holds(found: &[LogEntry], wanted: &[LogEntry]) -> bool {
    let mut found = found.iter();
    wanted.iter().all(|wanted| found.any(|entry| entry == wanted))
}

fn without_anchors(
    places: &[(std::ops::Range<usize>, LogEntry)],
    keep: impl Fn(usize, usize) -> bool,
) -> Vec<LogEntry> {
    let kept = places.iter().filter(|(place, _)| keep(place.start, place.end));
    kept.map(|(_, entry)| entry.clone())
        .filter(|entry| !matches!(entry.record, LogRecord::Anchor(_)))
        .collect()
}

/// The chunk that contains the byte at `offset`.
fn chunk_of(offset: usize) -> usize {
    (offset - HEADER_BYTES) / CHUNK_BYTES
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_record_of_a_complete_log_is_read_back(records in records()) {
        let (entries, damage) = read(&write(&records));
        prop_assert_eq!(damage, vec![]);
        prop_assert_eq!(entries.len(), records.len());
        for tid in 1..4 {
            let wanted: Vec<&LogEntry> = records.iter().map(|r| &r.entry).filter(|e| e.tid == tid).collect();
            let found: Vec<&LogEntry> = entries.iter().filter(|e| e.tid == tid).collect();
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn a_log_cut_off_anywhere_keeps_all_before_the_cut(records in records(), cut in any::<prop::sample::Index>()) {
        let bytes = write(&records);
        let cut = cut.index(bytes.len() + 1);
        if cut < HEADER_BYTES {
            let refused = matches!(open(&bytes[..cut]), Err(OpenError::NotALog { .. }));
            prop_assert!(refused);
            return Ok(());
        }
        let wanted = without_anchors(&places(&bytes), |_, end| end <= cut);
        let (entries, damage) = read(&bytes[..cut]);
        prop_assert!(holds(&entries, &wanted), "{} of {} records", entries.len(), wanted.len());
        // The last record may be cut at a place at which the missing rest does not matter (a name's
        // padding).
        prop_assert!(entries.len() <= wanted.len() + 1);
        let inside_a_chunk = !(cut - HEADER_BYTES).is_multiple_of(CHUNK_BYTES);
        let rest_is_empty = bytes[cut - (cut - HEADER_BYTES) % CHUNK_BYTES..cut].iter().all(|byte| *byte == 0);
        prop_assert_eq!(damage.iter().any(|d| d.fault == DamageKind::Truncated), inside_a_chunk && !rest_is_empty);
    }

    #[test]
    fn overwritten_bytes_spoil_no_other_chunk_and_nothing_before_them(
        records in records(),
        spots in prop::collection::vec((any::<prop::sample::Index>(), 1..300usize, 0..3u8, any::<u8>()), 1..6),
    ) {
        let whole = write(&records);
        prop_assume!(whole.len() > HEADER_BYTES);
        let mut bytes = whole.clone();
        // The first overwritten byte of each chunk.
        let mut first: std::collections::BTreeMap<usize, usize> = Default::default();
        for (at, length, how, value) in spots {
            let at = HEADER_BYTES + at.index(bytes.len() - HEADER_BYTES);
            let end = (at + length).min(bytes.len());
            for (offset, byte) in bytes.iter_mut().enumerate().take(end).skip(at) {
                *byte = match how {
                    0 => *byte ^ (1 << (value % 8)),
                    1 => 0,
                    _ => value.wrapping_mul(31).wrapping_add(offset as u8),
                };
                let first = first.entry(chunk_of(offset)).or_insert(offset);
                *first = offset.min(*first);
            }
        }
        let header_end = |chunk: usize| HEADER_BYTES + chunk * CHUNK_BYTES + 4 * CHUNK_HEADER_WORDS;
        let wanted = without_anchors(&places(&whole), |start, end| match first.get(&chunk_of(start)) {
            None => true,
            Some(first) => *first >= header_end(chunk_of(start)) && end <= *first,
        });
        let (entries, _) = read(&bytes);
        prop_assert!(holds(&entries, &wanted));
    }

    #[test]
    fn inserted_or_removed_bytes_spoil_one_chunk_at_most(
        records in records(),
        at in any::<prop::sample::Index>(),
        garbage in prop::collection::vec(any::<u8>(), 0..9_000),
        taken in 0..3_000usize,
    ) {
        let whole = write(&records);
        prop_assume!(whole.len() > HEADER_BYTES);
        let at = HEADER_BYTES + at.index(whole.len() - HEADER_BYTES);
        let end = (at + taken).min(whole.len());
        let bytes = [&whole[..at], &garbage, &whole[end..]].concat();
        let touched = chunk_of(at)..=chunk_of(end.max(at + 1) - 1);
        let wanted = without_anchors(&places(&whole), |start, end| {
            // The following chunk may begin in the middle of bytes that are read as the previous
            // one.
            let next = touched.end() + 1;
            !touched.contains(&chunk_of(start)) && chunk_of(start) != next || end <= at && start < at
                && at >= HEADER_BYTES + chunk_of(start) * CHUNK_BYTES + 4 * CHUNK_HEADER_WORDS
        });
        let (entries, _) = read(&bytes);
        prop_assert!(holds(&entries, &wanted), "{} {}", entries.len(), wanted.len());
    }

    #[test]
    fn arbitrary_files_cause_no_panic(
        header in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..3 * CHUNK_BYTES),
        word in any::<u32>(),
        magic in any::<bool>(),
    ) {
        let mut file = if header { write(&[])[..HEADER_BYTES].to_vec() } else { Vec::new() };
        if magic {
            file.extend(crate::layout::CHUNK_MAGIC.to_le_bytes());
            file.extend(word.to_le_bytes());
        }
        file.extend(&bytes);
        if let Ok(log) = open(&file) {
            let clock = log.clock();
            log.for_each(|entry| {
                clock.realtime(entry.ticks);
            });
        }
    }

    /// Whole chunks are cut off, since damage may separate words from their transfer.
    #[test]
    fn rare_words_stay_with_their_transfer(
        transfers in prop::collection::vec(
            (1..4u32, any::<bool>(), any::<u32>(), prop::collection::vec(any::<u32>(), 0..=MAX_RARE_WORDS)),
            0..600,
        ),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut log = LogWriter::new("host", 7, "/bin/x");
        for (at, (tid, is_sent, flow, words)) in transfers.iter().enumerate() {
            let direction = if *is_sent { Direction::Send } else { Direction::Receive };
            let words = RareWords::from_values(words.iter().copied());
            log.set_thread(*tid).transfer_with_words(7 * at as u64, *flow, direction, 1, &words);
        }
        let bytes = log.to_bytes();
        let chunks = (bytes.len() - HEADER_BYTES) / CHUNK_BYTES;
        let (entries, damage) = read(&bytes[..HEADER_BYTES + CHUNK_BYTES * cut.index(chunks + 1)]);
        prop_assert_eq!(damage, vec![]);
        let mut found = entries.iter();
        while let Some(entry) = found.next() {
            let LogRecord::Transfer { direction, flow, .. } = entry.record else {
                panic!("{entry:?} follows no transfer");
            };
            let (tid, _, wanted_flow, wanted) = &transfers[(entry.ticks / 7) as usize];
            prop_assert_eq!((entry.tid, flow), (*tid, *wanted_flow));
            if !wanted.is_empty() {
                let words = RareWords::from_values(wanted.iter().copied());
                let record = LogRecord::RareWords { direction, flow, words };
                prop_assert_eq!(found.next(), Some(&LogEntry { record, ..entry.clone() }));
            }
        }
    }

    /// A thread that is killed within a record leaves zeros or a reserved place, and another thread
    /// or a signal handler continues after it.
    #[test]
    fn an_unfinished_record_hides_no_later_record(
        records in records(),
        begun in prop::collection::vec((any::<prop::sample::Index>(), 1..40usize, any::<bool>()), 0..20),
    ) {
        let mut log = LogWriter::new("host", 7, "/bin/x");
        let mut holes: std::collections::BTreeMap<usize, (usize, bool)> = Default::default();
        for (at, words, zeros) in begun {
            holes.insert(at.index(records.len() + 1), (words, zeros));
        }
        let mut reservations = 0;
        for (at, record) in records.iter().enumerate() {
            log.set_thread(record.entry.tid);
            if let Some((words, zeros)) = holes.get(&at) {
                // Data filled in before the end can look like anything, even like records.
                let mut hole = vec![if *zeros { 0 } else { 0x0000_0301 }; *words];
                if !zeros {
                    hole[0] = reservation_word(*words);
                    reservations += 1;
                }
                log.raw_record(record.entry.ticks, &hole);
            }
            log.raw_record(record.entry.ticks, &record.words);
        }
        let (entries, damage) = read(&log.to_bytes());
        for tid in 1..4 {
            let wanted: Vec<&LogEntry> = records.iter().map(|r| &r.entry).filter(|e| e.tid == tid).collect();
            let found: Vec<&LogEntry> = entries.iter().filter(|e| e.tid == tid).collect();
            prop_assert_eq!(found, wanted);
        }
        prop_assert_eq!(damage.len(), reservations);
        prop_assert!(damage.iter().all(|damage| damage.fault == DamageKind::Unfinished));
    }
}

#[test]
fn damage_is_reported_with_its_place() {
    let mut log = LogWriter::new("host", 7, "/bin/x");
    log.flow(5, 1, TCP, FlowOrigin::Socket, 9).send(10, 1, 100);
    let mut bytes = log.to_bytes();
    let chunk = HEADER_BYTES + 4 * CHUNK_HEADER_WORDS;
    // An unknown kind still has a length.
    bytes[chunk] = 200;
    let (entries, damage) = read(&bytes);
    assert_eq!(entries.len(), 1);
    assert_eq!(
        damage,
        [LogDamage { offset: chunk as u64, bytes: 40, fault: DamageKind::BadField }]
    );
    assert!(damage[0].to_string().starts_with(&format!("offset {chunk}: ")), "{}", damage[0]);
    // A length that its kind does not fit into.
    bytes[chunk + 1] = 1;
    let (_, damage) = read(&bytes);
    assert_eq!(damage[0].fault, DamageKind::BadLength);
    bytes.truncate(HEADER_BYTES + 100);
    let (_, damage) = read(&bytes);
    assert!(damage.iter().any(|damage| damage.fault == DamageKind::Truncated), "{damage:?}");
}

#[test]
fn a_log_of_another_version_is_rejected_by_name() {
    let mut bytes = LogWriter::new("host", 7, "/bin/x").to_bytes();
    bytes[8] = 99;
    let error = open(&bytes).unwrap_err();
    assert!(matches!(error, OpenError::Version { found: 99, .. }), "{error}");
}
