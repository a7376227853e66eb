//! Sentences by hand: which side is described, and in which words.

use super::*;
use crate::result::{ContextSummary, DeviationDecrease, PerLevel};

/// A context of the kind `level` with a number and a name, and with the class and step if given.
fn context(level: ContextLevel, id: u32, name: &str, of: Option<(u32, u32)>) -> ContextProfile {
    ContextProfile {
        id,
        level,
        name: name.to_owned(),
        class: of.map(|(class, _)| class),
        step: of.map(|(_, step)| step),
        summary: ContextSummary::default(),
        decrease: PerLevel::default(),
        contexts: Vec::new(),
        further: None,
    }
}

/// `all` callers, named `a`, `b`, `c` and so on.
fn callers(all: u32) -> Vec<ContextProfile> {
    let name = |id: u32| char::from_u32(u32::from('a') + id).unwrap().to_string();
    (0..all).map(|id| context(ContextLevel::Caller, id, &name(id), None)).collect()
}

/// The sentence for the contexts `slow`, with `slow_calls` of 1,000 calls: 10 ms on average, and 1
/// ms otherwise; medians are 8 and 2 ms.
fn sentence_of(
    contexts: &[ContextProfile],
    slow: &[u32],
    slow_calls: f64,
    measure: ReasonMeasure,
) -> String {
    let level = contexts[0].level;
    let reason = SlowReason {
        level,
        measure,
        slow: slow.to_vec(),
        contexts: contexts.len() as u64,
        slow_calls,
        calls: 1_000.0,
        slow_mean: 10e6,
        slow_median: 8e6,
        rest_mean: 1e6,
        rest_median: 2e6,
        spent: Vec::new(),
        sentence: String::new(),
    };
    let decrease =
        DeviationDecrease { share: 0.684, rank_share: 0.75, ..DeviationDecrease::default() };
    let operation = OperationProfile {
        id: 100,
        name: "redis GET".to_owned(),
        names: crate::identity::OperationLabel::default(),
        summary: ContextSummary::default(),
        bins: None,
        decrease: PerLevel::from_fn(|_| decrease),
        reason: None,
        contexts: Vec::new(),
    };
    reason_sentence(&operation, &reason, &contexts.iter().collect::<Vec<_>>())
}

/// The sentence of callers up to the colon.
fn begins(all: u32, slow: &[u32], slow_calls: f64) -> String {
    let sentence = sentence_of(&callers(all), slow, slow_calls, ReasonMeasure::Deviation);
    sentence.split(':').next().unwrap().to_owned()
}

#[test]
fn a_slow_minority_is_named() {
    assert_eq!(
        sentence_of(&callers(5), &[1], 218.0, ReasonMeasure::Deviation),
        "redis GET is slow only when b calls it: mean 10.0 ms in 218 of 1,000 calls, 1.00 ms \
         otherwise; caller-context explains 68% of its standard deviation"
    );
    assert_eq!(begins(9, &[0, 2, 4], 400.0), "redis GET is slow only when a, c or e calls it");
    // Five cannot be named. The fast ones can, and have most calls.
    assert_eq!(begins(7, &[0, 1, 2, 3, 4], 300.0), "redis GET is faster when f or g calls it");
    let neither = begins(20, &[0, 1, 2, 3, 4], 300.0);
    assert_eq!(neither, "redis GET is slow only in 5 of its 20 caller-contexts");
}

#[test]
fn a_fast_minority_is_named_where_most_calls_are_slow() {
    assert_eq!(
        sentence_of(&callers(2), &[0], 790.0, ReasonMeasure::Deviation),
        "redis GET is fast only when b calls it: mean 1.00 ms in 210 of 1,000 calls, 10.0 ms \
         otherwise; caller-context explains 68% of its standard deviation"
    );
    // One slow caller has most calls, and the others are too many to be named.
    assert_eq!(begins(8, &[0], 790.0), "redis GET is slower when a calls it");
    let neither = begins(9, &[0, 1, 2, 3, 4], 790.0);
    assert_eq!(neither, "redis GET is fast only in 4 of its 9 caller-contexts");
}

#[test]
fn nothing_is_only_so_where_both_have_many_calls() {
    assert_eq!(begins(2, &[0], 500.0), "redis GET is slower when a calls it");
    assert_eq!(begins(6, &[0, 1, 2, 3], 550.0), "redis GET is faster when e or f calls it");
    let neither = begins(8, &[0, 1, 2, 3], 500.0);
    assert_eq!(neither, "redis GET is slower in 4 of its 8 caller-contexts");
    // 40 of 100 are a minority, 41 are not.
    assert_eq!(begins(2, &[0], 401.0), "redis GET is slower when a calls it");
    assert_eq!(begins(2, &[0], 600.0), "redis GET is fast only when b calls it");
}

#[test]
fn the_reason_by_ranks_has_medians() {
    assert_eq!(
        sentence_of(&callers(3), &[2], 100.0, ReasonMeasure::Ranks),
        "redis GET is slow only when c calls it: median 8.00 ms in 100 of 1,000 calls, 2.00 ms \
         otherwise; caller-context explains 75% of the variance of its ranks; its standard \
         deviation comes from a few very long calls"
    );
}

#[test]
fn paths_steps_and_classes_are_named() {
    let begin = |contexts: &[ContextProfile], slow: &[u32]| {
        let sentence = sentence_of(contexts, slow, 100.0, ReasonMeasure::Deviation);
        sentence.split(':').next().unwrap().to_owned()
    };
    let stacks = ["$ > shop", "$ > cart"];
    let stacks: Vec<ContextProfile> =
        (0..).zip(stacks).map(|(id, name)| context(ContextLevel::Stack, id, name, None)).collect();
    assert_eq!(begin(&stacks, &[1]), "redis GET is slow only on the path $ > cart");
    let of = [(0, 1), (0, 2), (1, 1), (1, 2)];
    let traces: Vec<ContextProfile> =
        (0..).zip(of).map(|(id, of)| context(ContextLevel::Trace, id, "", Some(of))).collect();
    assert_eq!(begin(&traces, &[2, 3]), "redis GET is slow only in traces of class 1");
    assert_eq!(begin(&traces, &[2]), "redis GET is slow only as step 1 of traces of class 1");
    let external = [
        context(ContextLevel::Caller, 0, "$", None),
        context(ContextLevel::Caller, 1, "cron", None),
    ];
    assert_eq!(begin(&external, &[0]), "redis GET is slow only when an external caller calls it");
}

#[test]
fn unlisted_rare_contexts_are_not_named() {
    // Two of ten contexts are known: only one of the fast ones.
    let known = callers(2);
    let all: Vec<&ContextProfile> = known.iter().collect();
    let reason = SlowReason {
        level: ContextLevel::Caller,
        measure: ReasonMeasure::Deviation,
        slow: vec![0],
        contexts: 10,
        slow_calls: 700.0,
        calls: 1_000.0,
        slow_mean: 2.0,
        slow_median: 2.0,
        rest_mean: 1.0,
        rest_median: 1.0,
        spent: Vec::new(),
        sentence: String::new(),
    };
    let named = SentenceSubject::from_reason(&reason, &all);
    assert_eq!((named.speed_phrase(), named.contexts.len(), named.number), ("slower", 1, 1));
}

#[test]
fn words_are_joined_and_counts_are_rounded() {
    let of = |words: &[&str]| join_with_or(words.iter().map(|word| (*word).to_owned()));
    assert_eq!([of(&["a"]), of(&["a", "b"]), of(&["a", "b", "c"])], ["a", "a or b", "a, b or c"]);
    let shown = [5_003.0, 7.25, 7.0, 4.98, 0.0].map(calls_in_words);
    assert_eq!(shown, ["5,003", "7.2", "7", "5", "0"]);
}
