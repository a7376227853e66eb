//! The operations, in descending order of how much context explains; and instrumentations by the
//! number of monitored operations.

use std::io::{self, Write};

use contexts::ContextAnalysis;
use contexts::equivalence::ContextLevel;
use contexts::instrumentation::{InstrumentationPoint, InstrumentationResults};
use contexts::result::{OperationProfile, PerLevel, ProfileTotals};
use message_trace::units::{count_noun, format_count, format_duration, format_whole_percent};

use crate::output;
use crate::table::{ColumnAlignment, ScreenTable, write_folded};
use crate::tuning::INSTRUMENTATION_BINS;

/// Writes the totals, and for each operation how much of its response times contexts explain.
pub(super) fn write_overview(
    analysis: &ContextAnalysis,
    limit: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let width = output::width_limit();
    for line in overview_lines(analysis) {
        write_folded(&line, "", width, out)?;
    }
    writeln!(out)?;
    let right = ["COUNT", "MEAN", "DEVIATION", "MEDIAN", "MODES", "CALLER", "STACK", "TRACE"];
    let mut head: Vec<(&'static str, ColumnAlignment)> =
        right.map(|name| (name, ColumnAlignment::Right)).to_vec();
    head.push(("OPERATION", ColumnAlignment::Left));
    let mut table = ScreenTable::new(&head);
    let operations = &analysis.profile.operations;
    for operation in operations.iter().take(limit) {
        let reason = operation.reason.iter().map(|reason| reason.sentence.clone()).collect();
        table.add_row(operation_cells(operation), reason);
    }
    table.write_table(width, out)?;
    match operations.len().saturating_sub(limit) {
        0 => Ok(()),
        more => {
            let operations = count_noun(more as u64, "more operation", "more operations");
            writeln!(out, "and {operations}; --limit shows them")
        }
    }
}

/// The totals, and how much contexts and the timing model explain overall.
fn overview_lines(analysis: &ContextAnalysis) -> Vec<String> {
    let ProfileTotals {
        requests,
        torn,
        classes,
        steps,
        timed,
        outliving,
        operations,
        contexts,
        ..
    } = analysis.profile.totals;
    let mut lines = vec![format!(
        "{} of {} in {}; contexts: {}, {}, {}, {}",
        count_noun(steps, "step", "steps"),
        count_noun(requests, "request", "requests"),
        count_noun(classes, "class of traces", "classes of traces"),
        count_noun(operations, "operation", "operations"),
        count_noun(contexts.caller, "caller", "callers"),
        count_noun(contexts.stack, "stack", "stacks"),
        count_noun(contexts.trace, "trace", "traces"),
    )];
    let notes = [
        (torn, "requests without their root"),
        (steps - timed, "steps without a response time"),
        (outliving, "steps that ended after their caller"),
    ];
    let notes: Vec<String> = notes
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{what}: {}", format_count(*number)))
        .collect();
    if !notes.is_empty() {
        lines.push(notes.join("; "));
    }
    let decrease = analysis.profile.decrease;
    lines.push(format!(
        "standard deviation: {} on average; within contexts less: {} by caller, {} by stack, {} by trace",
        format_duration(analysis.profile.deviation),
        format_share(decrease.caller),
        format_share(decrease.stack),
        format_share(decrease.trace),
    ));
    let model = &analysis.model;
    let mut line = format!(
        "timing model: {} of {} contexts ({} removed, {} merged, {} linked), {} less",
        count_noun(model.leaves.len() as u64, "leaf", "leaves"),
        format_count(model.nodes),
        format_count(model.removed),
        format_count(model.merged),
        format_count(model.linked),
        format_share(model.decrease),
    );
    if model.too_few > 0 {
        let operations = count_noun(model.too_few, "operation has", "operations have");
        line += &format!("; {operations} fewer than {} response times", model.options.min_calls);
    }
    lines.push(line);
    lines
}

fn operation_cells(operation: &OperationProfile) -> Vec<String> {
    let times = operation.summary.times.as_ref();
    let in_words = |value: Option<f64>| {
        value.map_or("–".to_owned(), |value| format_duration(value).to_string())
    };
    let mut row = vec![
        format_count(operation.summary.count),
        in_words(times.map(|times| times.mean)),
        in_words(times.map(|times| times.deviation)),
        in_words(times.map(|times| times.median)),
        times.and_then(|times| times.modes).map_or("–".to_owned(), |modes| modes.to_string()),
    ];
    row.extend(
        ContextLevel::CONTEXTS.map(|level| format_share(operation.decrease.get(level).share)),
    );
    row.push(message_trace::units::to_printable(&operation.name));
    row
}

/// An explained share; rounding may make it negative.
fn format_share(share: f64) -> String {
    format_whole_percent(share.max(0.0))
}

/// Writes the data of Figures 8 to 10: contexts, and the deviation that they explain, by the number
/// of monitored operations; medians, and quartiles of the last three.
pub(super) fn write_instrumentations(
    found: &InstrumentationResults,
    out: &mut impl Write,
) -> io::Result<()> {
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
    let mut head: Vec<(&'static str, ColumnAlignment)> =
        right.map(|name| (name, ColumnAlignment::Right)).to_vec();
    head.push(("BY TRACE", ColumnAlignment::Left));
    let mut table = ScreenTable::new(&head);
    table.add_row(bin_cells("all".to_owned(), &[&found.full]), Vec::new());
    let most = found.full.monitoring_points.max(1);
    let width = most.div_ceil(INSTRUMENTATION_BINS).max(1);
    for first in (1..=most).step_by(width as usize) {
        let last = (first + width - 1).min(most);
        let is_in = |one: &&InstrumentationPoint| (first..=last).contains(&one.monitoring_points);
        let of: Vec<&InstrumentationPoint> = found.random.iter().filter(is_in).collect();
        if !of.is_empty() {
            table.add_row(bin_cells(format!("{first} to {last}"), &of), Vec::new());
        }
    }
    table.write_table(output::width_limit(), out)
}

/// Cells of one row of instrumentations: medians over the instrumentations `of`.
fn bin_cells(operations: String, of: &[&InstrumentationPoint]) -> Vec<String> {
    let numbers = |value: fn(&InstrumentationPoint) -> f64| {
        let mut values: Vec<f64> = of.iter().map(|one| value(one)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let at = |values: &[f64], share: f64| {
        let place = (values.len().saturating_sub(1)) as f64 * share;
        values.get(place.round() as usize).copied().unwrap_or(0.0)
    };
    let median = |value: fn(&InstrumentationPoint) -> f64| {
        format_count(at(&numbers(value), 0.5).round() as u64)
    };
    let spread = |value: fn(&InstrumentationPoint) -> f64| {
        let values = numbers(value);
        match of.len() {
            1 => format_share(at(&values, 0.5)),
            _ => {
                let [low, middle, high] =
                    [0.25, 0.5, 0.75].map(|part| format_share(at(&values, part)));
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
        format_count(of.len() as u64),
        median(|one| one.executions as f64),
        contexts.caller,
        contexts.stack,
        contexts.trace,
        spread(|one| one.decrease.caller),
        spread(|one| one.decrease.stack),
        spread(|one| one.decrease.trace),
    ]
}
