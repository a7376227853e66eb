//! The spans of tracers in a data directory: the imports, and the results made from them.

use std::io::Write;

use analyze::AnalysisSummary;
use clocks::ClockModel;
use message_trace::{DataDir, table};
use serde::Serialize;

use super::line::write_paragraph;
use crate::clock_words;
use crate::error::CommandError;
use crate::output::{self, count_noun};
use crate::words;

/// The imports of spans, and the results of their stages; null for a stage that has not run yet.
#[derive(Debug, Serialize)]
pub(super) struct SpanImports {
    imports: Vec<ImportOfSpans>,
    clocks: Option<ClockModel>,
    analysis: Option<AnalysisSummary>,
}

#[derive(Debug, Serialize)]
struct ImportOfSpans {
    name: String,
    requests: u64,
    steps: u64,
}

impl SpanImports {
    /// Reads the imports of spans in `data`, the directory of spans.
    pub(super) fn read_imports(data: &DataDir) -> Result<SpanImports, CommandError> {
        let mut imports = Vec::new();
        for import in data.imported_requests()? {
            imports.push(ImportOfSpans {
                requests: table::count_rows(import.requests_path())?,
                steps: table::count_rows(import.steps_path())?,
                name: import.name,
            });
        }
        Ok(SpanImports {
            imports,
            clocks: ClockModel::read(data.clocks_path()).ok(),
            analysis: AnalysisSummary::read(data.analysis_path()).ok(),
        })
    }

    /// Whether there are imports.
    pub(super) fn has_imports(&self) -> bool {
        !self.imports.is_empty()
    }

    /// Writes a line for each import.
    pub(super) fn write_imports(&self, out: &mut impl Write) -> Result<(), CommandError> {
        for ImportOfSpans { name, requests, steps } in &self.imports {
            let (requests, steps) =
                (count_noun(*requests, "request", "requests"), count_noun(*steps, "step", "steps"));
            writeln!(out, "spans {name}: {steps} of {requests}")?;
        }
        Ok(())
    }

    /// Writes the results of the stages.
    pub(super) fn write_results(&self, out: &mut impl Write) -> Result<(), CommandError> {
        if let Some(clocks) = &self.clocks {
            clock_words::write_clock_table(clocks, output::width_limit(), out)?;
        }
        let analysis = match &self.analysis {
            Some(summary) => words::analysis_line(summary),
            None => "not yet; 'sockcap analyze' makes it".to_owned(),
        };
        Ok(write_paragraph(&format!("analysis: {analysis}"), out)?)
    }
}
