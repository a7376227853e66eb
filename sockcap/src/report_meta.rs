//! The head of a report: how much there is in the trace, what was not seen, and what is left out.

use analyze::AnalysisSummary;
use analyze::paths::ChosenPatterns;
use clocks::Clocks;
use message_trace::table::columns::Columns;
use message_trace::{DataDir, DataPath, Nodes, table};
use reconcile::Reconciliation;
use report::{Meta, Note, RequestCounts, Rest};

use crate::error::Error;
use crate::shown::{Shown, Source};
use crate::{clock_words, notes, page};

/// The head of a report, without what was left out.
pub(crate) fn meta(shown: &Shown, summary: &AnalysisSummary) -> Result<Meta, Error> {
    let meta = match shown.source {
        Source::Messages => of_messages(&shown.data, summary)?,
        Source::Spans => of_spans(&shown.data, summary)?,
    };
    Ok(Meta { source: shown.whole.path().display().to_string(), other: shown.other(), ..meta })
}

/// The head of a report about spans.
fn of_spans(data: &DataDir, summary: &AnalysisSummary) -> Result<Meta, Error> {
    let nodes = Nodes::read(data.nodes())?;
    let mut hosts: Vec<&str> = nodes
        .0
        .iter()
        .filter(|node| node.traced && !node.host.is_empty())
        .map(|node| node.host.as_str())
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let (requests, steps) = (table::rows(data.requests())?, table::rows(data.steps())?);
    let label = "requests whose beginning is in spans that are not there".to_owned();
    let totals = &summary.totals;
    Ok(Meta {
        messages: totals.messages,
        requests: Some(RequestCounts { requests, steps }),
        hosts: hosts.len() as u64,
        begin: page::begin(data)?,
        span: totals.span,
        expected_paths: totals.instances_expected,
        notes: vec![Note { label, count: torn(&data.requests())? }],
        clocks: Clocks::read(data.clocks())
            .map(|found| clock_words::of_report(&found))
            .unwrap_or_default(),
        ..Meta::default()
    })
}

/// Number of torn requests in the table at `path`.
fn torn(path: &DataPath) -> Result<u64, Error> {
    let mut torn = 0;
    for batch in table::read_columns(path, &["torn"])? {
        let batch = batch?;
        let of_batch = Columns::new(path, &batch).boolean("torn")?;
        torn += of_batch.into_iter().filter(|torn| *torn).count() as u64;
    }
    Ok(torn)
}

/// The head of a report about messages.
fn of_messages(data: &DataDir, summary: &AnalysisSummary) -> Result<Meta, Error> {
    let nodes = Nodes::read(data.nodes())?;
    let mut hosts: Vec<&str> =
        nodes.0.iter().filter(|node| node.traced).map(|node| node.host.as_str()).collect();
    let traced = hosts.len() as u64;
    hosts.sort_unstable();
    hosts.dedup();
    let totals = &summary.totals;
    // Where something was imported, the nodes are what there is to count.
    let found = Reconciliation::read(data).ok();
    let recorded =
        found.as_ref().filter(|found| found.imported.is_empty()).map(|found| found.processes);
    let notes = found.as_ref().map(notes::warnings).unwrap_or_default();
    let doubts =
        summary.doubts.iter().map(|doubt| Note { label: doubt.words(), count: doubt.calls });
    Ok(Meta {
        messages: totals.messages,
        processes: recorded.unwrap_or(traced),
        hosts: hosts.len() as u64,
        begin: page::begin(data)?,
        span: totals.span,
        expected_paths: totals.instances_expected,
        notes: doubts.chain(notes).collect(),
        clocks: Clocks::read(data.clocks())
            .map(|found| clock_words::of_report(&found))
            .unwrap_or_default(),
        ..Meta::default()
    })
}

/// The sums of the patterns that were not chosen.
pub(crate) fn rest(chosen: &ChosenPatterns) -> Rest {
    let instances: i64 = chosen.patterns.iter().map(|pattern| pattern.count).sum();
    let total_time: f64 = chosen.patterns.iter().map(|pattern| pattern.total_time).sum();
    let patterns = chosen.all.saturating_sub(chosen.patterns.len() as u64);
    match patterns {
        0 => Rest::default(),
        _ => Rest {
            patterns,
            instances: u64::try_from(chosen.instances.saturating_sub(instances))
                .unwrap_or_default(),
            total_time: (chosen.total_time - total_time).max(0.0),
        },
    }
}
