//! Sentences about reasons for a slow operation, and no sentence without a reason.

use contexts::equivalence::ContextLevel;
use contexts::explain::sentence_without_reason;
use contexts::result::{OperationProfile, Profile, ReasonMeasure};

use crate::support::{RequestSet, call};

/// A pseudo-random number from 0 to 1.
fn chance(seed: i64) -> f64 {
    let mut bits = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A time around `mean`, exponentially distributed with half of it as the minimum.
fn around(mean: f64, seed: i64) -> i64 {
    (mean * (0.5 - 0.5 * (1.0 - chance(seed)).ln())) as i64
}

fn get(profile: &Profile) -> &OperationProfile {
    profile.operations.iter().find(|operation| operation.names.operation == "GET").unwrap()
}

#[test]
fn the_caller_that_makes_it_slow_is_named() {
    let mut made = RequestSet::new();
    for round in 0..5_003 {
        let (caller, mean) = match round % 23 {
            0 => ("checkout", 12_100_000.0),
            n if n % 2 == 0 => ("cart", 1_300_000.0),
            _ => ("catalog", 1_300_000.0),
        };
        let root = call(
            "page",
            10,
            vec![call(caller, 10, vec![call("GET", around(mean, round), vec![])])],
        );
        made.add(&root);
    }
    let profile = made.profile();
    let reason = get(&profile).reason.as_ref().unwrap();
    assert_eq!(
        (reason.level, reason.measure, reason.slow.len()),
        (ContextLevel::Caller, ReasonMeasure::Deviation, 1)
    );
    assert_eq!((reason.slow_calls, reason.calls), (218.0, 5_003.0));
    let id = get(&profile).contexts.iter().find(|c| c.name == "n checkout").unwrap().id;
    assert_eq!(reason.slow, [id]);
    let begin = "n GET is slow only when n checkout calls it: mean ";
    assert!(reason.sentence.starts_with(begin), "{}", reason.sentence);
    assert!(reason.sentence.contains(" ms in 218 of 5,003 calls, 1.2"), "{}", reason.sentence);
    assert!(reason.sentence.contains("; caller-context explains "), "{}", reason.sentence);
}

#[test]
fn no_reason_is_given_without_evidence() {
    let mut made = RequestSet::new();
    for round in 0..3_000 {
        // Many callers and classes, and a few very long times that belong to none of them.
        let mean = if round % 500 == 7 { 1e9 } else { 1e6 };
        let caller = format!("caller{}", round % 40);
        let get = |n: i64| call("GET", around(mean, 3 * round + n), vec![]);
        let calls = (0..1 + round % 3).map(get).collect::<Vec<_>>();
        made.add(&call(&caller, 10, calls));
    }
    let profile = made.profile();
    let operation = get(&profile);
    assert_eq!(operation.reason, None);
    let sentence = sentence_without_reason(operation);
    assert!(sentence.starts_with("no context makes n GET slow: mean "), "{sentence}");
}

#[test]
fn a_difference_that_is_small_relative_to_the_spread_is_no_reason() {
    let mut made = RequestSet::new();
    for round in 0..20_000 {
        let (caller, mean) = if round % 2 == 0 { ("a", 1.05e6) } else { ("b", 1e6) };
        made.add(&call(caller, 10, vec![call("GET", around(mean, round), vec![])]));
    }
    assert_eq!(get(&made.profile()).reason, None);
}

#[test]
fn the_position_in_a_trace_is_named_if_callers_do_not_differ() {
    let mut made = RequestSet::new();
    for round in 0..500 {
        // The first call of two fills a cache.
        let [first, second] = [around(9e6, round), around(1e6, round + 7_000)];
        let calls = vec![call("GET", first, vec![]), call("GET", second, vec![])];
        made.add(&call("page", 10, calls));
    }
    let profile = made.profile();
    let reason = get(&profile).reason.as_ref().unwrap();
    assert_eq!(reason.level, ContextLevel::Trace);
    let begin = "n GET is slower as step 1 of traces of class 0: mean ";
    assert!(reason.sentence.starts_with(begin), "{}", reason.sentence);
}

#[test]
fn a_class_is_named_if_all_its_calls_are_slow() {
    let mut made = RequestSet::new();
    for round in 0..600 {
        let is_slow = round % 3 == 0;
        let mut calls = vec![call("GET", around(if is_slow { 9e6 } else { 1e6 }, round), vec![])];
        if is_slow {
            calls.insert(0, call("log in", 10, vec![]));
        }
        made.add(&call("page", 10, calls));
    }
    let profile = made.profile();
    let reason = get(&profile).reason.as_ref().unwrap();
    let begin = "n GET is slow only in traces of class 1: mean ";
    assert!(reason.sentence.starts_with(begin), "{}", reason.sentence);
}

#[test]
fn medians_show_the_reason_despite_few_long_times() {
    let mut made = RequestSet::new();
    for round in 0..4_000 {
        let (caller, mean) = if round % 2 == 0 { ("slow", 10e6) } else { ("fast", 1e6) };
        let time = if chance(round + 77) < 0.002 { 20_000_000_000 } else { around(mean, round) };
        made.add(&call(caller, 10, vec![call("GET", time, vec![])]));
    }
    let profile = made.profile();
    let reason = get(&profile).reason.as_ref().unwrap();
    assert_eq!((reason.level, reason.measure), (ContextLevel::Caller, ReasonMeasure::Ranks));
    assert!(reason.sentence.contains("median "), "{}", reason.sentence);
}

#[test]
fn fast_contexts_are_named_if_they_are_fewer() {
    let mut made = RequestSet::new();
    for round in 0..2_000 {
        let number = round % 10;
        let (caller, mean) = match number {
            0..4 => ("cache".to_owned(), 1e5),
            _ => (format!("c{number}"), 1e6),
        };
        made.add(&call(&caller, 10, vec![call("GET", around(mean, round), vec![])]));
    }
    let profile = made.profile();
    let sentence = &get(&profile).reason.as_ref().unwrap().sentence;
    assert!(sentence.starts_with("n GET is fast only when n cache calls it: mean "), "{sentence}");
    assert!(sentence.contains(" in 800 of 2,000 calls, "), "{sentence}");
}
