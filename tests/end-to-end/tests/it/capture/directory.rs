//! A data directory that changes while a program runs: removed, or made unwritable.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use socket_log::LogRecord;
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

fn moved_bytes(log: &ReadLog) -> u64 {
    log.entries.iter().filter(|entry| matches!(entry.record, LogRecord::Transfer { .. })).count()
        as u64
}

#[test]
fn a_child_has_a_log_after_the_directory_vanished() {
    let recording = TestRecording::new();
    let remove = format!("shutil.rmtree({:?})", recording.data_dir());
    let printed =
        run_successfully(recording.recorded_command(python_path()).args(["-c", SCRIPT, &remove]));
    let child: u32 = printed.trim().strip_prefix("unharmed ").unwrap().parse().unwrap();
    let log = recording.only_log();
    assert_eq!(log.log.header().pid, child, "the directory is made again for it");
    assert_eq!(moved_bytes(&log), 40_000);
    log.complete_records().count();
}

#[test]
fn losses_by_an_unwritable_directory_are_shown() {
    let recording = TestRecording::new();
    // Root may write anywhere.
    fs::create_dir_all(recording.data_dir()).unwrap();
    for path in [recording.file_path(""), recording.data_dir()] {
        chown(path, Some(65534), None).unwrap();
    }
    let close = format!("os.chmod({:?}, 0)", recording.data_dir().join("hosts/host"));
    let mut command = recording.recorded_command(python_path());
    let printed = run_successfully(command.uid(65534).args(["-c", SCRIPT, &close]));
    assert!(printed.starts_with("unharmed "));
    let log = recording.only_log();
    let count = log.log.header().lost;
    assert_eq!(count.iter().sum::<u64>(), count[lost::REFUSED], "for this cause alone");
    // The record of a fork may be lost, too, and python may close sockets at its end.
    let all = moved_bytes(&log) + count[lost::REFUSED];
    assert!(count[lost::REFUSED] > 10_000 && (42_000..42_005).contains(&all), "{all}: {count:?}");
    let info = run_successfully(
        Command::new(end_to_end::sockcap_program())
            .args(["info", "--all-users", "-d"])
            .arg(recording.data_dir()),
    );
    assert!(
        info.contains(&format!("lost {} records: system call refused", count[lost::REFUSED])),
        "{info}"
    );
    assert!(
        info.contains("processes that used sockets and found no room for a log: 1\n"),
        "the child: {info}"
    );
}

/// Mode of a file or directory.
fn mode_of(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn processes_of_several_users_share_a_host_s_directory_and_no_other() {
    let recording = TestRecording::new();
    fs::set_permissions(recording.file_path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let echo = recording.compile_program("echo_arguments");
    // The first process, with rights, makes the directories.
    run_successfully(recording.recorded_command(&echo).arg("first"));
    let hosts = recording.data_dir().join("hosts");
    assert_eq!((mode_of(&hosts), mode_of(hosts.join("host"))), (0o755, 0o1733));
    run_successfully(recording.recorded_command(&echo).uid(65534).arg("second"));
    let logs = recording.read_logs();
    let last = logs.last().unwrap().log.header();
    assert_eq!((last.uid, last.arguments[1].as_str()), (65534, "second"));
    // The second process can neither list nor remove the files of others there, and it cannot make
    // another directory.
    let spoil = format!(
        "ls {hosts}/host; rm -f {hosts}/host/*.sclog {}; mkdir {hosts}/fake; mv {hosts}/host \
         {hosts}/new; true",
        logs[0].path.display(),
        hosts = hosts.display()
    );
    run_successfully(Command::new("sh").args(["-c", &spoil]).uid(65534));
    assert_eq!((recording.read_logs().len(), fs::read_dir(&hosts).unwrap().count()), (2, 1));
    // A program with another host name is unharmed, and is not recorded.
    run_successfully(
        recording.recorded_command(&echo).env("SOCKCAP_HOST", "other").uid(65534).arg("third"),
    );
    assert_eq!(fs::read_dir(&hosts).unwrap().count(), 1);
}

#[test]
fn a_process_that_gives_up_its_rights_makes_the_directory_of_its_host_first() {
    let recording = TestRecording::new();
    fs::set_permissions(recording.file_path(""), fs::Permissions::from_mode(0o755)).unwrap();
    // The log is begun after the rights are dropped.
    recording.run_python("import os, socket; os.setgid(65534); os.setuid(65534); socket.socket()");
    let log = recording.only_log();
    assert_eq!((log.log.header().uid, mode_of(&log.path)), (65534, 0o640));
}

#[test]
fn permissions_are_minimal_whatever_the_umask() {
    let script =
        "import os, socket; os.umask(0); os.fork(); a, b = socket.socketpair(); a.send(b'x')";
    for (user, protocols, of_file, of_folder) in [
        (0, "0", 0o640, 0o1733),
        (0, "1", 0o600, 0o1733),
        (65534, "0", 0o640, 0o750),
        (65534, "redis", 0o600, 0o750),
    ] {
        let recording = TestRecording::new();
        chown(recording.file_path(""), Some(user), None).unwrap();
        let mut command = recording.recorded_command(python_path());
        command.args(["-c", script]).env("SOCKCAP_PROTOCOLS", protocols).uid(user).gid(user);
        // The directories are made under the earlier umask.
        run_successfully(command.env("SOCKCAP_DIR", recording.data_dir()));
        let logs = recording.read_logs();
        assert_eq!(logs.len(), 2);
        for log in &logs {
            let owner = fs::metadata(&log.path).unwrap().uid();
            assert_eq!((mode_of(&log.path), owner), (of_file, user), "{user} {protocols}");
        }
        let hosts = recording.data_dir().join("hosts");
        assert_eq!((mode_of(&hosts), mode_of(hosts.join("host"))), (0o755, of_folder), "{user}");
    }
}

/// Replaces the log by something else, and sends more than fits into the log as it is.
const REPLACED: &str = r#"
import glob, os, shutil, socket, sys
a, b = socket.socketpair()
def move(times):
    for _ in range(times): a.send(b"x"); b.recv(1)
move(1000)
[log] = glob.glob(os.environ["SOCKCAP_DIR"] + f"/hosts/host/{os.getpid()}-*.sclog")
os.rename(log, log + ".old")
how, victim = sys.argv[1:]
if how == "file": os.rename(victim, log); os.symlink(log, victim)
if how == "hard link": os.link(victim, log)
if how == "link": os.symlink(victim, log)
if how == "fifo": os.mkfifo(log)
if how == "directory": os.mkdir(log)
move(50000)
if os.fork(): os.wait()
print("unharmed", flush=True)
"#;

#[test]
fn files_in_place_of_a_log_are_neither_written_nor_waited_for() {
    for how in ["file", "hard link", "link", "fifo", "directory"] {
        let recording = TestRecording::new();
        let victim = recording.file_path("victim");
        fs::write(&victim, "precious").unwrap();
        let mut command = recording.recorded_command(python_path());
        let printed = run_successfully(command.args(["-c", REPLACED, how]).arg(&victim));
        assert_eq!(printed, "unharmed\nunharmed\n", "{how}");
        assert!(fs::read(&victim).unwrap() == b"precious", "{how}");
        // The logs of the fork are the one that was moved away, and the child's.
        let files = fs::read_dir(recording.data_dir().join("hosts/host")).unwrap();
        let old = files.flatten().map(|file| file.path());
        let old = old.filter(|path| path.extension().is_some_and(|of| of == "old"));
        let old = ReadLog::open(&old.into_iter().next().unwrap());
        let count = old.log.header().lost;
        assert_eq!(count.iter().sum::<u64>(), count[lost::REFUSED], "{how}");
        assert!(count[lost::REFUSED] > 50_000, "{how}: {count:?}");
    }
}

#[test]
fn no_log_is_made_through_a_link() {
    for place in ["hosts", "hosts/host"] {
        let recording = TestRecording::new();
        let elsewhere = recording.file_path("elsewhere");
        fs::create_dir_all(elsewhere.join("host")).unwrap();
        fs::create_dir_all(recording.data_dir().join(place).parent().unwrap()).unwrap();
        symlink(&elsewhere, recording.data_dir().join(place)).unwrap();
        recording.run_python("import socket; socket.socket()");
        let found = fs::read_dir(&elsewhere).unwrap().flatten().map(|entry| entry.file_name());
        assert_eq!(found.collect::<Vec<_>>(), ["host"], "{place}");
        assert_eq!(fs::read_dir(elsewhere.join("host")).unwrap().count(), 0, "{place}");
    }
}

#[test]
fn a_program_whose_user_cannot_write_to_the_directory_is_reported() {
    let script = "import os, subprocess, sys\n\
                  subprocess.run([sys.argv[1]], user=65534)\n\
                  if os.fork() == 0: os.setuid(65534); os.execv(sys.argv[1], ['echo'])\n\
                  os.wait()";
    let recording = TestRecording::new();
    fs::set_permissions(recording.file_path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let echo = recording.compile_program("echo_arguments");
    run_successfully(&mut recording.recorded_command(&echo));
    fs::set_permissions(recording.data_dir().join("hosts/host"), fs::Permissions::from_mode(0o755))
        .unwrap();
    run_successfully(recording.recorded_command(python_path()).args(["-c", script]).arg(&echo));
    let info = run_successfully(
        Command::new(end_to_end::sockcap_program()).arg("info").arg("-d").arg(recording.data_dir()),
    );
    let unseen =
        format!("  {} (its user may not write to the data directory): pid ", echo.display());
    assert_eq!(info.matches(&unseen).count(), 2, "by vfork and by fork: {info}");
}
