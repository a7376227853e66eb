//! The importer of strace's output, on what strace has printed: every kind of call, in all the forms that files come in.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use message_trace::{DataDir, MessageTrace};
use reconcile::import::{Importer, Strace, Summary};
use reconcile::{Options, reconcile};
use socket_log::{Log, Record};

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strace")
}

struct Imported {
    directory: tempfile::TempDir,
    summary: Summary,
}

fn import(files: &[PathBuf]) -> Imported {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let summary = Strace { host: "host".into() }.import(files, &data, &()).unwrap();
    Imported { directory, summary }
}

/// Imports lines as one file.
fn lines(text: &str) -> Imported {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    fs::write(&file, text).unwrap();
    import(&[file])
}

/// The message of the error that importing lines leads to.
fn refused(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    fs::write(&file, text).unwrap();
    let data = DataDir::new(directory.path().join("data"));
    let error = Strace { host: "host".into() }.import(&[file], &data, &()).unwrap_err();
    assert!(!data.hosts().exists(), "nothing is written");
    error.to_string().replace(&directory.path().display().to_string(), "")
}

impl Imported {
    /// All logs, a record a line: thread, microseconds since the first log's beginning, record.
    fn dump(&self) -> String {
        let data = DataDir::new(self.directory.path());
        let logs: Vec<Log> = data.logs().unwrap().iter().map(|path| Log::open(path).unwrap()).collect();
        let first = logs.iter().map(|log| log.header().start.realtime).min().unwrap();
        let mut cookies = BTreeMap::new();
        let mut out = String::new();
        for log in &logs {
            let header = log.header();
            let start = (header.start.realtime - first) / 1000;
            let pids = (header.pid, header.parent_pid);
            let what = (header.executable.as_str(), &header.arguments);
            writeln!(out, "# {pids:?} {start} state {} source {} {what:?}", header.state, header.source)
                .unwrap();
            let mut entries = Vec::new();
            assert_eq!(log.for_each(|entry| entries.push(entry)), []);
            for entry in entries {
                let mut record = entry.record;
                if let Record::Flow(flow) = &mut record {
                    // The same in every log, and different from others.
                    let next = cookies.len() as u64 + 1;
                    flow.cookie = *cookies.entry(flow.cookie).or_insert(next);
                }
                let time = (entry.ticks as i64 - first) / 1000;
                writeln!(out, "{} {time} {record:?}", entry.tid).unwrap();
            }
        }
        out
    }

    /// The messages after reconciliation: flow, direction, bytes, and whether both ends were seen.
    fn messages(&self) -> Vec<(i64, i8, i64, bool)> {
        let data = DataDir::new(self.directory.path());
        let options = Options { keep_internal: true, ..Options::default() };
        reconcile(&data, &options, &()).unwrap();
        let trace = MessageTrace::read(&data.messages(), &data.nodes()).unwrap();
        trace
            .messages()
            .map(|m| (m.flow, m.direction, m.bytes, m.send_first.is_some() && m.recv_first.is_some()))
            .collect()
    }
}

/// Compares with the file `name`, which `UPDATE_GOLDEN=1` writes anew.
fn golden(name: &str, found: &str) {
    let path = traces().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "{name}:{}", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
}

#[test]
fn every_kind_of_call() {
    let imported = import(&[traces().join("every_call.strace")]);
    assert_eq!((imported.summary.skipped.total(), imported.summary.notes.as_slice()), (0, &[][..]));
    golden("every_call.golden", &imported.dump());
    // The connection that is refused carries nothing; of all others both ends are here.
    let messages = imported.messages();
    assert_eq!(messages.len(), 16, "{messages:?}");
    assert!(messages.iter().all(|(.., both)| *both), "{messages:?}");
}

#[test]
fn batches_pipes_and_calls_without_durations() {
    let imported = import(&[traces().join("batches.strace")]);
    assert_eq!(imported.summary.skipped.total(), 0);
    assert_eq!(imported.summary.notes.len(), 1, "of the durations only: {:?}", imported.summary.notes);
    golden("batches.golden", &imported.dump());
}

/// `strace -ff`: a thread that accepts, and a child that connects, each in a file of its own.
#[test]
fn a_file_for_each_thread() {
    let mut files: Vec<PathBuf> = fs::read_dir(traces())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.display().to_string().contains("files."))
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension != "golden"));
    files.sort();
    assert_eq!(files.len(), 3);
    let imported = import(&files);
    assert_eq!((imported.summary.skipped.total(), imported.summary.notes.as_slice()), (0, &[][..]));
    golden("files.golden", &imported.dump());
    files.reverse();
    // The order of the files changes nothing but what sets their sockets apart.
    assert_eq!(import(&files).dump(), imported.dump());
    assert_eq!(imported.messages(), [(0, 0, 50, true), (0, 1, 50, true)]);
}

#[test]
fn compressed_files() {
    let plain = fs::read(traces().join("every_call.strace")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let packed = directory.path().join("every_call.strace");
    fs::write(&packed, zstd::encode_all(plain.as_slice(), 0).unwrap()).unwrap();
    assert_eq!(import(&[packed]).dump(), fs::read_to_string(traces().join("every_call.golden")).unwrap());
}

#[test]
fn importing_again_replaces() {
    let first = import(&[traces().join("every_call.strace")]);
    let data = DataDir::new(first.directory.path());
    let logs = data.logs().unwrap();
    let before: Vec<Vec<u8>> = logs.iter().map(|log| fs::read(log).unwrap()).collect();
    let again =
        Strace { host: "host".into() }.import(&[traces().join("every_call.strace")], &data, &()).unwrap();
    assert!(again.replaced && !first.summary.replaced);
    assert_eq!(data.logs().unwrap(), logs);
    assert_eq!(logs.iter().map(|log| fs::read(log).unwrap()).collect::<Vec<_>>(), before);
}

/// On the terminal, strace names threads only while there are several, and its remarks break lines off.
#[test]
fn what_strace_writes_to_the_terminal() {
    let text = r#"1700000000.000001 execve("/bin/a", ["a"], 0x7ffe /* 35 vars */) = 0
1700000000.000002 socketpair(AF_UNIX, SOCK_STREAM, 0, [3<UNIX-STREAM:[1->2]>, 4<UNIX-STREAM:[2->1]>]) = 0
1700000000.000003 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLDstrace: Process 12 attached
, child_tidptr=0x7f) = 12
[pid    12] 1700000000.000004 write(4<UNIX-STREAM:[2->1]>, "ab", 2) = 2
[pid    11] 1700000000.000005 <... clone resumed>, child_tidptr=0x7f) = 12
[pid    12] 1700000000.000006 +++ exited with 0 +++
1700000000.000007 --- SIGCHLD {si_signo=SIGCHLD} ---
1700000000.000008 read(3<UNIX-STREAM:[1->2]>, "ab", 10) = 2
this is of the program
1700000000.000009 +++ killed by SIGKILL +++
"#;
    let imported = lines(text);
    let dump = imported.dump();
    assert!(dump.contains("# (11, 0) 0 state 0") && dump.contains("# (12, 11) 3 state 1"), "{dump}");
    assert!(dump.contains("12 3 Transfer { direction: Send, flow: 1, bytes: 2"), "{dump}");
    assert!(dump.contains("11 7 Transfer { direction: Receive, flow: 1, bytes: 2"), "{dump}");
    assert!(dump.contains("11 8 Process { event: Exit, value: 137 }"), "{dump}");
    let skipped = &imported.summary.skipped;
    assert_eq!(skipped.total(), 2, "{skipped:?}");
    assert!(skipped.first[1].to_string().ends_with("trace:10: this is of the program"), "{skipped:?}");
}

/// Descriptors without decorations, or with inodes alone, lead where the calls have put them.
#[test]
fn without_the_names_of_sockets() {
    for decorate in ["", "<socket:[7]>"] {
        let text = format!(
            r#"5 1700000000.000001 socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = 3{decorate} <0.000001>
5 1700000000.000002 bind(3{decorate}, {{sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.1")}}, 16) = 0 <0.000001>
5 1700000000.000003 recvfrom(3{decorate}, "hello", 100, 0, {{sa_family=AF_INET, sin_port=htons(5000), sin_addr=inet_addr("10.0.0.2")}}, [16]) = 5 <0.000001>
5 1700000000.000004 read(0</dev/null<char 1:3>>, "", 5) = 0 <0.000001>
5 1700000000.000005 recvfrom(9, "hello", 100, 0, NULL, NULL) = 5 <0.000001>
"#
        );
        let imported = lines(&text);
        let dump = imported.dump();
        assert!(dump.contains("Endpoints { flow: 1, role: Bind, local: Some(Inet(10.0.0.1:53))"), "{dump}");
        assert!(
            dump.contains("bytes: 5, checksum: 907060870, truncated: false, peeked: false, unchecked: false"),
            "{dump}"
        );
        assert!(dump.contains("peer: Some(Inet(10.0.0.2:5000))"), "{dump}");
        assert_eq!(imported.summary.notes.len(), 1, "{:?}", imported.summary.notes);
        assert!(imported.summary.notes[0].contains("-yy"));
    }
}

/// A socket that was closed out of sight, and its number given to another and to a file.
#[test]
fn numbers_that_come_again() {
    let text = r#"5 1700000000.000001 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3<TCP:[7]>
5 1700000000.000002 connect(3<TCP:[7]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.2")}, 16) = 0
5 1700000000.000003 write(3<TCP:[10.0.0.1:5000->10.0.0.2:80]>, "a", 1) = 1
5 1700000000.000004 write(3<TCP:[10.0.0.1:5001->10.0.0.2:80]>, "bb", 2) = 2
5 1700000000.000005 write(3</tmp/file>, "ccc", 3) = 3
5 1700000000.000006 write(3<TCP:[10.0.0.1:5001->10.0.0.2:80]>, "dddd", 4) = 4
"#;
    let dump = lines(text).dump();
    let sent: Vec<&str> = dump
        .lines()
        .filter(|line| line.contains("Send"))
        .map(|line| line.split("duration").next().unwrap())
        .collect();
    let expected = [
        "5 2 Transfer { direction: Send, flow: 1, bytes: 1, ",
        "5 3 Transfer { direction: Send, flow: 2, bytes: 2, ",
        "5 5 Transfer { direction: Send, flow: 3, bytes: 4, ",
    ];
    assert_eq!(sent, expected, "{dump}");
    assert!(
        dump.contains("5 3 Close { flow: 1, fd: 3 }") && dump.contains("5 4 Close { flow: 2, fd: 3 }"),
        "{dump}"
    );
}

/// A thread becomes another program: the process goes on under its first thread's number.
#[test]
fn a_thread_that_runs_a_program() {
    let text = r#"5 1700000000.000001 socketpair(AF_UNIX, SOCK_STREAM, 0, [3<UNIX-STREAM:[1->2]>, 4<UNIX-STREAM:[2->1]>]) = 0
5 1700000000.000002 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, exit_signal=0} => {parent_tid=[6]}, 88) = 6
6 1700000000.000003 execve("/bin/b", ["b", "-x"], 0x7ffe /* 35 vars */ <unfinished ...>
5 1700000000.000004 +++ superseded by execve in pid 6 +++
5 1700000000.000005 <... execve resumed>) = 0
5 1700000000.000006 write(4<UNIX-STREAM:[2->1]>, "ab", 2) = 2
5 1700000000.000007 exit_group(7) = ?
5 1700000000.000008 +++ exited with 7 +++
"#;
    let imported = lines(text);
    assert_eq!(imported.summary.skipped.total(), 0);
    let dump = imported.dump();
    assert!(dump.contains("# (5, 0) 0 state 2 source 1 (\"pid 5\""), "{dump}");
    assert!(dump.contains("# (5, 0) 4 state 1 source 1 (\"/bin/b\", [\"b\", \"-x\"])"), "{dump}");
    assert!(
        dump.contains("Process { event: Exit, value: 7 }") && dump.contains("flow: 1, bytes: 2"),
        "{dump}"
    );
}

/// Threads begin while the calls that make them are under way, several at once.
#[test]
fn threads_whose_maker_is_not_known_yet() {
    let text = r#"5 1700000000.000001 socketpair(AF_UNIX, SOCK_STREAM, 0, [3<UNIX-STREAM:[1->2]>, 4<UNIX-STREAM:[2->1]>]) = 0
5 1700000000.000002 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD <unfinished ...>
6 1700000000.000003 write(3<UNIX-STREAM:[1->2]>, "a", 1) = 1
6 1700000000.000004 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD <unfinished ...>
5 1700000000.000005 <... clone resumed>) = 6
5 1700000000.000006 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
8 1700000000.000007 write(3<UNIX-STREAM:[1->2]>, "bb", 2) = 2
7 1700000000.000008 write(3<UNIX-STREAM:[1->2]>, "ccc", 3) = 3
5 1700000000.000009 <... clone resumed>) = 8
6 1700000000.000010 <... clone resumed>) = 7
"#;
    let imported = lines(text);
    assert_eq!(imported.summary.notes, Vec::<String>::new());
    let dump = imported.dump();
    let process = |thread: u32| {
        let mut process = "";
        for line in dump.lines() {
            if line.starts_with('#') {
                process = line.split([' ', ',']).nth(1).unwrap();
            } else if line.starts_with(&format!("{thread} ")) && line.contains("Send") {
                return process;
            }
        }
        panic!("{thread} sends nothing: {dump}")
    };
    assert_eq!([6, 7, 8].map(process), ["(5", "(5", "(8"]);
}

#[test]
fn files_that_are_something_else_are_refused_with_what_to_do() {
    let call = "read(3, \"\", 1) = 0";
    for (text, expected) in [
        ("src,dst\na,b\n".to_owned(), "/trace:1: no output of strace: 'src,dst'"),
        (format!("5 14:00:01 {call}\n"), "/trace:1: the times are without date (-t or -tt)"),
        (
            format!("strace: Process 5 attached\n[pid 5] 14:00:01.123 {call}\n"),
            "/trace:2: the times are without date",
        ),
        (format!("5      0.000012 {call}\n"), "/trace:1: the times are those since the line before (-r)"),
        (format!("{call}\n"), "/trace:1: the lines have no times"),
        (String::new(), "/trace: no call is in it"),
    ] {
        let message = refused(&text);
        assert!(message.starts_with(expected), "{message}");
        assert!(message.contains("strace -f -ttt -T -yy -s 65535"), "{message}");
    }
}

/// A child has its parent's descriptors, also where strace does not say what they are; one that was closed before is none.
#[test]
fn a_child_inherits_descriptors() {
    let text = r#"5 1700000000.000001 socketpair(AF_UNIX, SOCK_STREAM, 0, [3, 4]) = 0 <0.000001>
5 1700000000.000002 socketpair(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0, [5, 6]) = 0 <0.000001>
5 1700000000.000003 dup2(3, 9) = 9 <0.000001>
5 1700000000.000004 close(4) = 0 <0.000001>
5 1700000000.000005 fork() = 8 <0.000001>
8 1700000000.000006 write(3, "a", 1) = 1 <0.000001>
8 1700000000.000007 write(4, "bb", 2) = -1 EBADF (Bad file descriptor) <0.000001>
8 1700000000.000008 write(9, "ccc", 3) = 3 <0.000001>
8 1700000000.000009 write(5, "dddd", 4) = 4 <0.000001>
8 1700000000.000010 execve("/bin/b", ["b"], 0x7ffe /* 3 vars */) = 0 <0.000001>
8 1700000000.000011 write(5, "to a file", 9) = 9 <0.000001>
8 1700000000.000012 write(9, "eeeee", 5) = 5 <0.000001>
"#;
    let dump = lines(text).dump();
    let sent: Vec<&str> = dump
        .lines()
        .filter(|line| line.contains("Send"))
        .map(|line| line.split(", duration").next().unwrap())
        .collect();
    let expected = [
        "8 5 Transfer { direction: Send, flow: 1, bytes: 1",
        "8 7 Transfer { direction: Send, flow: 1, bytes: 3",
        "8 8 Transfer { direction: Send, flow: 2, bytes: 4",
        "8 11 Transfer { direction: Send, flow: 1, bytes: 5",
    ];
    assert_eq!(sent, expected, "{dump}");
}

/// A socket that is connected to another peer has another flow, without the kernel's id.
#[test]
fn a_socket_that_is_connected_anew() {
    let text = r#"5 1700000000.000001 socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = 3<UDP:[7]> <0.000001>
5 1700000000.000002 connect(3<UDP:[7]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.2")}, 16) = 0 <0.000001>
5 1700000000.000003 sendto(3<UDP:[10.0.0.1:5000]>, "a", 1, 0, NULL, 0) = 1 <0.000001>
5 1700000000.000004 connect(3<UDP:[10.0.0.1:5000]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.3")}, 16) = 0 <0.000001>
5 1700000000.000005 sendto(3<UDP:[10.0.0.1:5000]>, "bb", 2, 0, NULL, 0) = 2 <0.000001>
5 1700000000.000006 connect(3<UDP:[10.0.0.1:5000]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.3")}, 16) = 0 <0.000001>
5 1700000000.000007 sendto(3<UDP:[10.0.0.1:5000]>, "ccc", 3, 0, NULL, 0) = 3 <0.000001>
"#;
    let dump = lines(text).dump();
    let sends = dump.lines().filter(|line| line.contains("Send"));
    let flows: Vec<&str> = sends.filter_map(|line| line.split(", ").nth(1)).collect();
    assert_eq!(flows, ["flow: 1", "flow: 2", "flow: 2"], "{dump}");
    assert!(
        dump.contains(
            "flow: 2, role: Connect, local: Some(Inet(10.0.0.1:5000)), peer: Some(Inet(10.0.0.3:53))"
        ),
        "{dump}"
    );
    assert!(dump.contains("Close { flow: 1, fd: 3 }"), "{dump}");
    // The dump numbers kernel's ids in the order of their appearance: the second flow's is none.
    assert!(
        dump.contains("flow: 2, fd: 3, domain: 2, kind: 2, protocol: 17, origin: Socket, cookie: 2"),
        "{dump}"
    );
}
