//! Sentences: evidence in words.

use message_trace::units::{duration, whole_percent};
use request_flow::Names;

use crate::suspects::{CallChange, Evidence, EvidenceKind};
use crate::wording::{operation, text};

/// Maximum number of calls that a sentence names.
const MAX_CALLS: usize = 3;

/// By how many times it is longer, or shorter.
fn times(values: [f64; 2]) -> String {
    let [before, after] = values.map(|value| value.max(1.0));
    let ratio = after / before;
    match ratio {
        ..0.5 => format!(", {:.1} times shorter", 1.0 / ratio),
        2.0..10.0 => format!(", {ratio:.1} times longer"),
        10.0.. => format!(", {ratio:.0} times longer"),
        _ => String::new(),
    }
}

/// What is called less often, or more.
fn calls(names: &Names, changes: &[CallChange]) -> String {
    let list = |less: bool| -> Vec<String> {
        let these = changes.iter().filter(|change| (change.calls[1] < change.calls[0]) == less);
        these.map(|change| operation(names, change.node, change.operation)).collect()
    };
    let one = |less: bool, words: &str| {
        let mut list = list(less);
        let more = list.len().saturating_sub(MAX_CALLS);
        list.truncate(MAX_CALLS);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!list.is_empty()).then(|| format!("{words} {}{rest}", list.join(", ")))
    };
    let parts = [one(true, "calls less"), one(false, "calls more")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "makes its calls in other numbers".to_owned() } else { parts.join("; ") }
}

/// Evidence, in a sentence.
pub(super) fn evidence(names: &Names, of: &Evidence) -> String {
    let what = operation(names, of.site.node, of.site.operation);
    let [before, after] = of.values;
    let shares =
        || format!("{} → {} of its executions", whole_percent(before), whole_percent(after));
    let maybe = if of.is_sure { "" } else { " (may be chance)" };
    let words = match &of.kind {
        EvidenceKind::Own => {
            let means = format!("{} → {}", duration(before), duration(after));
            format!("{what} takes {means} itself{}", times(of.values))
        }
        EvidenceKind::Network => {
            let means = format!("{} → {}", duration(before), duration(after));
            let caller = text(names, of.site.caller);
            let between = times(of.values);
            format!("between {caller} and {what}: {means} on the way{between}")
        }
        EvidenceKind::Calls(changes) => {
            format!("{what} {}: this way {}", calls(names, changes), shares())
        }
        EvidenceKind::Failures => format!("{what} fails: {}", shares()),
    };
    words + maybe
}
