//! What requests cost, of a model and a request made by hand.

use request_flow::{Names, Request, Step};
use serde_json::{Value, json};
use workload::analysis::{Found, Told};
use workload::canonical::Canonical;
use workload::clusters::RequestFacts;
use workload::demands::{Demands, Waits};
use workload::model::NameCount;
use workload::unusual::Unusual;

use super::*;

fn cluster(place: u64) -> Cluster {
    Cluster {
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
        waits: Waits { runnable_ns: 1, lock_ns: 3, unknown_ns: 9, ..Waits::default() },
        duration_ns: 20,
        durations_ns: (2, 200),
        separation: Some(1.23456),
        ..Cluster::default()
    }
}

/// A request of two steps: the root computes, waits for a lock and calls; the other one was seen
/// by its caller only.
fn example(number: u64) -> ExampleRequest {
    let mut names = Names::default();
    let [web, db] = ["web:80", "db:5432"].map(|name| names.number(name));
    let mut request = Request::default();
    let waits = Waits { lock_ns: 20, ..Waits::default() };
    let root = Step { begin: Some(1_010), end: Some(1_090), ..Step::of(web, web) };
    request.push(Step { processor_ns: Some(30), waits: Some(waits), ..root }, []);
    let seen = Step { caller_begin: Some(1_050), caller_end: Some(1_080), ..Step::of(db, db) };
    request.push(Step { parent: Some(0), ..seen }, []);
    let found = Found {
        facts: RequestFacts { number, name: web, begin: 1_000, end: 1_100, ..Default::default() },
        canonical: Canonical::default(),
        told: Told::Steps(&request),
    };
    ExampleRequest::of(&found, &names, None)
}

fn answer(clusters: u64, unusual: u64) -> Answer {
    let rare = |number| Unusual {
        request: 5 + 10 * number,
        name: "web".to_owned(),
        what: "more of \u{7} it".to_owned(),
        ..Unusual::default()
    };
    Answer {
        join: None,
        beginning: None,
        processor: None,
        charged_share: Some(0.97),
        model: Model {
            requests: 123,
            clusters: (0..clusters).map(cluster).collect(),
            unusual: (0..unusual).map(rare).collect(),
            ..Model::default()
        },
    }
}

fn written(answer: &Answer, examples: Vec<ExampleRequest>) -> Value {
    serde_json::to_value(PageWorkload::of(answer, examples, "sockcap requests".to_owned())).unwrap()
}

#[test]
fn clusters_and_examples_are_as_short_as_can_be() {
    let page = written(&answer(1, 0), vec![example(0)]);
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
fn what_is_left_out_is_counted() {
    let answer = answer(MAX_CLUSTERS as u64 + 2, MAX_UNUSUAL as u64 + 3);
    let page = written(&answer, Vec::new());
    let of_the_last_two = 2 * (1_000 - MAX_CLUSTERS as u64) - 1;
    assert_eq!(page["clusters"].as_array().unwrap().len(), MAX_CLUSTERS);
    assert_eq!(page["left"], json!([2, of_the_last_two]));
    assert_eq!(page["unusual"].as_array().unwrap().len(), MAX_UNUSUAL);
    assert_eq!(page["unusual_left"], 3);
    let wanted = PageWorkload::wanted(&answer.model);
    assert!(wanted.len() <= MAX_EXAMPLE_REQUESTS);
    assert!(wanted.contains(&0) && wanted.contains(&10) && wanted.contains(&5), "{wanted:?}");
}
