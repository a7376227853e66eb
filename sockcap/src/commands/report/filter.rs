//! Builds the filter of an analysis from the command line: moments become times of the trace, and
//! an error names the flag that caused it.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use analyze::AnalysisSummary;
use analyze::paths::{ChosenPatterns, PathFilter, node_names, operation_names};
use message_trace::DataDir;
use report::{AppliedFilter, PatternFamily};

use crate::arguments::FilterArguments;
use crate::arguments::values::TraceMoment;
use crate::error::CommandError;
use crate::page;
use crate::tuning::{MAX_NODES_LISTED, MAX_OPERATIONS_LISTED, MAX_PATTERNS_SHOWN};

/// The filter of the report, if it is not about all paths.
pub(super) fn build_filter(
    arguments: &FilterArguments,
    data: &DataDir,
    summary: &AnalysisSummary,
) -> Result<Option<AppliedFilter>, CommandError> {
    if arguments.is_empty() {
        return Ok(None);
    }
    let totals = &summary.totals;
    let asked = || {
        let patterns = arguments.pattern.iter().map(|number| ("--pattern", *number));
        patterns.chain(arguments.alike.iter().map(|number| ("--alike", *number)))
    };
    let is_unknown = |number: i64| u64::try_from(number).is_ok_and(|id| id >= totals.patterns);
    if let Some((flag, unknown)) = asked().find(|(_, number)| is_unknown(*number)) {
        let known = match totals.patterns {
            0 => "there are no patterns".to_owned(),
            all => {
                format!("they are numbered from 0 to {}, as 'sockcap report' shows them", all - 1)
            }
        };
        return Err(CommandError::Usage(format!(
            "{flag} {unknown}: there is no such pattern; {known}"
        )));
    }
    let begin = match arguments.from.is_some() || arguments.to.is_some() {
        true => page::first_event_time(data)?.unwrap_or_default(),
        false => 0,
    };
    let time = |moment: TraceMoment| match moment {
        TraceMoment::Since(nanoseconds) => begin.saturating_add(nanoseconds),
        TraceMoment::At(nanoseconds) => nanoseconds,
    };
    let (from, to) = (arguments.from.map(time), arguments.to.map(time));
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        return Err(CommandError::Usage(
            "--from must be before --to, or no path can begin between them".into(),
        ));
    }
    let filter = PathFilter {
        through: arguments.through.clone(),
        operations: arguments.operation.clone(),
        patterns: wanted_patterns(arguments, data)?,
        from,
        to,
        min_confidence: arguments.min_confidence,
        errors: arguments.errors,
    };
    check_names(&filter, data)?;
    check_operations(&filter, data)?;
    Ok(Some(AppliedFilter {
        filter,
        begin,
        of_patterns: totals.patterns,
        of_instances: totals.instances,
    }))
}

/// The patterns selected by number, and the ones in the same families.
fn wanted_patterns(arguments: &FilterArguments, data: &DataDir) -> Result<Vec<i64>, CommandError> {
    let mut patterns = arguments.pattern.clone();
    if arguments.alike.is_empty() {
        return Ok(patterns);
    }
    // The patterns that the report folds.
    let first =
        ChosenPatterns::read(data.patterns_path(), MAX_PATTERNS_SHOWN, |_, _| Ordering::Equal)?
            .patterns;
    let mut alike = arguments.alike.clone();
    for family in PatternFamily::group_patterns(&first) {
        let members: Vec<i64> = family.patterns().map(|pattern| pattern.id).collect();
        if alike.iter().any(|number| members.contains(number)) {
            alike.retain(|number| !members.contains(number));
            patterns.extend(members);
        }
    }
    // Patterns past the ones read are not folded.
    patterns.extend(alike);
    patterns.sort_unstable();
    patterns.dedup();
    Ok(patterns)
}

/// Refuses a name that no node has: it is more often a typing mistake than a question.
fn check_names(filter: &PathFilter, data: &DataDir) -> Result<(), CommandError> {
    if filter.through.is_empty() {
        return Ok(());
    }
    let names = node_names(data.patterns_path())?;
    let Some(unknown) =
        filter.through.iter().find(|part| !names.iter().any(|name| name.contains(*part)))
    else {
        return Ok(());
    };
    let known = list_names(&names, MAX_NODES_LISTED);
    Err(CommandError::Usage(format!(
        "--through {unknown}: no node name contains this; the nodes are {known}"
    )))
}

/// Refuses an operation that no message has, and any operation if none is known.
fn check_operations(filter: &PathFilter, data: &DataDir) -> Result<(), CommandError> {
    let asked = filter.operations.first().map(|name| format!("--operation '{name}'"));
    let Some(asked) = asked.or_else(|| filter.errors.then(|| "--errors".to_owned())) else {
        return Ok(());
    };
    let Some(names) = operation_names(data.patterns_path())? else {
        return Err(CommandError::Usage(format!(
            "{asked}: the operations of messages are not known; record with --protocols"
        )));
    };
    let Some(unknown) = filter.operations.iter().find(|name| !names.contains(*name)) else {
        return Ok(());
    };
    let known = list_names(&names, MAX_OPERATIONS_LISTED);
    Err(CommandError::Usage(format!(
        "--operation '{unknown}': no message has this operation; the operations are {known}"
    )))
}

/// The first of `names`, at most `most` of them.
fn list_names(names: &BTreeSet<String>, most: usize) -> String {
    let mut known: Vec<&str> = names.iter().take(most).map(String::as_str).collect();
    if names.len() > most {
        known.push("...");
    }
    known.join(", ")
}
