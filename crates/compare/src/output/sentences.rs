//! Sentences: evidence in words.

use message_trace::units::{format_duration, format_whole_percent};
use request_flow::NameInterner;

use crate::suspects::{CallChange, EvidenceKind, SiteEvidence};
use crate::wording::{name_text, operation_text};

/// Maximum number of calls that a sentence names.
const MAX_CALLS: usize = 3;

/// The ratio of an increase or decrease of a time in words, after a comma; empty if the ratio is
/// small.
fn times_phrase(values: [f64; 2]) -> String {
    // A ratio to nearly nothing is meaningless.
    if values.iter().any(|value| *value < 1_000.0) {
        return String::new();
    }
    let [before, after] = values;
    let ratio = after / before;
    match ratio {
        ..0.5 => format!(", {:.1} times shorter", 1.0 / ratio),
        2.0..10.0 => format!(", {ratio:.1} times longer"),
        10.0.. => format!(", {ratio:.0} times longer"),
        _ => String::new(),
    }
}

/// The operations that are called more or less often, with the approximate number of calls per
/// execution.
fn calls_phrase(names: &NameInterner, changes: &[CallChange]) -> String {
    let one = |change: &CallChange| {
        let what = operation_text(names, change.node, change.operation);
        let [before, after] = change.calls;
        let how = if after > before { "more" } else { "less" };
        format!("{what} {how} often, {} → {} times", format_calls(before), format_calls(after))
    };
    let list: Vec<String> = changes.iter().take(MAX_CALLS).map(one).collect();
    let more = changes.len().saturating_sub(MAX_CALLS);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    match list.is_empty() {
        true => "other combinations of operations".to_owned(),
        false => format!("{}{rest}", list.join("; ")),
    }
}

/// A number of calls, with enough digits to differ from 0.
fn format_calls(calls: f64) -> String {
    match calls {
        0.0 => "0".to_owned(),
        ..0.1 => format!("{calls:.3}"),
        ..10.0 => format!("{calls:.2}"),
        _ => format!("{calls:.0}"),
    }
}

/// Evidence as a sentence.
pub(super) fn evidence_sentence(names: &NameInterner, of: &SiteEvidence) -> String {
    let what = operation_text(names, of.site.node, of.site.operation);
    let [before, after] = of.values;
    let shares = || {
        format!(
            "{} → {} of its executions",
            format_whole_percent(before),
            format_whole_percent(after)
        )
    };
    let maybe = if of.is_sure { "" } else { " (may be chance)" };
    let words = match &of.kind {
        EvidenceKind::Own => {
            let means = format!("{} → {}", format_duration(before), format_duration(after));
            let resource = of.resource.map_or_else(String::new, |(resource, [before, after])| {
                let words = resource.sentence_words();
                format!(": {words} {} → {}", format_duration(before), format_duration(after))
            });
            format!("{what} takes {means} itself{}{resource}", times_phrase(of.values))
        }
        EvidenceKind::Network => {
            let means = format!("{} → {}", format_duration(before), format_duration(after));
            let caller = name_text(names, of.site.caller);
            let between = times_phrase(of.values);
            format!("between {caller} and {what}: {means} on the way{between}")
        }
        EvidenceKind::Calls(changes) => {
            format!("{what} calls {}", calls_phrase(names, changes))
        }
        EvidenceKind::Failures => format!("{what} fails: {}", shares()),
    };
    words + maybe
}
