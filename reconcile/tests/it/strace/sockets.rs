//! Sockets of calls, by descriptor, names and inode; and the bytes that calls on them move.

use std::fs;
use std::path::PathBuf;

use super::imported::{import, lines};

/// Descriptors without decorations, or with inodes alone, lead to the sockets that earlier calls
/// have assigned.
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
        assert!(
            dump.contains("Endpoints { flow: 1, role: Bind, local: Some(Inet(10.0.0.1:53))"),
            "{dump}"
        );
        assert!(
            dump.contains(
                "bytes: 5, checksum: 907060870, truncated: false, peeked: false, unchecked: false"
            ),
            "{dump}"
        );
        assert!(dump.contains("peer: Some(Inet(10.0.0.2:5000))"), "{dump}");
        let notes = &imported.summary.notes;
        assert!(notes[0].starts_with("1 calls") && notes[0].contains("-yy"), "{notes:?}");
        // Also the command that would show everything.
        assert_eq!(notes.len(), 5, "{notes:?}");
    }
}

/// A socket that was closed unseen, with its number reused for another and for a file.
#[test]
fn reused_descriptors_are_other_sockets() {
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
        dump.contains("5 3 Close { flow: 1, fd: 3 }")
            && dump.contains("5 4 Close { flow: 2, fd: 3 }"),
        "{dump}"
    );
}

/// A socket that is connected to another peer has another flow, without the kernel's id.
#[test]
fn a_reconnected_socket_is_another_flow() {
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
    // The dump numbers kernel's ids in the order of their appearance: the second flow has none.
    assert!(
        dump.contains(
            "flow: 2, fd: 3, domain: 2, kind: 2, protocol: 17, origin: Socket, cookie: 2"
        ),
        "{dump}"
    );
}

/// Empty batches, as programs send to probe for support.
#[test]
fn batches_of_nothing() {
    for socket in ["SOCK_DGRAM, IPPROTO_IP) = 3<UDP:[7]>", "SOCK_STREAM, IPPROTO_IP) = 3<TCP:[7]>"]
    {
        let text = format!(
            r#"5 1700000000.000001 socket(AF_INET, {socket}
5 1700000000.000002 sendmmsg(3, NULL, 0, 0) = 0
5 1700000000.000003 sendmmsg(3, 0x7ffe, 0, MSG_NOSIGNAL) = 0
5 1700000000.000004 sendmmsg(3, [], 0, 0) = 0
5 1700000000.000005 recvmmsg(3, NULL, 0, 0, NULL) = 0
"#
        );
        let imported = lines(&text);
        assert_eq!(imported.summary.skipped.total(), 0, "{:?}", imported.summary.skipped);
        let dump = imported.dump();
        assert!(!dump.contains("Datagram") && !dump.contains("Transfer"), "{dump}");
    }
}

/// The ends of a pair that was made before strace attached, in two processes with a file each:
/// their inodes show that they are one.
#[test]
fn pairs_are_identified_by_their_inodes() {
    // A second pair does the same at the same time.
    let of = |pid: u32, [mine, his]: [u32; 2], fd: u32, sends: bool| {
        let mut lines = String::new();
        for turn in 0..3u32 {
            let (call, bytes) = match (turn % 2 == 0) == sends {
                true => (format!("write({fd}<UNIX-STREAM:[{mine}->{his}]>, \"abc\", 3)"), 3),
                false => (format!("read({fd}<UNIX-STREAM:[{mine}->{his}]>, \"abc\", 100)"), 3),
            };
            let time = 100 * turn + if sends == (turn % 2 == 0) { 1 } else { 50 };
            lines += &format!("{pid} 1700000000.{time:06} {call} = {bytes} <0.000001>\n");
        }
        lines
    };
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path: PathBuf = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let files = [
        file("a.strace", of(10, [71, 72], 5, true) + &of(10, [81, 82], 6, true)),
        file("b.strace", of(20, [72, 71], 7, false) + &of(20, [82, 81], 8, false)),
    ];
    for files in [files.clone(), [files[1].clone(), files[0].clone()]] {
        let imported = import(&files);
        assert_eq!(imported.summary.skipped.total(), 0);
        let messages = imported.messages();
        assert_eq!(messages.len(), 6, "{messages:?}");
        assert!(messages.iter().all(|(.., both)| *both), "{messages:?}");
        let dump = imported.dump();
        assert_eq!(dump.matches("Pair {").count(), 2, "once for each pair: {dump}");
    }
}
