//! All that `sockcap info` knows, for programs.

use std::io::Write;
use std::path::Path;

use analyze::AnalysisSummary;
use clocks::Clocks;
use importers::Captured;
use message_trace::{DataDir, Import, table};
use reconcile::Reconciliation;
use reconcile::blind_spots::BlindSpots;
use serde::Serialize;

use super::processes::Processes;
use crate::error::Error;

/// The document. What a stage has not made yet is null.
#[derive(Serialize)]
struct Document<'a> {
    directory: &'a Path,
    #[serde(flatten)]
    logs: &'a Processes,
    imports: Vec<Imported<'a>>,
    captured: &'a [Captured],
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

/// Writes the document.
pub(super) fn write(
    data: &DataDir,
    logs: &Processes,
    imports: &[Import],
    captured: &[Captured],
    not_seen: &BlindSpots,
    out: &mut impl Write,
) -> Result<(), Error> {
    let imported = |import: &Import| -> Result<(u64, u64), Error> {
        Ok((table::rows(&import.messages())?, table::rows(&import.nodes())?))
    };
    let mut all = Vec::new();
    for import in imports {
        let (messages, nodes) = imported(import)?;
        all.push(Imported { name: &import.name, messages, nodes });
    }
    let document = Document {
        directory: data.path(),
        logs,
        imports: all,
        captured,
        not_seen,
        reconciliation: Reconciliation::read(data).ok(),
        clocks: Clocks::read(&data.clocks()).ok(),
        analysis: AnalysisSummary::read(&data.analysis()).ok(),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
