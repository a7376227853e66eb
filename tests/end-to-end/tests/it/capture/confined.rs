//! Servers that confine themselves and then fork: each worker has a log of its own that is as
//! complete as any.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use end_to_end::capture::{
    FlowTraffic, ReadLog, TestRecording, program_path, python_path, run_successfully,
};
use end_to_end::repository;
use socket_log::encode::Direction::{self, Receive, Send};
use socket_log::{LogRecord, layout};

/// The output of the program `jail`: its own pid, and for each worker the pid and the numbers
/// received and sent.
fn parse_printed(text: &str) -> (u32, BTreeMap<u32, (u64, u64)>) {
    let (mut pids, mut work, mut server) = (BTreeMap::new(), BTreeMap::new(), 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [what, first, second, third] = fields[..] else { panic!("{text}") };
        let number = |text: &str| text.parse::<u64>().unwrap();
        match what {
            "pid" => _ = pids.insert(number(first), number(second) as u32),
            "worker" => _ = work.insert(number(first), (number(second), number(third))),
            _ => server = number(first) as u32,
        }
    }
    (server, work.into_iter().map(|(index, done)| (pids[&index], done)).collect())
}

fn traffic_in_direction(log: &ReadLog, wanted: Direction) -> FlowTraffic {
    let of_flow =
        log.traffic_by_flow().into_iter().filter(|((_, direction), _)| *direction == wanted);
    of_flow.fold(FlowTraffic::default(), |sum, (_, traffic)| FlowTraffic {
        calls: sum.calls + traffic.calls,
        bytes: sum.bytes + traffic.bytes,
    })
}

/// Runs the server with `connections` and `messages`, and compares the log of each worker with its
/// own count.
fn check_recording(way: &str, connections: u64, messages: u64) -> TestRecording {
    let recording = TestRecording::new();
    check_in(&recording, way, connections, messages);
    recording
}

fn check_in(recording: &TestRecording, way: &str, connections: u64, messages: u64) {
    let text =
        run_successfully(recording.recorded_command(recording.compile_program("jail")).args([
            way,
            &connections.to_string(),
            &messages.to_string(),
        ]));
    let (server, workers) = parse_printed(&text);
    assert_eq!(workers.len() as u64, connections, "{way}: {text}");
    let logs = recording.read_logs();
    assert_eq!(logs.len() as u64, connections + 2, "{way}: the server, its client and the workers");
    let of = |pid: u32| {
        logs.iter().find(|log| log.log.header().pid == pid).expect("a log of each process")
    };
    for (pid, (received, sent)) in workers {
        let log = of(pid);
        assert_eq!(log.log.header().parent_pid, server, "{way}");
        assert!(log.log.header().executable.ends_with("/jail"), "{way}");
        assert_eq!((received, sent), (messages, messages), "{way}: what the worker says itself");
        assert_eq!(
            traffic_in_direction(log, Receive),
            FlowTraffic { calls: received, bytes: 100 * received },
            "{way}"
        );
        assert_eq!(
            traffic_in_direction(log, Send),
            FlowTraffic { calls: sent, bytes: 200 * sent },
            "{way}"
        );
    }
    let accepted = of(server).complete_records().filter(
        |record| matches!(record, LogRecord::Flow(flow) if flow.origin == socket_log::encode::FlowOrigin::Accept),
    );
    assert_eq!(accepted.count() as u64, connections, "{way}");
    assert_eq!(
        fs::read_dir(recording.file_path("cell")).unwrap().count(),
        0,
        "{way}: nothing is left in its cell"
    );
}

/// The preallocated logs that were not used.
fn count_preallocated(recording: &TestRecording) -> usize {
    let files = fs::read_dir(recording.data_dir().join("hosts/host"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "spare")).count()
}

#[test]
fn workers_of_a_server_that_changes_its_root_have_logs() {
    assert_eq!(
        count_preallocated(&check_recording("chroot", 5, 6_000)),
        0,
        "nothing is made ahead"
    );
    check_recording("chroot-syscall", 2, 10);
    // More connections than can be provided for.
    check_recording("chroot", 100, 2);
}

#[test]
fn workers_of_a_server_with_mounts_of_its_own_have_logs() {
    check_recording("pivot_root", 3, 3_000);
    check_recording("mounts", 3, 3_000);
}

#[test]
fn workers_of_a_server_that_gives_up_its_user_have_logs() {
    // With and without access of the new user to the data directory; and with a log that cannot be
    // given to that user, as the right to do so was given up before.
    for (way, mode) in
        [("user", 0o755), ("user", 0o700), ("capabilities", 0o755), ("capabilities", 0o700)]
    {
        let recording = TestRecording::new();
        fs::set_permissions(recording.file_path(""), fs::Permissions::from_mode(mode)).unwrap();
        check_in(&recording, way, 3, 6_000);
        assert_eq!(count_preallocated(&recording), 0, "nothing is made ahead");
    }
}

#[test]
fn workers_of_a_server_that_gives_up_system_calls_have_logs() {
    check_recording("files", 4, 6_000);
}

#[test]
fn workers_of_a_server_that_gives_up_nearly_all_system_calls_have_logs() {
    check_recording("strict", 4, 5_000);
    check_recording("chroot-strict", 4, 5_000);
}

#[test]
fn workers_of_a_server_under_landlock_have_logs() {
    check_recording("landlock", 4, 6_000);
    // Room that a log can get only by a call has to be allocated before the call is given up.
    check_recording("landlock-strict", 4, 5_000);
}

/// The number of processes without room for a log, according to `info`.
fn without_log(recording: &TestRecording) -> String {
    let mut info = Command::new(end_to_end::sockcap_program());
    let said = run_successfully(info.arg("info").arg("-d").arg(recording.data_dir()));
    let lead = "processes that used sockets and found no room for a log: ";
    said.lines().find_map(|line| line.strip_prefix(lead)).unwrap_or("none").to_owned()
}

/// A process without sockets is not treated as a server, which would have 16 logs for its workers.
#[test]
fn a_process_without_sockets_under_landlock_has_logs_for_itself_and_a_child() {
    let recording = TestRecording::new();
    let work = "import ctypes, os, socket, struct\n\
                call = ctypes.CDLL(None).syscall\n\
                rules = call(444, struct.pack('Q', (1 << 13) - 1), 8, 0)\n\
                assert rules >= 0 and ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0\n\
                assert call(446, rules, 0) == 0\n\
                def talk():\n    \
                    a, b = socket.socketpair(); a.send(b'x'); b.recv(1)\n\
                talk()\n\
                for _ in range(3):\n    \
                    pid = os.fork()\n    \
                    if pid == 0: talk(); os._exit(0)\n    \
                    assert os.waitpid(pid, 0)[1] == 0\n";
    run_successfully(recording.recorded_command(python_path()).args(["-c", work]));
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 2);
    for log in logs {
        assert_eq!(traffic_in_direction(&log, Send), FlowTraffic { calls: 1, bytes: 1 });
    }
    assert_eq!(
        count_preallocated(&recording),
        2,
        "nothing was made ahead but what both have taken"
    );
    assert_eq!(without_log(&recording), "2");
}

#[test]
fn children_without_a_log_are_counted() {
    let recording = TestRecording::new();
    // More children than preallocated logs.
    let text = run_successfully(
        recording.recorded_command(recording.compile_program("jail")).args(["strict", "20", "2"]),
    );
    let (_, workers) = parse_printed(&text);
    assert_eq!(workers.len(), 20, "all did their work");
    let logs = recording.read_logs();
    let recorded =
        workers.keys().filter(|pid| logs.iter().any(|log| log.log.header().pid == **pid)).count();
    assert_eq!(recorded, 16);
    assert_eq!(without_log(&recording), (20 - recorded).to_string());
}

/// The files of the data directory and their sizes.
fn files_with_sizes(recording: &TestRecording) -> Vec<(String, u64)> {
    let entries = fs::read_dir(recording.data_dir().join("hosts/host")).into_iter().flatten();
    let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| (name(&entry), entry.metadata().unwrap().len()))
        .collect()
}

#[test]
fn children_that_confine_themselves_and_use_no_socket_leave_nothing() {
    let recording = TestRecording::new();
    let source = repository().join("tests/bench/children.c");
    let children = recording.file_path("children");
    run_successfully(
        Command::new(program_path("cc")).args(["-O1", "-o"]).arg(&children).arg(source),
    );
    let ways = [
        "nothing",
        "chroot",
        "unshare",
        "exec",
        "seccomp",
        "no-files",
        "sandbox",
        "chroot-seccomp",
        "chroot-no-files",
        "chroot-sandbox",
    ];
    for way in ways {
        run_successfully(recording.recorded_command(&children).args([way, "20"]));
        assert_eq!(files_with_sizes(&recording), [], "{way}");
    }
}

/// The number of system calls of a command with the library minus the number without it.
fn calls_added(recording: &TestRecording, command: &[&str]) -> i64 {
    let count = |traced: &mut Command| {
        run_successfully(
            traced
                .args(["-qq", "-f", "-c", "-U", "calls,name", "-o"])
                .arg(recording.file_path("calls"))
                .args(command),
        );
        let table = fs::read_to_string(recording.file_path("calls")).unwrap();
        table.lines().last().unwrap().split_whitespace().next().unwrap().parse::<i64>().unwrap()
    };
    let plain = count(&mut Command::new(program_path("strace")));
    let mut traced = Command::new(program_path("strace"));
    for (name, value) in recording.recorded_command("true").get_envs() {
        traced.arg("-E").arg(format!(
            "{}={}",
            name.to_str().unwrap(),
            value.unwrap().to_str().unwrap()
        ));
    }
    count(&mut traced) - plain
}

#[test]
fn a_child_costs_few_system_calls() {
    let recording = TestRecording::new();
    let source = repository().join("tests/bench/children.c");
    let children = recording.file_path("children");
    run_successfully(
        Command::new(program_path("cc")).args(["-O1", "-o"]).arg(&children).arg(source),
    );
    let children = children.to_str().unwrap();
    // The first command makes the directories.
    run_successfully(recording.recorded_command(children).args(["socket", "1"]));
    // With a log for each there were 28 more for one that does nothing, and 616 if a child changes
    // its root.
    let most = [
        ("nothing", 2),
        // Five are for a log that is made in a directory without following links, and three for its
        // guard: the file system, the action on SIGBUS and the mask. Family, type and protocol of a
        // socket are not queried.
        ("socket", 37),
        // The contents of the header are found out before; the control groups and two namespaces
        // take five.
        ("chroot", 24),
        ("unshare", 10),
        ("seccomp", 8),
        ("chroot-no-files", 50),
        ("sandbox", 30),
        // Nothing is provided for calls that the kernel refuses.
        ("refused", 4),
        // Two logs, where there were 17.
        ("landlock", 60),
    ];
    for (way, most) in most {
        let of = |children_made: &str| calls_added(&recording, &[children, way, children_made]);
        let each = (of("60") - of("10")) / 50;
        assert!(each <= most, "{way}: {each} system calls more for each child");
    }
}

#[test]
fn no_preallocated_logs_of_confined_processes_remain() {
    let recording = TestRecording::new();
    let work = "import os, socket, signal\n\
                a, b = socket.socketpair()\n\
                def move(times):\n    \
                    for _ in range(times): a.send(b'x'); b.recv(1)\n\
                move(3000); ";
    // One that ends, one that is killed, and one with threads; the tools truncate their logs.
    let ends = [
        "",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "import threading; t = threading.Thread(target=move, args=(3000,)); t.start(); t.join()",
    ];
    for end in ends {
        let mut command = recording.recorded_command(python_path());
        let _ = command.args(["-c", &format!("{work}{end}")]).status().unwrap();
    }
    let jail = recording.compile_program("jail");
    run_successfully(recording.recorded_command(&jail).args(["strict", "3", "100"]));
    let before: Vec<usize> = recording.read_logs().iter().map(|log| log.entries.len()).collect();
    let _ = Command::new(end_to_end::sockcap_program())
        .arg("info")
        .arg("-d")
        .arg(recording.data_dir())
        .output()
        .unwrap();
    let after: Vec<usize> = recording.read_logs().iter().map(|log| log.entries.len()).collect();
    assert_eq!(after, before, "what they hold is as before");
    for (name, size) in files_with_sizes(&recording) {
        let path = recording.data_dir().join("hosts/host").join(&name);
        let log = socket_log::SocketLog::open(&path).expect("a log, and nothing made ahead");
        let used = 4096 * (1 + u64::from(log.header().chunks));
        assert_eq!(size, used, "{name}: as large as what it holds");
    }
}

/// The executed program, and the library in it, have the filter.
#[test]
fn a_program_with_an_allow_list_of_calls_runs() {
    let recording = TestRecording::new();
    let binary = recording.compile_program("allow_list");
    let alone = run_successfully(Command::new(&binary).arg(&binary));
    let said = run_successfully(recording.recorded_command(&binary).arg(&binary));
    assert_eq!(said, alone);
    assert_eq!(said, "sent 50\n");
    // Its log cannot be made, which the log of the process before records.
    let log = recording.only_log();
    assert_eq!(log.unseen_programs(), [(layout::unseen::FILTER, binary.to_str().unwrap())]);
}
