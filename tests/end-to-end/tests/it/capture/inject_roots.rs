//! Static programs in another root directory that contains nothing else: no path leads from there
//! to the recorder or to the data directory, and nothing is mounted for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, program_path, run_successfully};
use end_to_end::command::to_text;
use end_to_end::{repository, sockcap_program};
use socket_log::encode::Direction;

use super::inject::{bytes_in_direction, logs_of_program, record_injected};

/// Number of requests.
const REQUESTS: usize = 5;

/// A root directory with one static program, `/rooted`.
fn root(recording: &TestRecording) -> PathBuf {
    let root = recording.file_path("root");
    fs::create_dir_all(&root).unwrap();
    let source = repository().join("tests/programs/rooted.c");
    let mut compiler = Command::new(program_path("cc"));
    compiler.args(["-static", "-O1", "-Wall", "-Werror", "-o"]).arg(root.join("rooted"));
    run_successfully(compiler.arg(source));
    root
}

/// Asserts that each request and each response is recorded at both ends: the client's in one log,
/// and the server's in the log of a child for each.
#[track_caller]
fn assert_whole(logs: &[ReadLog]) {
    let moved = |log: &&ReadLog| {
        (bytes_in_direction(log, Direction::Send), bytes_in_direction(log, Direction::Receive))
    };
    let rooted = logs_of_program(logs, "rooted");
    let sums: Vec<(u64, u64)> = rooted.iter().map(moved).collect();
    let of_client = (5 * REQUESTS as u64, 7 * REQUESTS as u64);
    assert_eq!(sums.iter().filter(|sum| **sum == of_client).count(), 1, "{sums:?}");
    assert_eq!(sums.iter().filter(|sum| **sum == (7, 5)).count(), REQUESTS, "{sums:?}");
    for log in rooted {
        assert_eq!(log.log.header().lost_records(), 0);
    }
}

#[track_caller]
fn assert_whole_in_root(command: impl FnOnce(&Path) -> String) {
    let recording = TestRecording::new();
    let root = root(&recording);
    let script = command(&root);
    let printed = record_injected(&recording, &["sh", "-c", &script]);
    assert_eq!(printed, "unharmed\n");
    assert_whole(&recording.read_logs());
    let left: Vec<_> = fs::read_dir(&root).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left.iter().filter(|name| *name == "hosts" || *name == "sockcap.data").count(), 0);
}

/// The command line of the pair in the root.
fn pair() -> String {
    format!("/rooted pair {REQUESTS}")
}

#[test]
fn a_static_pair_in_a_chroot_is_recorded_at_both_ends() {
    assert_whole_in_root(|root| format!("exec chroot {} {}", root.display(), pair()));
}

/// The program that changes the root is static, too.
#[test]
fn a_static_pair_in_the_chroot_of_a_static_program_is_recorded_at_both_ends() {
    let busybox = program_path("busybox");
    assert_whole_in_root(|root| {
        format!("exec {} chroot {} {}", busybox.display(), root.display(), pair())
    });
}

/// In network and PID namespaces of its own.
#[test]
fn a_static_pair_in_namespaces_of_its_own_is_recorded_at_both_ends() {
    assert_whole_in_root(|root| {
        let root = root.display();
        format!(
            "exec unshare --mount --pid --net --ipc --uts --fork sh -c 'ip link set lo up
                exec chroot {root} {}'",
            pair(),
        )
    });
}

/// By `pivot_root`, with the old root unmounted, and a user of its own.
#[test]
fn a_static_pair_in_a_sandbox_is_recorded_at_both_ends() {
    let bwrap = program_path("bwrap");
    assert_whole_in_root(|root| {
        let (bwrap, root) = (bwrap.display(), root.display());
        format!("exec {bwrap} --unshare-all --unshare-user --clearenv --bind {root} / {}", pair())
    });
}

/// A container with the root, configured as `spec` writes it, except for control groups and their
/// limits.
fn bundle(root: &Path, runtime: &Path, words: &str, filter: Option<&str>) -> PathBuf {
    let bundle = root.parent().unwrap().join("bundle");
    fs::create_dir_all(&bundle).unwrap();
    run_successfully(Command::new(runtime).arg("spec").current_dir(&bundle));
    let file = bundle.join("config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    config["process"]["terminal"] = false.into();
    config["process"]["args"] = words.split(' ').collect::<Vec<_>>().into();
    config["process"]["env"] = serde_json::json!(["PATH=/"]);
    config["root"] = serde_json::json!({ "path": root, "readonly": false });
    // Not every machine permits these.
    let is_of_groups = |kind: &serde_json::Value| kind == "cgroup";
    for list in [&["linux", "namespaces"][..], &["mounts"]] {
        let list = list.iter().fold(&mut config, |at, name| &mut at[*name]);
        list.as_array_mut().unwrap().retain(|one| !is_of_groups(&one["type"]));
    }
    config["linux"].as_object_mut().unwrap().remove("resources");
    if let Some(forbidden) = filter {
        config["linux"]["seccomp"] = serde_json::json!({
            "defaultAction": "SCMP_ACT_ALLOW",
            "syscalls": [{ "names": [forbidden], "action": "SCMP_ACT_KILL" }],
        });
    }
    fs::write(&file, config.to_string()).unwrap();
    bundle
}

/// Command that runs a container, with control groups as crun needs them.
fn run(bundle: &Path, runtime: &Path) -> String {
    let name = format!("sockcap-{}", bundle.parent().unwrap().file_name().unwrap().display());
    format!(
        "cd {} && exec unshare --mount sh -c '
            while umount -l /sys/fs/cgroup 2>/dev/null; do :; done
            mount -t cgroup2 none /sys/fs/cgroup && exec {} run {}'",
        bundle.display(),
        runtime.display(),
        name.replace('.', ""),
    )
}

/// In a container, with the environment and the rights of its configuration.
#[test]
fn a_static_pair_in_a_container_is_recorded_at_both_ends() {
    let crun = program_path("crun");
    assert_whole_in_root(|root| run(&bundle(root, &crun, &pair(), None), &crun));
}

/// A program in a container that forbids calls of the library is left alone, and named.
#[test]
fn a_static_pair_under_a_seccomp_filter_is_unharmed_and_named() {
    let (recording, crun) = (TestRecording::new(), program_path("crun"));
    let root = root(&recording);
    let script = run(&bundle(&root, &crun, &pair(), Some("socketpair")), &crun);
    fs::create_dir_all(recording.data_dir()).unwrap();
    let mut command = Command::new(sockcap_program());
    command.args(["record", "--inject", "--host", "host", "-d"]).arg(recording.data_dir());
    let output = command.args(["--", "sh", "-c", &script]).output().unwrap();
    assert_eq!(to_text(&output.stdout), "unharmed\n", "{output:?}");
    assert!(output.status.success(), "{output:?}");
    let said = to_text(&output.stderr);
    assert!(said.contains("not recorded: rooted: a seccomp filter forbids it"), "{said}");
}

/// The directory of the logs leads to no other file of the host.
#[test]
fn descriptors_passed_into_another_root_do_not_lead_out() {
    let recording = TestRecording::new();
    let root = root(&recording);
    let script = format!("exec chroot {} /rooted above", root.display());
    let printed = record_injected(&recording, &["sh", "-c", &script]);
    assert_eq!(printed, "1 directories\n");
}

/// Programs of a user without access to the recorder's socket.
#[test]
fn a_static_pair_of_another_user_is_recorded_at_both_ends() {
    assert_whole_in_root(|root| {
        let folder = root.parent().unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        format!("exec setpriv --reuid 65534 --clear-groups {}{}", root.display(), pair())
    });
}

/// A stopped recorder cannot put a library anywhere: programs continue, and are named.
#[test]
fn programs_started_while_the_recorder_is_stopped_are_named() {
    let recording = TestRecording::new();
    let root = root(&recording);
    fs::create_dir_all(recording.data_dir()).unwrap();
    let script = format!(
        "kill -STOP $PPID; chroot {0} {1}; {0}{1}; kill -CONT $PPID",
        root.display(),
        pair(),
    );
    let mut command = Command::new(sockcap_program());
    command.args(["record", "--inject", "--host", "host", "-d"]).arg(recording.data_dir());
    let output = command.args(["--", "sh", "-c", &script]).output().unwrap();
    assert_eq!(to_text(&output.stdout), "unharmed\nunharmed\n", "{output:?}");
    let words = "rooted: loads no library, and --inject did not inject one";
    assert!(to_text(&output.stderr).contains(words), "{output:?}");
    let info = run_successfully(
        Command::new(sockcap_program()).arg("info").arg("-d").arg(recording.data_dir()),
    );
    assert!(info.contains("and that are not recorded: 2"), "{info}");
}

/// Records a program in a sandbox, by a recorder without any rights except those of a user of its
/// own.
fn record_without_rights(recording: &TestRecording, words: &str) -> String {
    let root = root(recording);
    let folder = recording.data_dir().parent().unwrap().to_owned();
    for path in [&folder, &root] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    let mut command = Command::new(program_path("setpriv"));
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(sockcap_program());
    command
        .args(["record", "--inject", "--host", "host", "-d"])
        .arg(recording.data_dir())
        .arg("--");
    command.arg(program_path("bwrap")).args(["--unshare-all", "--bind"]).arg(&root).arg("/");
    command.args(words.split(' ')).current_dir(&folder).env("HOME", &folder);
    for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env_remove(variable);
    }
    let output = command.env("TMPDIR", &folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!to_text(&output.stderr).contains("warning"), "{}", to_text(&output.stderr));
    to_text(&output.stdout)
}

#[test]
fn a_static_pair_in_a_sandbox_of_a_user_without_rights_is_recorded_at_both_ends() {
    let recording = TestRecording::new();
    assert_eq!(record_without_rights(&recording, &pair()), "unharmed\n");
    assert_whole(&recording.read_logs());
}

/// Descriptors that are passed do not lead out either if the recorder may make no mount.
#[test]
fn descriptors_passed_by_a_recorder_without_rights_do_not_lead_out() {
    let recording = TestRecording::new();
    assert_eq!(record_without_rights(&recording, "/rooted above"), "1 directories\n");
}
