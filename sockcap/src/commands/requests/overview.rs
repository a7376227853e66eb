//! Clusters of requests on a screen: their sizes, their costs, and their waits.

use std::io::{self, Write};

use message_trace::units::{
    count_noun, format_bytes, format_count, format_duration, format_percent, format_whole_percent,
    to_printable,
};
use workload::analysis::WorkloadReport;
use workload::model::{RequestCluster, WorkloadModel};

use crate::output;
use crate::table::{ColumnAlignment, ScreenTable, write_folded};

/// Number of names of a cluster that are shown.
const SHOWN_NAMES: usize = 3;

/// Facts about the source of requests.
pub(super) struct InputWords {
    /// Whether requests have resources.
    pub(super) has_resources: bool,
    /// The arguments by which a further command reads the same source; `None` if it cannot be read
    /// again.
    pub(super) again: Option<String>,
}

impl InputWords {
    /// A stream of events.
    pub(super) fn of_stream() -> InputWords {
        InputWords { has_resources: true, again: None }
    }
}

/// A column of the table: its title, the value of a cluster, and its format.
type ClusterColumn = (&'static str, fn(&RequestCluster) -> i64, fn(f64) -> String);

/// Columns that are shown if some cluster has a value there.
const COLUMNS: [ClusterColumn; 11] = [
    ("PROCESSOR", |of| of.demands.processor_ns, format_time),
    ("RUNNABLE", |of| of.waits.runnable_ns, format_time),
    ("DISK", |of| of.waits.disk_ns, format_time),
    ("LOCK", |of| of.waits.lock_ns, format_time),
    ("PEER", |of| of.waits.peer_ns, format_time),
    ("ASLEEP", |of| of.waits.asleep_ns, format_time),
    ("UNKNOWN", |of| of.waits.unknown_ns, format_time),
    ("READ", |of| of.demands.disk_read_bytes, format_bytes),
    ("WRITTEN", |of| of.demands.disk_written_bytes, format_bytes),
    ("SENT", |of| of.demands.sent_bytes, format_bytes),
    ("RECEIVED", |of| of.demands.received_bytes, format_bytes),
];

fn format_time(nanoseconds: f64) -> String {
    format_duration(nanoseconds).to_string()
}

/// Writes clusters and unusual requests, at most `limit` of each.
pub(super) fn write_overview(
    input: &InputWords,
    answer: &WorkloadReport,
    limit: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let width = output::width_limit();
    for line in overview_lines(input, answer) {
        write_folded(&line, "", width, out)?;
    }
    if answer.model.clusters.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_clusters(&answer.model, limit, width, out)?;
    write_unusual(&answer.model, limit, width, out)?;
    let request = match answer.model.unusual.first() {
        Some(unusual) => unusual.request,
        None => answer.model.clusters.first().map_or(0, |cluster| cluster.representative),
    };
    match &input.again {
        Some(again) => writeln!(out, "\nnext: sockcap requests{again} --request {request}"),
        None => Ok(()),
    }
}

/// The totals, the charged time, and how well the model fits.
fn overview_lines(input: &InputWords, answer: &WorkloadReport) -> Vec<String> {
    let model = &answer.model;
    let mut lines = vec![format!(
        "{} in {}",
        count_noun(model.requests, "request", "requests"),
        count_noun(model.clusters.len() as u64, "cluster", "clusters"),
    )];
    if let Some((processor, share)) = answer.processor.zip(answer.charged_share) {
        lines.push(format!(
            "processor time: {} of their processes, {} of it charged to them",
            format_time(processor.relevant_ns as f64),
            format_percent(share),
        ));
    } else if !input.has_resources {
        lines.push(
            "their resources are not known: 'sockcap record --resources' records them".to_owned(),
        );
    }
    let error = model.error.representative;
    let errors = [("processor", error.processor), ("disk", error.disk), ("network", error.network)];
    let errors: Vec<String> = errors
        .iter()
        .filter_map(|(what, share)| Some(format!("{what} {}", format_percent((*share)?))))
        .collect();
    if !errors.is_empty() {
        lines.push(format!("error of the model: {}", errors.join(", ")));
    }
    if let Some(join) = answer.join {
        let notes = [
            (join.late, "events came too late"),
            (join.doubled, "events came twice"),
            (join.conflicts, "intervals would have joined two requests, and were ended"),
            (join.timed_out, "requests were ended by the time-out"),
            (join.crowded_out, "requests were ended by the limit on memory"),
            (join.jumps, "times a clock jumped back, which ended all open requests"),
        ];
        let notes: Vec<String> = notes
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", format_count(*number)))
            .collect();
        if !notes.is_empty() {
            lines.push(notes.join("; "));
        }
    }
    lines
}

fn write_clusters(
    model: &WorkloadModel,
    limit: usize,
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown: Vec<&ClusterColumn> = COLUMNS
        .iter()
        .filter(|(_, of, _)| model.clusters.iter().any(|cluster| of(cluster) != 0))
        .collect();
    let mut head = vec![
        ("REQUESTS", ColumnAlignment::Right),
        ("SHARE", ColumnAlignment::Right),
        ("TIME", ColumnAlignment::Right),
    ];
    head.extend(shown.iter().map(|(name, ..)| (*name, ColumnAlignment::Right)));
    head.extend([("EXAMPLE", ColumnAlignment::Right), ("NAME", ColumnAlignment::Left)]);
    let mut table = ScreenTable::new(&head);
    for cluster in model.clusters.iter().take(limit) {
        let mut row = vec![
            format_count(cluster.requests),
            format_whole_percent(cluster.share),
            format_time(cluster.duration_ns as f64),
        ];
        row.extend(shown.iter().map(|(_, of, words)| match of(cluster) {
            0 => "–".to_owned(),
            value => words(value as f64),
        }));
        row.extend([cluster.representative.to_string(), request_names(cluster)]);
        table.add_row(row, Vec::new());
    }
    table.write_table(width, out)?;
    match model.clusters.len().saturating_sub(limit) {
        0 => Ok(()),
        more => {
            let clusters = count_noun(more as u64, "more cluster", "more clusters");
            writeln!(out, "and {clusters}; --limit shows them")
        }
    }
}

/// The names of a cluster's requests, with their numbers if there are several.
fn request_names(cluster: &RequestCluster) -> String {
    let shown = cluster.names.iter().take(SHOWN_NAMES);
    let mut names: Vec<String> = shown
        .map(|name| match cluster.names.len() {
            1 => to_printable(&name.name),
            _ => format!("{} {}", format_count(name.requests), to_printable(&name.name)),
        })
        .collect();
    if cluster.names.len() > SHOWN_NAMES {
        names.push("…".to_owned());
    }
    names.join(", ")
}

fn write_unusual(
    model: &WorkloadModel,
    limit: usize,
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    if model.unusual.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nunusual:")?;
    for unusual in model.unusual.iter().take(limit) {
        let line = format!(
            "request {} ({}): {}",
            unusual.request,
            to_printable(&unusual.name),
            unusual.what
        );
        write_folded(&line, "  ", width, out)?;
    }
    match model.unusual.len().saturating_sub(limit) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more; --limit shows them"),
    }
}
