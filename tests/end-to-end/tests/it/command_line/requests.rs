//! `sockcap requests` from the user's point of view: for a small real recording, for events from
//! standard input, and for wrong or missing input.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use end_to_end::capture::TestRecording;
use end_to_end::command::{assert_fails, assert_succeeds, run_sockcap, to_text};
use end_to_end::spent_time::{REQUEST_KINDS, arguments_for, record_requests};
use end_to_end::{repository, sockcap_program};
use serde_json::Value;

/// Number of requests of each kind.
const ROUNDS: usize = 5;

#[test]
fn clusters_of_a_recording() {
    let recording = TestRecording::new();
    let spent = record_requests(&recording, ROUNDS);
    let data = recording.data_dir();
    let said = |more: &[&str]| {
        assert_succeeds(&arguments_for(&[&["requests"], more].concat(), &data), Path::new("/"))
    };
    let json: Value = serde_json::from_str(&said(&["--json"])).unwrap();
    let clusters = json["clusters"].as_array().unwrap();
    let all = json["requests"].as_u64().unwrap();
    assert_eq!(clusters.iter().map(|of| of["requests"].as_u64().unwrap()).sum::<u64>(), all);
    assert!(json["charged_share"].as_f64().unwrap() > 0.0);
    // Every request of a kind is in some cluster, and requests that spin are in none with requests
    // that wait.
    let names = |cluster: &Value, kind: &str| {
        let names = cluster["names"].as_array().unwrap();
        let of = names.iter().find(|name| name["name"] == spent.operation_name(kind).as_str());
        of.map_or(0, |of| of["requests"].as_u64().unwrap())
    };
    for kind in REQUEST_KINDS {
        let found: u64 = clusters.iter().map(|cluster| names(cluster, kind)).sum();
        assert_eq!(found, ROUNDS as u64, "{kind}: {json}");
    }
    let spins: Vec<&Value> = clusters.iter().filter(|cluster| names(cluster, "spin") > 0).collect();
    for cluster in &spins {
        assert_eq!(names(cluster, "sleep") + names(cluster, "lock"), 0, "{cluster}");
        assert!(cluster["demands"]["processor_ns"].as_i64().unwrap() > 15_000_000, "{cluster}");
    }

    // The terminal shows the same, and which request to look at.
    let shown = said(&[]);
    let first = format!("{all} requests in {} clusters", clusters.len());
    assert!(shown.starts_with(&first), "{shown}");
    for word in ["PROCESSOR", "LOCK", "ASLEEP", &spent.operation_name("spin")] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(shown.contains("next: sockcap requests -d "), "{shown}");
    let more = clusters.len() - 1;
    assert!(said(&["--limit", "1"]).contains(&format!("and {more} more cluster")));
}

#[test]
fn one_request_and_a_row_for_each() {
    let recording = TestRecording::new();
    let spent = record_requests(&recording, ROUNDS);
    let data = recording.data_dir();
    let said = |more: &[&str]| {
        assert_succeeds(&arguments_for(&[&["requests"], more].concat(), &data), Path::new("/"))
    };
    let rows = said(&["--format", "csv"]);
    let mut lines = rows.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|of| *of == name).unwrap();
    let [request, name, lock] = ["request", "name", "lock_ns"].map(column);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for (number, row) in rows.iter().enumerate() {
        assert_eq!((row.len(), row[request]), (head.len(), number.to_string().as_str()));
    }
    let of_lock = spent.operation_name("lock");
    let locked: Vec<&Vec<&str>> = rows.iter().filter(|row| row[name] == of_lock).collect();
    assert_eq!(locked.len(), ROUNDS);
    assert!(locked.iter().all(|row| row[lock].parse::<i64>().unwrap() > 15_000_000), "{locked:?}");

    // That request waits for a lock, in words, as a drawing, and in JSON.
    let number = locked[0][request];
    let shown = said(&["--request", number]);
    assert!(shown.starts_with(&format!("request {number}: {of_lock}, ")), "{shown}");
    assert!(shown.contains("waiting for a lock"), "{shown}");
    assert!(
        shown.lines().any(|line| line.starts_with(&of_lock) && line.contains("LLLL")),
        "{shown}"
    );
    let one: Value = serde_json::from_str(&said(&["--request", number, "--json"])).unwrap();
    assert_eq!(one["waits"]["lock_ns"].to_string(), locked[0][lock]);
    assert_eq!(one["steps"][0]["operation"], of_lock.as_str());
    let last = format!("the last request is number {}", rows.len() - 1);
    assert_fails(
        &arguments_for(&["requests", "--request", "999999"], &data),
        Path::new("/"),
        2,
        &[&last],
    );
}

#[test]
fn events_from_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let schema = directory.path().join("switches.schema");
    fs::write(&schema, "EVENT sched/sched_switch\n  SEED\n  NAME next_comm\n").unwrap();
    let printed = |input: Stdio| {
        let mut command = Command::new(sockcap_program());
        command.args(["requests", "-", "--json", "--schema"]).arg(&schema).stdin(input);
        let output = command.current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), to_text(&output.stderr))
    };
    let perf = repository().join("crates/importers/tests/perf/small.txt");
    let switches = fs::read_to_string(&perf).unwrap().matches("sched:sched_switch: ").count();
    let (json, said) = printed(File::open(&perf).unwrap().into());
    assert_eq!((json["requests"].as_u64(), said.as_str()), (Some(switches as u64), ""));
    let names = json["clusters"][0]["names"].as_array().unwrap();
    assert!(names.iter().any(|name| name["name"] == "rustc"), "{names:?}");
    // Lines that are not events are reported as such.
    let (json, said) = printed(File::open(&schema).unwrap().into());
    assert_eq!(json["requests"], 0);
    assert!(said.contains("no line is an event in the format of perf script"), "{said}");
}

#[test]
fn wrong_or_missing_input_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("events.csv"), "time,event\n1,app/begin\n").unwrap();
    assert_succeeds(&["import", "events", "events.csv"], path);
    fs::write(path.join("bad.schema"), "EVENT app/begin\n  SEED\n\n  NAMES path\n").unwrap();
    let bad = ["requests", "--schema", "bad.schema"];
    assert_fails(&bad, path, 2, &["bad.schema:4: ", "NAMES", "ATTRIBUTE"]);
    let none = ["requests", "--schema", "none"];
    assert_fails(&none, path, 2, &["none", "no such file", "linux", "sockcap"]);
    // No event is a seed of the schema.
    let output = run_sockcap(&["requests"], path);
    assert!(
        output.status.success() && to_text(&output.stderr).contains("no event that begins one")
    );
    assert!(to_text(&output.stdout).starts_with("0 requests in 0 clusters"));
    // Nothing was recorded, and the message explains how to record it.
    fs::create_dir(path.join("empty")).unwrap();
    assert_fails(
        &["requests", "-d", "empty"],
        path,
        1,
        &["empty", "sockcap record -d empty -- CMD"],
    );
    assert_fails(
        &["requests", "-d", "empty", "--schema", "linux"],
        path,
        2,
        &["sockcap import perf"],
    );
}
