//! Internal sockets of programs: messages between threads are in paths if threads are nodes, and
//! nowhere else; and numbers that differ at each start are in no name.

use std::collections::BTreeSet;
use std::path::Path;

use end_to_end::command::assert_succeeds;
use end_to_end::repository;
use serde_json::Value;

/// Number of requests of a recording.
const REQUESTS: usize = 60;

/// Records a Python program of `tests/programs` with these arguments.
fn record_program(program: &str, arguments: &[&str], data: &str, directory: &Path) {
    let program = repository().join("tests/programs").join(program);
    let program = program.to_str().unwrap();
    let command = ["record", "-d", data, "--", "/usr/bin/python3", program];
    assert_succeeds(&[&command, arguments].concat(), directory);
}

/// The report of that grain.
fn report_json(grain: &str, directory: &Path) -> Value {
    let printed = assert_succeeds(&["report", "--json", "--node", grain], directory);
    serde_json::from_str(&printed).unwrap()
}

/// The hops of each pattern, as sender and receiver, and the number of instances.
fn hops_of_patterns(report: &Value) -> Vec<(Vec<[String; 2]>, u64)> {
    let hop = |hop: &Value| ["src", "dst"].map(|end| hop[end].as_str().unwrap().to_owned());
    let pattern = |pattern: &Value| {
        let hops = pattern["hops"].as_array().unwrap().iter().map(hop).collect();
        (hops, pattern["count"].as_u64().unwrap())
    };
    report["patterns"].as_array().unwrap().iter().map(pattern).collect()
}

#[test]
fn paths_go_through_threads_if_threads_are_nodes() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    record_program("inner_threads.py", &[&REQUESTS.to_string()], "sockcap.data", directory);
    let of_processes = || {
        let shown = assert_succeeds(&["report", "--json", "--node", "process"], directory);
        let commands: [&[&str]; 5] = [
            &["info"],
            &["export", "messages"],
            &["export", "calls"],
            &["requests", "--json"],
            &["contexts", "--json"],
        ];
        let printed = commands.map(|command| assert_succeeds(command, directory));
        (shown, printed)
    };
    let before = of_processes();
    for (hops, _) in hops_of_patterns(&serde_json::from_str(&before.0).unwrap()) {
        assert!(hops.iter().all(|[src, dst]| src != dst), "nobody talks to itself: {hops:?}");
        assert!(hops.len() <= 2, "a request and its answer: {hops:?}");
    }
    assert!(before.1[0].contains("100.0% seen at both ends"), "{}", before.1[0]);
    assert!(before.1[0].contains("--node thread shows those between threads"), "{}", before.1[0]);

    // The thread that accepts requests calls another thread, and that one a third.
    let of_threads = hops_of_patterns(&report_json("thread", directory));
    let through = of_threads.iter().filter(|(hops, _)| {
        let nodes: BTreeSet<&String> = hops.iter().flatten().collect();
        nodes.len() >= 4 && hops.len() >= 6
    });
    let seen: u64 = through.map(|(_, count)| count).sum();
    assert!(seen >= REQUESTS as u64 * 9 / 10, "{seen} of {REQUESTS}: {of_threads:#?}");
    // A thread that writes to a socket that it reads itself sends no message.
    let is_itself = |[src, dst]: &[String; 2]| src == dst;
    assert!(!of_threads.iter().any(|(hops, _)| hops.iter().any(is_itself)), "{of_threads:#?}");
    // The totals of the recording do not depend on what a node is.
    let seen =
        |info: &str| info.lines().find(|line| line.starts_with("messages:")).map(str::to_owned);
    assert_eq!(seen(&assert_succeeds(&["info"], directory)), seen(&before.1[0]));

    assert_eq!(of_processes(), before);
}

#[test]
fn a_program_has_the_same_names_at_each_start() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let sockets = directory.to_str().unwrap();
    for data in ["one", "two"] {
        record_program("changing_names.py", &[sockets, &REQUESTS.to_string()], data, directory);
    }
    let names = |data: &str| {
        let printed = assert_succeeds(&["report", "--json", "-d", data], directory);
        let report: Value = serde_json::from_str(&printed).unwrap();
        let mut names: BTreeSet<String> = BTreeSet::new();
        for pattern in report["patterns"].as_array().unwrap() {
            for hop in pattern["hops"].as_array().unwrap() {
                let port = |end: &str| hop[end].as_str().unwrap().to_owned();
                names.extend(["src_port", "dst_port"].map(port));
            }
        }
        names
    };
    let of_one = names("one");
    let expected = ["app.*.sock", "app-8.2.sock", "/tmp*/s.sock"];
    for part in expected {
        assert!(of_one.iter().any(|name| name.ends_with(part)), "{part}: {of_one:?}");
    }
    assert_eq!((names("two"), of_one.len()), (of_one.clone(), 4), "with that of the client");
    // No path is new, or this command would fail.
    let differences = assert_succeeds(&["diff", "one", "two", "--fail-if", "new-paths"], directory);
    assert!(!differences.contains(" often"), "{differences}");
}
