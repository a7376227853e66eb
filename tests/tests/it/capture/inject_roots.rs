//! Static programs behind another root directory that has nothing but them: no path leads from
//! there to the recorder or to the data directory, and nothing is mounted for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{Recorded, Recording, program, successful};
use end_to_end::command::text;
use end_to_end::{repository, sockcap};
use socket_log::encode::Direction;

use super::inject::{bytes, of, record};

/// Number of requests.
const REQUESTS: usize = 5;

/// A root directory with one static program, `/rooted`.
fn root(recording: &Recording) -> PathBuf {
    let root = recording.file("root");
    fs::create_dir_all(&root).unwrap();
    let source = repository().join("tests/programs/rooted.c");
    let mut compiler = Command::new(program("cc"));
    compiler.args(["-static", "-O1", "-Wall", "-Werror", "-o"]).arg(root.join("rooted"));
    successful(compiler.arg(source));
    root
}

/// Whether each request and each answer is there at both ends: the client's in one log, and those
/// of the server in one of a child for each.
#[track_caller]
fn assert_whole(logs: &[Recorded]) {
    let moved = |log: &&Recorded| (bytes(log, Direction::Send), bytes(log, Direction::Receive));
    let rooted = of(logs, "rooted");
    let sums: Vec<(u64, u64)> = rooted.iter().map(moved).collect();
    let of_client = (5 * REQUESTS as u64, 7 * REQUESTS as u64);
    assert_eq!(sums.iter().filter(|sum| **sum == of_client).count(), 1, "{sums:?}");
    assert_eq!(sums.iter().filter(|sum| **sum == (7, 5)).count(), REQUESTS, "{sums:?}");
    for log in rooted {
        assert_eq!(log.log.header().total_lost(), 0);
    }
}

#[track_caller]
fn is_whole_behind(command: impl FnOnce(&Path) -> String) {
    let recording = Recording::new();
    let root = root(&recording);
    let script = command(&root);
    let printed = record(&recording, &["sh", "-c", &script]);
    assert_eq!(printed, "unharmed\n");
    assert_whole(&recording.logs());
    let left: Vec<_> = fs::read_dir(&root).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left.iter().filter(|name| *name == "hosts" || *name == "sockcap.data").count(), 0);
}

/// The words of the pair in the root.
fn pair() -> String {
    format!("/rooted pair {REQUESTS}")
}

#[test]
fn a_static_pair_behind_chroot_is_recorded_at_both_ends() {
    is_whole_behind(|root| format!("exec chroot {} {}", root.display(), pair()));
}

/// The one who changes the root is static, too.
#[test]
fn a_static_pair_behind_the_chroot_of_a_static_program_is_recorded_at_both_ends() {
    let busybox = program("busybox");
    is_whole_behind(|root| {
        format!("exec {} chroot {} {}", busybox.display(), root.display(), pair())
    });
}

/// In a network and with numbers of processes of its own.
#[test]
fn a_static_pair_in_namespaces_of_its_own_is_recorded_at_both_ends() {
    is_whole_behind(|root| {
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
    let bwrap = program("bwrap");
    is_whole_behind(|root| {
        let (bwrap, root) = (bwrap.display(), root.display());
        format!("exec {bwrap} --unshare-all --unshare-user --clearenv --bind {root} / {}", pair())
    });
}

/// In a container, with the environment, filters and rights that its configuration says.
#[test]
fn a_static_pair_in_a_container_is_recorded_at_both_ends() {
    let crun = program("crun");
    is_whole_behind(|root| {
        let bundle = root.parent().unwrap().join("bundle");
        fs::create_dir_all(&bundle).unwrap();
        successful(Command::new(&crun).arg("spec").current_dir(&bundle));
        let file = bundle.join("config.json");
        let mut config: serde_json::Value =
            serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        config["process"]["terminal"] = false.into();
        config["process"]["args"] = pair().split(' ').collect::<Vec<_>>().into();
        config["process"]["env"] = serde_json::json!(["PATH=/"]);
        config["root"]["path"] = root.to_str().unwrap().into();
        config["root"]["readonly"] = false.into();
        fs::write(&file, config.to_string()).unwrap();
        let name = format!("sockcap-{}", std::process::id());
        format!("cd {} && exec {} run {name}", bundle.display(), crun.display())
    });
}

/// Who records has no rights but those of a user of its own.
#[test]
fn a_static_pair_in_a_sandbox_of_a_user_without_rights_is_recorded_at_both_ends() {
    let recording = Recording::new();
    let root = root(&recording);
    let folder = recording.data().parent().unwrap().to_owned();
    for path in [&folder, &root] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    let mut command = Command::new(program("setpriv"));
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(sockcap());
    command.args(["record", "--inject", "--host", "host", "-d"]).arg(recording.data()).arg("--");
    command.arg(program("bwrap")).args(["--unshare-all", "--bind"]).arg(&root).arg("/");
    command.args(pair().split(' ')).current_dir(&folder);
    let cache = folder.join("cache");
    let output = command.env("XDG_CACHE_HOME", cache).env("TMPDIR", &folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!text(&output.stderr).contains("warning"), "{}", text(&output.stderr));
    assert_whole(&recording.logs());
}
