//! Reader on any bytes, for fuzzing and property tests. It panics if the reader violates its
//! contract, which is to return all complete records and to report where the rest is.

use std::path::Path;

use crate::layout::MAX_RARE_WORDS;
use crate::switches::{RECORD_BYTES, SwitchEntry, SwitchLog};
use crate::{LogRecord, SocketLog};

/// Reads `bytes` as a log, by all functions of the reader.
pub fn log(bytes: &[u8]) {
    let Ok(log) = SocketLog::from_bytes(Path::new("input"), bytes.to_vec()) else { return };
    let header = log.header();
    let _ = (header.lost_records(), format!("{header:?}"));
    let clock = log.clock();
    let mut cursor = clock.cursor();
    let mut records = 0u64;
    let damage = log.for_each(|entry| {
        records += 1;
        assert_eq!(
            cursor.realtime(entry.ticks),
            clock.realtime(entry.ticks),
            "a cursor is the clock"
        );
        if let LogRecord::Transfer { duration, .. } | LogRecord::Datagram { duration, .. } =
            entry.record
        {
            let _ = clock.duration_nanoseconds(duration);
        }
        if let LogRecord::RareWords { words, .. } = entry.record {
            assert!(words.as_slice().len() <= MAX_RARE_WORDS, "{words:?}");
        }
    });
    assert!(records * 4 <= bytes.len() as u64, "{records} records of {} bytes", bytes.len());
    for place in &damage {
        assert!(place.offset <= bytes.len() as u64, "{place} is past the end");
        let _ = place.to_string();
    }
}

/// Reads `bytes` as a file of switches.
pub fn switches(bytes: &[u8]) {
    let Ok(log) = SwitchLog::from_bytes(Path::new("input"), bytes.to_vec()) else { return };
    let _ = (format!("{:?}", log.header()), log.length());
    let (mut records, mut damaged) = (0, 0);
    log.for_each(|found| match found {
        SwitchEntry::Switch(switch) => {
            let begin = log.header().start.monotonic;
            assert!(switch.time >= begin, "{switch:?} is from before the file began");
            // Half a name is a record, too.
            records += RECORD_BYTES as u64;
        }
        SwitchEntry::Damaged(damage) => {
            damaged += damage.bytes;
            assert!(damage.offset <= bytes.len() as u64, "{damage} is past the end");
            let _ = damage.to_string();
        }
    });
    assert!(records + damaged <= bytes.len() as u64, "{records} and {damaged} bytes");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::log;
    use crate::encode::{
        DatagramRecord, Direction, FlowOrigin, FlowRole, ProcessEvent, RareWords, SnippetHeader,
    };
    use crate::layout::snippet;
    use crate::write::{LogWriter, TCP, UDP, inet_address, unix_address};

    /// A log with records of most kinds, of several threads and chunks.
    fn seed() -> Vec<u8> {
        let mut log = LogWriter::new("host", 7, "/bin/x");
        log.set_arguments(&["x", "-v"]);
        let (one, other) = (
            inet_address("10.0.0.1:80".parse().unwrap()),
            inet_address("[::1]:53".parse().unwrap()),
        );
        log.flow(1, 1, TCP, FlowOrigin::Socket, 11).endpoints(
            2,
            1,
            FlowRole::Connect,
            &one,
            &other,
            0,
        );
        log.flow(3, 2, UDP, FlowOrigin::Socket, 12).endpoints(
            4,
            2,
            FlowRole::Bind,
            &unix_address("@name"),
            &[],
            9,
        );
        for step in 0..300u64 {
            log.set_thread(7 + (step % 3) as u32);
            let ticks = 1_000 + step * step * 100_000;
            log.send(ticks, 1, step * step).receive(ticks + 5, 1, 1 << (step % 30));
            if step % 7 == 0 {
                let words = RareWords::from_values((0..step as u32 % 5).map(|word| word << 28));
                log.transfer_with_words(ticks + 6, 1, Direction::Send, step, &words);
            }
            let (direction, checksum, flags) = (Direction::Send, step as u32, (step % 8) as u8);
            log.datagram(&DatagramRecord {
                direction,
                flow: 2,
                ticks,
                duration: step,
                bytes: step,
                checksum,
                flags,
                peer: &one,
            });
            if step % 20 == 0 {
                let bytes = "GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(step as usize / 4);
                let head = SnippetHeader {
                    direction,
                    class: snippet::HTTP1,
                    flow: 1,
                    ticks,
                    offset: 0,
                    length: 0,
                    continues: false,
                    cut: true,
                    datagram: false,
                    plain: false,
                };
                log.snippet(&head, bytes.as_bytes());
            }
        }
        log.close(1 << 40, 1).process_event(1 << 41, ProcessEvent::Exit, 3);
        log.to_bytes()
    }

    /// Writes the log as a seed of its fuzz target, where `scripts/fuzz` expects it.
    #[test]
    fn seeds_for_fuzzing() {
        log(&seed());
        if let Some(corpus) = std::env::var_os("FUZZ_SEEDS") {
            let directory = std::path::Path::new(&corpus).join("log");
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("seed"), &seed()[..4096 * 4]).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn damaged_logs(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0u8..5), 0..8),
        ) {
            let mut bytes = seed();
            for (at, word, kind) in changes {
                let at = at.index(bytes.len());
                match kind {
                    0 => bytes.truncate(at.max(4096)),
                    1 => drop(bytes.splice(at..at, word.to_le_bytes())),
                    2 => drop(bytes.drain(at..(at + word as usize % 5000).min(bytes.len()))),
                    // Overwrites an aligned word.
                    3 => bytes.iter_mut().skip(at & !3).zip(word.to_le_bytes()).for_each(|(old, new)| *old = new),
                    _ => bytes.iter_mut().skip(at).take(1).for_each(|old| *old = word as u8),
                }
            }
            log(&bytes);
        }

        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
            let mut whole = seed();
            whole.truncate(4096);
            whole.extend(&bytes);
            log(&whole);
            log(&bytes);
        }
    }
}
