//! The reason in a sentence.

use message_trace::units::{count, duration, expected, whole_percent};

use crate::equivalence::Level;
use crate::result::{ContextProfile, Measure, OperationProfile, Reason};
use crate::tuning::MAX_NAMED;

/// Which contexts make the operation slow. `of_level` are its contexts of the reason's kind, by
/// their ids.
pub(super) fn sentence(
    operation: &OperationProfile,
    reason: &Reason,
    of_level: &[&ContextProfile],
) -> String {
    let (slow, rest): (Vec<&ContextProfile>, Vec<&ContextProfile>) =
        of_level.iter().partition(|context| reason.slow.contains(&context.id));
    let (what, slow_time, rest_time) = match reason.measure {
        Measure::Deviation => ("mean", reason.slow_mean, reason.rest_mean),
        Measure::Ranks => ("median", reason.slow_median, reason.rest_median),
    };
    let all = slow.len() + rest.len();
    let (how, contexts, calls, time, otherwise) = if slow.len() <= MAX_NAMED {
        (" only", slow, reason.slow_calls, slow_time, rest_time)
    } else if rest.len() <= MAX_NAMED && all as u64 == reason.contexts {
        (" only", rest, reason.calls - reason.slow_calls, rest_time, slow_time)
    } else {
        ("", slow, reason.slow_calls, slow_time, rest_time)
    };
    let speed = if time >= otherwise { "slow" } else { "fast" };
    let when = match contexts.len() {
        few if few <= MAX_NAMED => when(reason.level, &contexts, of_level),
        many => format!("in {many} of its {} {}-contexts", count(reason.contexts), reason.level),
    };
    let decrease = operation.decrease.of(reason.level);
    let explains = match reason.measure {
        Measure::Deviation => {
            format!("explains {} of its standard deviation", whole_percent(decrease.share))
        }
        Measure::Ranks => format!(
            "explains {} of the variance of its ranks; its standard deviation is that of few very long calls",
            whole_percent(decrease.rank_share)
        ),
    };
    format!(
        "{} is {speed}{how} {when}: {what} {} in {} of {} calls, {} otherwise; {}-context {explains}",
        operation.name,
        duration(time),
        calls_in_words(calls),
        calls_in_words(reason.calls),
        duration(otherwise),
        reason.level,
    )
}

/// A few contexts in words.
fn when(level: Level, contexts: &[&ContextProfile], of_level: &[&ContextProfile]) -> String {
    let names = contexts.iter().map(|context| match context.name.as_str() {
        "$" => "an external caller".to_owned(),
        name => name.to_owned(),
    });
    match level {
        Level::Operation => "whatever calls it".to_owned(),
        Level::Caller => format!("when {} calls it", either(names)),
        Level::Stack => format!("on the path {}", either(names)),
        Level::Trace => {
            // Where the operation is slow in all traces of a class, the step does not matter.
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
                return format!("in traces of class {}", either(classes));
            }
            let steps = contexts.iter().map(|context| {
                let number = |of: Option<u32>| of.map_or(String::new(), |of| of.to_string());
                format!(
                    "step {} of traces of class {}",
                    number(context.step),
                    number(context.class)
                )
            });
            format!("as {}", either(steps))
        }
    }
}

/// `a`, `a or b`, `a, b or c`.
fn either(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// A number of calls, whole where it is.
fn calls_in_words(calls: f64) -> String {
    if (calls - calls.round()).abs() < 1e-6 { count(calls.round() as u64) } else { expected(calls) }
}

/// What is said of an operation whose contexts do not make it slow.
pub fn without_reason(operation: &OperationProfile) -> String {
    let name = &operation.name;
    let Some(times) = &operation.summary.times else {
        return format!(
            "{name} has no response time in any of its {} calls",
            count(operation.summary.count)
        );
    };
    let share = |level| whole_percent(operation.decrease.of(level).share.max(0.0));
    let [caller, stack, trace] = Level::CONTEXTS.map(share);
    format!(
        "no context makes {name} slow: mean {} and standard deviation {} in {} calls; caller-, stack- \
         and trace-contexts take away {caller}, {stack} and {trace} of it, which is little or chance, \
         or differ in nothing but how much times vary",
        duration(times.mean),
        duration(times.deviation),
        calls_in_words(times.weight),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_joined() {
        let of = |words: &[&str]| either(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(
            [of(&["a"]), of(&["a", "b"]), of(&["a", "b", "c"])],
            ["a", "a or b", "a, b or c"]
        );
        assert_eq!([calls_in_words(5_003.0), calls_in_words(7.25)], ["5,003", "7.2"]);
    }
}
