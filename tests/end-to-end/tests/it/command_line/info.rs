//! `sockcap info` on directories with many logs: its output, and how little it reads.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{program_path, run_successfully};
use end_to_end::command::{assert_succeeds, run_sockcap, to_text};
use end_to_end::sockcap_program;

/// Children of one process: each sends some bytes to its parent.
const FAMILY: &str = r#"
import os, socket, sys
for child in range(int(sys.argv[1])):
    a, b = socket.socketpair()
    if os.fork() == 0:
        b.send(b"hello"); os._exit(0)
    a.recv(10); os.wait(); a.close(); b.close()
"#;

/// Records a process with `children` children into `sockcap.data` in `directory`.
fn record_children(directory: &Path, children: usize) {
    let count = children.to_string();
    let output = run_sockcap(
        &["record", "--host", "web1", "--", "/usr/bin/python3", "-c", FAMILY, &count],
        directory,
    );
    assert!(output.status.success(), "{output:?}");
}

fn list_logs(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory.join("sockcap.data/hosts/web1")).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn many_processes_are_a_line_for_each_program() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    record_children(path, 120);
    let info = assert_succeeds(&["info"], path);
    assert!(info.lines().count() < 20, "{info}");
    let row = info.lines().find(|line| line.starts_with("web1")).unwrap();
    let fields: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(fields[1], "121", "a process and its children: {info}");
    assert!(row.ends_with("  python3"), "{info}");
    let each = assert_succeeds(&["info", "--processes"], path);
    assert_eq!(each.lines().filter(|line| line.starts_with("web1 ")).count(), 121, "{each}");
    assert!(each.contains("/usr/bin/python3 -c"), "{each}");
}

#[test]
fn the_json_has_the_same_figures_as_the_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    record_children(path, 3);
    let json = |path: &Path| -> serde_json::Value {
        serde_json::from_str(&assert_succeeds(&["info", "--json"], path)).unwrap()
    };
    let found = json(path);
    let processes = found["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 4);
    for process in processes {
        assert_eq!(
            (&process["host"], &process["program"]),
            (&"web1".into(), &"python3".into()),
            "{process}"
        );
        assert!(
            process["records"].as_u64() > Some(0) && process["has_sockets"] == true,
            "{process}"
        );
        assert_eq!(process["state"], "exited", "{process}");
    }
    assert!(found["reconciliation"].is_null() && found["analysis"].is_null(), "{found}");
    assert_succeeds(&["report"], path);
    let found = json(path);
    assert_eq!(found["reconciliation"]["processes"], 4, "{found}");
    assert!(
        found["analysis"]["totals"].is_object() && found["clocks"]["hosts"].is_array(),
        "{found}"
    );
}

/// The reads of `sockcap` with these arguments: their number, and their bytes.
fn count_reads(arguments: &[&str], directory: &Path) -> (u64, u64) {
    let trace = directory.join("trace");
    run_successfully(
        Command::new(program_path("strace"))
            .args(["-f", "-e", "trace=read,pread64", "-o"])
            .arg(&trace)
            .arg(sockcap_program())
            .args(arguments)
            .current_dir(directory),
    );
    let trace = fs::read_to_string(trace).unwrap();
    let given = |line: &str| line.rsplit_once(" = ")?.1.split(' ').next()?.parse::<u64>().ok();
    let all: Vec<u64> = trace.lines().filter_map(given).collect();
    (all.len() as u64, all.iter().sum())
}

/// Logs of processes that confine themselves are much larger than their content.
#[test]
fn unwritten_parts_of_logs_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    record_children(path, 200);
    for log in list_logs(path) {
        File::options().write(true).open(log).unwrap().set_len(256 << 20).unwrap();
    }
    // So are preallocated logs that were never used.
    for number in 0..300 {
        let spare = path.join(format!("sockcap.data/hosts/web1/1-2-{number}.spare"));
        File::create(spare).unwrap().set_len(64 << 20).unwrap();
    }
    let (calls, bytes) = count_reads(&["info"], path);
    assert!(calls < 5_000 && bytes < 20 << 20, "info: {calls} calls, {bytes} bytes");
    let (calls, bytes) = count_reads(&["report"], path);
    assert!(calls < 5_000 && bytes < 20 << 20, "report: {calls} calls, {bytes} bytes");
    // 201 logs of 256 MiB are 50 GiB; on the disk they are some KiB each.
    let json: serde_json::Value =
        serde_json::from_str(&assert_succeeds(&["info", "--json"], path)).unwrap();
    let sizes = json["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|process| process["bytes"].as_u64().unwrap());
    assert!(sizes.sum::<u64>() < 201 * (128 << 10), "{json}");
    let shown = to_text(&run_sockcap(&["reconcile"], path).stderr);
    assert!(shown.contains(" KiB") || shown.contains(" MiB"), "{shown}");
}

/// Names and command lines that are longer than a terminal is wide.
#[test]
fn tables_fit_eighty_columns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let host = "a-host-with-a-name-that-somebody-made-from-its-rack-and-its-number";
    let words = ["word"; 60].join(" ");
    let family = format!("# {words}\n{FAMILY}");
    let output = run_sockcap(
        &["record", "--host", host, "--", "/usr/bin/python3", "-c", &family, "3"],
        path,
    );
    assert!(output.status.success(), "{output:?}");
    assert_succeeds(&["report"], path);
    for arguments in [
        &["info"][..],
        &["info", "--processes"],
        &["report"],
        &["report", "--hosts"],
        &["report", "--hops", "--node", "process"],
    ] {
        let mut command = Command::new(sockcap_program());
        let shown =
            run_successfully(command.args(arguments).current_dir(path).env("COLUMNS", "80"));
        let long: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{arguments:?}: {long:#?}");
    }
}
