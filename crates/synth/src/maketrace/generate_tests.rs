//! Properties of generated traces.

use std::path::Path;

use analyze::calls::{CallId, Calls};
use message_trace::MessageId;
use proptest::prelude::*;
use rustc_hash::FxHashMap;

use super::super::{ConfigChanges, SHIPPED, shipped_config};
use super::*;
use crate::ground_truth::{CallOrigin, GroundTruth};

fn make_from_text(text: &str) -> Result<SyntheticTrace, Error> {
    make_trace(&TraceConfig::parse(Path::new("x.toml"), text)?, &())
}

/// A call in a call, with constant delays.
const NESTED: &str = r#"
delay = "5ms"
return_delay = "1ms"
network = "100us"
[[tracelet]]
name = "nested"
parallel = 2
instances = 3
think = "20ms"
messages = [
    { from = "c", to = "a", name = "a", delay = "0ms" },
    { from = "a", to = "b", name = "b", bytes = 7 },
    { returns = "b" },
    { from = "a", to = "d", name = "d" },
    { returns = "d" },
    { returns = "a" },
]
"#;

#[test]
fn messages_come_in_order_and_at_their_times() {
    let SyntheticTrace { trace, truth, instances } = make_from_text(NESTED).unwrap();
    assert_eq!((trace.len(), instances), (36, 6));
    assert!(trace.messages().is_sorted_by_key(|message| message.sort_time()));
    // The first invocations begin after thinking 20 ms; both sequences are alike, as no delay is
    // random.
    let times: Vec<i64> =
        trace.ids().take(12).step_by(2).map(|id| trace.send_ts(id).unwrap() / 100_000).collect();
    assert_eq!(times, [200, 251, 262, 313, 324, 335]);
    let [first, third, next] = [0, 2, 12].map(MessageId::from_index);
    assert_eq!(trace.recv_ts(first), Some(20_100_000));
    assert_eq!(trace.bytes(third), 7);
    // The next invocations begin 20 ms after the last return was received.
    assert_eq!(trace.send_ts(next), Some(33_600_000 + 20_000_000));
    let TruthTable::Calls(calls) = truth else { panic!("not by calls") };
    assert_eq!(calls.len(), 18);
    let parents: Vec<(&str, Option<&str>)> =
        calls[..3].iter().map(|(call, parent)| (call.as_str(), parent.as_deref())).collect();
    assert_eq!(parents, [("0.0.0", None), ("0.0.1", Some("0.0.0")), ("0.0.3", Some("0.0.0"))]);
}

/// The truth written and read again, for the calls of the trace.
fn origins(made: &SyntheticTrace) -> (Calls, Vec<CallOrigin>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("truth.csv");
    made.truth.write(&path).unwrap();
    let calls = Calls::from_trace(&made.trace);
    let origins = GroundTruth::read(&path).unwrap().origins_of_calls(&made.trace, &calls);
    assert_eq!((origins.missing, origins.adopted), (0, 0));
    (calls, origins.of)
}

#[test]
fn the_truth_is_the_same_with_ids_and_without() {
    let with = make_from_text(NESTED).unwrap();
    let without = make_from_text(&format!("call_ids = false\n{NESTED}")).unwrap();
    assert!(matches!(&without.truth, TruthTable::Messages(causes) if causes.len() == 36));
    assert_eq!(without.trace.call_id(MessageId::from_index(0)), None);
    // Without ids, calls are paired by alternation on their connections.
    let ((calls, truth), (same_calls, same_truth)) = (origins(&with), origins(&without));
    assert_eq!(calls.len(), same_calls.len());
    for call in calls.iter() {
        assert_eq!(calls.response(call), same_calls.response(call));
    }
    assert_eq!(truth, same_truth);
}

#[test]
fn every_shipped_configuration_has_a_complete_truth() {
    for (name, _) in SHIPPED {
        let made = make_trace(&shipped_config(name).unwrap().unwrap(), &()).unwrap();
        let (calls, origins) = origins(&made);
        assert_eq!(2 * calls.len(), made.trace.len(), "{name}: every call is answered");
        let roots = origins.iter().filter(|origin| **origin == CallOrigin::Root).count() as u64;
        assert_eq!(roots, made.instances, "{name}: every invocation has one root");
        assert!(!origins.contains(&CallOrigin::Unknown), "{name}");
        for (call, origin) in calls.iter().zip(&origins) {
            let CallOrigin::Call(parent) = origin else { continue };
            let parent = CallId::from_index(*parent as usize);
            let ends = |call| calls.caller_and_callee(&made.trace, call).map(|(node, _)| node);
            assert_eq!(ends(call)[0], ends(parent)[1], "{name}: who called was called");
            let time = |id: Option<MessageId>| made.trace.send_ts(id.unwrap()).unwrap();
            assert!(time(calls.request(parent)) <= time(calls.request(call)), "{name}");
            assert!(time(calls.response(call)) <= time(calls.response(parent)), "{name}: nesting");
        }
    }
}

#[test]
fn delays_have_their_means() {
    let made = make_trace(&shipped_config("multi-tier").unwrap().unwrap(), &()).unwrap();
    let (calls, _) = origins(&made);
    let name = |node: NodeId| made.trace.nodes.get(node).unwrap().command.clone();
    let mut delays: Vec<f64> = Vec::new();
    for call in calls.iter() {
        let callee = name(calls.caller_and_callee(&made.trace, call)[1].0);
        if callee.starts_with("DB") {
            let [request, response] =
                [calls.request(call), calls.response(call)].map(|row| row.unwrap());
            let delay =
                made.trace.send_ts(response).unwrap() - made.trace.recv_ts(request).unwrap();
            delays.push(delay as f64);
        }
    }
    // 2000 from pages and 1000 from searches, each 10 ms with a deviation of 2 ms: four standard
    // errors.
    assert_eq!(delays.len(), 3000);
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((mean - 1e7).abs() < 4.0 * 2e6 / (delays.len() as f64).sqrt(), "{mean}");
}

#[test]
fn an_added_delay_belongs_to_one_node() {
    let made =
        make_trace(&shipped_config("multi-tier-added-delay").unwrap().unwrap(), &()).unwrap();
    let plain = make_trace(&shipped_config("multi-tier").unwrap().unwrap(), &()).unwrap();
    let longest = |made: &SyntheticTrace| {
        let mut longest: FxHashMap<String, i64> = FxHashMap::default();
        let calls = Calls::from_trace(&made.trace);
        for call in calls.iter() {
            let callee = calls.caller_and_callee(&made.trace, call)[1].0;
            let [request, response] =
                [calls.request(call), calls.response(call)].map(|row| row.unwrap());
            let took = made.trace.send_ts(response).unwrap() - made.trace.recv_ts(request).unwrap();
            let name = made.trace.nodes.get(callee).unwrap().command.clone();
            longest.entry(name).and_modify(|most| *most = took.max(*most)).or_insert(took);
        }
        longest
    };
    let (added, before) = (longest(&made), longest(&plain));
    assert!(
        added["WS2"] > before["WS2"] + 100_000_000 && added["WS1"] < before["WS1"] + 100_000_000
    );
}

#[test]
fn equal_seeds_make_equal_traces_and_different_seeds_different_ones() {
    let times = |changes: &ConfigChanges| {
        let config = shipped_config("children-parallel").unwrap().unwrap().with_changes(changes);
        let made = make_trace(&config, &()).unwrap();
        made.trace.ids().map(|id| made.trace.send_ts(id)).collect::<Vec<_>>()
    };
    let few = ConfigChanges { instances: Some(5), ..ConfigChanges::default() };
    assert_eq!(times(&few), times(&few));
    assert_ne!(times(&few), times(&ConfigChanges { seed: Some(2), ..few }));
    assert_eq!(times(&ConfigChanges { parallel: Some(3), ..few }).len(), 3 * times(&few).len());
    // Sequences differ: no two of the first requests are sent at the same time.
    let mut first = times(&ConfigChanges { instances: Some(1), ..ConfigChanges::default() });
    first.truncate(first.len() / 6);
    assert!(first.windows(2).all(|pair| pair[0] != pair[1]), "{first:?}");
    // Without deviation, every invocation takes the same time.
    let config = shipped_config("children-parallel").unwrap().unwrap();
    let made =
        make_trace(&config.with_changes(&ConfigChanges { deviation: Some(0.0), ..few }), &())
            .unwrap();
    let calls = Calls::from_trace(&made.trace);
    let took = |call| {
        let [request, response] =
            [calls.request(call), calls.response(call)].map(|row| row.unwrap());
        made.trace.send_ts(response).unwrap() - made.trace.send_ts(request).unwrap()
    };
    assert_eq!(took(CallId::from_index(0)), 50_000_000 + 10_000_000 + 10_000_000);
}

#[test]
fn paths_that_are_interleaved_on_purpose_have_causes_of_their_own() {
    let text = r#"
[[tracelet]]
name = "two at once"
instances = 1
messages = [
    { from = "a", to = "b", name = "first" },
    { from = "x", to = "b", name = "second", spontaneous = true, delay = "1ms" },
    { from = "b", to = "c", name = "of first", after = "first", delay = "2ms" },
    { from = "b", to = "c", name = "of second", after = "second", delay = "3ms" },
    { from = "b", to = "d", after = ["first", "second"], cause = "first", delay = "4ms" },
]
"#;
    let TruthTable::Calls(calls) = make_from_text(text).unwrap().truth else {
        panic!("not by calls")
    };
    let parents: Vec<Option<&str>> = calls.iter().map(|(_, parent)| parent.as_deref()).collect();
    assert_eq!(parents, [None, None, Some("0.0.0"), Some("0.0.1"), Some("0.0.0")]);
}

#[test]
fn inconsistencies_are_reported_with_tracelet_and_message() {
    let error = |messages: &str| {
        let text = format!("[[tracelet]]\nname = \"t\"\ninstances = 1\nmessages = [{messages}]");
        make_from_text(&text).unwrap_err().to_string()
    };
    let first = r#"{ from = "a", to = "b", name = "b" }, "#;
    for (messages, words) in [
        (String::new(), "the tracelet 't' has no messages"),
        (r#"{ from = "a" }"#.into(), "message 1: 'to' is missing"),
        (
            format!("{first}{{ from = \"c\", to = \"b\" }}"),
            "message 2: its sender does not receive message 1",
        ),
        (
            format!("{first}{{ from = \"b\", to = \"c\", after = \"x\" }}"),
            "no message before it is called 'x'",
        ),
        (
            format!("{first}{{ returns = \"b\" }}, {{ returns = \"b\", after = \"b\" }}"),
            "message 3: 'b' has a return",
        ),
        (
            format!("{first}{{ from = \"b\", to = \"c\", name = \"b\" }}"),
            "another message is called 'b'",
        ),
        (format!("{first}{{ returns = \"b\", to = \"c\" }}"), "a return goes from the callee"),
        (r#"{ from = "a", to = "b", delays = "1s" }"#.into(), "delays"),
    ] {
        let error = error(&messages);
        assert!(error.contains("x.toml") && error.contains(words), "'{words}': {error}");
    }
    let error = |text: &str| make_from_text(text).unwrap_err().to_string();
    assert!(error("seed = 1").contains("[[tracelet]]"));
    let many = NESTED.replace("instances = 3", "instances = 99999999999");
    assert!(error(&many).contains("instances"));
}

#[test]
fn the_configuration_in_the_documentation_is_valid() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/synth.md");
    let document = std::fs::read_to_string(document).unwrap();
    let text = document.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let made = make_from_text(text).unwrap();
    assert_eq!((made.instances, made.trace.len()), (1000, 6000));
    let (_, origins) = origins(&made);
    assert_eq!(origins.iter().filter(|origin| **origin == CallOrigin::Root).count(), 1000);
}

#[test]
fn times_saturate_and_zero_parallel_sequences_make_no_messages() {
    let text = NESTED.replace("\"20ms\"", "\"8784h\"").replace("instances = 3", "instances = 400");
    let years = make_from_text(&text).unwrap();
    assert!(years.trace.messages().all(|message| message.send_ts <= message.recv_ts), "{text}");
    let mut config = TraceConfig::parse(Path::new("x.toml"), NESTED).unwrap();
    for tracelet in &mut config.tracelets {
        (tracelet.instances, tracelet.parallel) = (0, u64::MAX);
    }
    assert_eq!(make_trace(&config, &()).unwrap().trace.len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_text_is_a_configuration_or_an_error(at in 0usize..400, byte in any::<char>(), drop in any::<bool>()) {
        // A letter of a valid configuration is replaced or removed.
        let mut letters: Vec<char> = NESTED.chars().collect();
        let at = at % letters.len();
        if drop { letters.remove(at); } else { letters[at] = byte; }
        let text: String = letters.into_iter().collect();
        let few = |config: &TraceConfig| config.tracelets.iter().all(|t| t.instances < 100 && t.parallel < 100);
        match TraceConfig::parse(Path::new("x.toml"), &text) {
            Ok(config) if few(&config) => {
                if let Err(error) = make_trace(&config, &()) {
                    prop_assert!(error.to_string().starts_with("x.toml: "));
                }
            }
            Ok(_) => {}
            Err(error) => prop_assert!(error.to_string().starts_with("x.toml: ")),
        }
    }
}
