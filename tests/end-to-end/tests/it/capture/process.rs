//! The library's behaviour as processes are created, execute programs, end, die or run out of room.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use end_to_end::capture::{
    ReadLog, TestRecording, preloaded_library, program_path, python_path, run_successfully,
};
use socket_log::LogRecord;
use socket_log::encode::Direction::{Receive, Send};
use socket_log::encode::{Direction, ProcessEvent};
use socket_log::layout::{lost, source, state};

fn sent_sizes(log: &ReadLog, wanted: Direction) -> Vec<u64> {
    let bytes = log.complete_records().filter_map(|record| match record {
        LogRecord::Transfer { direction, bytes, .. } if *direction == wanted => Some(*bytes),
        _ => None,
    });
    bytes.collect()
}

fn process_events(log: &ReadLog) -> Vec<(ProcessEvent, i32)> {
    let events = log.complete_records().filter_map(|record| match record {
        LogRecord::Process { event, value } => Some((*event, *value)),
        _ => None,
    });
    events.collect()
}

/// The files of a recording, at any depth.
fn list_files(recording: &TestRecording) -> Vec<std::path::PathBuf> {
    let listed = run_successfully(
        Command::new("find").arg(recording.data_dir().parent().unwrap()).args(["-type", "f"]),
    );
    let of_data = |line: &str| line.contains("/data/").then(|| line.into());
    listed.lines().filter_map(of_data).collect()
}

#[test]
fn a_process_is_described() {
    let recording = TestRecording::new();
    let echo = recording.compile_program("echo_arguments");
    run_successfully(recording.recorded_command(&echo).args(["one", "two"]));
    let log = recording.only_log();
    let header = log.log.header();
    assert_eq!(header.host, "host");
    assert!(header.executable.ends_with("/echo_arguments"), "{}", header.executable);
    assert_eq!(header.arguments, [echo.to_str().unwrap(), "one", "two"]);
    assert_eq!(header.parent_pid, std::process::id());
    assert_eq!(header.state, state::EXITED);
    assert_ne!(header.boot_id, [0; 16]);
    assert_eq!(process_events(&log), [(ProcessEvent::Exit, 0)]);
}

#[test]
fn a_title_that_is_written_over_the_arguments_does_not_hide_them() {
    let recording = TestRecording::new();
    let titled = recording.compile_program("titled");
    run_successfully(recording.recorded_command(&titled).args(["--port", "4000"]));
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 2, "it and its child");
    for log in logs {
        assert_eq!(log.log.header().arguments, [titled.to_str().unwrap(), "--port", "4000"]);
    }
}

#[test]
fn a_process_without_a_socket_leaves_no_file() {
    let recording = TestRecording::new();
    fs::write(recording.file_path("file"), "text").unwrap();
    recording.run_python(
        "import os, subprocess, threading\n\
         open('file').read(); os.dup2(os.dup(0), 50); os.closerange(3, 100)\n\
         threading.Thread(target=print).start()\n\
         for _ in range(3): subprocess.run(['/bin/echo']); os.system('ls -l | cat')\n\
         for _ in range(3000):\n    \
             if os.fork() == 0: os._exit(0)\n    \
             os.wait()\n\
         os.execv('/bin/true', ['true'])",
    );
    assert_eq!(list_files(&recording), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn a_log_has_the_ancestors_of_its_process() {
    let recording = TestRecording::new();
    let echo = recording.compile_program("echo_arguments");
    fs::write(
        recording.file_path("script"),
        format!("#!/bin/sh\necho; (echo; (echo; {echo:?} a; echo); echo)\n"),
    )
    .unwrap();
    fs::set_permissions(recording.file_path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    let printed = recording.run_python(
        "import os, subprocess, sys\n\
         print('pids', os.getpid(), flush=True)\n\
         child = os.fork()\n\
         if child: os.wait(); print('pids', child)\n\
         else: subprocess.run(['./script'], env={'PATH': '/bin'})",
    );
    let log = recording.only_log();
    let header = log.log.header();
    let pids: Vec<u32> =
        printed.lines().filter_map(|line| line.strip_prefix("pids ")?.parse().ok()).collect();
    let above: Vec<(u32, &str)> =
        header.ancestors.iter().map(|ancestor| (ancestor.pid, ancestor.name.as_str())).collect();
    assert_eq!(above[..2], [(pids[0], "python3"), (pids[1], "python3")], "{above:?}");
    assert_eq!(above[2].1, "script");
    assert_eq!(above.last().unwrap().0, header.parent_pid, "{above:?}");
    assert!(header.ancestors.is_sorted_by_key(|ancestor| ancestor.start), "{above:?}");
    assert!(
        header.ancestors.iter().all(|ancestor| ancestor.start <= header.start.realtime),
        "{above:?}"
    );
}

#[test]
fn the_default_directory_is_where_the_program_began() {
    let recording = TestRecording::new();
    fs::create_dir(recording.file_path("elsewhere")).unwrap();
    let mut command = Command::new(python_path());
    command.args([
        "-c",
        "import os, socket; os.chdir('elsewhere'); os.system('true'); os.fork(); socket.socket()",
    ]);
    run_successfully(
        command.env("LD_PRELOAD", preloaded_library()).current_dir(recording.file_path("")),
    );
    let host =
        fs::read_dir(recording.file_path("sockcap.data/hosts")).unwrap().next().unwrap().unwrap();
    assert_eq!(fs::read_dir(host.path()).unwrap().count(), 2, "python and its fork");
    assert!(!recording.file_path("elsewhere/sockcap.data").exists());
    assert_eq!(
        host.metadata().unwrap().permissions().mode() & 0o7777,
        0o1733,
        "other users make logs there"
    );
}

#[test]
fn each_child_has_its_own_log() {
    let recording = TestRecording::new();
    run_successfully(&mut recording.recorded_command(recording.compile_program("children")));
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 3, "parent, _Fork and clone, but not /bin/true behind vfork");
    let [parent, fork, clone] = &logs[..] else { unreachable!() };
    // The vfork child's own call is in no log, and does not change its parent's records.
    assert_eq!(sent_sizes(parent, Send), [1, 4]);
    assert_eq!(sent_sizes(parent, Receive), [1, 2, 3, 16, 4]);
    assert_eq!(
        parent
            .complete_records()
            .filter(|record| matches!(record, LogRecord::Close { .. }))
            .count(),
        0
    );
    assert_eq!(sent_sizes(fork, Send), [2]);
    assert_eq!(sent_sizes(clone, Send), [3]);
    let pid = |log: &ReadLog| log.log.header().pid;
    assert!(process_events(parent).contains(&(ProcessEvent::Fork, pid(fork) as i32)));
    for child in [fork, clone] {
        assert_eq!(child.log.header().parent_pid, pid(parent));
    }
}

#[test]
fn a_program_with_an_empty_environment_is_recorded() {
    let ways =
        ["execve", "execle", "fexecve", "execvpe", "syscall", "execl", "execv", "execlp", "execvp"];
    for way in ways.into_iter().chain(["spawn", "vfork"]) {
        let recording = TestRecording::new();
        let echo = recording.compile_program("echo_arguments");
        let mut command = recording.recorded_command(recording.compile_program("execs"));
        let printed = run_successfully(command.arg(way).arg(&echo).arg(recording.file_path("")));
        assert_eq!(printed, "1 2 3 4 5 6 7 8\n", "{way}");
        let log = recording.only_log();
        let header = log.log.header();
        assert!(header.executable.ends_with("/echo_arguments"), "{way}");
        assert_eq!(header.arguments.len(), 9, "{way}");
        // A process that executes another program, and one that starts another.
        let parent = header.ancestors.last().map(|ancestor| ancestor.pid);
        let expected =
            if ["spawn", "vfork"].contains(&way) { header.parent_pid } else { header.pid };
        assert_eq!(parent, Some(expected), "{way}");
    }
}

#[test]
fn a_subprocess_leaves_its_parent_alone() {
    let recording = TestRecording::new();
    let printed = recording.run_python(
        r#"
import socket, subprocess
a, b = socket.socketpair()
for n in range(20):
    a.send(b"x"); b.recv(1)
    print(subprocess.run(["/bin/echo", str(n)], env={}, capture_output=True).stdout.decode(), end="")
    a.send(b"yy"); b.recv(2)
"#,
    );
    assert_eq!(printed, (0..20).map(|n| format!("{n}\n")).collect::<String>());
    let log = recording.only_log();
    assert_eq!(sent_sizes(&log, Send), [1, 2].repeat(20));
    let flows =
        log.complete_records().filter(|record| matches!(record, LogRecord::Flow(_))).count();
    assert_eq!(flows, 2, "no descriptor was forgotten");
}

#[test]
fn a_vfork_child_is_not_treated_as_a_parent_without_a_log() {
    let recording = TestRecording::new();
    // The first action of this program is to create the child, which uses a socket before it
    // executes another program.
    run_successfully(&mut recording.recorded_command(recording.compile_program("early_vfork")));
    // The program executes itself, so that the sockets are inherited.
    let logs = recording.read_logs();
    let log = &logs[1];
    assert_eq!(logs.len(), 2);
    assert_eq!(sent_sizes(log, Send), [3], "nothing that the child did");
    let flows =
        log.complete_records().filter(|record| matches!(record, LogRecord::Flow(_))).count();
    assert_eq!(flows, 1, "what the child closed and opened is still what it was");
    assert_eq!(log.log.header().state, state::EXITED);
}

#[test]
fn a_thread_can_be_cancelled_inside_a_hook() {
    let recording = TestRecording::new();
    assert_eq!(
        run_successfully(&mut recording.recorded_command(recording.compile_program("cancel"))),
        "cancelled\n"
    );
    assert_eq!(sent_sizes(&recording.only_log(), Receive), [1]);
}

#[test]
fn signal_handlers_that_send_lose_nothing() {
    let recording = TestRecording::new();
    let printed =
        run_successfully(&mut recording.recorded_command(recording.compile_program("signals")));
    let (program, handler) = printed.trim().split_once(' ').unwrap();
    let mut flows = BTreeMap::new();
    for record in recording.only_log().complete_records() {
        if let LogRecord::Transfer { direction: Send, flow, bytes, .. } = record {
            assert_eq!(*bytes, if *flow == 1 { 7 } else { 2 }, "never a record of mixed words");
            *flows.entry(*flow).or_insert(0u64) += 1;
        }
    }
    assert_eq!(flows.get(&1).unwrap().to_string(), program);
    assert_eq!(flows.get(&3).copied().unwrap_or(0).to_string(), handler);
}

#[test]
fn a_killed_program_loses_no_completed_record() {
    let recording = TestRecording::new();
    let busy = recording.compile_program("busy");
    let mut random = std::process::id();
    for round in 0..200 {
        let report = recording.file_path(&format!("report-{round}"));
        fs::write(&report, [0; 4096]).unwrap();
        let mut child =
            recording.recorded_command(&busy).arg(&report).stdout(Stdio::null()).spawn().unwrap();
        while !recording.has_log(child.id()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Its progress does not matter for the checks.
        let deadline = Instant::now() + Duration::from_millis(u64::from(random >> 26) + 5);
        while Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let log = recording
            .read_logs()
            .into_iter()
            .find(|log| log.log.header().pid == child.id())
            .unwrap();
        assert_eq!(log.log.header().state, state::RUNNING, "it was killed");
        let mut logged = BTreeMap::<u32, u64>::new();
        for entry in &log.entries {
            if let LogRecord::Transfer { direction: Send, bytes, .. } = entry.record {
                let sends = logged.entry(entry.tid).or_default();
                *sends += 1;
                assert_eq!(bytes, 1 + *sends % 60, "in order and without a gap");
            }
        }
        for damage in &log.damage {
            let under_way = [socket_log::DamageKind::Unfinished, socket_log::DamageKind::NotAChunk];
            assert!(
                under_way.contains(&damage.fault),
                "at most a record or a chunk's header: {damage}"
            );
        }
        assert!(log.damage.len() <= 8, "one for each thread");
        let report = fs::read(&report).unwrap();
        for thread in report.chunks(16).take(8) {
            let tid = u64::from_le_bytes(thread[..8].try_into().unwrap()) as u32;
            let completed = u64::from_le_bytes(thread[8..].try_into().unwrap());
            let found = logged.get(&tid).copied().unwrap_or(0);
            assert!(
                (completed..=completed + 1).contains(&found),
                "round {round}: thread {tid} made {completed} sends, its log has {found}"
            );
        }
        fs::remove_file(log.log.path()).unwrap();
    }
}

/// A program that must print its line whatever happens to its log.
const HARDY: &str = r#"
import socket
a, b = socket.socketpair()
for n in range(50000):
    a.send(b"x"); b.recv(1)
print("unharmed")
"#;

#[test]
fn a_directory_that_cannot_be_made_harms_no_program() {
    let recording = TestRecording::new();
    fs::write(recording.file_path("file"), "no directory").unwrap();
    for directory in ["file/below", "/proc/nowhere", "/dev/null", &"x/".repeat(3000)] {
        let mut command = recording.recorded_command(python_path());
        command.env("SOCKCAP_DIR", directory).args(["-c", HARDY]);
        assert_eq!(run_successfully(&mut command), "unharmed\n", "{directory}");
    }
    assert!(!recording.data_dir().exists());
}

#[test]
fn a_log_that_may_not_grow_counts_what_it_loses() {
    let recording = TestRecording::new();
    let limited = format!(
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n{HARDY}"
    );
    assert_eq!(recording.run_python(&limited), "unharmed\n");
    let log = recording.only_log();
    let count = log.log.header().lost;
    // A slow program also has anchors, which are no records of its actions.
    let is_anchor = |record: &LogRecord| matches!(record, LogRecord::Anchor(_));
    let of_program = log.entries.iter().filter(|entry| !is_anchor(&entry.record));
    let written = of_program.count() as u64;
    assert_eq!(count.iter().sum::<u64>(), count[lost::FILE_SIZE], "for this cause alone");
    assert!(written > 1000, "what had room is there");
    // Two flows, their pair, the transfers, and the exit (python closes nothing at its end, or
    // both).
    let total = count[lost::FILE_SIZE] + written;
    assert!((100_004..=100_006).contains(&total), "{total}");
    assert_eq!(log.damage, []);
    let mut info = Command::new(end_to_end::sockcap_program());
    let info = run_successfully(info.arg("info").arg("-d").arg(recording.data_dir()));
    assert!(info.contains("records: file size limit (ulimit -f)"), "{info}");
}

#[test]
fn memory_that_cannot_be_mapped_harms_no_program() {
    let recording = TestRecording::new();
    let limited = format!(
        "import resource\nn = int(open('/proc/self/statm').read().split()[0]) * 4096 + (3 << 20)\n\
         resource.setrlimit(resource.RLIMIT_AS, (n, n))\n{HARDY}"
    );
    assert_eq!(recording.run_python(&limited), "unharmed\n");
    let log = recording.only_log();
    assert_eq!(log.damage, []);
    assert!(log.entries.len() > 1000);
}

#[test]
fn a_program_that_gives_up_system_calls_is_not_killed() {
    for way in ["prctl", "seccomp"] {
        let recording = TestRecording::new();
        let printed = run_successfully(
            recording.recorded_command(recording.compile_program("sandbox")).arg(way),
        );
        assert_eq!(printed, "unharmed\n", "{way}");
        let log = recording.only_log();
        let count = log.log.header().lost[lost::REFUSED];
        let transfers = log
            .entries
            .iter()
            .filter(|entry| matches!(entry.record, LogRecord::Transfer { .. }))
            .count();
        assert!(transfers > 100_000, "{way}: there was room for {transfers}");
        assert_eq!(
            transfers as u64 + count,
            900_001,
            "{way}: with the exit, nothing else is missing"
        );
    }
}

#[test]
fn a_server_that_drops_its_rights_continues_logging() {
    let recording = TestRecording::new();
    // Only a process with rights can give them up; for any other the log must simply be complete.
    recording.run_python(&format!(
        "import os\nif os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n{HARDY}"
    ));
    let log = recording.only_log();
    assert_eq!(sent_sizes(&log, Send).len(), 50_000);
    assert!(log.log.length() > 500_000, "it grew");
}

#[test]
fn a_daemon_that_closes_every_descriptor_continues_logging() {
    let recording = TestRecording::new();
    recording.run_python(&format!("import os\nos.closerange(3, 100000)\n{HARDY}"));
    assert_eq!(sent_sizes(&recording.only_log(), Send).len(), 50_000);
}

#[test]
fn a_thousand_threads_at_once_lose_nothing() {
    let recording = TestRecording::new();
    run_successfully(
        recording.recorded_command(recording.compile_program("threads")).args(["1000", "1000"]),
    );
    assert_eq!(sent_sizes(&recording.only_log(), Send), [3; 1000]);
    let log = recording.only_log();
    let threads: std::collections::BTreeSet<u32> =
        log.entries.iter().map(|entry| entry.tid).collect();
    assert_eq!(threads.len(), 1001, "each under its own name");
}

#[test]
fn threads_that_end_leave_their_room_to_others() {
    let recording = TestRecording::new();
    run_successfully(
        recording.recorded_command(recording.compile_program("threads")).args(["10000", "4"]),
    );
    let log = recording.only_log();
    assert_eq!(sent_sizes(&log, Send), [3; 10_000]);
    let names = log.entries.windows(2).filter(|pair| pair[0].tid != pair[1].tid).count();
    assert!(names >= 9_000, "told apart though they share chunks: {names}");
    // A chunk for each would be 40 MB.
    assert!(log.log.length() < 2 << 20, "{}", log.log.length());
}

#[test]
fn a_server_that_changes_its_root_continues_logging() {
    let recording = TestRecording::new();
    recording
        .run_python(&format!("import os, socket\nos.mkdir('jail'); os.chroot('jail')\n{HARDY}"));
    assert_eq!(sent_sizes(&recording.only_log(), Send).len(), 50_000);
}

#[test]
fn a_log_names_the_network_namespace_that_its_program_began_in() {
    let recording = TestRecording::new();
    let script = "import os, socket; socket.socket(); print(os.stat('/proc/self/ns/net').st_ino)";
    // The program that enters it uses no socket.
    let inside = run_successfully(
        recording
            .recorded_command(program_path("unshare"))
            .arg("--net")
            .arg(python_path())
            .args(["-c", script]),
    );
    let outside = fs::metadata("/proc/self/ns/net").unwrap().ino();
    let inside: u64 = inside.trim().parse().unwrap();
    assert_ne!(inside, outside);
    let namespaces: Vec<u64> =
        recording.read_logs().iter().map(|log| log.log.header().namespace).collect();
    assert_eq!(namespaces, [inside]);
    assert!(recording.read_logs().iter().all(|log| log.log.header().source == source::LIBRARY));
}

#[test]
fn a_daemon_continues_logging_whatever_it_keeps() {
    for (stay, keep) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let recording = TestRecording::new();
        // The test waits for the end of the descriptor it reads, which neither way closes under
        // that number.
        let printed = recording.run_python(&format!(
            "import ctypes, os, socket\na, b = socket.socketpair(); a.send(b'before'); b.recv(6)\nos.dup2(1, 9)\n\
             assert ctypes.CDLL(None).daemon({stay}, {keep}) == 0\n\
             for _ in range(2000): a.send(b'x'); b.recv(1)\nos.write(9, os.getcwd().encode())"
        ));
        assert_eq!(printed == "/", stay == 0, "{printed}");
        let logs = recording.read_logs();
        assert_eq!(logs.len(), 2, "{stay} {keep}: the process that was started, and the daemon");
        assert_eq!(
            (sent_sizes(&logs[0], Send), sent_sizes(&logs[1], Send)),
            (vec![6], vec![1; 2000]),
            "{stay} {keep}"
        );
        assert_eq!(logs[0].log.header().state, state::EXITED, "{stay} {keep}");
    }
}
