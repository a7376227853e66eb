//! Costs of requests, from a hand-written model and request.

use request_flow::{NameInterner, Request, Step};
use serde_json::{Value, json};
use workload::analysis::{RequestRecord, SourceRequest};
use workload::canonical::CanonicalRequest;
use workload::clusters::RequestFacts;
use workload::demands::{Demands, WaitTimes};
use workload::model::NameCount;
use workload::unusual::UnusualRequest;

use super::*;

fn cluster(place: u64) -> RequestCluster {
    RequestCluster {
        requests: 1_000 - place,
        share: 0.123_456,
        names: (0..5).map(|n| NameCount { name: format!("web\u{1b}:{n}"), requests: 7 }).collect(),
        representative: 10 * place,
        demands: Demands {
            processor_ns: 5,
            disk_read_bytes: 6,
            disk_written_bytes: 2,
            ..Demands::default()
        },
        waits: WaitTimes { runnable_ns: 1, lock_ns: 3, unknown_ns: 9, ..WaitTimes::default() },
        duration_ns: 20,
        durations_ns: (2, 200),
        separation: Some(1.23456),
        ..RequestCluster::default()
    }
}

/// A request of two steps: the root computes, waits for a lock and calls; the other one was seen by
/// its caller only.
fn example(number: u64) -> ExampleRequest {
    let mut names = NameInterner::default();
    let [web, db] = ["web:80", "db:5432"].map(|name| names.intern(name));
    let mut request = Request::default();
    let waits = WaitTimes { lock_ns: 20, ..WaitTimes::default() };
    let root = Step { begin: Some(1_010), end: Some(1_090), ..Step::new(web, web) };
    request.push_step(Step { processor_ns: Some(30), waits: Some(waits), ..root }, []);
    let seen = Step { caller_begin: Some(1_050), caller_end: Some(1_080), ..Step::new(db, db) };
    request.push_step(Step { parent: Some(0), ..seen }, []);
    let found = SourceRequest {
        facts: RequestFacts { number, name: web, begin: 1_000, end: 1_100, ..Default::default() },
        canonical: CanonicalRequest::default(),
        record: RequestRecord::Steps(&request),
    };
    ExampleRequest::from_request(&found, &names, None)
}

fn answer(clusters: u64, unusual: u64) -> WorkloadReport {
    let rare = |number| UnusualRequest {
        request: 5 + 10 * number,
        name: "web".to_owned(),
        what: "more of \u{7} it".to_owned(),
        ..UnusualRequest::default()
    };
    WorkloadReport {
        join: None,
        beginning: None,
        processor: None,
        charged_share: Some(0.97),
        model: WorkloadModel {
            requests: 123,
            clusters: (0..clusters).map(cluster).collect(),
            unusual: (0..unusual).map(rare).collect(),
            ..WorkloadModel::default()
        },
    }
}

fn written_json(answer: &WorkloadReport, examples: Vec<ExampleRequest>) -> Value {
    serde_json::to_value(PageWorkload::from_report(answer, examples, "sockcap requests".to_owned()))
        .unwrap()
}

#[test]
fn clusters_and_examples_are_short() {
    let page = written_json(&answer(1, 0), vec![example(0)]);
    assert_eq!(page["charged"], json!(0.97));
    let expected = json!({
        "requests": 1000,
        "share": 0.123,
        "names": [["web\u{fffd}:0", 7], ["web\u{fffd}:1", 7], ["web\u{fffd}:2", 7]],
        "more_names": 2,
        "time": 20,
        "range": [2, 200],
        "spent": [5, 1, 0, 3, 0, 0, 9],
        "bytes": [8, 0, 0],
        "representative": 0,
        "separation": 1.235,
    });
    assert_eq!(page["clusters"][0], expected);
    let expected = json!({
        "request": 0,
        "name": "web:80",
        "time": 100,
        "steps": [
            { "parent": null, "name": "web:80", "time": [10, 90], "spent": [30, 0, 0, 20, 0, 0, 0, 30] },
            { "parent": 0, "name": "db:5432", "time": [50, 80], "spent": null },
        ],
        "left": 0,
        "lanes": [],
        "wakes": [],
        "is_cut": false,
    });
    assert_eq!(page["examples"][0], expected);
}

#[test]
fn omitted_parts_are_counted() {
    let answer = answer(MAX_CLUSTERS as u64 + 2, MAX_UNUSUAL as u64 + 3);
    let page = written_json(&answer, Vec::new());
    let of_the_last_two = 2 * (1_000 - MAX_CLUSTERS as u64) - 1;
    assert_eq!(page["clusters"].as_array().unwrap().len(), MAX_CLUSTERS);
    assert_eq!(page["left"], json!([2, of_the_last_two]));
    assert_eq!(page["unusual"].as_array().unwrap().len(), MAX_UNUSUAL);
    assert_eq!(page["unusual_left"], 3);
    let wanted = PageWorkload::wanted_requests(&answer.model);
    assert!(wanted.len() <= MAX_EXAMPLE_REQUESTS);
    assert!(wanted.contains(&0) && wanted.contains(&10) && wanted.contains(&5), "{wanted:?}");
}
