//! A log with a size limit: whatever runs out, the program continues as it would alone, losses are
//! counted, and a flight recorder has the newest records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use socket_log::encode::Direction::{Receive, Send};
use socket_log::layout::{lost, state};
use socket_log::{DamageKind, LogRecord};

/// Waits for a duration from `random`: the progress of the program meanwhile does not matter for
/// the checks.
fn random_pause(random: &mut u32) {
    *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    let deadline = Instant::now() + Duration::from_millis(u64::from(*random >> 24) + 20);
    while Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The progress of the busy program's threads: the id of each, and the number of its sends.
fn parse_report(report: &[u8]) -> Vec<(u32, u64)> {
    let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    report
        .chunks(16)
        .take(8)
        .map(|thread| (long(&thread[..8]) as u32, long(&thread[8..])))
        .collect()
}

/// Waits until a thread of the busy program has sent something, so that there is a log. A busy
/// machine may start the program late.
fn await_sends(report: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !parse_report(&fs::read(report).unwrap()).iter().any(|(_, sends)| *sends > 0) {
        assert!(Instant::now() < deadline, "the program has sent nothing within a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn log_of(recording: &TestRecording, child: &Child) -> ReadLog {
    recording.read_logs().into_iter().find(|log| log.log.header().pid == child.id()).unwrap()
}

/// The number of sends of one thread in a log that are consecutive and the last that it made. The
/// n-th has 1 + n % 60 bytes.
fn newest_complete(sends: &[u64], completed: u64) -> u64 {
    let ending_with = |last: u64| {
        let fits = |(back, bytes): &(usize, &u64)| {
            last.checked_sub(*back as u64)
                .is_some_and(|number| number > 0 && **bytes == 1 + number % 60)
        };
        sends.iter().rev().enumerate().take_while(fits).count() as u64
    };
    // The next send may be in the log before it is counted.
    ending_with(completed).max(ending_with(completed + 1))
}

#[test]
fn a_flight_recorder_has_the_newest_records_at_any_moment() {
    let recording = TestRecording::new();
    let busy = recording.compile_program("busy");
    let mut random = std::process::id();
    let mut went_round = 0;
    for round in 0..24 {
        let limit = [128u64, 256, 1024][round % 3] << 10;
        let report = recording.file_path(&format!("report-{round}"));
        fs::write(&report, [0; 4096]).unwrap();
        let mut child = recording
            .recorded_command(&busy)
            .envs([
                ("SOCKCAP_MAX_BYTES", limit.to_string()),
                ("SOCKCAP_WHEN_FULL", "newest".into()),
            ])
            .arg(&report)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        await_sends(&report);
        random_pause(&mut random);
        if round % 4 == 0 {
            // Read while it is being written, too: its records are complete.
            let log = log_of(&recording, &child);
            assert!(
                log.damage.iter().all(|damage| damage.fault == DamageKind::Unfinished),
                "{:?}",
                log.damage
            );
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let log = log_of(&recording, &child);
        let header = log.log.header();
        assert_eq!(
            (header.limit, header.keeps_newest, header.state),
            (limit, true, state::RUNNING)
        );
        assert!(log.log.length() <= limit);
        assert_eq!(header.lost, [0; 8], "nothing but the oldest is missing");
        assert!(log.damage.len() <= 8, "{:?}", log.damage);
        assert!(
            log.damage.iter().all(|damage| damage.fault == DamageKind::Unfinished),
            "{:?}",
            log.damage
        );

        let mut sends = BTreeMap::<u32, Vec<u64>>::new();
        let mut last = BTreeMap::new();
        let (mut defined, mut used, mut paired) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for entry in &log.entries {
            match entry.record {
                LogRecord::Transfer { direction, flow, bytes, .. } => {
                    used.insert(flow);
                    if direction == Send {
                        sends.entry(entry.tid).or_default().push(bytes);
                    }
                    last.insert(entry.tid, (direction, bytes));
                }
                LogRecord::Flow(flow) => _ = defined.insert(flow.flow),
                LogRecord::Pair { first, second } => paired.extend([first, second]),
                _ => {}
            }
        }
        assert!(
            used.is_subset(&defined),
            "flows that live on keep their numbers: {used:?} {defined:?}"
        );
        assert!(used.is_subset(&paired), "and what is said of them");
        let (mut made, mut kept, mut stragglers) = (0, 0, 0);
        for (tid, completed) in parse_report(&fs::read(&report).unwrap()) {
            let sends = sends.remove(&tid).unwrap_or_default();
            let newest = newest_complete(&sends, completed);
            // A thread that was stopped right after it began a chunk with the receipt of its last
            // send has only that record.
            let received = last.get(&tid) == Some(&(Receive, 1 + completed % 60));
            assert!(
                newest > 0 || received || completed == 0,
                "thread {tid} made {completed}: {:?}",
                last.get(&tid)
            );
            made += completed;
            kept += newest;
            stragglers += sends.len() as u64 - newest;
        }
        // For each thread that was about to reuse a chunk, that chunk may still exist, older than
        // the missing records.
        assert!(stragglers <= 8 * 250, "{stragglers}");
        went_round += usize::from(made > kept + 8);
        // A chunk has room for 500 of the shortest records, a send and a receive each; three per
        // thread are in use.
        let room = (limit / 4096).saturating_sub(3 * 8) * 250;
        assert!(kept + 8 >= made.min(room / 2), "{limit}: {kept} of {made}");
    }
    assert!(went_round > 12, "most filled their logs: {went_round}");
}

#[test]
fn flows_that_come_and_go_do_not_fill_a_flight_recorder() {
    let recording = TestRecording::new();
    // Some flows live from the beginning to the end, thousands come and go, and at times all are
    // silent.
    let script = r#"
import socket
old = [socket.socketpair() for _ in range(30)]
listener = socket.create_server(("127.0.0.1", 0))
for n in range(6000):
    a = socket.create_connection(listener.getsockname()); b, _ = listener.accept()
    a.send(b"x"); b.recv(1); a.close(); b.close()
for a, b in old: a.send(b"the last"); b.recv(10)
"#;
    let mut command = recording.recorded_command(python_path());
    command.envs([("SOCKCAP_MAX_BYTES", "128K"), ("SOCKCAP_WHEN_FULL", "newest")]);
    run_successfully(command.arg("-c").arg(script));
    let log = recording.only_log();
    assert!(log.log.length() <= 128 << 10);
    let mut defined = BTreeMap::new();
    let mut last = 0;
    for record in log.complete_records() {
        match record {
            LogRecord::Flow(flow) => _ = defined.insert(flow.flow, flow.cookie),
            LogRecord::Transfer { flow, bytes: 8, direction: Send, .. } => {
                assert!(defined.get(flow).is_some_and(|cookie| *cookie != 0), "flow {flow}");
                last += 1;
            }
            _ => {}
        }
    }
    assert_eq!(last, 30);
    let listener = log.complete_records().any(|record| {
        matches!(record, LogRecord::Endpoints { role: socket_log::encode::FlowRole::Listen, .. })
    });
    assert!(listener, "its name was said once, at the beginning");
}

#[test]
fn more_live_flows_than_a_flight_recorder_holds_harm_no_program() {
    let recording = TestRecording::new();
    let script = r#"
import socket
old = [socket.socketpair() for _ in range(2000)]
for _ in range(20):
    for a, b in old: a.send(b"x"); b.recv(1)
print("unharmed")
"#;
    let mut command = recording.recorded_command(python_path());
    command.envs([("SOCKCAP_MAX_BYTES", "64K"), ("SOCKCAP_WHEN_FULL", "newest")]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 8000; exec \"$@\"", "sh"]).arg(python_path());
    for (name, value) in command.get_envs() {
        limited.env(name, value.unwrap());
    }
    assert_eq!(
        run_successfully(limited.current_dir(recording.file_path("")).arg("-c").arg(script)),
        "unharmed\n"
    );
    let logs = recording.read_logs();
    let log = logs.last().unwrap();
    assert!(log.log.header().lost[lost::LIMIT] > 0, "what found no place is counted");
    assert_eq!(log.damage, []);
}

/// Sends and receives a byte, many times, with an action in between.
const MEANWHILE: &str = "import os, shutil, socket, sys\n\
                         a, b = socket.socketpair()\n\
                         for n in range(300000):\n    \
                             if n == 1000: exec(sys.argv[1])\n    \
                             a.send(b'x'); b.recv(1)\n\
                         os.write(1, b'unharmed\\n')";

/// A small disk, mounted until it is dropped.
struct SmallDisk<'recording>(&'recording TestRecording);

impl SmallDisk<'_> {
    fn mount_small_disk(recording: &TestRecording) -> SmallDisk<'_> {
        fs::create_dir(recording.data_dir()).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=200k,mode=0777", "none"])
            .arg(recording.data_dir())
            .status();
        assert!(mounted.unwrap().success(), "this test mounts a tmpfs, for which it must be root");
        SmallDisk(recording)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.data_dir()).status();
    }
}

#[test]
fn a_full_disk_harms_no_program_and_its_losses_are_shown() {
    let recording = TestRecording::new();
    let disk = SmallDisk::mount_small_disk(&recording);
    let printed =
        run_successfully(recording.recorded_command(python_path()).args(["-c", MEANWHILE, "pass"]));
    assert_eq!(printed, "unharmed\n");
    let log = recording.only_log();
    let count = log.log.header().lost;
    let moved = log
        .entries
        .iter()
        .filter(|entry| matches!(entry.record, LogRecord::Transfer { .. }))
        .count();
    assert_eq!(count.iter().sum::<u64>(), count[lost::NO_SPACE], "for this cause alone");
    assert!(moved > 1000 && count[lost::NO_SPACE] + moved as u64 >= 600_000);
    assert_eq!(log.damage, []);
    let info = run_successfully(
        Command::new(end_to_end::sockcap_program()).arg("info").arg("-d").arg(recording.data_dir()),
    );
    assert!(info.contains(&format!("lost {} records: disk full", count[lost::NO_SPACE])), "{info}");

    // Now there is not even room for a header, or only just enough.
    let printed =
        run_successfully(recording.recorded_command(python_path()).args(["-c", MEANWHILE, "pass"]));
    assert_eq!(printed, "unharmed\n");
    drop(disk);
}

#[test]
fn a_flight_recorder_on_a_full_disk_continues_in_its_space() {
    let recording = TestRecording::new();
    let disk = SmallDisk::mount_small_disk(&recording);
    let mut command = recording.recorded_command(python_path());
    command.envs([("SOCKCAP_MAX_BYTES", "1M"), ("SOCKCAP_WHEN_FULL", "newest")]);
    assert_eq!(run_successfully(command.args(["-c", MEANWHILE, "pass"])), "unharmed\n");
    let log = recording.only_log();
    assert_eq!(
        log.complete_records().filter(|record| matches!(record, LogRecord::Flow(_))).count(),
        2
    );
    assert!(
        log.entries.iter().any(|entry| matches!(entry.record, LogRecord::Process { .. })),
        "its very end"
    );
    drop(disk);
}

#[test]
fn a_file_system_without_preallocation_has_complete_logs() {
    let recording = TestRecording::new();
    fs::create_dir(recording.data_dir()).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "ramfs", "none"]).arg(recording.data_dir()).status();
    assert!(mounted.unwrap().success(), "this test mounts a ramfs, for which it must be root");
    let disk = SmallDisk(&recording);
    let printed = run_successfully(recording.recorded_command(python_path()).args([
        "-c",
        MEANWHILE,
        "os.fork()",
    ]));
    assert_eq!(printed, "unharmed\n".repeat(2));
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 2);
    for (log, sends) in logs.iter().zip([300_000, 299_000]) {
        let sent =
            |record: &&LogRecord| matches!(record, LogRecord::Transfer { direction: Send, .. });
        assert_eq!(log.complete_records().filter(sent).count(), sends);
    }
    drop(disk);
}

#[test]
fn a_vanishing_directory_harms_no_program() {
    let recording = TestRecording::new();
    let remove = format!("shutil.rmtree({:?})", recording.data_dir());
    let printed = run_successfully(
        recording.recorded_command(python_path()).args(["-c", MEANWHILE, &remove]),
    );
    assert_eq!(printed, "unharmed\n");
    // Only its name is removed: a process relies on the file's existence as long as it is mapped.
    assert!(!recording.data_dir().join("hosts").exists(), "and it is not made again");
}
