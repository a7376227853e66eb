//! The library that also records resources: its records of files, sleeps and hand-offs between
//! threads are what the programs did, and the programs are not affected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use end_to_end::capture::{
    ReadLog, TestRecording, preloaded_library, program_path, python_path, resources_library,
    run_successfully,
};
use end_to_end::repository;
use socket_log::LogRecord;
use socket_log::encode::{FileOperation, HandoffObject};

/// The resources in a log, in the form of lines of `hand_offs.c`, without those from the use of
/// sockets.
fn resource_counts(log: &ReadLog) -> BTreeMap<String, (u64, u64)> {
    let mut counts = BTreeMap::<String, (u64, u64)>::new();
    let mut add = |name: String, amount: u64| {
        let (count, sum) = counts.entry(name).or_default();
        *count += 1;
        *sum += amount;
    };
    // The pipe for the program's own counts is read by this test.
    let is_read = |pipe: u64| {
        log.complete_records()
            .any(|record| matches!(record, LogRecord::Wake(wake) if wake.object == pipe))
    };
    let mut read = BTreeMap::<u64, bool>::new();
    for record in log.complete_records() {
        match record {
            LogRecord::Signal(signal)
                if signal.what == HandoffObject::Pipe
                    && !*read.entry(signal.object).or_insert_with(|| is_read(signal.object)) => {}
            LogRecord::Signal(signal) => add(format!("signal {}", signal.what.display_name()), 0),
            LogRecord::Wake(wake) => add(format!("wake {}", wake.what.display_name()), 0),
            LogRecord::File(file) => {
                add(format!("{:?}", file.operation).to_lowercase(), file.bytes)
            }
            LogRecord::Sleep { .. } => add("slept".to_owned(), 0),
            _ => {}
        }
    }
    counts
}

/// Runs `hand_offs` in one mode, recorded, and compares its log with its own report.
fn as_it_says(way: &str) -> ReadLog {
    let recording = TestRecording::new();
    let binary = recording.compile_program("hand_offs");
    run_successfully(Command::new(&binary).arg(way).current_dir(recording.file_path("")));
    let said = run_successfully(recording.resources_command(&binary).arg(way));
    let log = recording.only_log();
    assert!(log.log.header().resources);
    let counts = resource_counts(&log);
    let mut lines = 0;
    for line in said.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (name, numbers) = match words.as_slice() {
            ["signal" | "wake", kind, rest @ ..] => (format!("{} {kind}", words[0]), rest),
            [name, rest @ ..] => ((*name).to_owned(), rest),
            [] => continue,
        };
        let numbers: Vec<u64> = numbers.iter().map(|number| number.parse().unwrap()).collect();
        let (count, sum) = counts.get(&name).copied().unwrap_or_default();
        assert_eq!(count, numbers[0], "{name}: {counts:?}");
        if let Some(expected) = numbers.get(1) {
            assert_eq!(sum, *expected, "{name}: {counts:?}");
        }
        lines += 1;
    }
    assert!(lines > 0, "{said}");
    log
}

#[test]
fn a_pool_at_a_condition_variable() {
    let log = as_it_says("conditions");
    let timed_out = log.complete_records().filter(|record| {
        matches!(record, LogRecord::Wake(wake) if wake.what == HandoffObject::Condition && wake.timed_out)
    });
    assert_eq!(timed_out.count(), 2);
    let all = log.complete_records().filter(|record| {
        matches!(record, LogRecord::Signal(signal) if signal.all && signal.what == HandoffObject::Condition)
    });
    assert_eq!(all.count(), 1);
}

#[test]
fn every_wake_at_a_condition_variable_has_a_signal_before_it() {
    let log = as_it_says("conditions");
    let mut moments = Vec::new();
    for entry in &log.entries {
        match &entry.record {
            LogRecord::Signal(signal) if signal.what == HandoffObject::Condition => {
                moments.push((entry.ticks, signal.object, 0));
            }
            LogRecord::Wake(wake) if wake.what == HandoffObject::Condition && !wake.timed_out => {
                moments.push((entry.ticks, wake.object, wake.duration));
            }
            _ => {}
        }
    }
    moments.sort_unstable();
    let mut latest = None;
    for (ticks, object, duration) in moments {
        if duration == 0 {
            latest = Some((ticks, object));
        } else {
            let (signalled, by) = latest.unwrap();
            assert!(by == object && signalled >= ticks - duration, "a signal came during the wait");
        }
    }
}

#[test]
fn semaphores() {
    as_it_says("semaphores");
    let log = as_it_says("handlers");
    let ends: Vec<_> = log
        .complete_records()
        .filter_map(|record| match record {
            LogRecord::Wake(wake) if wake.what == HandoffObject::Semaphore => {
                Some(wake.interrupted)
            }
            _ => None,
        })
        .collect();
    assert_eq!(ends, [true, false], "the first wait was ended by the handler that posted");
}

#[test]
fn eventfds_and_pipes_have_one_number_each() {
    let log = as_it_says("events");
    let mut objects = BTreeMap::new();
    for record in log.complete_records() {
        match record {
            LogRecord::Signal(signal) if signal.what == HandoffObject::Eventfd => {
                objects.entry(signal.object).or_insert((0, 0)).0 += signal.amount;
            }
            LogRecord::Wake(wake) if wake.what == HandoffObject::Eventfd => {
                objects.entry(wake.object).or_insert((0, 0)).1 += wake.amount;
            }
            _ => {}
        }
    }
    assert_eq!(objects.values().copied().collect::<Vec<_>>(), [(6, 6), (500, 500)]);
    let log = as_it_says("pipes");
    let mut bytes = BTreeMap::new();
    for record in log.complete_records() {
        match record {
            LogRecord::Signal(signal)
                if signal.what == HandoffObject::Pipe && signal.amount == 10 =>
            {
                bytes.entry(signal.object).or_insert((0, 0)).0 += signal.amount;
            }
            LogRecord::Wake(wake) if wake.what == HandoffObject::Pipe => {
                bytes.entry(wake.object).or_insert((0, 0)).1 += wake.amount;
            }
            _ => {}
        }
    }
    assert_eq!(bytes.values().copied().collect::<Vec<_>>(), [(5000, 5000)]);
}

#[test]
fn an_event_loop_that_does_not_read_its_eventfd() {
    let log = as_it_says("epolls");
    let wakes: Vec<_> = log
        .complete_records()
        .filter_map(|record| match record {
            LogRecord::Wake(wake) if wake.what == HandoffObject::Eventfd => {
                Some((wake.object, wake.amount))
            }
            _ => None,
        })
        .collect();
    let (object, _) = wakes[0];
    assert!(wakes.iter().all(|wake| *wake == (object, u32::MAX)), "{wakes:?}");
}

#[test]
fn futexes_by_the_number_of_their_call() {
    let log = as_it_says("futexes");
    let woken: Vec<_> = log
        .complete_records()
        .filter_map(|record| match record {
            LogRecord::Signal(signal) if signal.what == HandoffObject::Futex => {
                Some((signal.all, signal.amount))
            }
            _ => None,
        })
        .collect();
    assert_eq!(woken, [(false, 1), (true, 4), (false, 0)]);
}

#[test]
fn uncontended_locks_leave_no_records() {
    let log = as_it_says("locks");
    let unwaited = log.complete_records().filter(|record| {
        matches!(record, LogRecord::Wake(wake) if wake.what == HandoffObject::Mutex && wake.duration == 0)
    });
    assert_eq!(unwaited.count(), 0);
    let recording = TestRecording::new();
    let binary = recording.compile_program("hand_offs");
    run_successfully(recording.resources_command(binary).arg("robust"));
}

#[test]
fn barriers_sleeps_and_files() {
    as_it_says("barriers");
    let log = as_it_says("sleeps");
    let clock = log.log.clock();
    let slept = log.complete_records().filter_map(|record| match record {
        LogRecord::Sleep { duration } => Some(clock.duration_nanoseconds(*duration) >= 1_900_000),
        _ => None,
    });
    assert_eq!(slept.take(3).collect::<Vec<_>>(), [true; 3]);
    as_it_says("files");
}

#[test]
fn the_end_of_a_thread_wakes_the_threads_that_join_it() {
    let log = as_it_says("semaphores");
    let (mut ended, mut joined, mut begun) = (Vec::new(), Vec::new(), Vec::new());
    for entry in &log.entries {
        match &entry.record {
            LogRecord::Signal(signal) if signal.what == HandoffObject::Thread => {
                ended.push((signal.object, entry.tid));
            }
            LogRecord::Wake(wake) if wake.what == HandoffObject::Thread => joined.push(wake.object),
            LogRecord::Thread { handle, .. } => begun.push((*handle, entry.tid)),
            _ => {}
        }
    }
    ended.sort_unstable();
    joined.sort_unstable();
    begun.sort_unstable();
    assert_eq!(ended, begun);
    assert_eq!(ended.iter().map(|(object, _)| *object).collect::<Vec<_>>(), joined);
    assert_eq!(joined.len(), 4);
}

#[test]
fn waits_can_be_cancelled_and_children_have_their_own() {
    let recording = TestRecording::new();
    let binary = recording.compile_program("hand_offs");
    run_successfully(recording.resources_command(&binary).arg("cancelled"));
    recording.only_log().complete_records().count();
    let recording = TestRecording::new();
    let said = run_successfully(recording.resources_command(&binary).arg("children"));
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 2);
    let wakes = resource_counts(&logs[1]).get("wake condition").copied().unwrap_or_default().0;
    assert!(said.contains(&format!("wake condition {wakes}\n")), "{said}: {wakes}");
    assert_eq!(
        resource_counts(&logs[0]).get("signal semaphore"),
        None,
        "a vfork child leaves nothing"
    );
}

#[test]
fn bytes_that_stay_in_the_kernel() {
    let recording = TestRecording::new();
    let script = r#"
import os, socket
a, b = socket.socketpair()
open("file", "wb").write(b"f" * 1000)
f, g = os.open("file", os.O_RDONLY), os.open("other", os.O_RDWR | os.O_CREAT)
assert os.sendfile(a.fileno(), f, 0, 300) == 300 and len(b.recv(300)) == 300
assert os.copy_file_range(f, g, 200) == 200
"#;
    run_successfully(recording.resources_command(python_path()).arg("-c").arg(script));
    let moved: Vec<_> = recording
        .only_log()
        .complete_records()
        .filter_map(|record| match record {
            LogRecord::File(file) if file.moved => Some((file.operation, file.bytes)),
            _ => None,
        })
        .collect();
    let (read, write) = (FileOperation::Read, FileOperation::Write);
    assert_eq!(moved, [(read, 300), (write, 200), (read, 200)]);
}

#[test]
fn an_interpreter_with_threads_runs_as_before() {
    let script = r#"
import os, queue, socket, threading
a, b = socket.socketpair(); a.send(b"x")
jobs, results = queue.Queue(), queue.Queue()
def work():
    while (job := jobs.get()) is not None: results.put(job * job)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
for n in range(2000): jobs.put(n)
got = sum(results.get() for _ in range(2000))
for _ in threads: jobs.put(None)
[t.join() for t in threads]
if os.fork() == 0: os._exit(0 if threading.Lock().acquire() else 1)
assert os.wait()[1] == 0
print(got)
"#;
    let recording = TestRecording::new();
    let plain = run_successfully(Command::new(python_path()).arg("-c").arg(script));
    let printed =
        run_successfully(recording.resources_command(python_path()).arg("-c").arg(script));
    assert_eq!(printed, plain);
    let counts = resource_counts(&recording.only_log());
    assert!(counts["signal semaphore"].0 > 4000, "{counts:?}");
    assert!(counts["wake semaphore"].0 > 4000, "{counts:?}");
}

#[test]
fn a_virtual_machine_with_threads_runs_as_before() {
    let recording = TestRecording::new();
    let source = repository().join("tests/programs/Pool.java");
    let mut command = recording.resources_command(program_path("java"));
    assert_eq!(run_successfully(command.arg(&source).arg("clients").arg(&source)), "done\n");
    let counts: Vec<_> = recording.read_logs().iter().map(resource_counts).collect();
    let front = counts.iter().filter_map(|log| log.get("signal condition")).max();
    assert!(front.is_some_and(|(count, _)| *count > 800), "{counts:?}");
}

#[test]
fn a_program_of_musl_runs_as_before() {
    let recording = TestRecording::new();
    let binary = recording.file_path("musl");
    let source = repository().join("tests/programs/hand_offs.c");
    // From Debian's musl-tools. The kernel's headers are Debian's own.
    let headers = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"];
    let mut compiler = Command::new(program_path("musl-gcc"));
    run_successfully(compiler.args(["-O1", "-w"]).args(headers).arg("-o").arg(&binary).arg(source));
    for way in
        ["conditions", "semaphores", "events", "epolls", "pipes", "futexes", "barriers", "sleeps"]
    {
        let recording = TestRecording::new();
        let said = run_successfully(recording.resources_command(&binary).arg(way));
        let counts = resource_counts(&recording.only_log());
        for line in said.lines().filter(|line| line.starts_with("wake")) {
            let (name, count) = line.rsplit_once(' ').unwrap();
            let found = counts.get(name).copied().unwrap_or_default().0;
            assert_eq!(found.to_string(), count, "{way}: {counts:?}");
        }
    }
}

/// The functions that this library exports in addition to the other one's.
const EXPORTS: &str = "\
    epoll_ctl fsync fdatasync syncfs sync_file_range msync eventfd_read eventfd_write nanosleep \
    clock_nanosleep usleep sleep pthread_cond_signal pthread_cond_broadcast pthread_cond_wait \
    pthread_cond_timedwait pthread_cond_clockwait sem_post sem_wait sem_trywait sem_timedwait \
    sem_clockwait pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock \
    pthread_rwlock_rdlock pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock \
    pthread_rwlock_wrlock pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock \
    pthread_barrier_wait pthread_join pthread_timedjoin_np pthread_clockjoin_np";

/// Names of the symbols of a library.
fn symbols_of(library: &Path, which: &str) -> BTreeSet<String> {
    let listed =
        run_successfully(Command::new(program_path("nm")).args(["-D", which]).arg(library));
    // Weak symbols may be missing.
    let named = listed.lines().filter(|line| !line.contains(" w ") && !line.contains(" v "));
    let names = named.filter_map(|line| line.rsplit(' ').next()?.split('@').next());
    names.map(str::to_owned).collect()
}

#[test]
fn the_exports_are_the_other_librarys_and_the_table() {
    let own = symbols_of(resources_library(), "--defined-only");
    let other = symbols_of(preloaded_library(), "--defined-only");
    assert!(other.is_subset(&own));
    let more: BTreeSet<&str> = own.difference(&other).map(String::as_str).collect();
    assert_eq!(more, EXPORTS.split_whitespace().collect());
}

#[test]
fn every_symbol_that_the_library_needs_is_in_musl() {
    let machine = std::env::consts::ARCH;
    let musl = symbols_of(format!("/lib/ld-musl-{machine}.so.1").as_ref(), "--defined-only");
    let needed = symbols_of(resources_library(), "--undefined-only");
    let missing: Vec<_> = needed.difference(&musl).collect();
    assert!(needed.contains("getauxval") && missing.is_empty(), "{missing:?}");
}
