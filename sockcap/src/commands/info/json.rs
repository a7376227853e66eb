//! The JSON of `sockcap info`, with all figures, for programs.

use std::io::Write;
use std::path::Path;

use analyze::AnalysisSummary;
use clocks::ClockModel;
use importers::SnifferReport;
use message_trace::{ImportedTrace, table};
use reconcile::Reconciliation;
use reconcile::capture_gaps::CaptureGaps;
use serde::Serialize;

use super::processes::RecordedProcesses;
use super::spans::SpanImports;
use crate::error::CommandError;
use crate::shown::ShownData;

/// The document. The result of a stage that has not run yet is null.
#[derive(Serialize)]
struct InfoDocument<'a> {
    directory: &'a Path,
    /// The source that is shown: messages or spans.
    source: String,
    #[serde(flatten)]
    logs: &'a RecordedProcesses,
    imports: Vec<ImportedTraceInfo<'a>>,
    captured: &'a [SnifferReport],
    /// Imported spans of tracers; null without imports.
    spans: Option<SpanImports>,
    not_seen: &'a CaptureGaps,
    reconciliation: Option<Reconciliation>,
    clocks: Option<ClockModel>,
    analysis: Option<AnalysisSummary>,
}

/// A trace that was imported as messages.
#[derive(Serialize)]
struct ImportedTraceInfo<'a> {
    name: &'a str,
    messages: u64,
    nodes: u64,
}

/// The contents of the directory.
pub(super) struct DirectoryFindings<'a> {
    pub(super) logs: &'a RecordedProcesses,
    pub(super) imports: Vec<ImportedTrace>,
    pub(super) captured: &'a [SnifferReport],
    pub(super) not_seen: &'a CaptureGaps,
    pub(super) spans: SpanImports,
}

/// Writes the findings as one JSON document.
pub(super) fn write_document(
    shown: &ShownData,
    found: DirectoryFindings<'_>,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let DirectoryFindings { logs, imports, captured, not_seen, spans } = found;
    let data = &shown.whole;
    let imported = |import: &ImportedTrace| -> Result<(u64, u64), CommandError> {
        Ok((table::count_rows(import.messages_path())?, table::count_rows(import.nodes_path())?))
    };
    let mut all = Vec::new();
    for import in &imports {
        let (messages, nodes) = imported(import)?;
        all.push(ImportedTraceInfo { name: &import.name, messages, nodes });
    }
    let document = InfoDocument {
        directory: data.path(),
        source: shown.source.to_string(),
        logs,
        imports: all,
        captured,
        spans: Some(spans).filter(SpanImports::has_imports),
        not_seen,
        reconciliation: Reconciliation::read(data).ok(),
        clocks: ClockModel::read(data.clocks_path()).ok(),
        analysis: AnalysisSummary::read(data.analysis_path()).ok(),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
