//! One operation explained: which context makes it slow, and all its contexts.

use std::io::{self, Write};

use contexts::Analysis;
use contexts::explain::without_reason;
use contexts::result::{ContextProfile, OperationProfile, Profile, Summary};
use message_trace::units::{count, duration, plural, printable};
use request_flow::Resource;

use crate::error::Error;
use crate::output;
use crate::table::{Side, Table, folded};
use crate::tuning::MAX_OPERATIONS_NAMED;

/// Writes the explanation of the operation that `wanted` names, with at most `limit` contexts of
/// each context.
pub(super) fn write(
    analysis: &Analysis,
    wanted: &str,
    limit: usize,
    out: &mut impl Write,
) -> Result<(), Error> {
    let profile = &analysis.profile;
    let operation = find(profile, wanted)?;
    let width = output::limit();
    let sentence = match &operation.reason {
        Some(reason) => reason.sentence.clone(),
        None => without_reason(operation),
    };
    folded(&printable(&sentence), "", width, out)?;
    writeln!(out)?;
    contexts(operation, limit, out)?;
    let slow = operation.reason.iter().flat_map(|reason| &reason.slow);
    let slow: Vec<&ContextProfile> =
        slow.filter_map(|id| operation.all().find(|context| context.id == *id)).collect();
    for class in slow.iter().filter_map(|context| context.class).take(1) {
        let steps = slow.iter().filter(|context| context.class == Some(class));
        let steps: Vec<u32> = steps.filter_map(|context| context.step).collect();
        tree(profile, class, &steps, limit, out)?;
    }
    Ok(())
}

/// The operation of that name: by all of it, by the operation's own, or by a part of it.
fn find<'a>(profile: &'a Profile, wanted: &str) -> Result<&'a OperationProfile, Error> {
    let small = wanted.to_lowercase();
    let ways: [&dyn Fn(&OperationProfile) -> bool; 3] = [
        &|operation| operation.name == wanted,
        &|operation| operation.names.operation == wanted || operation.names.node == wanted,
        &|operation| operation.name.to_lowercase().contains(&small),
    ];
    for way in ways {
        let found: Vec<&OperationProfile> =
            profile.operations.iter().filter(|operation| way(operation)).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok(only),
            several => {
                let names = names(several.iter().copied());
                return Err(Error::Usage(format!(
                    "'{wanted}' may be one of several operations: {names}"
                )));
            }
        }
    }
    let names = names(profile.operations.iter());
    Err(Error::Usage(format!("there is no operation '{wanted}'; there are {names}")))
}

fn names<'a>(operations: impl ExactSizeIterator<Item = &'a OperationProfile>) -> String {
    let more = operations.len().saturating_sub(MAX_OPERATIONS_NAMED);
    let mut names: Vec<String> = operations
        .take(MAX_OPERATIONS_NAMED)
        .map(|operation| format!("'{}'", printable(&operation.name)))
        .collect();
    if more > 0 {
        names.push(format!("and {} more", count(more as u64)));
    }
    names.join(", ")
}

/// The tree of its contexts, with figures.
fn contexts(operation: &OperationProfile, limit: usize, out: &mut impl Write) -> io::Result<()> {
    let right = ["COUNT", "MEAN", "DEVIATION", "Q1", "MEDIAN", "Q3", "MODES"];
    let mut head: Vec<(&'static str, Side)> = right.map(|name| (name, Side::Right)).to_vec();
    // What is spent in one way in no context at all has no column.
    let is_spent = |resource: Resource| {
        let summaries = operation.all().map(|context| &context.summary);
        let mut known = summaries.filter_map(|summary| summary.spent.as_ref());
        known.any(|spent| spent.of(resource) > 0.0)
    };
    let ways: Vec<(&'static str, Resource)> =
        WAYS.into_iter().zip(Resource::ALL).filter(|(_, resource)| is_spent(*resource)).collect();
    head.extend(ways.iter().map(|(name, _)| (*name, Side::Right)));
    head.push(("CONTEXT", Side::Left));
    let ways: Vec<Resource> = ways.into_iter().map(|(_, resource)| resource).collect();
    let mut table = Table::new(&head);
    table.row(row(&operation.summary, &ways, &operation.name), Vec::new());
    add(&operation.contexts, 1, limit, &ways, &mut table);
    table.write(output::limit(), out)
}

/// Columns of mean times by what they were spent on, in the order of [`Resource::ALL`].
const WAYS: [&str; 7] = ["PROCESSOR", "RUNNABLE", "DISK", "LOCK", "PEER", "ASLEEP", "UNKNOWN"];

fn add(
    contexts: &[ContextProfile],
    depth: usize,
    limit: usize,
    ways: &[Resource],
    table: &mut Table,
) {
    let indent = "  ".repeat(depth);
    let mut slowest: Vec<&ContextProfile> = contexts.iter().collect();
    let mean = |context: &ContextProfile| context.summary.times.as_ref().map(|times| times.mean);
    slowest.sort_by(|a, b| mean(b).partial_cmp(&mean(a)).unwrap_or(std::cmp::Ordering::Equal));
    for context in slowest.iter().take(limit) {
        let name = format!("{indent}{} {}", context.level, context.name);
        table.row(row(&context.summary, ways, &name), Vec::new());
        // What a single inner context is of, is what this one is of.
        if let [only] = context.contexts.as_slice()
            && only.contexts.len() <= 1
        {
            continue;
        }
        add(&context.contexts, depth + 1, limit, ways, table);
    }
    if contexts.len() > limit {
        let more = plural((contexts.len() - limit) as u64, "more context", "more contexts");
        let mut cells = vec![String::new(); 7 + ways.len()];
        cells.push(format!("{indent}and {more}, less slow"));
        table.row(cells, Vec::new());
    }
}

fn row(summary: &Summary, ways: &[Resource], name: &str) -> Vec<String> {
    let times = summary.times.as_ref();
    let in_words =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| duration(value).to_string());
    let mut cells = vec![
        count(summary.count),
        in_words(times.map(|times| times.mean)),
        in_words(times.map(|times| times.deviation)),
        in_words(times.map(|times| times.q1)),
        in_words(times.map(|times| times.median)),
        in_words(times.map(|times| times.q3)),
        times.and_then(|times| times.modes).map_or("–".to_owned(), |modes| modes.to_string()),
    ];
    cells.extend(ways.iter().map(|way| in_words(summary.spent.map(|spent| spent.of(*way)))));
    cells.push(printable(name));
    cells
}

/// The tree of a class, with the slow steps marked.
fn tree(
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
        plural(class.requests, "request", "requests"),
        printable(&class.caller)
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
        writeln!(out, "{mark} {number:4}  {indent}{}{times}", printable(name))?;
    }
    Ok(())
}
