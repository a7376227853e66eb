//! Static programs with privileges of their file (setuid, capabilities) below `sockcap record
//! --inject`: a user's programs get them as without sockcap, are not recorded, and are named with
//! advice. Programs of root gain nothing by them, and are recorded.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{TestRecording, program_path, run_successfully};
use end_to_end::command::to_text;
use end_to_end::{repository, sockcap_program};
use rustix::fs::{XattrFlags, setxattr};
use socket_log::encode::Direction;

use super::inject::{bytes_in_direction, logs_of_program};

/// A user without rights.
const USER: u32 = 65534;

/// Status of the program that prints its privileges.
const STATUS: i32 = 5;

/// Privileges that a file gives.
#[derive(Clone, Copy, Debug)]
enum Gained {
    SetUser,
    Capability,
}

/// Compiles a static program of the folder.
fn compile_static(recording: &TestRecording, name: &str) -> PathBuf {
    let binary = recording.file_path(name);
    let mut compiler = Command::new(program_path("gcc"));
    compiler.args(["-O1", "-static", "-pthread", "-Wall", "-o"]).arg(&binary);
    run_successfully(compiler.arg(repository().join(format!("tests/programs/{name}.c"))));
    binary
}

/// Compiles the program that prints its privileges, and gives its file some.
fn compile_privileged(recording: &TestRecording, gained: Gained) -> PathBuf {
    let binary = compile_static(recording, "privileged");
    let mode = match gained {
        Gained::SetUser => 0o4755,
        Gained::Capability => 0o755,
    };
    fs::set_permissions(&binary, fs::Permissions::from_mode(mode)).unwrap();
    if let Gained::Capability = gained {
        // The kernel's structure, version 2, effective: CAP_NET_BIND_SERVICE is permitted.
        let mut value = [0; 20];
        value[..8].copy_from_slice(&[1, 0, 0, 2, 0, 4, 0, 0]);
        setxattr(binary.as_path(), "security.capability", &value, XattrFlags::empty())
            .unwrap_or_else(|error| panic!("this test must run as root: {error}"));
    }
    binary
}

/// A command of the user without rights, in a folder of that user.
fn user_command(folder: &Path) -> Command {
    let mut command = Command::new(program_path("setpriv"));
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).current_dir(folder);
    for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env_remove(variable);
    }
    command.env("HOME", folder).env("TMPDIR", folder);
    command
}

/// Runs a command with the program that prints its privileges in it, which must end with that
/// program's status, and returns its output and its messages.
#[track_caller]
fn run_privileged(command: &mut Command) -> [String; 2] {
    let output = command.output().unwrap();
    let [printed, said] = [&output.stdout, &output.stderr].map(|bytes| to_text(bytes));
    assert_eq!(output.status.code(), Some(STATUS), "{printed}{said}");
    [printed, said]
}

/// Arguments of a recording.
fn record_arguments<'words>(data: &'words Path, words: &[&'words str]) -> Vec<&'words str> {
    let data = data.to_str().unwrap();
    [&["record", "--inject", "--host", "host", "-d", data, "--"][..], words].concat()
}

/// Records the program as the user without rights: by itself, started by a shell that loads the
/// library, and in place of a static program, into which the library is injected.
fn check_user(gained: Gained, expected: &str, advice: &str) {
    let recording = TestRecording::new();
    let binary = compile_privileged(&recording, gained);
    let before = compile_static(&recording, "static_pair");
    let folder = recording.file_path("");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    chown(&folder, Some(USER), Some(USER)).unwrap();
    let [alone, _] = run_privileged(user_command(&folder).arg(&binary));
    assert!(alone.contains(expected), "{gained:?}: {alone}");
    let record = |data: &Path, words: &[&str]| {
        let mut command = user_command(&folder);
        command.arg(sockcap_program()).args(record_arguments(data, words));
        run_privileged(&mut command)
    };

    let path = binary.to_str().unwrap();
    let [printed, said] = record(&folder.join("itself"), &[path]);
    assert_eq!(printed, alone, "{gained:?}: {said}");
    let named = format!("sockcap: warning: {path}: a ");
    assert!(said.contains(&named) && said.contains(advice), "{gained:?}: {said}");

    let by_shell = ["sh", "-c", "\"$0\"; exit $?", path];
    let replacing = [before.to_str().unwrap(), path];
    for (data, words, first) in
        [("by_shell", &by_shell[..], ""), ("replacing", &replacing[..], "unharmed\n")]
    {
        let data = folder.join(data);
        let [printed, said] = record(&data, words);
        assert_eq!(printed, format!("{first}{alone}"), "{gained:?}: {words:?}: {said}");
        let reason = "not recorded: privileged: has the rights of another user or capabilities; ";
        for part in [reason, "run the command as root under strace", "import strace --help"] {
            assert!(said.contains(part), "{gained:?}: {words:?}: {part}: {said}");
        }
        // The recorder is not asked to trace it.
        assert!(!said.contains("warning"), "{gained:?}: {words:?}: {said}");
        let mut info = user_command(&folder);
        let info = run_successfully(info.arg(sockcap_program()).args(["info", "-d"]).arg(&data));
        assert!(info.contains("and that are not recorded: 1\n"), "{gained:?}: {words:?}: {info}");
    }
}

#[test]
fn a_static_setuid_program_of_a_user_has_its_privileges_and_is_named() {
    check_user(
        Gained::SetUser,
        "Uid:\t65534\t0\t0\t0\n",
        "a setuid or setgid program, for which the system loads no library, so it is not \
         recorded; run sockcap as that user or group",
    );
}

#[test]
fn a_static_program_of_a_user_with_capabilities_of_its_file_has_them_and_is_named() {
    check_user(
        Gained::Capability,
        "CapEff:\t0000000000000400\n",
        "a program with file capabilities, for which the system loads no library, so it is not \
         recorded; run sockcap as root",
    );
}

/// Root has the privileges already, so that the kernel takes none from a traced program.
#[test]
fn static_programs_of_root_with_privileges_of_their_files_are_recorded() {
    for gained in [Gained::SetUser, Gained::Capability] {
        let recording = TestRecording::new();
        let binary = compile_privileged(&recording, gained);
        let path = binary.to_str().unwrap();
        let [alone, _] = run_privileged(&mut Command::new(&binary));
        assert!(alone.contains("Uid:\t0\t0\t0\t0\n"), "this test must run as root: {alone}");
        let data = recording.data_dir();
        let by_shell = ["sh", "-c", "\"$0\"; exit $?", path];
        for (place, words) in [&[path][..], &by_shell].into_iter().enumerate() {
            let mut command = Command::new(sockcap_program());
            let [printed, said] = run_privileged(command.args(record_arguments(&data, words)));
            assert_eq!(printed, alone, "{gained:?}: {words:?}: {said}");
            assert!(!said.contains("warning"), "{gained:?}: {words:?}: {said}");
            assert!(!said.contains("not recorded"), "{gained:?}: {words:?}: {said}");
            let logs = recording.read_logs();
            let logs = logs_of_program(&logs, "privileged");
            assert_eq!(logs.len(), place + 1, "{gained:?}: {words:?}");
            for log in logs {
                for direction in [Direction::Send, Direction::Receive] {
                    assert_eq!(bytes_in_direction(log, direction), 500);
                }
            }
        }
    }
}
