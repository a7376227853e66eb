//! Names never remove calls: conversations in many protocols, on real sockets, recorded with and
//! without names. Calls that are paired without names are paired with them, however late a
//! connection is joined and whichever of its turns is unreadable; and a greeting is not a request.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use end_to_end::command::assert_succeeds;
use end_to_end::repository;
use serde_json::Value;
use tempfile::TempDir;

/// A row of a table, by its columns.
type CsvRow = BTreeMap<String, String>;

/// Records a program of the tests, and returns the directory and its calls.
fn record_program(program: &str, arguments: &[&str], options: &[&str]) -> (TempDir, Vec<CsvRow>) {
    let directory = tempfile::tempdir().unwrap();
    let program = repository().join("tests/programs").join(program);
    let python = ["--", "/usr/bin/python3", program.to_str().unwrap()];
    assert_succeeds(&[&["record"], options, &python, arguments].concat(), directory.path());
    let calls =
        parse_rows(&assert_succeeds(&["export", "calls", "--format", "csv"], directory.path()));
    (directory, calls)
}

/// The rows of a table in which no value has a comma.
fn parse_rows(csv: &str) -> Vec<CsvRow> {
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned));
    let columns: Vec<String> = lines.next().unwrap().collect();
    lines.map(|line| columns.iter().cloned().zip(line).collect()).collect()
}

/// For each conversation, the number of correct calls and of all calls.
fn count_right(directory: &Path, calls: &[CsvRow]) -> BTreeMap<String, (usize, usize)> {
    let mut found: BTreeMap<&str, Vec<[u64; 2]>> = BTreeMap::new();
    for call in calls {
        let port = call["src_endpoint"].rsplit(':').next().unwrap_or_default();
        let sizes = ["request_bytes", "response_bytes"].map(|column| call[column].parse().ok());
        if let [Some(request), Some(response)] = sizes {
            found.entry(port).or_default().push([request, response]);
        }
    }
    let truth = fs::read_to_string(directory.join("truth")).unwrap();
    let of_conversation = |line: &str| {
        let (name, port, expected): (String, u16, Vec<[u64; 2]>) =
            serde_json::from_str(line).unwrap();
        let mut found = found.get(port.to_string().as_str()).cloned().unwrap_or_default();
        let is_found = |call: &&[u64; 2]| {
            let place = found.iter().position(|other| other == *call);
            place.map(|place| found.swap_remove(place)).is_some()
        };
        let right = expected.iter().filter(is_found).count();
        (name, (right, expected.len()))
    };
    truth.lines().map(of_conversation).collect()
}

#[test]
fn names_remove_no_calls() {
    let of = |options: &[&str]| {
        let (directory, calls) = record_program("conversations.py", &[], options);
        let outcome = directory.path().join("sockcap.data/reconciliation.json");
        let outcome: Value = serde_json::from_str(&fs::read_to_string(outcome).unwrap()).unwrap();
        let has_operations = outcome["operations"].as_u64().is_some_and(|count| count > 10_000);
        assert_eq!(has_operations, !options.is_empty(), "{outcome}");
        count_right(directory.path(), &calls)
    };
    let (without, with) = (of(&[]), of(&["--protocols"]));
    let wrong: Vec<_> = without.iter().filter(|(_, (right, all))| right < all).collect();
    assert!(wrong.is_empty(), "without names: {wrong:?}");
    let worse: Vec<_> = with
        .iter()
        .filter(|(name, (right, _))| *right < without[*name].0)
        .map(|(name, (right, all))| format!("{name}: {right} of {all}"))
        .collect();
    assert!(worse.is_empty(), "{} of {}:\n{}", worse.len(), with.len(), worse.join("\n"));
}

/// During each request of the client, all calls of the application belong to it.
#[test]
fn a_greeting_is_no_request_to_the_connecting_side() {
    const REQUESTS: usize = 40;
    for (kind, of_request) in [("imap", 6), ("amqp", 5), ("smtp", 5)] {
        for options in [&[][..], &["--protocols"]] {
            let arguments = [kind, &REQUESTS.to_string()];
            let (_directory, calls) = record_program("greeted.py", &arguments, options);
            let requests: Vec<&CsvRow> =
                calls.iter().filter(|call| call["request_bytes"] == "40").collect();
            let ids: Vec<&str> = requests.iter().map(|call| call["call_id"].as_str()).collect();
            assert_eq!(ids.len(), REQUESTS, "{kind} {options:?}");
            let mut right: BTreeMap<&str, usize> = BTreeMap::new();
            for call in calls.iter().filter(|call| call["request_bytes"] != "40") {
                *right.entry(&call["parent_call_id"]).or_default() += 1;
            }
            let counts: Vec<usize> = ids.iter().map(|id| right.remove(id).unwrap_or(0)).collect();
            assert_eq!(counts, vec![of_request; REQUESTS], "{kind} {options:?}: {right:?}");
        }
    }
}
