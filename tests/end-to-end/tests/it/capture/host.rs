//! The host program is not affected: it behaves the same with the library as without, in every
//! situation.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use end_to_end::capture::{
    ReadLog, TestRecording, preloaded_library, program_path, python_path, run_successfully,
};
use socket_log::LogRecord;
use socket_log::layout::{lost, unseen};

/// Runs a C program without the library and then with it; it must succeed and print the same.
fn run_unharmed(recording: &TestRecording, name: &str, arguments: &[&str]) -> String {
    let program = recording.compile_program(name);
    let plain = run_successfully(Command::new(&program).args(arguments));
    let printed = run_successfully(recording.recorded_command(&program).args(arguments));
    assert_eq!(printed, plain, "{name} {arguments:?}");
    printed
}

#[test]
fn children_are_created_with_little_stack() {
    for place in ["thread", "handler"] {
        for way in ["fork", "fork-exec", "fork-exec-empty", "spawn", "spawn-empty", "vfork-empty"] {
            let recording = TestRecording::new();
            assert_eq!(run_unharmed(&recording, "small_stack", &[place, way]), "unharmed\n");
            // A child that does not execute a program uses a socket.
            assert_eq!(recording.read_logs().len(), usize::from(way == "fork"), "{place} {way}");
        }
    }
}

/// The preload list in a child of a child, and whether it is recorded.
const ELSEWHERE: &str = "import os, subprocess\n\
    os.chdir('/')\n\
    show = ['/usr/bin/python3', '-c', 'import os, socket; socket.socket(); print(os.environ[\"LD_PRELOAD\"])']\n\
    for way in (None, {}, {'LD_PRELOAD': './lib/libsockcap.so'}, {'LD_PRELOAD': 'libm.so.6 ./lib/libsockcap.so'}):\n    \
        print(subprocess.run(show, env=way, capture_output=True, text=True, check=True).stdout, end='')";

#[test]
fn a_library_named_by_a_relative_path_is_found_by_children_elsewhere() {
    let recording = TestRecording::new();
    fs::create_dir(recording.file_path("lib")).unwrap();
    symlink(preloaded_library(), recording.file_path("lib/libsockcap.so")).unwrap();
    let mut command = recording.recorded_command(python_path());
    let printed =
        run_successfully(command.env("LD_PRELOAD", "./lib/libsockcap.so").args(["-c", ELSEWHERE]));
    let own = fs::canonicalize(recording.file_path(""))
        .unwrap()
        .join("./lib/libsockcap.so")
        .display()
        .to_string();
    assert_eq!(printed, format!("{own}\n{own}\n{own}\nlibm.so.6:{own}\n"));
    assert_eq!(recording.read_logs().len(), 4);
}

#[test]
fn a_directory_that_is_relative_to_nowhere_is_not_used() {
    let recording = TestRecording::new();
    fs::create_dir(recording.file_path("gone")).unwrap();
    // Only absolute paths work, since there is no working directory.
    let script = "cd gone && rmdir ../gone && for dir in '' logs; do \
                  LD_PRELOAD=\"$1\" SOCKCAP_DIR=$dir SOCKCAP_HOST=h /bin/sh -c '/bin/echo \"$SOCKCAP_DIR\"'; done";
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script, "sh"])
        .arg(preloaded_library())
        .current_dir(recording.file_path(""));
    assert_eq!(run_successfully(&mut command), "\nlogs\n");
    assert!(!Path::new("/sockcap.data").exists() && !Path::new("/logs").exists());
}

#[test]
fn wrong_pointers_are_errors_and_not_crashes() {
    let recording = TestRecording::new();
    let printed = run_unharmed(&recording, "wrong_pointers", &[]);
    assert!(printed.matches("Bad address").count() > 40, "{printed}");
    let log = recording.only_log();
    let errors = log
        .complete_records()
        .filter(|record| matches!(record, LogRecord::Failure { errno: 14, .. }))
        .count();
    assert!(errors > 40, "and are logged: {errors}");
}

#[test]
fn wrong_pointers_to_libc_have_the_same_effect_as_without_the_library() {
    let recording = TestRecording::new();
    let printed = run_unharmed(&recording, "wrong_files", &[]);
    assert!(printed.matches("Bad address").count() >= 10, "{printed}");
    assert!(printed.matches("ended by Segmentation fault").count() >= 10, "{printed}");
    // Each child had logged its activity before.
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 1 + printed.lines().count() + 1, "the last says that there are no more");
    for log in &logs[1..] {
        assert_eq!((log.damage.as_slice(), count_transfers(log, 6)), (&[][..], 1), "{printed}");
    }
}

/// Number of transfers of `wanted` bytes in a log.
fn count_transfers(log: &ReadLog, wanted: u64) -> u64 {
    let is_wanted = |record: &LogRecord| matches!(record, LogRecord::Transfer { bytes, .. } if *bytes == wanted);
    log.entries.iter().filter(|entry| is_wanted(&entry.record)).count() as u64
}

#[test]
fn a_log_grows_again_when_there_are_descriptors_again() {
    let recording = TestRecording::new();
    assert_eq!(run_unharmed(&recording, "no_descriptors", &[]), "unharmed\n");
    let log = recording.only_log();
    assert_eq!(log.damage, []);
    let lost = log.log.header().lost;
    assert_eq!(lost.iter().sum::<u64>(), lost[lost::SHORTAGE], "for this cause alone");
    assert!(lost[lost::SHORTAGE] > 10_000, "{lost:?}");
    let (without, with) = (count_transfers(&log, 1), count_transfers(&log, 2));
    assert!(with > 40_000 - 2000, "{with}: a pause is not for ever");
    // Each record is in the log or counted, including records of descriptors: 60 or so were
    // duplicated and closed.
    let total = without + with + lost[lost::SHORTAGE];
    assert!((80_000..80_200).contains(&total), "{without} + {with} + {lost:?}");
}

#[test]
fn a_log_begins_when_there_are_descriptors_again() {
    let recording = TestRecording::new();
    assert_eq!(run_unharmed(&recording, "late_log", &[]), "unharmed\n");
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 2, "the parent, and the child after all");
    let log = &logs[1];
    assert_eq!(log.damage, []);
    let lost = log.log.header().lost;
    assert_eq!(lost.iter().sum::<u64>(), lost[lost::SHORTAGE], "for this cause alone");
    let (without, with) = (count_transfers(log, 1), count_transfers(log, 2));
    assert_eq!(without, 0, "there was no log");
    assert!(with > 20_000 - 2000, "{with}: a pause is not for ever");
    // Each record is in the log or counted, including records between the return of descriptors and
    // the next attempt.
    let total = with + lost[lost::SHORTAGE];
    assert!((40_000..40_200).contains(&total), "{with} + {lost:?}");
}

#[test]
fn a_program_continues_if_no_file_can_be_made() {
    let recording = TestRecording::new();
    let program = recording.compile_program("interrupted");
    let plain = run_successfully(&mut Command::new(&program));
    // As if the whole system had no files left, but only for calls that make one.
    let mut command = recording.recorded_command(recording.compile_program("enfile"));
    assert_eq!(run_successfully(command.arg(&program)), plain);
    // The program before it used no socket, and records that this one is not recorded.
    let log = recording.only_log();
    assert_eq!(log.unseen_programs(), [(unseen::FILTER, program.to_str().unwrap())]);
}

#[test]
fn a_log_grows_in_parts_if_everything_else_is_interrupted() {
    let recording = TestRecording::new();
    let program = recording.compile_program("interrupted");
    let mut command = recording.recorded_command(recording.compile_program("eintr"));
    assert_eq!(run_successfully(command.arg(program)), "unharmed\n");
    let log = recording.only_log();
    assert_eq!(log.log.header().lost, [0; 8]);
    assert_eq!(count_transfers(&log, 1), 800_000);
}

#[test]
fn signals_do_not_keep_a_log_from_growing() {
    let recording = TestRecording::new();
    assert_eq!(run_unharmed(&recording, "interrupted", &[]), "unharmed\n");
    let log = recording.only_log();
    let lost = log.log.header().lost;
    assert_eq!(lost.iter().sum::<u64>(), lost[lost::BUSY], "for this cause alone");
    let total = count_transfers(&log, 1) + lost[lost::BUSY];
    assert!((800_000..800_010).contains(&total), "with the few that are no transfers: {total}");
    assert!(count_transfers(&log, 1) > 790_000, "{lost:?}");
}

/// Becomes another user without access to the data directory, and sends much.
const GIVE_UP: &str = r#"
import os, socket
a, b = socket.socketpair()
if os.geteuid() == 0:
    os.chmod(os.environ["SOCKCAP_DIR"], 0o700); os.setgid(65534); os.setuid(65534)
for n in range(50000): a.send(b"x"); b.recv(1)
"#;

#[test]
fn a_user_who_cannot_reopen_the_log_continues_logging() {
    let recording = TestRecording::new();
    recording.run_python(GIVE_UP);
    assert_eq!(count_transfers(&recording.only_log(), 1), 100_000);
    assert_eq!(
        recording.only_log().complete_records().count(),
        recording.only_log().entries.len(),
        "none lost"
    );
}

/// Replaces its own log by a link to the file VICTIM, and becomes another user.
const LINK: &str = r#"
import glob, os, socket
socket.socket()
[log] = glob.glob(os.environ["SOCKCAP_DIR"] + f"/hosts/host/{os.getpid()}-*.sclog")
os.unlink(log); os.symlink(os.environ["VICTIM"], log)
if os.geteuid() == 0: os.setuid(65534)
"#;

#[test]
fn a_link_in_place_of_a_log_is_not_followed() {
    let recording = TestRecording::new();
    let victim = recording.file_path("victim");
    fs::write(&victim, "precious").unwrap();
    let owner = fs::metadata(&victim).unwrap().uid();
    run_successfully(
        recording.recorded_command(python_path()).env("VICTIM", &victim).args(["-c", LINK]),
    );
    assert_eq!(fs::metadata(&victim).unwrap().uid(), owner);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn hooks_use_little_stack() {
    let code = run_successfully(
        Command::new(program_path("objdump"))
            .args(["-d", "-C", "--no-show-raw-insn"])
            .arg(preloaded_library()),
    );
    let mut function = "";
    let mut frames = 0;
    for line in code.lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            function = name.1;
        }
        let Some(bytes) = line.split_once("sub ").and_then(|(_, to)| to.trim().strip_prefix("$0x"))
        else {
            continue;
        };
        let Some(bytes) = bytes.strip_suffix(",%rsp") else { continue };
        let bytes = u64::from_str_radix(bytes, 16).unwrap();
        frames += 1;
        // The first three run before the program does, the fourth is for a log that keeps only the
        // newest records.
        let large = ["load::constructor", "::follow_", "::find_program", "recycle::take"];
        let may_be_large = large.iter().any(|name| function.contains(name));
        assert!(bytes <= 1024 || may_be_large, "{function} uses {bytes} bytes");
    }
    assert!(frames > 50, "{frames}");
}
