//! The times in a log: compared with the wall clock that the program itself read around each call,
//! and with the duration of calls.

use std::collections::BTreeMap;

use end_to_end::capture::{TestRecording, python_path, run_successfully};
use end_to_end::lab;
use rustix::time::ClockId;
use socket_log::LogRecord;
use socket_log::encode::Direction::{self, Receive, Send};
use socket_log::layout::tick;

/// Maximum distance, in ns, of a time from the interval that the program read around the call: the
/// error of two anchors, and the kernel's own steering of the clock between them.
const TOLERANCE: i64 = 5_000;

/// Both clocks that ticks can be from. If the counter is not steady, the second is the same as the
/// first.
const CLOCKS: [&str; 2] = ["monotonic", "cycles"];

fn is_steady() -> bool {
    std::fs::read_to_string("/proc/cpuinfo")
        .is_ok_and(|text| text.contains("constant_tsc") && text.contains("nonstop_tsc"))
}

/// Runs `clocks MODE` on each of the [`CLOCKS`], and compares each transfer in the logs with the
/// program's output.
fn check_mode(mode: &str) {
    check_on(&lab::LabClock::default(), mode);
}

/// The difference between the wall clock and `CLOCK_MONOTONIC`.
fn boot_time() -> i64 {
    let now = |id| {
        let time = rustix::time::clock_gettime(id);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let readings = (0..100).map(|_| {
        let (before, wall, after) =
            (now(ClockId::Monotonic), now(ClockId::Realtime), now(ClockId::Monotonic));
        (after - before, wall - before)
    });
    readings.min().unwrap().1
}

/// The same with a clock that is wrong on purpose, unless it has no error.
fn check_on(wrong: &lab::LabClock, mode: &str) {
    let is_wrong = *wrong != lab::LabClock::default();
    for ticks in CLOCKS {
        let recording = TestRecording::new();
        let mut command = recording.recorded_command(recording.compile_program("clocks"));
        command.arg(mode).env("SOCKCAP_CLOCK", ticks);
        if is_wrong {
            command.env("SOCKCAP_TEST_CLOCK", wrong.setting_text());
        }
        let output = command.output().unwrap();
        let boot = boot_time();
        let shifted = |time: i64| time + wrong.ahead_at(time - boot);
        assert!(output.status.success() || mode == "killed", "{}", output.status);
        // By process, direction and size: the calls of each such series were made one after the
        // other.
        let mut printed = BTreeMap::<(u32, Direction, u64), Vec<(i64, i64)>>::new();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [pid, bytes, what, before, after] = fields[..] else { panic!("{line}") };
            let direction = if what == "S" { Send } else { Receive };
            let series = printed
                .entry((pid.parse().unwrap(), direction, bytes.parse().unwrap()))
                .or_default();
            series.push((shifted(before.parse().unwrap()), shifted(after.parse().unwrap())));
        }
        let mut recorded = BTreeMap::<(u32, Direction, u64), Vec<i64>>::new();
        for log in recording.read_logs() {
            let (header, clock) = (log.log.header(), log.log.clock());
            let expected = if is_wrong || ticks == "cycles" && is_steady() {
                tick::CYCLES
            } else {
                tick::MONOTONIC
            };
            assert_eq!(header.tick_clock, expected);
            for entry in &log.entries {
                if let LogRecord::Transfer { direction, bytes, .. } = entry.record {
                    let series = recorded.entry((header.pid, direction, bytes)).or_default();
                    series.push(clock.realtime(entry.ticks));
                }
            }
        }
        assert!(!printed.is_empty() && printed.keys().eq(recorded.keys()));
        for (series, calls) in printed {
            let times = &recorded[&series];
            assert_eq!(times.len(), calls.len());
            for (time, (before, after)) in times.iter().zip(calls) {
                assert!(
                    (before - TOLERANCE..=after + TOLERANCE).contains(time),
                    "{mode}, {ticks}, {series:?}: at {time}, {} ns after it began, {} ns before it ended",
                    time - before,
                    after - time
                );
            }
        }
    }
}

#[test]
fn a_process_with_one_message_has_its_time() {
    check_mode("one");
}

#[test]
fn messages_near_and_far_apart_have_their_times() {
    check_mode("paced");
}

#[test]
fn a_killed_process_has_the_times_of_its_last_messages() {
    check_mode("killed");
}

#[test]
fn parents_and_children_have_their_times() {
    check_mode("forked");
}

#[test]
fn signal_handlers_have_their_times() {
    check_mode("handled");
}

#[test]
fn a_clock_that_is_wrong_on_purpose_is_off_by_exactly_that() {
    let (hour, day) = (3_600_000_000_000, 86_400_000_000_000);
    check_on(&lab::LabClock::new(3 * hour, 200), "paced");
    check_on(&lab::LabClock::new(-2 * day, -200), "killed");
    check_on(&lab::LabClock::new(123_456_789, 50_000), "forked");
}

#[test]
fn a_step_of_a_clock_that_is_wrong_on_purpose_is_recorded_once() {
    let script = r#"
import os, socket, subprocess, sys, time
a, b = socket.socketpair()
if len(sys.argv) == 1:
    at = time.monotonic_ns() + 1_500_000_000
    subprocess.run([sys.executable, "-c", open(0).read(), "stepped"], check=True,
                   env={"SOCKCAP_TEST_CLOCK": f"0,0,{at}:-3600000000000,{at + 10**12}:5"})
else:
    for n in range(35): a.send(b"x"); b.recv(1); time.sleep(0.1)
"#;
    let recording = TestRecording::new();
    std::fs::write(recording.file_path("script"), script).unwrap();
    let mut command = recording.recorded_command(python_path());
    let input = std::fs::File::open(recording.file_path("script")).unwrap();
    run_successfully(command.args(["-c", script]).stdin(input));
    let log = recording.read_logs().pop().unwrap();
    let clock = log.log.clock();
    let times =
        log.entries.iter().filter(|entry| matches!(entry.record, LogRecord::Transfer { .. }));
    let times: Vec<i64> = times.map(|entry| clock.realtime(entry.ticks)).collect();
    let steps: Vec<i64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step < 0).collect();
    assert!(times.len() == 70 && steps.len() == 1, "{steps:?}");
    assert!((-3_600_000_000_000..-3_590_000_000_000).contains(&steps[0]), "{steps:?}");
}

#[test]
fn anchors_come_about_every_second() {
    let script = r#"
import socket, time
a, b = socket.socketpair()
for n in range(30): a.send(b"x"); b.recv(1); time.sleep(0.1)
"#;
    for ticks in CLOCKS {
        let recording = TestRecording::new();
        run_successfully(
            recording
                .recorded_command(python_path())
                .env("SOCKCAP_CLOCK", ticks)
                .args(["-c", script]),
        );
        let log = recording.only_log();
        let mut anchors = vec![log.log.header().start];
        for chunk in log.log.chunks() {
            anchors.push(chunk.anchor);
            chunk.for_each(|entry| {
                if let LogRecord::Anchor(anchor) = entry.record {
                    anchors.push(anchor);
                }
            });
        }
        let clock = log.log.clock();
        for entry in
            log.entries.iter().filter(|entry| matches!(entry.record, LogRecord::Transfer { .. }))
        {
            let time = clock.realtime(entry.ticks);
            let nearest =
                anchors.iter().map(|anchor| (anchor.realtime - time).abs()).min().unwrap();
            assert!(nearest < 1_500_000_000, "{ticks}: the nearest anchor is {nearest} ns away");
        }
        assert!(anchors.len() >= 4, "{ticks}: {anchors:?}");
    }
}

#[test]
fn the_cycle_counter_is_used_where_the_kernel_uses_it() {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let trusted =
        std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc") && is_steady();
    let recording = TestRecording::new();
    recording.run_python("import socket\nsocket.socketpair()");
    let expected = if trusted { tick::CYCLES } else { tick::MONOTONIC };
    assert_eq!(recording.only_log().log.header().tick_clock, expected);
}

/// A thread waits in a call until the other sees it there, and wakes it some time later.
const BLOCKED: &str = r#"
import os, socket, sys, threading, time
def blocked(tid, call):
    for n in range(100000):
        with open(f"/proc/self/task/{tid}/syscall") as f:
            if f.read().split()[0] == str(call): return
        time.sleep(0.001)
    os._exit(3)
NUMBERS = {"x86_64": (45, 44), "aarch64": (207, 206)}[os.uname().machine]
a, b = socket.socketpair(); tids = []; ready = threading.Event()
def wait(call):
    tids.append(threading.get_native_id()); ready.set()
    times.append(time.time_ns()); call(); times.append(time.time_ns())
for call, wake, number in (
    (lambda: b.recv(10), lambda: a.send(b"0123456"), NUMBERS[0]),
    (lambda: a.sendall(b"x" * 2000000), lambda: [b.recv(2000000, socket.MSG_WAITALL)], NUMBERS[1]),
):
    times = []; ready.clear()
    thread = threading.Thread(target=wait, args=(call,)); thread.start()
    ready.wait(); blocked(tids[-1], number)
    seen = time.time_ns(); time.sleep(0.05); let = time.time_ns()
    wake(); thread.join()
    print(times[0], seen, let, times[1])
"#;

#[test]
fn a_record_has_the_time_and_duration_of_a_blocked_call() {
    for ticks in CLOCKS {
        let recording = TestRecording::new();
        let printed = run_successfully(
            recording
                .recorded_command(python_path())
                .env("SOCKCAP_CLOCK", ticks)
                .args(["-c", BLOCKED]),
        );
        let printed: Vec<Vec<i64>> = printed
            .lines()
            .map(|line| line.split(' ').map(|number| number.parse().unwrap()).collect())
            .collect();
        let log = recording.only_log();
        let clock = log.log.clock();
        let transfer = |wanted: Direction, size: u64| {
            let found = log.entries.iter().find_map(|entry| match entry.record {
                LogRecord::Transfer { direction, bytes, duration, .. }
                    if direction == wanted && bytes == size =>
                {
                    Some((clock.realtime(entry.ticks), clock.duration_nanoseconds(duration) as i64))
                }
                _ => None,
            });
            found.unwrap_or_else(|| panic!("{wanted:?} of {size} bytes"))
        };
        // The shortest duration after rounding in the common form.
        let least = |duration: i64| duration - duration / 32 - TOLERANCE;

        let [before, seen, woken, after] = printed[0][..] else { panic!("{printed:?}") };
        let (returned, duration) = transfer(Receive, 7);
        assert!(
            (woken - TOLERANCE..=after + TOLERANCE).contains(&returned),
            "{ticks}: when it returned"
        );
        assert!(
            duration >= least(woken - seen),
            "{ticks}: {duration} of at least {}",
            woken - seen
        );
        assert!(duration <= after - before + TOLERANCE);

        let [before, seen, woken, after] = printed[1][..] else { panic!("{printed:?}") };
        let (called, duration) = transfer(Send, 2_000_000);
        assert!(
            (before - TOLERANCE..=seen + TOLERANCE).contains(&called),
            "{ticks}: when it was called"
        );
        assert!(
            duration >= least(woken - seen),
            "{ticks}: {duration} of at least {}",
            woken - seen
        );
        assert!(duration <= after - before + TOLERANCE);
    }
}
