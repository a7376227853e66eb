//! Explanation of one operation: the context that makes it slow, and all its contexts.

use std::io::{self, Write};

use contexts::ContextAnalysis;
use contexts::explain::sentence_without_reason;
use contexts::result::{ContextProfile, ContextSummary, OperationProfile, Profile};
use message_trace::units::{count_noun, format_count, format_duration, to_printable};
use request_flow::StepResource;

use crate::error::CommandError;
use crate::output;
use crate::table::{ColumnAlignment, ScreenTable, write_folded};
use crate::tuning::MAX_OPERATIONS_NAMED;

/// Writes the explanation of the operation that `wanted` names, with at most `limit` inner contexts
/// of each context.
pub(super) fn write_explanation(
    analysis: &ContextAnalysis,
    wanted: &str,
    limit: usize,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let profile = &analysis.profile;
    let operation = find_operation(profile, wanted)?;
    let width = output::width_limit();
    let sentence = match &operation.reason {
        Some(reason) => reason.sentence.clone(),
        None => sentence_without_reason(operation),
    };
    write_folded(&to_printable(&sentence), "", width, out)?;
    writeln!(out)?;
    write_contexts(operation, limit, out)?;
    let slow = operation.reason.iter().flat_map(|reason| &reason.slow);
    let slow: Vec<&ContextProfile> =
        slow.filter_map(|id| operation.all_contexts().find(|context| context.id == *id)).collect();
    for class in slow.iter().filter_map(|context| context.class).take(1) {
        let steps = slow.iter().filter(|context| context.class == Some(class));
        let steps: Vec<u32> = steps.filter_map(|context| context.step).collect();
        write_tree(profile, class, &steps, limit, out)?;
    }
    Ok(())
}

/// The operation with the given name: by its full name, by the operation's own name, or by a part
/// of it.
fn find_operation<'a>(
    profile: &'a Profile,
    wanted: &str,
) -> Result<&'a OperationProfile, CommandError> {
    let small = wanted.to_lowercase();
    let matchers: [&dyn Fn(&OperationProfile) -> bool; 3] = [
        &|operation| operation.name == wanted,
        &|operation| operation.names.operation == wanted || operation.names.node == wanted,
        &|operation| operation.name.to_lowercase().contains(&small),
    ];
    for matches in matchers {
        let found: Vec<&OperationProfile> =
            profile.operations.iter().filter(|operation| matches(operation)).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok(only),
            several => {
                let names = operation_names(several.iter().copied());
                return Err(CommandError::Usage(format!(
                    "'{wanted}' may be one of several operations: {names}"
                )));
            }
        }
    }
    let names = operation_names(profile.operations.iter());
    Err(CommandError::Usage(format!(
        "there is no operation '{wanted}'; the operations are \
                                     {names}"
    )))
}

fn operation_names<'a>(operations: impl ExactSizeIterator<Item = &'a OperationProfile>) -> String {
    let more = operations.len().saturating_sub(MAX_OPERATIONS_NAMED);
    let mut names: Vec<String> = operations
        .take(MAX_OPERATIONS_NAMED)
        .map(|operation| format!("'{}'", to_printable(&operation.name)))
        .collect();
    if more > 0 {
        names.push(format!("and {} more", format_count(more as u64)));
    }
    names.join(", ")
}

/// Writes the tree of the operation's contexts, with figures.
fn write_contexts(
    operation: &OperationProfile,
    limit: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let right = ["COUNT", "MEAN", "DEVIATION", "Q1", "MEDIAN", "Q3", "MODES"];
    let mut head: Vec<(&'static str, ColumnAlignment)> =
        right.map(|name| (name, ColumnAlignment::Right)).to_vec();
    // A resource without any time in all contexts has no column.
    let is_spent = |resource: StepResource| {
        let summaries = operation.all_contexts().map(|context| &context.summary);
        let mut known = summaries.filter_map(|summary| summary.spent.as_ref());
        known.any(|spent| spent.mean_of(resource) > 0.0)
    };
    let resources: Vec<(&'static str, StepResource)> = RESOURCE_TITLES
        .into_iter()
        .zip(StepResource::ALL)
        .filter(|(_, resource)| is_spent(*resource))
        .collect();
    head.extend(resources.iter().map(|(name, _)| (*name, ColumnAlignment::Right)));
    head.push(("CONTEXT", ColumnAlignment::Left));
    let resources: Vec<StepResource> =
        resources.into_iter().map(|(_, resource)| resource).collect();
    let mut table = ScreenTable::new(&head);
    table.add_row(context_cells(&operation.summary, &resources, &operation.name), Vec::new());
    add_contexts(&operation.contexts, 1, limit, &resources, &mut table);
    table.write_table(output::width_limit(), out)
}

/// Titles of the columns of mean times by resource, in the order of [`StepResource::ALL`].
const RESOURCE_TITLES: [&str; 7] =
    ["PROCESSOR", "RUNNABLE", "DISK", "LOCK", "PEER", "ASLEEP", "UNKNOWN"];

/// Adds rows for the slowest `limit` contexts, each with the rows of its inner contexts. `depth` is
/// the indentation.
fn add_contexts(
    contexts: &[ContextProfile],
    depth: usize,
    limit: usize,
    resources: &[StepResource],
    table: &mut ScreenTable,
) {
    let indent = "  ".repeat(depth);
    let mut slowest: Vec<&ContextProfile> = contexts.iter().collect();
    let mean = |context: &ContextProfile| context.summary.times.as_ref().map(|times| times.mean);
    slowest.sort_by(|a, b| mean(b).partial_cmp(&mean(a)).unwrap_or(std::cmp::Ordering::Equal));
    for context in slowest.iter().take(limit) {
        let name = format!("{indent}{} {}", context.level, context.name);
        table.add_row(context_cells(&context.summary, resources, &name), Vec::new());
        // The only inner context of a context describes the same executions.
        if let [only] = context.contexts.as_slice()
            && only.contexts.len() <= 1
        {
            continue;
        }
        add_contexts(&context.contexts, depth + 1, limit, resources, table);
    }
    if contexts.len() > limit {
        let more = count_noun((contexts.len() - limit) as u64, "more context", "more contexts");
        let mut cells = vec![String::new(); 7 + resources.len()];
        cells.push(format!("{indent}and {more}, less slow"));
        table.add_row(cells, Vec::new());
    }
}

fn context_cells(summary: &ContextSummary, resources: &[StepResource], name: &str) -> Vec<String> {
    let times = summary.times.as_ref();
    let in_words = |value: Option<f64>| {
        value.map_or("–".to_owned(), |value| format_duration(value).to_string())
    };
    let mut cells = vec![
        format_count(summary.count),
        in_words(times.map(|times| times.mean)),
        in_words(times.map(|times| times.deviation)),
        in_words(times.map(|times| times.q1)),
        in_words(times.map(|times| times.median)),
        in_words(times.map(|times| times.q3)),
        times.and_then(|times| times.modes).map_or("–".to_owned(), |modes| modes.to_string()),
    ];
    cells.extend(
        resources
            .iter()
            .map(|resource| in_words(summary.spent.map(|spent| spent.mean_of(*resource)))),
    );
    cells.push(to_printable(name));
    cells
}

/// Writes the call tree of the trace class `number`, with the `slow` steps marked. Steps that are
/// more than `limit` steps away from a slow one are left out.
fn write_tree(
    profile: &Profile,
    number: u32,
    slow: &[u32],
    limit: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(class) = profile.classes.get(number as usize) else { return Ok(()) };
    writeln!(
        out,
        "\nclass {number}: {}, begun by {}",
        count_noun(class.requests, "request", "requests"),
        to_printable(&class.caller)
    )?;
    let is_near = |step: u32| slow.iter().any(|slow| slow.abs_diff(step) as usize <= limit);
    let mut is_left_out = false;
    for (number, step) in (0..).zip(&class.steps) {
        if !is_near(number) {
            if !is_left_out {
                writeln!(out, "     ...")?;
            }
            is_left_out = true;
            continue;
        }
        is_left_out = false;
        let mark = if slow.contains(&number) { ">" } else { " " };
        let name = profile.operations.get(step.operation as usize).map_or("?", |one| &one.name);
        let times = if step.times > 1 { format!(" (x{})", step.times) } else { String::new() };
        let indent = "  ".repeat(step.depth as usize);
        writeln!(out, "{mark} {number:4}  {indent}{}{times}", to_printable(name))?;
    }
    Ok(())
}
