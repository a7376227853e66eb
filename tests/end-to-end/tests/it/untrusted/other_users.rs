//! Logs of other users below the directory of a superuser's recordings. These tests run as root, as
//! the lab does, and the other user is `nobody`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use super::planted::{PlantedPlace, TALK, python_program};

/// User and group of `nobody` on Debian.
const NOBODY: u32 = 65534;

/// Pids that the attacker makes links for. The kernel assigns them in order.
const PIDS_AHEAD: u32 = 3000;

fn directory_of_nobody(path: &Path) {
    fs::create_dir_all(path).unwrap();
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

/// A log with snippets, as if `nobody` had recorded a program with another library.
fn planted_log(place: &PlantedPlace) -> std::path::PathBuf {
    let directory = place.data_dir().join("hosts/evil");
    directory_of_nobody(&directory);
    // It comes from a recording elsewhere, and belongs to `nobody` from then on.
    let made = std::process::Command::new(end_to_end::sockcap_program())
        .args(["record", "--protocols", "--host", "evil", "-d"])
        .arg(place.file_path("his"))
        // The recorder is killed, so that snippets stay.
        .args(["--", "/bin/sh", "-c", &format!("{} -c '{TALK}'; kill -9 $PPID", python_program())])
        .output()
        .unwrap();
    assert!(!made.status.success());
    let logs = fs::read_dir(place.file_path("his").join("hosts/evil")).unwrap();
    let log = logs.map(|entry| entry.unwrap().path()).find(|path| has_heads(path)).unwrap();
    let planted = directory.join("1-1.sclog");
    fs::copy(log, &planted).unwrap();
    chown(&planted, Some(NOBODY), Some(NOBODY)).unwrap();
    planted
}

fn has_heads(path: &Path) -> bool {
    fs::read(path).unwrap().windows(8).any(|window| window == b"question")
}

#[test]
fn root_names_no_log_of_another_user_by_default() {
    let place = PlantedPlace::record_talker();
    let planted = planted_log(&place);
    let before = fs::read(&planted).unwrap();
    let record = ["record", "--protocols", "--host", "web1", "--", &python_program(), "-c", TALK];
    for command in [&record[..], &["names"], &["info"]] {
        let output = place.run_to_end(command);
        assert!(output.status.success(), "{command:?}: {output:?}");
        assert_eq!(fs::read(&planted).unwrap(), before, "{command:?}");
        assert!(!planted.with_extension("operations").exists(), "{command:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("evil"), "{command:?}: {said}");
    }
    let output = place.run_to_end(&["names"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("1 log of other users") && error.contains("--all-users"), "{error}");
    let output = place.run_to_end(&["info", "--all-users"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("evil"), "{output:?}");
    let output = place.run_to_end(&["names", "--all-users"]);
    assert!(output.status.success(), "{output:?}");
    assert!(planted.with_extension("operations").is_file() && !has_heads(&planted));
}

#[test]
fn logs_of_users_that_a_recording_of_root_started_are_its_own() {
    let place = PlantedPlace::record_talker();
    let script = format!(
        "setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {} -c '{TALK}'",
        python_program()
    );
    let record = ["record", "--protocols", "--host", "web1", "--", "/bin/sh", "-c", &script];
    let output = place.run_to_end(&record);
    assert!(output.status.success(), "{output:?}");
    let logs = fs::read_dir(place.data_dir().join("hosts/web1")).unwrap();
    let of_nobody: Vec<_> = logs
        .map(|entry| entry.unwrap().path())
        .filter(|path| fs::metadata(path).unwrap().uid() == NOBODY)
        .collect();
    assert!(of_nobody.iter().any(|path| path.extension().is_some_and(|it| it == "sclog")));
    // Its snippets were blanked at the end, and a later command recognises it, too.
    assert!(of_nobody.iter().all(|path| !has_heads(path)), "{of_nobody:?}");
    let output = place.run_to_end(&["info", "--processes"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !error.contains("other users"), "{error}");
}

#[test]
fn a_planted_log_with_links_for_each_pid_does_not_make_its_user_root() {
    let place = PlantedPlace::record_talker();
    let planted = planted_log(&place);
    let keys = place.elsewhere_dir().join("authorized_keys");
    fs::write(&keys, "").unwrap();
    // The name of the new file in the former version.
    let next = std::process::id();
    for pid in next..next + PIDS_AHEAD {
        for number in 0..2 {
            let name = format!("1-1.operations-new-{pid}-{number}");
            symlink(&keys, planted.with_file_name(name)).unwrap();
        }
    }
    symlink(&keys, planted.with_extension("operations")).unwrap();
    let before = place.elsewhere_state();
    for command in [
        &["record", "--protocols", "--host", "web1", "--", &python_program(), "-c", TALK][..],
        &["names"],
        &["names", "--all-users"],
    ] {
        place.run_to_end(command);
        assert_eq!(place.elsewhere_state(), before, "{command:?}");
    }
}

#[test]
fn recordings_of_root_are_private() {
    let place = PlantedPlace::record_talker();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&place.log_path()) & 0o027, 0);
    assert_eq!(mode(&place.data_dir().join("hosts")) & 0o022, 0);
    assert_eq!(mode(&place.data_dir().join(".recordings")) & 0o077, 0);
}
