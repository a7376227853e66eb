//! The JSON of `sockcap info`, with all figures, for programs.

use std::io::Write;
use std::path::Path;

use analyze::AnalysisSummary;
use clocks::Clocks;
use importers::Captured;
use message_trace::{Import, table};
use reconcile::Reconciliation;
use reconcile::blind_spots::BlindSpots;
use serde::Serialize;

use super::processes::Processes;
use super::spans::Spans;
use crate::error::Error;
use crate::shown::Shown;

/// The document. The result of a stage that has not run yet is null.
#[derive(Serialize)]
struct Document<'a> {
    directory: &'a Path,
    /// What is shown of it: messages or spans.
    source: String,
    #[serde(flatten)]
    logs: &'a Processes,
    imports: Vec<Imported<'a>>,
    captured: &'a [Captured],
    /// What tracers wrote down; null where nothing was imported.
    spans: Option<Spans>,
    not_seen: &'a BlindSpots,
    reconciliation: Option<Reconciliation>,
    clocks: Option<Clocks>,
    analysis: Option<AnalysisSummary>,
}

/// A trace that was imported as messages.
#[derive(Serialize)]
struct Imported<'a> {
    name: &'a str,
    messages: u64,
    nodes: u64,
}

/// What was found in the directory.
pub(super) struct Found<'a> {
    pub(super) logs: &'a Processes,
    pub(super) imports: Vec<Import>,
    pub(super) captured: &'a [Captured],
    pub(super) not_seen: &'a BlindSpots,
    pub(super) spans: Spans,
}

/// Writes the document.
pub(super) fn write(shown: &Shown, found: Found<'_>, out: &mut impl Write) -> Result<(), Error> {
    let Found { logs, imports, captured, not_seen, spans } = found;
    let data = &shown.whole;
    let imported = |import: &Import| -> Result<(u64, u64), Error> {
        Ok((table::rows(import.messages())?, table::rows(import.nodes())?))
    };
    let mut all = Vec::new();
    for import in &imports {
        let (messages, nodes) = imported(import)?;
        all.push(Imported { name: &import.name, messages, nodes });
    }
    let document = Document {
        directory: data.path(),
        source: shown.source.to_string(),
        logs,
        imports: all,
        captured,
        spans: Some(spans).filter(Spans::is_there),
        not_seen,
        reconciliation: Reconciliation::read(data).ok(),
        clocks: Clocks::read(data.clocks()).ok(),
        analysis: AnalysisSummary::read(data.analysis()).ok(),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
