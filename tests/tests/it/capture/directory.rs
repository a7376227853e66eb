//! A data directory that changes under a running program: removed, or made unwritable.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use end_to_end::capture::{Recorded, Recording, python, successful};
use socket_log::Record;
use socket_log::layout::lost;

/// Sends many messages, then changes something, forks, and sends as many in both processes.
const SCRIPT: &str = r#"
import os, shutil, socket, sys
a, b = socket.socketpair()
def move(times):
    for _ in range(times): a.send(b"x"); b.recv(1)
move(1000); exec(sys.argv[1])
child = os.fork(); move(20000)
if child: os.waitpid(child, 0); print("unharmed", child)
else: os._exit(0)
"#;

fn moved(log: &Recorded) -> u64 {
    log.entries.iter().filter(|entry| matches!(entry.record, Record::Transfer { .. })).count()
        as u64
}

#[test]
fn a_child_behind_a_directory_that_vanished_has_a_log() {
    let recording = Recording::new();
    let remove = format!("shutil.rmtree({:?})", recording.data());
    let printed = successful(recording.command(python()).args(["-c", SCRIPT, &remove]));
    let child: u32 = printed.trim().strip_prefix("unharmed ").unwrap().parse().unwrap();
    let log = recording.log();
    assert_eq!(log.log.header().pid, child, "the directory is made again for it");
    assert_eq!(moved(&log), 40_000);
    log.records().count();
}

#[test]
fn what_an_unwritable_directory_costs_is_shown() {
    let recording = Recording::new();
    // Root may write anywhere.
    fs::create_dir_all(recording.data()).unwrap();
    for path in [recording.file(""), recording.data()] {
        chown(path, Some(65534), None).unwrap();
    }
    let close = format!("os.chmod({:?}, 0)", recording.data().join("hosts/host"));
    let mut command = recording.command(python());
    let printed = successful(command.uid(65534).args(["-c", SCRIPT, &close]));
    assert!(printed.starts_with("unharmed "));
    let log = recording.log();
    let count = log.log.header().lost;
    assert_eq!(count.iter().sum::<u64>(), count[lost::REFUSED], "for this cause alone");
    // It may lose the record of a fork, too, and python may close sockets at its end.
    let all = moved(&log) + count[lost::REFUSED];
    assert!(count[lost::REFUSED] > 10_000 && (42_000..42_005).contains(&all), "{all}: {count:?}");
    let info =
        successful(Command::new(end_to_end::sockcap()).arg("info").arg("-d").arg(recording.data()));
    assert!(
        info.contains(&format!("lost {} records: system call refused", count[lost::REFUSED])),
        "{info}"
    );
    assert!(
        info.contains("processes that used sockets and found no room for a log: 1\n"),
        "the child: {info}"
    );
}

#[test]
fn processes_of_several_users_share_a_directory() {
    let recording = Recording::new();
    fs::set_permissions(recording.file(""), fs::Permissions::from_mode(0o755)).unwrap();
    let says = recording.compile("says");
    // The first makes the directories, of its own host.
    successful(recording.command(&says).arg("first"));
    for host in ["host", "other"] {
        successful(recording.command(&says).env("SOCKCAP_HOST", host).uid(65534).arg(host));
        let logs = recording.logs_of(host);
        let last = logs.last().unwrap().log.header();
        assert_eq!((last.uid, last.arguments[1].as_str()), (65534, host));
    }
    for directory in [recording.data().join("hosts"), recording.data().join("hosts/other")] {
        let mode = fs::metadata(directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o1777, "none may remove another's");
    }
}

#[test]
fn a_program_whose_user_may_not_write_to_the_directory_is_told_of() {
    let script = "import os, subprocess, sys\n\
                  subprocess.run([sys.argv[1]], user=65534)\n\
                  if os.fork() == 0: os.setuid(65534); os.execv(sys.argv[1], ['says'])\n\
                  os.wait()";
    let recording = Recording::new();
    fs::set_permissions(recording.file(""), fs::Permissions::from_mode(0o755)).unwrap();
    let says = recording.compile("says");
    successful(&mut recording.command(&says));
    fs::set_permissions(recording.data().join("hosts/host"), fs::Permissions::from_mode(0o755))
        .unwrap();
    successful(recording.command(python()).args(["-c", script]).arg(&says));
    let info =
        successful(Command::new(end_to_end::sockcap()).arg("info").arg("-d").arg(recording.data()));
    let unseen =
        format!("  {} (its user may not write to the data directory): pid ", says.display());
    assert_eq!(info.matches(&unseen).count(), 2, "by vfork and by fork: {info}");
}
