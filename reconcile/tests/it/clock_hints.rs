//! Clock hints of the collector, from its files to `clocks.json`.

use std::fs;

use ::clocks::ClockModel;
use ::clocks::{ClockSource, HostClock};
use message_trace::{ClockExchange, DataPath, clock_exchange};
use proptest::prelude::*;
use reconcile::{Options, reconcile};
use socket_log::write::{EPOCH, LogWriter};

use crate::common::{System, connect};

const SECOND: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

/// A process of a host that was seen between two true times, on a clock that is ahead by that much.
/// The process talks to an untraced peer.
fn process(host: &str, boot: u8, ahead: i64, between: [i64; 2]) -> LogWriter {
    let mut log = LogWriter::new(host, 10, "/usr/bin/p");
    log.set_boot(boot).set_epoch(EPOCH + ahead).set_start(between[0] as u64);
    connect(&mut log, between[0] as u64, 1, 7, "10.0.0.1:4000", "10.9.9.9:80");
    goes_on(&mut log, between);
    log
}

fn goes_on(log: &mut LogWriter, between: [i64; 2]) {
    for at in (between[0] + 1..between[1]).step_by(SECOND as usize / 20) {
        log.send(at as u64, 1, 10);
    }
}

/// An exchange at a true time with a collector that has a correct clock; request and answer take a
/// millisecond each.
fn exchange(boot: u8, ahead: i64, at: i64) -> ClockExchange {
    ClockExchange {
        boot: [boot; 16],
        host_sent: EPOCH + at + ahead,
        collector_received: EPOCH + at + MS,
        collector_sent: EPOCH + at + MS,
        host_received: EPOCH + at + 2 * MS + ahead,
    }
}

/// Writes the hints of a directory, and returns their path.
fn write(system: &System, directory: &str, all: &[ClockExchange]) -> DataPath {
    let path = system.data().clock_hints_path(directory);
    let lines = all.iter().map(|exchange| format!("{exchange}\n"));
    fs::write(&path, format!("{}\n{}", clock_exchange::HEADER_LINE, lines.collect::<String>()))
        .unwrap();
    path
}

fn clock(system: &System, host: &str) -> HostClock {
    let clocks = ClockModel::read(system.data().clocks_path()).unwrap();
    clocks.hosts.into_iter().find(|clock| clock.host == host).unwrap()
}

/// One exchange every second for twenty seconds.
fn all_along(boot: u8, ahead: i64) -> Vec<ClockExchange> {
    (0..=20).map(|second| exchange(boot, ahead, second * SECOND)).collect()
}

#[test]
fn hosts_without_messages_have_clocks_by_hints() {
    let system = System::new();
    system.add("a", "1", &process("a", 1, 0, [0, 20 * SECOND]));
    system.add("a", "2", &process("a", 1, 0, [0, 20 * SECOND]));
    system.add("b", "1", &process("b", 2, 7_200 * SECOND, [0, 20 * SECOND]));
    system.reconcile();
    let without = fs::read(system.data().clocks_path()).unwrap();
    assert_eq!((clock(&system, "b").source, clock(&system, "b").offset_ns), (ClockSource::None, 0));
    // Hints of a host that is in no log are not used.
    fs::create_dir_all(system.data().hosts_dir().join("unrelated")).unwrap();
    write(&system, "unrelated", &all_along(3, 5));
    system.reconcile();
    assert_eq!(fs::read(system.data().clocks_path()).unwrap(), without);
    write(&system, "a", &all_along(1, 0));
    write(&system, "b", &all_along(2, 7_200 * SECOND));
    system.reconcile();
    let b = clock(&system, "b");
    assert_eq!((b.source, b.against.as_str()), (ClockSource::Hints, "a"));
    assert!((b.offset_ns - 7_200 * SECOND).abs() < 1_000, "{b:?}");
    assert!((2 * MS..2 * MS + 50_000).contains(&b.uncertainty_ns.unwrap()), "{b:?}");
}

#[test]
fn times_are_as_the_clock_showed_them() {
    let system = System::new();
    system.add("a", "1", &process("a", 1, 0, [0, 20 * SECOND]));
    // At 10 s it is set back by 3 s.
    let mut log = process("b", 2, 60 * SECOND, [0, 10 * SECOND]);
    log.set_epoch(EPOCH + 57 * SECOND);
    goes_on(&mut log, [10 * SECOND, 20 * SECOND]);
    log.set_epoch(EPOCH + 60 * SECOND);
    system.add("b", "1", &log);
    write(&system, "a", &all_along(1, 0));
    let shown = |second| exchange(2, if second < 10 { 60 } else { 57 } * SECOND, second * SECOND);
    write(&system, "b", &(0..=20).map(shown).collect::<Vec<_>>());
    system.reconcile();
    let b = clock(&system, "b");
    // From 7 s to 13 s it showed each time twice, and the setting is assumed up to a second before
    // its log saw it.
    let hinted = b.hints.clone().unwrap();
    assert!(
        (6..=8).contains(&hinted.left_out) && hinted.exchanges + hinted.left_out == 21,
        "{hinted:?}"
    );
    assert_eq!((b.source, b.steps.len()), (ClockSource::Hints, 1));
    for (at, ahead) in [(0, 60), (5, 60), (15, 57), (20, 57)] {
        let off = b.common_time(EPOCH + (at + ahead) * SECOND) - EPOCH - at * SECOND;
        assert!(off.abs() < MS, "{at} {off} {b:?}");
    }
}

#[test]
fn another_boot_is_another_clock() {
    let system = System::new();
    system.add("a", "1", &process("a", 1, 0, [0, 20 * SECOND]));
    system.add("b", "1", &process("b", 2, 60 * SECOND, [0, 20 * SECOND]));
    write(&system, "a", &all_along(0, 0));
    let mut both = all_along(9, 61 * SECOND);
    write(&system, "b", &both);
    system.reconcile();
    let b = clock(&system, "b");
    assert_eq!((b.source, b.hints.unwrap().left_out), (ClockSource::None, 21), "all of another");
    both.extend(all_along(2, 60 * SECOND));
    write(&system, "b", &both);
    system.reconcile();
    let b = clock(&system, "b");
    assert!((b.offset_ns - 60 * SECOND).abs() < MS, "{b:?}");
    let hinted = b.hints.unwrap();
    assert_eq!((hinted.exchanges, hinted.left_out, hinted.damaged), (21, 21, 0));
    // The exchanges do not name the first host's boot, but there is only one.
    assert_eq!(clock(&system, "a").hints.unwrap().exchanges, 21);
}

#[test]
fn a_file_belongs_to_the_host_of_the_logs_next_to_it() {
    let system = System::new();
    system.add("moved", "1", &process("a", 1, 0, [0, 20 * SECOND]));
    system.add("b", "1", &process("b", 2, 60 * SECOND, [0, 20 * SECOND]));
    write(&system, "moved", &all_along(1, 0));
    write(&system, "b", &all_along(2, 60 * SECOND));
    system.reconcile();
    assert_eq!(
        [clock(&system, "moved").source, clock(&system, "b").source],
        [ClockSource::Hints, ClockSource::Reference]
    );
}

#[test]
fn an_unreadable_file_is_skipped() {
    let system = System::new();
    system.add("a", "1", &process("a", 1, 0, [0, 20 * SECOND]));
    system.add("b", "1", &process("b", 2, 60 * SECOND, [0, 20 * SECOND]));
    // No file, and one full of garbage.
    fs::create_dir(system.data().clock_hints_path("a")).unwrap();
    fs::write(system.data().clock_hints_path("b"), [0xff; 100_000]).unwrap();
    system.reconcile();
    assert_eq!((clock(&system, "a").hints, clock(&system, "b").hints.unwrap().damaged), (None, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// However a file is damaged, reconcile ends, and the truth is within the stated uncertainty as
    /// long as the complete lines of the file are the only ones.
    #[test]
    fn damaged_files_are_survived(
        at in any::<prop::sample::Index>(),
        taken in 0..300_usize,
        put in proptest::collection::vec(any::<u8>(), 0..300),
        cut in any::<prop::sample::Index>(),
    ) {
        let system = System::new();
        system.add("a", "1", &process("a", 1, 0, [0, SECOND]));
        system.add("b", "1", &process("b", 2, 60 * SECOND, [0, SECOND]));
        write(&system, "a", &all_along(1, 0));
        let path = write(&system, "b", &all_along(2, 60 * SECOND));
        let mut bytes = fs::read(&path).unwrap();
        let from = at.index(bytes.len());
        let to = (from + taken).min(bytes.len());
        bytes.splice(from..to, put);
        bytes.truncate(cut.index(bytes.len() + 1));
        fs::write(&path, &bytes).unwrap();
        reconcile(&system.data(), &Options::default(), &()).unwrap();
        let b = clock(&system, "b");
        if b.source == ClockSource::Hints {
            let off = (b.common_time(EPOCH + 60 * SECOND) - EPOCH).abs();
            // A number that lost digits may be off by a round trip without being detected.
            prop_assert!(off <= b.uncertainty_ns.unwrap() + 2 * MS, "{} {:?}", off, b);
        }
    }
}
