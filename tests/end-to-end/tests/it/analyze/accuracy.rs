//! `sockcap score`: a result is compared with a truth from outside.

use std::collections::HashMap;
use std::fs;

use end_to_end::command::{assert_succeeds, run_sockcap};
use end_to_end::repository;

const CALLS: &str = "\
call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv
a,client,web,1000,2000,8000,9000
b,web,db,3000,4000,5000,6000
c,client,web,101000,102000,108000,109000
d,web,db,103000,104000,105000,106000
";

/// Requests that are far apart: with every algorithm, their links are clear.
fn import_requests() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("calls.csv"), CALLS).unwrap();
    assert_succeeds(&["import", "calls", "calls.csv"], directory.path());
    directory
}

#[test]
fn a_result_is_scored_against_a_truth() {
    let directory = import_requests();
    let truth = |text: &str| fs::write(directory.path().join("truth.csv"), text).unwrap();
    let score = || assert_succeeds(&["score", "--truth", "truth.csv", "--json"], directory.path());
    truth("call_id,parent_call_id\na,\nb,a\nc,\nd,c\n");
    let right = score();
    assert!(
        right.contains("\"link_accuracy\": 1.0") && right.contains("\"trace_accuracy\": 1.0"),
        "{right}"
    );
    assert!(right.contains("\"precision_at_90_coverage\": 1.0"), "{right}");
    // Links are scored against a truth by messages, too: 0 and 4 are requests of the client, 1 and
    // 5 of the web server.
    truth("child,parent\n0,\n1,0\n2,1\n3,2\n4,\n5,4\n6,5\n7,6\n");
    let recall = "\"trace_recall\": ";
    assert!(right.contains(&format!("{recall}1.0")), "{right}");
    // The truth cannot contain messages that are missing from the trace.
    assert_eq!(score(), right.replace(&format!("{recall}1.0"), &format!("{recall}null")));
    // Here d was made for a: half of the links are right, and no trace.
    truth("call_id,parent_call_id\na,\nb,a\nc,\nd,a\n");
    let wrong = score();
    assert!(
        wrong.contains("\"link_accuracy\": 0.5") && wrong.contains("\"trace_accuracy\": 0.0"),
        "{wrong}"
    );
    let table = assert_succeeds(&["score", "--truth", "truth.csv"], directory.path());
    assert!(table.contains("50.00%  2 links") && table.contains("false negatives"), "{table}");
    let excluded =
        assert_succeeds(&["score", "--truth", "truth.csv", "--exclude", "web"], directory.path());
    assert!(excluded.contains("-  0 links") && excluded.contains("2 calls excluded"), "{excluded}");
}

#[test]
fn an_unusable_truth_is_reported() {
    let directory = import_requests();
    let fails = |text: &str, more: &[&str], words: &[&str]| {
        fs::write(directory.path().join("truth.csv"), text).unwrap();
        let output =
            run_sockcap(&[&["score", "--truth", "truth.csv"], more].concat(), directory.path());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        for word in words {
            assert!(error.contains(word), "'{word}': {error}");
        }
    };
    fails("a,b\n1,2\n", &[], &["truth.csv", "call_id,parent_call_id"]);
    fails("call_id,parent_call_id\nx,\n", &[], &["contains none of the calls"]);
    fails("call_id,parent_call_id\na,\n", &["--exclude", "wep"], &["--exclude wep", "client, web"]);
    fails("child,parent\n1,x\n", &[], &["truth.csv", "line 2", "'x'"]);
}

/// A piece of a recording of a Rust gateway with 8 requests at a time, in which the first request
/// takes 87 ms, and 80 others take a few. Without contexts of execution, many of the calls could be
/// of any of them.
#[test]
fn a_long_request_does_not_get_the_calls_of_all() {
    let data = repository().join("tests/end-to-end/tests/it/analyze/data");
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let messages = file("one_long_request.messages.csv");
    assert_succeeds(&["import", "messages", &messages], directory.path());
    assert_succeeds(&["analyze"], directory.path());
    let truth = file("one_long_request.truth.csv");
    let score = assert_succeeds(&["score", "--truth", &truth, "--json"], directory.path());
    let score: serde_json::Value = serde_json::from_str(&score).unwrap();
    // Half of the links are right; what is sure is right.
    let right = score["link_accuracy"].as_f64().unwrap();
    assert!(right >= 0.5, "{score}");
    let report = assert_succeeds(&["export", "calls"], directory.path());
    let mut lines = report.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let parent = header.iter().position(|column| *column == "parent_call_id").unwrap();
    let mut calls_of: HashMap<String, usize> = HashMap::new();
    for line in lines.filter(|line| !line[parent].is_empty()) {
        *calls_of.entry(line[parent].to_owned()).or_default() += 1;
    }
    let most = calls_of.values().max();
    assert!(most.is_some_and(|most| *most <= 4), "one request has {most:?} calls");
}
