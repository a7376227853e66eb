//! The systemd units in `scripts/packaging/`: systemd accepts all of their settings, and they
//! expose as little as possible.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use end_to_end::command::{run_sockcap, to_text};
use end_to_end::repository;

const UNITS: [&str; 2] = ["sockcap-ship.service", "sockcap-collect.service"];

/// A directory with the units, in which an existing program takes the place of `sockcap`.
fn units_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let program = env::current_exe().unwrap();
    for unit in UNITS {
        let text = fs::read_to_string(repository().join("scripts/packaging").join(unit)).unwrap();
        let text = text.replace("=/usr/bin/sockcap ", &format!("={} ", program.display()));
        fs::write(directory.path().join(unit), text).unwrap();
    }
    directory
}

/// `systemd-analyze`, with these arguments and a unit of the directory.
fn systemd_analyze(arguments: &[&str], unit: PathBuf) -> Output {
    let output = Command::new("systemd-analyze").args(arguments).arg(unit).output();
    output.expect("install systemd (for systemd-analyze)")
}

#[test]
fn systemd_accepts_the_units() {
    let directory = units_directory();
    for unit in UNITS {
        let path = directory.path().join(unit);
        let output = systemd_analyze(&["verify", "--man=no"], path.clone());
        // `systemd-analyze` only warns about unknown settings, and succeeds; complaints about other
        // units are ignored.
        let (said, name) =
            (to_text(&output.stderr) + &to_text(&output.stdout), path.display().to_string());
        assert!(output.status.success() && !said.contains(&name) && !said.contains(unit), "{said}");

        // A unit with a mistake is noticed.
        let wrong =
            fs::read_to_string(&path).unwrap().replace("NoNewPrivileges=", "NoNewPrivilege=");
        fs::write(&path, wrong).unwrap();
        let said = to_text(&systemd_analyze(&["verify", "--man=no"], path).stderr);
        assert!(said.contains("NoNewPrivilege'"), "{said}");
    }
}

#[test]
fn the_units_have_few_rights() {
    let directory = units_directory();
    for (unit, most) in UNITS.into_iter().zip(["20", "12"]) {
        let threshold = format!("--threshold={most}");
        let output = systemd_analyze(
            &["security", "--offline=true", "--no-pager", &threshold],
            directory.path().join(unit),
        );
        assert!(output.status.success(), "{}{}", to_text(&output.stdout), to_text(&output.stderr));
    }
}

#[test]
fn the_units_commands_are_valid() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().display().to_string();
    for unit in UNITS {
        let lines = fs::read_to_string(repository().join("scripts/packaging").join(unit)).unwrap();
        let line = lines
            .lines()
            .find_map(|line| line.strip_prefix("ExecStart=/usr/bin/sockcap "))
            .unwrap();
        let mut line = line.to_owned();
        for (variable, value) in [
            ("DATA", data.as_str()),
            ("STATE_DIRECTORY", &data),
            ("CREDENTIALS_DIRECTORY", &data),
            ("COLLECTOR", "127.0.0.1:9"),
            ("LISTEN", "127.0.0.1:0"),
        ] {
            line = line.replace(&format!("${{{variable}}}"), value);
        }
        assert!(!line.contains('$'), "{unit}: {line}");
        // All arguments are accepted, and then the key is missing.
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = run_sockcap(&arguments, directory.path());
        let key = format!("{data}/key.pem: No such file");
        let said = to_text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(&key), "{unit}: {said}");
    }
}

#[test]
fn the_units_restart_and_end_on_request() {
    for unit in UNITS {
        let text = fs::read_to_string(repository().join("scripts/packaging").join(unit)).unwrap();
        for line in [
            "Restart=always",
            "StartLimitIntervalSec=0",
            "KillSignal=SIGTERM",
            "ProtectSystem=strict",
            "NoNewPrivileges=yes",
            "WantedBy=multi-user.target",
        ] {
            assert!(text.lines().any(|there| there == line), "{unit} has no {line}");
        }
    }
}
