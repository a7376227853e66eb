//! The reason as a sentence.

use message_trace::units::{format_count, format_duration, format_expected, format_whole_percent};

use super::spent;
use crate::equivalence::ContextLevel;
use crate::result::{ContextProfile, OperationProfile, ReasonMeasure, SlowReason};
use crate::tuning::{MAX_MINORITY, MAX_NAMED};

/// The contexts that make the operation slow, in words. `of_level` are the operation's contexts of
/// the reason's kind, by their ids.
pub(super) fn reason_sentence(
    operation: &OperationProfile,
    reason: &SlowReason,
    of_level: &[&ContextProfile],
) -> String {
    let named = SentenceSubject::from_reason(reason, of_level);
    let when = match named.contexts.as_slice() {
        [] => format!(
            "in {} of its {} {}-contexts",
            format_count(named.number),
            format_count(reason.contexts),
            reason.level
        ),
        few => contexts_phrase(reason.level, few, of_level),
    };
    let decrease = operation.decrease.get(reason.level);
    let explains = match reason.measure {
        ReasonMeasure::Deviation => {
            format!("explains {} of its standard deviation", format_whole_percent(decrease.share))
        }
        ReasonMeasure::Ranks => format!(
            "explains {} of the variance of its ranks; its standard deviation comes from a few very long calls",
            format_whole_percent(decrease.rank_share)
        ),
    };
    let (what, slow, rest) = match reason.measure {
        ReasonMeasure::Deviation => ("mean", reason.slow_mean, reason.rest_mean),
        ReasonMeasure::Ranks => ("median", reason.slow_median, reason.rest_median),
    };
    let (time, otherwise) = if named.is_slow { (slow, rest) } else { (rest, slow) };
    format!(
        "{} is {} {when}: {what} {} in {} of {} calls, {} otherwise; {}-context {explains}{}",
        operation.name,
        named.speed_phrase(),
        format_duration(time),
        calls_in_words(named.calls),
        calls_in_words(reason.calls),
        format_duration(otherwise),
        reason.level,
        spent::spent_phrase(reason),
    )
}

/// The subject of a sentence: the slow contexts, or the rest.
struct SentenceSubject<'a> {
    is_slow: bool,
    /// Whether the contexts contain a minority of the calls, so that the other calls are the usual
    /// case.
    is_minority: bool,
    /// Expected number of calls in the contexts.
    calls: f64,
    /// Number of the contexts.
    number: u64,
    /// The contexts, if they are few enough to be named and all are listed; otherwise empty.
    contexts: Vec<&'a ContextProfile>,
}

impl<'a> SentenceSubject<'a> {
    /// The subject, slow contexts or the rest, that is best described: a minority that can be
    /// named, else contexts that can be named, else the minority as a number. If both are equally
    /// good, the slow contexts.
    fn from_reason(reason: &SlowReason, of_level: &[&'a ContextProfile]) -> SentenceSubject<'a> {
        let (slow, rest): (Vec<&ContextProfile>, Vec<&ContextProfile>) =
            of_level.iter().partition(|context| reason.slow.contains(&context.id));
        let side = |is_slow, calls: f64, number, contexts: Vec<&'a ContextProfile>| {
            let is_known = contexts.len() as u64 == number && contexts.len() <= MAX_NAMED;
            SentenceSubject {
                is_slow,
                is_minority: calls <= MAX_MINORITY * reason.calls,
                calls,
                number,
                contexts: if is_known { contexts } else { Vec::new() },
            }
        };
        let number = slow.len() as u64;
        let slow = side(true, reason.slow_calls, number, slow);
        let others = reason.contexts.saturating_sub(number);
        let rest = side(false, reason.calls - reason.slow_calls, others, rest);
        let rank = |one: &SentenceSubject<'_>| (one.contexts.is_empty(), !one.is_minority);
        if rank(&rest) < rank(&slow) { rest } else { slow }
    }

    fn speed_phrase(&self) -> &'static str {
        match (self.is_slow, self.is_minority) {
            (true, true) => "slow only",
            (false, true) => "fast only",
            (true, false) => "slower",
            (false, false) => "faster",
        }
    }
}

/// A few contexts in words.
fn contexts_phrase(
    level: ContextLevel,
    contexts: &[&ContextProfile],
    of_level: &[&ContextProfile],
) -> String {
    let names = contexts.iter().map(|context| match context.name.as_str() {
        "$" => "an external caller".to_owned(),
        name => name.to_owned(),
    });
    match level {
        ContextLevel::Operation => "whatever calls it".to_owned(),
        ContextLevel::Caller => format!("when {} calls it", join_with_or(names)),
        ContextLevel::Stack => format!("on the path {}", join_with_or(names)),
        ContextLevel::Trace => {
            // If the operation is slow in all traces of a class, the step does not matter.
            let is_of = |class: Option<u32>| move |other: &&&ContextProfile| other.class == class;
            let whole = |class: Option<u32>| {
                contexts.iter().filter(is_of(class)).count()
                    == of_level.iter().filter(is_of(class)).count()
            };
            let mut classes: Vec<Option<u32>> =
                contexts.iter().map(|context| context.class).collect();
            classes.sort_unstable();
            classes.dedup();
            if classes.iter().all(|class| whole(*class)) {
                let classes = classes.iter().flatten().map(u32::to_string);
                return format!("in traces of class {}", join_with_or(classes));
            }
            let steps = contexts.iter().map(|context| {
                let number = |of: Option<u32>| of.map_or(String::new(), |of| of.to_string());
                format!(
                    "step {} of traces of class {}",
                    number(context.step),
                    number(context.class)
                )
            });
            format!("as {}", join_with_or(steps))
        }
    }
}

/// `a`, `a or b`, `a, b or c`.
fn join_with_or(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// An expected number of calls, without the decimal `.0`.
fn calls_in_words(calls: f64) -> String {
    let words = format_expected(calls);
    words.strip_suffix(".0").map(str::to_owned).unwrap_or(words)
}

/// The sentence for an operation that no context makes slow.
pub fn sentence_without_reason(operation: &OperationProfile) -> String {
    let name = &operation.name;
    let Some(times) = &operation.summary.times else {
        return format!(
            "{name} has no response time in any of its {} calls",
            format_count(operation.summary.count)
        );
    };
    let share = |level| format_whole_percent(operation.decrease.get(level).share.max(0.0));
    let [caller, stack, trace] = ContextLevel::CONTEXTS.map(share);
    format!(
        "no context makes {name} slow: mean {} and standard deviation {} in {} calls; caller-, stack- \
         and trace-contexts explain {caller}, {stack} and {trace} of it, which is little or chance, \
         or differ in nothing but how much times vary",
        format_duration(times.mean),
        format_duration(times.deviation),
        calls_in_words(times.weight),
    )
}

#[cfg(test)]
#[path = "sentence_tests.rs"]
mod tests;
