//! Evidence that decides and is recorded by default: contexts of an event loop, and rare words that
//! messages share. Without it these programs cannot be followed: at a broker neither connections
//! nor turns show the cause of a message, and an event loop serves all requests in one thread.

use end_to_end::command::assert_succeeds;
use end_to_end::repository;
use serde_json::Value;

/// Records a program, and returns how often each pattern of at least `hops` hops was seen.
fn pattern_counts(program: &str, arguments: &[&str], hops: usize) -> Vec<u64> {
    let directory = tempfile::tempdir().unwrap();
    let program = repository().join("tests/programs").join(program);
    let mut command = vec!["record", "--", "/usr/bin/python3", program.to_str().unwrap()];
    command.extend(arguments);
    assert_succeeds(&command, directory.path());
    let json = assert_succeeds(&["report", "--json", "--sort", "count"], directory.path());
    let report: Value = serde_json::from_str(&json).unwrap();
    let patterns = report["patterns"].as_array().unwrap();
    let whole = patterns.iter().filter(|pattern| pattern["hops"].as_array().unwrap().len() >= hops);
    whole.map(|pattern| pattern["count"].as_u64().unwrap()).collect()
}

#[test]
fn requests_through_a_broker_are_whole() {
    // To the front, the broker, the worker, the leaf, and back.
    assert_eq!(pattern_counts("broker_calls.py", &["200"], 2), [200], "one pattern");
}

#[test]
fn each_request_of_an_event_loop_makes_its_own_call() {
    for concurrency in ["1", "8", "32"] {
        // Request, call, and both responses.
        let counts = pattern_counts("event_loop.py", &["300", concurrency], 1);
        assert_eq!(counts, [300], "at {concurrency}: one pattern");
    }
}

#[test]
fn jobs_belong_to_the_threads_that_received_them_whichever_connection_is_used_next() {
    // Push, delivery, two calls with their responses. A job is whole or has lost its calls.
    let counts = pattern_counts("pooled_jobs.py", &["200"], 6);
    assert_eq!(counts.iter().sum::<u64>(), 200, "{counts:?}");
}

#[test]
fn calls_that_wait_for_a_lock_belong_to_the_request_of_their_thread() {
    // Request, three calls, and the four responses; the locks of another client are shorter.
    let counts = pattern_counts("locked_table.py", &["100"], 8);
    assert_eq!(counts.iter().sum::<u64>(), 100, "{counts:?}");
}
