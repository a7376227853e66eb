//! The documents, read back.

use analyze::paths::{CallOutcomes, PathFilter, PathPattern};

use super::*;
use crate::{AppliedFilter, SortKey, TraceMeta, sample_reports};

fn written_json(patterns: &[PathPattern], options: &Options) -> serde_json::Value {
    let mut out = Vec::new();
    JsonWriter
        .write_report(&Report::new(patterns, sample_reports::sample_meta()), options, &mut out)
        .unwrap();
    assert!(out.ends_with(b"}\n"));
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn all_fields_are_in_the_document() {
    let patterns = sample_reports::small_system();
    let json = written_json(&patterns, &Options::default());
    assert_eq!((&json["messages"], &json["sort"]), (&2416.into(), &"total".into()));
    assert_eq!(json["not_seen"].as_array().unwrap().len(), 2, "what did not happen is left out");
    let lookup = json["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|pattern| pattern["pattern"] == 2)
        .unwrap();
    assert_eq!(lookup["count"], 88);
    assert_eq!(lookup["expected_per_count"], patterns[2].expected_per_count());
    assert_eq!(lookup["hops"][3]["untraced_mean"], 2.2e6);
    assert_eq!(lookup["hops"][3]["node_mean"], serde_json::Value::Null);
    assert_eq!(lookup["hops"][2]["protocol"], "udp");
    let shares: f64 = json["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pattern| pattern["share"].as_f64().unwrap())
        .sum();
    assert!((shares - 1.0).abs() < 1e-9);
}

#[test]
fn what_decided_calls_is_in_the_document() {
    let json = written_json(&sample_reports::small_system(), &Options::default());
    let evidence = &json["evidence"];
    assert_eq!(evidence["calls"]["tasks"], 1_092);
    assert_eq!(evidence["calls"]["words"], 72);
    assert_eq!(evidence["calls"]["inferred"], 36);
    let gateway = &evidence["services"][0];
    assert_eq!(
        (&gateway["service"], &gateway["unfollowed"][0]),
        (&"gateway".into(), &"Python 3.15".into())
    );
    assert_eq!(gateway["calls"]["inferred"], 36);
    assert_eq!(evidence["limits"][0]["service"], "gateway");
    let reason = evidence["limits"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("Python 3.15, tasks are not followed"), "{reason}");
}

#[test]
fn connecting_times_are_included_if_there_are_any() {
    let json = written_json(&[sample_reports::connecting_pattern()], &Options::default());
    let hops = &json["patterns"][0]["hops"];
    assert_eq!((&hops[2]["connect_mean"], &hops[2]["connect_count"]), (&4e7.into(), &53.into()));
    assert_eq!(hops[1].get("connect_mean"), None);
}

#[test]
fn order_and_length_are_chosen() {
    let options = Options { sort: SortKey::Count, limit: Some(2), ..Options::default() };
    let json = written_json(&sample_reports::small_system(), &options);
    let ids: Vec<i64> = json["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pattern| pattern["pattern"].as_i64().unwrap())
        .collect();
    assert_eq!(ids, [0, 1]);
    assert_eq!(json["pattern_count"], 4);
}

#[test]
fn known_operations_and_outcomes_are_included() {
    let mut patterns = sample_reports::small_system();
    let hops = &mut patterns[0].hops;
    hops[0].operation = Some("GET /cart/{}".to_owned());
    hops[5].outcomes = Some(CallOutcomes { answers: 212, errors: 53, error_share: 0.25 });
    let json = written_json(&patterns, &Options::default());
    let patterns = json["patterns"].as_array().unwrap();
    let of = patterns.iter().find(|pattern| pattern["pattern"] == 0).unwrap();
    assert_eq!(of["hops"][0]["operation"], "GET /cart/{}");
    let answer = &of["hops"][5];
    let ended = ["answer_count", "error_count", "error_share"].map(|name| answer[name].clone());
    assert_eq!(serde_json::json!(ended), serde_json::json!([212, 53, 0.25]));
    let is_silent = |hop: &serde_json::Value| {
        let names = ["operation", "answer_count", "error_count", "error_share"];
        names.iter().all(|name| hop.get(name).is_none())
    };
    assert!(is_silent(&of["hops"][1]));
}

#[test]
fn operations_are_listed_with_their_errors() {
    let json = written_json(&sample_reports::patterns_with_operations(), &Options::default());
    let redis = serde_json::json!({
        "operation": "GET", "node": "redis-server", "root": false, "calls": 250.0,
        "answered": 225.0, "errors": 54.0, "error_share": 0.24
    });
    assert_eq!(json["operations"][0], redis);
    assert_eq!(json["operations"][3]["error_share"], serde_json::Value::Null);
    assert!(
        written_json(&sample_reports::small_system(), &Options::default())
            .get("operations")
            .is_none()
    );
}

#[test]
fn a_filtered_document_has_its_filter() {
    let filter = PathFilter { through: vec!["app".into()], from: Some(7), ..PathFilter::default() };
    let filtered = AppliedFilter { filter, begin: 5, of_patterns: 9, of_instances: 400 };
    let meta = TraceMeta { filtered: Some(filtered), ..sample_reports::sample_meta() };
    let mut out = Vec::new();
    JsonWriter
        .write_report(
            &Report::new(&sample_reports::small_system(), meta),
            &Options::default(),
            &mut out,
        )
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let expected = serde_json::json!({
        "through": ["app"], "operations": [], "patterns": [], "from": 7, "to": null,
        "min_confidence": null, "errors": false, "of_patterns": 9, "of_instances": 400
    });
    assert_eq!(json["filter"], expected);
    assert_eq!(
        written_json(&sample_reports::small_system(), &Options::default())["filter"],
        serde_json::Value::Null
    );
}

#[test]
fn delays_are_rows_by_rank() {
    let (nodes, hops) = sample_reports::sample_delays();
    let written = |table: &crate::DelaysBy, sort| {
        let report = DelayReport { table, meta: sample_reports::sample_meta() };
        let mut out = Vec::new();
        JsonWriter
            .write_delays(&report, &Options { sort, ..Options::default() }, &mut out)
            .unwrap();
        serde_json::from_slice::<serde_json::Value>(&out).unwrap()
    };
    let json = written(&nodes, SortKey::Total);
    assert_eq!(
        (&json["messages"], &json["instances"], &json["sort"]),
        (&2416.into(), &400.into(), &"total".into())
    );
    assert_eq!(json["delays"][0]["node"], "shop.py");
    assert_eq!(
        (&json["delays"][0]["count"], &json["delays"][0]["mean"]),
        (&800.into(), &2e6.into())
    );
    // 800 messages of probability 0.75 and 2 ms, of 400 paths of probability 0.75 and 10 ms.
    assert_eq!(json["delays"][0]["share"], 0.4);
    let json = written(&hops, SortKey::Count);
    let last = json["delays"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["src"], &last["dst_port"], &last["mean"]),
        (&"shop.py".into(), &"53".into(), &serde_json::Value::Null)
    );
    assert_eq!((&last["protocol"], &last["dst_traced"]), (&"udp".into(), &false.into()));
}

#[test]
fn an_empty_report_is_a_valid_document() {
    let json = written_json(&[], &Options::default());
    assert_eq!(json["patterns"], serde_json::json!([]));
    assert_eq!(json["total_time"], 0.0);
}
