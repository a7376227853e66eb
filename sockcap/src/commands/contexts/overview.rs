//! The operations, those that context explains best first; and instrumentations by the number
//! of monitored operations.

use std::io::{self, Write};

use contexts::Analysis;
use contexts::equivalence::Level;
use contexts::instrumentation::{Instrumentation, Instrumented};
use contexts::result::{OperationProfile, PerLevel, Totals};
use message_trace::units::{count, duration, plural, whole_percent};

use crate::output;
use crate::table::{Side, Table, folded};
use crate::tuning::INSTRUMENTATION_BINS;

/// Writes what contexts explain.
pub(super) fn write(analysis: &Analysis, limit: usize, out: &mut impl Write) -> io::Result<()> {
    let width = output::limit();
    for line in lines(analysis) {
        folded(&line, "", width, out)?;
    }
    writeln!(out)?;
    let right = ["COUNT", "MEAN", "DEVIATION", "MEDIAN", "MODES", "CALLER", "STACK", "TRACE"];
    let mut head: Vec<(&'static str, Side)> = right.map(|name| (name, Side::Right)).to_vec();
    head.push(("OPERATION", Side::Left));
    let mut table = Table::new(&head);
    let operations = &analysis.profile.operations;
    for operation in operations.iter().take(limit) {
        let reason = operation.reason.iter().map(|reason| reason.sentence.clone()).collect();
        table.row(row(operation), reason);
    }
    table.write(width, out)?;
    match operations.len().saturating_sub(limit) {
        0 => Ok(()),
        more => {
            let operations = plural(more as u64, "more operation", "more operations");
            writeln!(out, "and {operations}; --limit shows them")
        }
    }
}

/// How much there is, and what contexts and the timing model explain in all.
fn lines(analysis: &Analysis) -> Vec<String> {
    let Totals { requests, torn, classes, steps, timed, outliving, operations, contexts, .. } =
        analysis.profile.totals;
    let mut lines = vec![format!(
        "{} of {} in {}; contexts: {}, {}, {}, {}",
        plural(steps, "step", "steps"),
        plural(requests, "request", "requests"),
        plural(classes, "class of traces", "classes of traces"),
        plural(operations, "operation", "operations"),
        plural(contexts.caller, "caller", "callers"),
        plural(contexts.stack, "stack", "stacks"),
        plural(contexts.trace, "trace", "traces"),
    )];
    let notes = [
        (torn, "requests whose root was lost"),
        (steps - timed, "steps without a response time"),
        (outliving, "steps that went on after their caller"),
    ];
    let notes: Vec<String> = notes
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{what}: {}", count(*number)))
        .collect();
    if !notes.is_empty() {
        lines.push(notes.join("; "));
    }
    let decrease = analysis.profile.decrease;
    lines.push(format!(
        "standard deviation: {} on average; within contexts less: {} by caller, {} by stack, {} by trace",
        duration(analysis.profile.deviation),
        share(decrease.caller),
        share(decrease.stack),
        share(decrease.trace),
    ));
    let model = &analysis.model;
    let mut line = format!(
        "timing model: {} of {} contexts ({} removed, {} merged, {} linked), {} less",
        plural(model.leaves.len() as u64, "leaf", "leaves"),
        count(model.nodes),
        count(model.removed),
        count(model.merged),
        count(model.linked),
        share(model.decrease),
    );
    if model.too_few > 0 {
        let operations = plural(model.too_few, "operation has", "operations have");
        line += &format!("; {operations} fewer than {} response times", model.options.min_calls);
    }
    lines.push(line);
    lines
}

fn row(operation: &OperationProfile) -> Vec<String> {
    let times = operation.summary.times.as_ref();
    let in_words =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| duration(value).to_string());
    let mut row = vec![
        count(operation.summary.count),
        in_words(times.map(|times| times.mean)),
        in_words(times.map(|times| times.deviation)),
        in_words(times.map(|times| times.median)),
        times.and_then(|times| times.modes).map_or("–".to_owned(), |modes| modes.to_string()),
    ];
    row.extend(Level::CONTEXTS.map(|level| share(operation.decrease.of(level).share)));
    row.push(message_trace::units::printable(&operation.name));
    row
}

/// A share that is gone; rounding may make it less than nothing.
fn share(share: f64) -> String {
    whole_percent(share.max(0.0))
}

/// Writes what Figures 8 to 10 show: contexts, and what they take away, by the number of monitored
/// operations; medians, and quartiles of the last three.
pub(super) fn instrumentations(found: &Instrumented, out: &mut impl Write) -> io::Result<()> {
    let right = [
        "OPERATIONS",
        "NUMBER",
        "EXECUTIONS",
        "CALLERS",
        "STACKS",
        "TRACES",
        "BY CALLER",
        "BY STACK",
    ];
    let mut head: Vec<(&'static str, Side)> = right.map(|name| (name, Side::Right)).to_vec();
    head.push(("BY TRACE", Side::Left));
    let mut table = Table::new(&head);
    table.row(bin("all".to_owned(), &[&found.full]), Vec::new());
    let most = found.full.monitoring_points.max(1);
    let width = most.div_ceil(INSTRUMENTATION_BINS).max(1);
    for first in (1..=most).step_by(width as usize) {
        let last = (first + width - 1).min(most);
        let is_in = |one: &&Instrumentation| (first..=last).contains(&one.monitoring_points);
        let of: Vec<&Instrumentation> = found.random.iter().filter(is_in).collect();
        if !of.is_empty() {
            table.row(bin(format!("{first} to {last}"), &of), Vec::new());
        }
    }
    table.write(output::limit(), out)
}

fn bin(operations: String, of: &[&Instrumentation]) -> Vec<String> {
    let numbers = |value: fn(&Instrumentation) -> f64| {
        let mut values: Vec<f64> = of.iter().map(|one| value(one)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let at = |values: &[f64], share: f64| {
        let place = (values.len().saturating_sub(1)) as f64 * share;
        values.get(place.round() as usize).copied().unwrap_or(0.0)
    };
    let median =
        |value: fn(&Instrumentation) -> f64| count(at(&numbers(value), 0.5).round() as u64);
    let spread = |value: fn(&Instrumentation) -> f64| {
        let values = numbers(value);
        match of.len() {
            1 => share(at(&values, 0.5)),
            _ => {
                let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| share(at(&values, part)));
                format!("{middle} ({low}-{high})")
            }
        }
    };
    let contexts: PerLevel<String> = PerLevel {
        caller: median(|one| one.contexts.caller as f64),
        stack: median(|one| one.contexts.stack as f64),
        trace: median(|one| one.contexts.trace as f64),
    };
    vec![
        operations,
        count(of.len() as u64),
        median(|one| one.executions as f64),
        contexts.caller,
        contexts.stack,
        contexts.trace,
        spread(|one| one.decrease.caller),
        spread(|one| one.decrease.stack),
        spread(|one| one.decrease.trace),
    ]
}
