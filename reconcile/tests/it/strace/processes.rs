//! Threads, children and programs: the process of each call, and the descriptors that processes
//! share.

use super::imported::lines;

/// A thread becomes another program: the process continues under the id of its first thread.
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

/// Threads begin while the calls that create them are in progress, several at the same time.
#[test]
fn threads_that_run_before_their_creator_returns() {
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

/// A child has its parent's descriptors, also if strace does not describe them; a descriptor that
/// was closed before is not inherited.
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
