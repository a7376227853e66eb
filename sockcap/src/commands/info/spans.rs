//! The spans of tracers in a data directory: what was imported, and what was made of it.

use std::io::Write;

use analyze::AnalysisSummary;
use clocks::Clocks;
use message_trace::{DataDir, table};
use serde::Serialize;

use super::line::line;
use crate::clock_words;
use crate::error::Error;
use crate::output::{self, counted};
use crate::words;

/// The imports of spans, and the results of their stages; that of one which has not run yet is
/// null.
#[derive(Debug, Serialize)]
pub(super) struct Spans {
    imports: Vec<ImportOfSpans>,
    clocks: Option<Clocks>,
    analysis: Option<AnalysisSummary>,
}

#[derive(Debug, Serialize)]
struct ImportOfSpans {
    name: String,
    requests: u64,
    steps: u64,
}

impl Spans {
    /// Reads what there is of spans in `data`, the directory of them.
    pub(super) fn read(data: &DataDir) -> Result<Spans, Error> {
        let mut imports = Vec::new();
        for import in data.imported_requests()? {
            imports.push(ImportOfSpans {
                requests: table::rows(import.requests())?,
                steps: table::rows(import.steps())?,
                name: import.name,
            });
        }
        Ok(Spans {
            imports,
            clocks: Clocks::read(data.clocks()).ok(),
            analysis: AnalysisSummary::read(data.analysis()).ok(),
        })
    }

    /// Whether anything was imported.
    pub(super) fn is_there(&self) -> bool {
        !self.imports.is_empty()
    }

    /// Writes a line for each import.
    pub(super) fn write_imports(&self, out: &mut impl Write) -> Result<(), Error> {
        for ImportOfSpans { name, requests, steps } in &self.imports {
            let (requests, steps) =
                (counted(*requests, "request", "requests"), counted(*steps, "step", "steps"));
            writeln!(out, "spans {name}: {steps} of {requests}")?;
        }
        Ok(())
    }

    /// Writes the results of the stages.
    pub(super) fn write_results(&self, out: &mut impl Write) -> Result<(), Error> {
        if let Some(clocks) = &self.clocks {
            clock_words::table(clocks, output::limit(), out)?;
        }
        let analysis = match &self.analysis {
            Some(summary) => words::analysis(summary),
            None => "not yet; 'sockcap analyze' makes it".to_owned(),
        };
        Ok(line(&format!("analysis: {analysis}"), out)?)
    }
}
