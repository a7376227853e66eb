//! The contexts of a page, from hand-written profiles.

use analyze::paths::{InstanceRow, TimedHop, TimedInstance};
use contexts::equivalence::ContextLevel;
use contexts::identity::OperationIdentity;
use contexts::result::{
    ClassProfile, ClassStep, ContextProfile, ContextSummary, CountedContexts, DeviationDecrease,
    ExampleExecution, OperationProfile, PerLevel, ProfileTotals, ReasonMeasure, ResponseTimes,
    SlowReason,
};
use contexts::statistics::LogBins;
use serde_json::Value;

use super::*;
use crate::tuning::{
    CONTEXTS_IN_ALL, FEW_CONTEXTS, MAX_CLASS_STEPS, MAX_CLASSES, MAX_CONTEXT_BINS,
    MAX_CONTEXT_EXAMPLES, MAX_CONTEXTS, MAX_OPERATIONS,
};

fn summary(count: u64, first: i64) -> ContextSummary {
    let examples =
        (0..20).map(|place| ExampleExecution { request: first + place, time: 9_000 - place });
    let times = ResponseTimes {
        weight: count as f64,
        mean: 1_234.567,
        deviation: 10.0,
        min: 1,
        q1: 2.5,
        median: 3.5,
        q3: 4.5,
        max: 9_000,
        modes: Some(2),
        histogram: vec![1.0; 150],
        examples: examples.collect(),
    };
    ContextSummary {
        count,
        expected: 1.0,
        timed: count,
        failed: 1,
        outliving: 0,
        times: Some(times),
        spent: None,
    }
}

fn context(id: u32, level: ContextLevel, count: u64) -> ContextProfile {
    let of_trace = |number: u32| (level == ContextLevel::Trace).then_some(number);
    ContextProfile {
        id,
        level,
        name: format!("context {id}"),
        class: of_trace(id % 1_000),
        step: of_trace(1),
        summary: summary(count, i64::from(id) * 100),
        decrease: PerLevel::default(),
        contexts: Vec::new(),
        further: None,
    }
}

/// An operation with one caller, one stack, and `traces` trace-contexts; the rarest of them make
/// it slow.
fn operation(id: u32, traces: u32) -> OperationProfile {
    let mut caller = context(id + 1, ContextLevel::Caller, 1_000);
    let mut stack = context(id + 2, ContextLevel::Stack, 1_000);
    let all =
        (0..traces).map(|number| context(id + 3 + number, ContextLevel::Trace, number.into()));
    stack.contexts = all.collect();
    stack.further = Some(CountedContexts { contexts: 5, steps: 7 });
    caller.contexts = vec![stack];
    OperationProfile {
        id,
        name: format!("operation\u{1b} {id}"),
        names: Default::default(),
        summary: summary(1_000, i64::from(id) * 100),
        bins: Some(LogBins { first: 1.0, ratio: 1.01, count: 150 }),
        decrease: PerLevel::from_fn(|_| DeviationDecrease {
            share: 0.12345,
            ..DeviationDecrease::default()
        }),
        reason: Some(SlowReason {
            spent: Vec::new(),
            level: ContextLevel::Trace,
            measure: ReasonMeasure::Deviation,
            slow: vec![id + 4, id + 3],
            contexts: traces.into(),
            slow_calls: 1.0,
            calls: 2.0,
            slow_mean: 1.0,
            slow_median: 1.0,
            rest_mean: 1.0,
            rest_median: 1.0,
            sentence: "it is slow".to_owned(),
        }),
        contexts: vec![caller],
    }
}

fn profile(operations: Vec<OperationProfile>) -> Profile {
    let step = |depth| ClassStep { depth, operation: 0, times: 1, group: depth };
    let class = ClassProfile {
        requests: 3,
        expected: 3.0,
        example: 0,
        caller: "$".to_owned(),
        steps: (0..100).map(step).collect(),
    };
    Profile {
        by: OperationIdentity::Host,
        totals: ProfileTotals { operations: 1_000, ..ProfileTotals::default() },
        deviation: 1.5,
        decrease: PerLevel::default(),
        operations,
        classes: vec![class; 1_000],
    }
}

fn json(contexts: PageContexts) -> Value {
    serde_json::from_slice(&contexts.into_json().unwrap()).unwrap()
}

fn contexts_of(profile: &Profile) -> PageContexts {
    PageContexts::from_profile(profile, MoreByCommand::default())
}

#[test]
fn slow_contexts_come_first_and_omitted_ones_are_counted() {
    let found = json(contexts_of(&profile(vec![operation(0, 40)])));
    let operation = &found["operations"][0];
    assert_eq!(operation["name"], "operation\u{fffd} 0", "nothing in a name can harm");
    assert_eq!(
        (&operation["sentence"], &operation["reason"]),
        (&"it is slow".into(), &"trace".into())
    );
    assert_eq!(operation["explained"]["stack"]["share"], 0.123);
    let trace = &operation["contexts"]["trace"];
    let shown = trace["shown"].as_array().unwrap();
    let ids: Vec<u64> = shown.iter().map(|context| context["id"].as_u64().unwrap()).collect();
    // The contexts of the reason in its order, then by the number of calls.
    assert_eq!(ids[..4], [4, 3, 42, 41]);
    assert_eq!(
        (ids.len(), &shown[1]["slow"], &shown[2]["slow"]),
        (MAX_CONTEXTS, &true.into(), &Value::Null)
    );
    assert_eq!(trace["all"], 45);
    // Contexts have 0 to 39 calls; the ones with 2 to 17 are left out, and seven more that the
    // profile only counts.
    assert_eq!(trace["left_calls"], (2..=17).sum::<u64>() + 7);
    let caller = &operation["contexts"]["caller"];
    assert_eq!((&caller["all"], &caller["left_calls"]), (&1.into(), &0.into()));
    assert_eq!((&found["operation_count"], &found["by_host"]), (&1_000.into(), &true.into()));
}

#[test]
fn merged_bins_keep_their_weight() {
    let found = json(contexts_of(&profile(vec![operation(0, 1)])));
    let operation = &found["operations"][0];
    let histogram = operation["times"]["histogram"].as_array().unwrap();
    assert!(histogram.len() <= MAX_CONTEXT_BINS, "{}", histogram.len());
    assert_eq!(operation["bins"]["count"], histogram.len());
    // Three bins are merged: 1.01 to the power of 3.
    assert!((operation["bins"]["ratio"].as_f64().unwrap() - 1.030_301).abs() < 1e-9);
    let weight: f64 = histogram.iter().map(|weight| weight.as_f64().unwrap()).sum();
    assert_eq!(weight, 150.0);
    assert_eq!(operation["times"]["mean"], 1_235);
}

#[test]
fn examples_are_few_and_know_their_patterns() {
    // Request 0 is path 100 with the first message 7000, and so on.
    let numbers = |first: i64, by: i64| (0..20).map(move |number| (first + by * number, number));
    for requests in [
        RequestsBy::Path(numbers(100, 1).collect()),
        RequestsBy::Message(numbers(7_000, 10).collect()),
    ] {
        let mut contexts = contexts_of(&profile(vec![operation(0, 1)])).with_requests(requests);
        let mut saw = |request: i64, pattern, messages| {
            contexts.record_path(100 + request, 7_000 + 10 * request, pattern, messages)
        };
        assert!(saw(0, 17, 10) && saw(19, 3, 10));
        assert!(!saw(1, 17, 10), "nobody has that as an example");
        assert!(!saw(-100, 17, 10), "nor a path that is no request");
        let too_long = crate::tuning::MAX_REQUEST_MESSAGES;
        assert!(!saw(4, 5, too_long), "there is no room for it");
        assert!(saw(9, 6, 10), "but for others");
        assert!(!saw(9, 8, 10), "another path of the same request");
        let found = json(contexts);
        let examples = &found["operations"][0]["times"]["examples"];
        let expected = [
            (0, 9_000, 17, 100),
            (4, 8_996, 5, 104),
            (9, 8_991, 6, 109),
            (14, 8_986, -1, -1),
            (19, 8_981, 3, 119),
        ];
        assert_eq!(expected.len(), MAX_CONTEXT_EXAMPLES);
        assert_eq!(*examples, serde_json::json!(expected));
    }
}

#[test]
fn classes_are_those_of_its_contexts() {
    let found = json(contexts_of(&profile(vec![operation(0, 3)])));
    let classes = found["classes"].as_array().unwrap();
    let numbers: Vec<u64> = classes.iter().map(|class| class["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [3, 4, 5]);
    assert_eq!(classes[0]["steps"].as_array().unwrap().len(), MAX_CLASS_STEPS);
    assert_eq!(classes[0]["left"], 100 - MAX_CLASS_STEPS);
    assert_eq!(classes[0]["steps"][1], serde_json::json!([1, 0, 1, 1]));
    assert_eq!(found["names"], serde_json::json!(["operation\u{fffd} 0"]));
}

#[test]
fn a_page_has_room_for_any_profile() {
    let operations = (0..1_000).map(|number| operation(number * 100, 60)).collect();
    let bytes = contexts_of(&profile(operations)).into_json().unwrap();
    assert!(bytes.len() < 8_000_000, "{}", bytes.len());
    let found: Value = serde_json::from_slice(&bytes).unwrap();
    let operations = found["operations"].as_array().unwrap();
    assert_eq!(operations.len(), MAX_OPERATIONS);
    let shown =
        |operation: &Value| operation["contexts"]["trace"]["shown"].as_array().unwrap().len();
    assert_eq!([shown(&operations[0]), shown(&operations[199])], [MAX_CONTEXTS, MAX_CONTEXTS]);
    assert!(found["classes"].as_array().unwrap().len() <= MAX_CLASSES);
}

#[test]
fn without_room_operations_have_only_a_few_contexts() {
    let mut wide = operation(0, 60);
    // As many callers and stacks as trace-contexts.
    wide.contexts = (0..60)
        .map(|number| {
            let mut caller = context(number * 3, ContextLevel::Caller, 9);
            let mut stack = context(number * 3 + 1, ContextLevel::Stack, 9);
            stack.contexts = vec![context(number * 3 + 2, ContextLevel::Trace, 9)];
            caller.contexts = vec![stack];
            caller
        })
        .collect();
    let found = json(contexts_of(&profile(vec![wide; MAX_OPERATIONS])));
    let operations = found["operations"].as_array().unwrap();
    let shown = |operation: &Value, level: &str| {
        operation["contexts"][level]["shown"].as_array().unwrap().len()
    };
    let rich = CONTEXTS_IN_ALL / (3 * MAX_CONTEXTS);
    assert_eq!(shown(&operations[rich - 1], "trace"), MAX_CONTEXTS);
    for level in ["caller", "stack", "trace"] {
        assert_eq!(shown(&operations[rich + 1], level), FEW_CONTEXTS, "{level}");
        assert_eq!(found["operations"][MAX_OPERATIONS - 1]["contexts"][level]["all"], 60);
    }
}

#[test]
fn an_empty_profile_is_valid() {
    let found = json(contexts_of(&profile(Vec::new())));
    assert_eq!(
        (&found["operations"], &found["classes"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    let mut untimed = operation(0, 1);
    untimed.bins = None;
    untimed.reason = None;
    untimed.summary.times = None;
    let found = json(contexts_of(&profile(vec![untimed])));
    assert_eq!(found["operations"][0]["bins"], Value::Null);
    assert_eq!(found["operations"][0]["times"], Value::Null);
    assert!(found["operations"][0]["sentence"].as_str().unwrap().contains("no response time"));
}

#[test]
fn the_page_has_examples_as_instances() {
    let patterns = [crate::sample_reports::lookup_pattern()];
    let report = crate::Report::new(&patterns, crate::sample_reports::sample_meta());
    let mut builder = crate::page::PageBuilder::new(&report, &crate::Options::default());
    // Request 0 is path 30, and so on.
    let requests = RequestsBy::Path((0..170).map(|number| (30 + number, number)).collect());
    builder.set_contexts(contexts_of(&profile(vec![operation(0, 1)])).with_requests(requests));
    let hop = TimedHop {
        parent: None,
        depth: 0,
        message: 0,
        sent: Some(1),
        received: Some(2),
        bytes: 0,
        connecting: 0,
        is_error: None,
    };
    let hops = vec![hop; patterns[0].hops.len()];
    for path in 0..200 {
        // This includes a pattern that the page does not have.
        let pattern = if path == 39 { 99 } else { patterns[0].id };
        let which = InstanceRow { path, pattern, probability: 1.0 };
        builder.add_instance(&TimedInstance { which, hops: &hops });
    }
    let page = builder.finish().unwrap();
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let contexts = json(&page.contexts.unwrap());
    let examples = contexts["operations"][0]["times"]["examples"].as_array().unwrap();
    assert_eq!(examples[1], serde_json::json!([4, 8_996, patterns[0].id, 34]));
    assert_eq!(examples[2], serde_json::json!([9, 8_991, -1, -1]));
    let instances = &json(&page.details[0])[0]["instances"];
    let paths: Vec<i64> = instances
        .as_array()
        .unwrap()
        .iter()
        .map(|instance| instance["path"].as_i64().unwrap())
        .collect();
    assert!([30, 34, 44, 49, 130, 134].iter().all(|path| paths.contains(path)), "{paths:?}");
    assert!(paths.is_sorted_by(|one, other| one < other), "each is there once: {paths:?}");
    assert!(paths.len() < 40, "{paths:?}");
    assert_eq!(json(&page.overview)["contexts"], true);
}
