//! The trait of all exporters: an exporter reads a data directory and writes one output.

use std::io;
use std::path::Path;

use analyze::AnalysisSummary;
use analyze::naming::Aliases;
use message_trace::{DataDir, Progress};

use crate::error::Error;

/// An exporter with its options. It has no other state: each call of [`Exporter::write_export`]
/// writes a complete export.
pub trait Exporter {
    /// The stage whose results must exist.
    fn required_stage(&self) -> RequiredStage;

    /// Checks the options alone, so that wrong options are reported before any work is done.
    ///
    /// # Errors
    /// When no trace can be exported with these options.
    fn check_options(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The address that receives the export, if it is not written to the output.
    fn sent_to(&self) -> Option<&str> {
        None
    }

    /// Writes the export of `source` to `output`, and returns the number of traces. An exporter
    /// that writes no traces returns `None`.
    ///
    /// # Errors
    /// When a table cannot be read, a requested pattern does not exist, or the output cannot be
    /// written.
    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error>;
}

/// The stage with the results that an exporter reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredStage {
    /// The messages, as reconcile writes them.
    Messages,
    /// Links, paths and patterns, as analyze writes them.
    Analysis,
    /// The stages of `Operations` and, if resources were recorded, requests and their steps.
    Resources,
    /// Requests and their steps.
    Requests,
    /// Events, as reconcile writes them.
    Events,
}

/// The data to export.
#[derive(Clone, Copy)]
pub struct ExportSource<'a> {
    /// The data directory.
    pub data: &'a DataDir,
    /// Names that the user gives to addresses, hosts, commands and endpoints. Only exporters of
    /// messages need them: the results of an analysis already contain them.
    pub aliases: &'a Aliases,
    /// A listener for the progress.
    pub progress: &'a dyn Progress,
}

impl ExportSource<'_> {
    /// The options and totals of the last analysis.
    pub(crate) fn read_analysis(&self) -> Result<AnalysisSummary, Error> {
        Ok(AnalysisSummary::read(self.data.analysis_path())?)
    }
}

/// The output of an export.
pub struct ExportOutput<'a> {
    /// A file, a pipe or memory. The exporter flushes it at the end.
    pub writer: &'a mut (dyn io::Write + Send),
    /// The name of the output in errors.
    pub name: &'a Path,
}

/// The number of traces that were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCount {
    /// Traces with at least one span written.
    pub traces: u64,
    /// Spans of all traces.
    pub spans: u64,
}
