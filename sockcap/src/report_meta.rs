//! The header of a report: the size of the trace, what was not seen, and what is left out.

use analyze::AnalysisSummary;
use analyze::paths::ChosenPatterns;
use clocks::ClockModel;
use message_trace::table::columns::BatchColumns;
use message_trace::{DataDir, DataPath, NodeList, table};
use reconcile::Reconciliation;
use report::{RequestCounts, RestSums, TraceMeta, UnseenNote};

use crate::error::CommandError;
use crate::shown::{PathSource, ShownData};
use crate::{clock_words, gap_notes, inference_limits, page};

/// The header of a report, without omitted patterns.
pub(crate) fn build_meta(
    shown: &ShownData,
    summary: &AnalysisSummary,
) -> Result<TraceMeta, CommandError> {
    let meta = match shown.source {
        PathSource::Messages => meta_of_messages(&shown.data, summary)?,
        PathSource::Spans => meta_of_spans(&shown.data, summary)?,
    };
    Ok(TraceMeta {
        source: shown.whole.path().display().to_string(),
        other: shown.other_source_hint(),
        ..meta
    })
}

/// The header of a report about spans.
fn meta_of_spans(data: &DataDir, summary: &AnalysisSummary) -> Result<TraceMeta, CommandError> {
    let nodes = NodeList::read(data.nodes_path())?;
    let mut hosts: Vec<&str> = nodes
        .0
        .iter()
        .filter(|node| node.traced && !node.host.is_empty())
        .map(|node| node.host.as_str())
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let (requests, steps) =
        (table::count_rows(data.requests_path())?, table::count_rows(data.steps_path())?);
    let label = "requests with a missing first span".to_owned();
    let totals = &summary.totals;
    Ok(TraceMeta {
        messages: totals.messages,
        requests: Some(RequestCounts { requests, steps }),
        hosts: hosts.len() as u64,
        begin: page::first_event_time(data)?,
        span: totals.span,
        expected_paths: totals.instances_expected,
        notes: vec![UnseenNote { label, count: count_torn(&data.requests_path())? }],
        clocks: ClockModel::read(data.clocks_path())
            .map(|found| clock_words::report_clocks(&found))
            .unwrap_or_default(),
        ..TraceMeta::default()
    })
}

/// Number of torn requests in the table at `path`.
fn count_torn(path: &DataPath) -> Result<u64, CommandError> {
    let mut torn = 0;
    for batch in table::read_columns(path, &["torn"])? {
        let batch = batch?;
        let of_batch = BatchColumns::new(path, &batch).boolean_column("torn")?;
        torn += of_batch.into_iter().filter(|torn| *torn).count() as u64;
    }
    Ok(torn)
}

/// The header of a report about messages.
fn meta_of_messages(data: &DataDir, summary: &AnalysisSummary) -> Result<TraceMeta, CommandError> {
    let nodes = NodeList::read(data.nodes_path())?;
    let mut hosts: Vec<&str> =
        nodes.0.iter().filter(|node| node.traced).map(|node| node.host.as_str()).collect();
    let traced = hosts.len() as u64;
    hosts.sort_unstable();
    hosts.dedup();
    let totals = &summary.totals;
    // With imports, nodes are counted instead.
    let found = Reconciliation::read(data).ok();
    let recorded =
        found.as_ref().filter(|found| found.imported.is_empty()).map(|found| found.processes);
    let notes = found.as_ref().map(gap_notes::report_warnings).unwrap_or_default();
    let doubts = summary
        .doubts
        .iter()
        .map(|doubt| UnseenNote { label: doubt.warning_text(), count: doubt.calls });
    Ok(TraceMeta {
        messages: totals.messages,
        processes: recorded.unwrap_or(traced),
        hosts: hosts.len() as u64,
        begin: page::first_event_time(data)?,
        span: totals.span,
        expected_paths: totals.instances_expected,
        notes: doubts.chain(notes).collect(),
        decided: inference_limits::decided_calls(summary, found.as_ref()),
        clocks: ClockModel::read(data.clocks_path())
            .map(|found| clock_words::report_clocks(&found))
            .unwrap_or_default(),
        ..TraceMeta::default()
    })
}

/// The sums of the patterns that were not chosen.
pub(crate) fn rest_of_patterns(chosen: &ChosenPatterns) -> RestSums {
    let instances: i64 = chosen.patterns.iter().map(|pattern| pattern.count).sum();
    let total_time: f64 = chosen.patterns.iter().map(|pattern| pattern.total_time).sum();
    let patterns = chosen.all.saturating_sub(chosen.patterns.len() as u64);
    match patterns {
        0 => RestSums::default(),
        _ => RestSums {
            patterns,
            instances: u64::try_from(chosen.instances.saturating_sub(instances))
                .unwrap_or_default(),
            total_time: (chosen.total_time - total_time).max(0.0),
        },
    }
}
