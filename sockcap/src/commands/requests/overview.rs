//! Clusters of requests on a screen: how many, what they cost, and what they wait for.

use std::io::{self, Write};

use message_trace::units::{bytes, count, duration, percent, plural, printable, whole_percent};
use workload::analysis::Answer;
use workload::model::{Cluster, Model};

use crate::output;
use crate::table::{Side, Table, folded};

/// Number of names of a cluster that are shown.
const SHOWN_NAMES: usize = 3;

/// What is said of the source of requests.
pub(super) struct Told {
    /// Whether requests have resources.
    pub(super) has_resources: bool,
    /// What a further command needs to read the same; none where it cannot be read again.
    pub(super) again: Option<String>,
}

impl Told {
    /// A stream of events.
    pub(super) fn stream() -> Told {
        Told { has_resources: true, again: None }
    }
}

/// A column of the table: its head, and what a cluster has there.
type Column = (&'static str, fn(&Cluster) -> i64, fn(f64) -> String);

/// Columns that are shown where some cluster has something there.
const COLUMNS: [Column; 11] = [
    ("PROCESSOR", |of| of.demands.processor_ns, time),
    ("RUNNABLE", |of| of.waits.runnable_ns, time),
    ("DISK", |of| of.waits.disk_ns, time),
    ("LOCK", |of| of.waits.lock_ns, time),
    ("PEER", |of| of.waits.peer_ns, time),
    ("ASLEEP", |of| of.waits.asleep_ns, time),
    ("UNKNOWN", |of| of.waits.unknown_ns, time),
    ("READ", |of| of.demands.disk_read_bytes, bytes),
    ("WRITTEN", |of| of.demands.disk_written_bytes, bytes),
    ("SENT", |of| of.demands.sent_bytes, bytes),
    ("RECEIVED", |of| of.demands.received_bytes, bytes),
];

fn time(nanoseconds: f64) -> String {
    duration(nanoseconds).to_string()
}

/// Writes clusters and unusual requests, `limit` of each at most.
pub(super) fn write(
    told: &Told,
    answer: &Answer,
    limit: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let width = output::limit();
    for line in lines(told, answer) {
        folded(&line, "", width, out)?;
    }
    if answer.model.clusters.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    clusters(&answer.model, limit, width, out)?;
    unusual(&answer.model, limit, width, out)?;
    let request = match answer.model.unusual.first() {
        Some(unusual) => unusual.request,
        None => answer.model.clusters.first().map_or(0, |cluster| cluster.representative),
    };
    match &told.again {
        Some(again) => writeln!(out, "\nnext: sockcap requests{again} --request {request}"),
        None => Ok(()),
    }
}

/// What there is, what was charged, and how well the model fits.
fn lines(told: &Told, answer: &Answer) -> Vec<String> {
    let model = &answer.model;
    let mut lines = vec![format!(
        "{} in {}",
        plural(model.requests, "request", "requests"),
        plural(model.clusters.len() as u64, "cluster", "clusters"),
    )];
    if let Some((processor, share)) = answer.processor.zip(answer.charged_share) {
        lines.push(format!(
            "processor time: {} of their processes, {} of it charged to them",
            time(processor.relevant_ns as f64),
            percent(share),
        ));
    } else if !told.has_resources {
        lines.push(
            "what they used is not known: 'sockcap record --resources' records it".to_owned(),
        );
    }
    let error = model.error.representative;
    let errors = [("processor", error.processor), ("disk", error.disk), ("network", error.network)];
    let errors: Vec<String> = errors
        .iter()
        .filter_map(|(what, share)| Some(format!("{what} {}", percent((*share)?))))
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
            (join.crowded_out, "requests were ended by the bound on memory"),
            (join.jumps, "times a clock jumped back, which ended all open requests"),
        ];
        let notes: Vec<String> = notes
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", count(*number)))
            .collect();
        if !notes.is_empty() {
            lines.push(notes.join("; "));
        }
    }
    lines
}

fn clusters(
    model: &Model,
    limit: usize,
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, of, _)| model.clusters.iter().any(|cluster| of(cluster) != 0))
        .collect();
    let mut head = vec![("REQUESTS", Side::Right), ("SHARE", Side::Right), ("TIME", Side::Right)];
    head.extend(shown.iter().map(|(name, ..)| (*name, Side::Right)));
    head.extend([("EXAMPLE", Side::Right), ("NAME", Side::Left)]);
    let mut table = Table::new(&head);
    for cluster in model.clusters.iter().take(limit) {
        let mut row = vec![
            count(cluster.requests),
            whole_percent(cluster.share),
            time(cluster.duration_ns as f64),
        ];
        row.extend(shown.iter().map(|(_, of, words)| match of(cluster) {
            0 => "–".to_owned(),
            value => words(value as f64),
        }));
        row.extend([cluster.representative.to_string(), names(cluster)]);
        table.row(row, Vec::new());
    }
    table.write(width, out)?;
    match model.clusters.len().saturating_sub(limit) {
        0 => Ok(()),
        more => {
            let clusters = plural(more as u64, "more cluster", "more clusters");
            writeln!(out, "and {clusters}; --limit shows them")
        }
    }
}

/// The names of a cluster's requests, with their numbers where there are several.
fn names(cluster: &Cluster) -> String {
    let shown = cluster.names.iter().take(SHOWN_NAMES);
    let mut names: Vec<String> = shown
        .map(|name| match cluster.names.len() {
            1 => printable(&name.name),
            _ => format!("{} {}", count(name.requests), printable(&name.name)),
        })
        .collect();
    if cluster.names.len() > SHOWN_NAMES {
        names.push("…".to_owned());
    }
    names.join(", ")
}

fn unusual(
    model: &Model,
    limit: usize,
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    if model.unusual.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nunusual:")?;
    for unusual in model.unusual.iter().take(limit) {
        let line =
            format!("request {} ({}): {}", unusual.request, printable(&unusual.name), unusual.what);
        folded(&line, "  ", width, out)?;
    }
    match model.unusual.len().saturating_sub(limit) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more; --limit shows them"),
    }
}
