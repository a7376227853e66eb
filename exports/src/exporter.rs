//! What every exporter does: it reads a data directory and writes one output.

use std::io;
use std::path::Path;

use analyze::AnalysisSummary;
use analyze::naming::Aliases;
use message_trace::{DataDir, Progress};

use crate::error::Error;

/// One form of export, with its options. It has no state: each call of [`Exporter::write`] writes
/// the whole.
pub trait Exporter {
    /// The results that have to be there.
    fn needs(&self) -> Needs;

    /// Looks at the options alone, so that wrong ones are told before the work.
    ///
    /// # Errors
    /// When the options can never work.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Writes what `source` has to `output`. An exporter of traces says how many there were; the
    /// others return none.
    ///
    /// # Errors
    /// When a table cannot be read, what was asked for is not there, or the output cannot be
    /// written.
    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error>;
}

/// The stage whose results an exporter reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The messages, as reconcile leaves them.
    Messages,
    /// Links, paths and patterns, as analyze leaves them.
    Analysis,
}

/// What is exported.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The data directory.
    pub data: &'a DataDir,
    /// The user's names for addresses, hosts, commands and endpoints, for an exporter of messages.
    /// What an analysis leaves has these names already.
    pub aliases: &'a Aliases,
    /// A listener for the progress.
    pub progress: &'a dyn Progress,
}

impl Source<'_> {
    /// The options and totals of the last analysis.
    pub(crate) fn analysis(&self) -> Result<AnalysisSummary, Error> {
        Ok(AnalysisSummary::read(&self.data.analysis())?)
    }
}

/// Where an export goes.
pub struct Output<'a> {
    /// A file, a pipe or memory; it is flushed at the end.
    pub writer: &'a mut (dyn io::Write + Send),
    /// The name of it in errors.
    pub name: &'a Path,
}

/// The number of traces that were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCount {
    /// Traces with at least one span written.
    pub traces: u64,
    /// Spans.
    pub spans: u64,
}
