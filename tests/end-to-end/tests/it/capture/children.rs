//! Children of a recorded program before they log: their cost, and what they know of themselves.

use std::process::Command;

use end_to_end::capture::{TestRecording, run_successfully};

#[test]
fn a_child_that_logs_nothing_costs_few_page_faults() {
    let recording = TestRecording::new();
    let program = recording.compile_program("page_faults");
    let faults = |command: &mut Command| -> i64 {
        run_successfully(command.env("LD_BIND_NOW", "1")).trim().parse().unwrap()
    };
    let without = faults(&mut Command::new(&program));
    let with = faults(&mut recording.recorded_command(&program));
    // The library's code after the fork and at the end; a page of the stack may be added. There
    // were 13 when each child read all clocks and entered itself into its lineage.
    assert!(with - without <= 4, "{with} with the library, {without} without");
}

/// A program whose child waits, prints its id and the times before and after its birth, and then
/// acts in a `WAY`.
const WAITS: &str = r#"
import ctypes, os, socket, subprocess, threading, time
CLONE = {"x86_64": 56}.get(os.uname().machine, 220)
before = time.time_ns()
child = os.fork()
if child:
    os.waitpid(child, 0); os._exit(0)
after = time.time_ns()
time.sleep(0.02)
print(os.getppid(), os.getpid(), before, after, flush=True)
def in_thread():
    thread = threading.Thread(target=socket.socket); thread.start(); thread.join()
def in_child(pid):
    if pid == 0: socket.socket(); os._exit(0)
    os.waitpid(pid, 0)
{
    "socket": socket.socket,
    "thread": in_thread,
    "fork": lambda: in_child(os.fork()),
    "clone": lambda: in_child(ctypes.CDLL(None).syscall(CLONE, 17, 0, 0, 0, 0)),
    "system": lambda: os.system("./echo_arguments a"),
    "popen": lambda: subprocess.run(["./echo_arguments", "a"]),
    "spawn": lambda: os.waitpid(os.posix_spawn("./echo_arguments", ["echo", "a"], {}), 0),
    "exec": lambda: os.execv("./echo_arguments", ["echo", "a"]),
}["WAY"]()
os._exit(0)
"#;

#[test]
fn a_child_has_its_start_and_its_place_in_the_lineage_whenever_it_logs() {
    for way in ["socket", "thread", "fork", "clone", "system", "popen", "spawn", "exec"] {
        let recording = TestRecording::new();
        recording.compile_program("echo_arguments");
        let printed = recording.run_python(&WAITS.replace("WAY", way));
        let printed: Vec<i64> = printed
            .lines()
            .next()
            .unwrap()
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        let [parent, child, before, after] = printed[..] else { panic!("{printed:?}") };
        let log = recording.only_log();
        let header = log.log.header();
        let mut lineage: Vec<(i64, i64)> =
            header.ancestors.iter().map(|ancestor| (ancestor.pid.into(), ancestor.start)).collect();
        lineage.push((header.pid.into(), header.start.realtime));
        assert_eq!(lineage[0].0, parent, "{way}: {lineage:?}");
        assert_eq!(lineage[1].0, child, "{way}: {lineage:?}");
        assert!(lineage.is_sorted_by_key(|(_, start)| start), "{way}: {lineage:?}");
        // The start is computed from the processor's counter.
        const ACCURACY: i64 = 1_000_000;
        let range = before - ACCURACY..=after + ACCURACY;
        assert!(range.contains(&lineage[1].1), "{way}: {lineage:?} within {range:?}");
        let parent_pid = i64::from(header.parent_pid);
        let above = lineage[lineage.len() - 2].0;
        assert!(above == parent_pid || above == i64::from(header.pid), "{way}: {lineage:?}");
    }
}
