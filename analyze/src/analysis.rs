//! The whole of an analysis, from the trace to what is left in the data directory: `links.parquet`,
//! `paths.parquet`, `patterns.parquet` and, with the options and totals, `analysis.json`.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use message_trace::spill::Budget;
use message_trace::{DataDir, Error, MessageTrace, Progress, table};
use serde::{Deserialize, Serialize};

use crate::infer::Links;
use crate::naming::Naming;
use crate::options::Options;
use crate::paths::{Collector, Stretch};

/// What was inferred from a trace.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The options it was made with.
    pub options: Options,
    /// Which message may have caused which.
    pub links: Links,
    /// How many there are of all these.
    pub totals: Totals,
}

/// Figures about an analysis as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Messages of the trace.
    pub messages: u64,
    /// From the first event of the trace to the last, in nanoseconds.
    pub span: i64,
    /// Pairs of a message and a possible parent.
    pub links: u64,
    /// Circles of messages that seemed to be each other's causes, and were broken.
    pub circles: u64,
    /// Expected number of spontaneous messages: the sum of the probabilities of being one.
    pub spontaneous: f64,
    /// Messages from which instances were built.
    pub roots: u64,
    /// Roots with more links to be tried both ways than the bound allows.
    pub roots_bounded: u64,
    /// Path instances.
    pub instances: u64,
    /// Expected number of real ones: the sum of their probabilities.
    pub instances_expected: f64,
    /// Instances that reached the bound on their size, and were cut off there.
    pub instances_cut: u64,
    /// Path patterns.
    pub patterns: u64,
}

/// Infers links, path instances and path patterns from `trace`, which must be sorted ([`MessageTrace::sort`]). Instances and
/// patterns, of which there may be more than memory holds, are written to `dir` at once; the rest by [`Analysis::write`].
///
/// # Errors
/// When a file cannot be written.
pub fn analyze(
    trace: &MessageTrace,
    options: &Options,
    dir: &DataDir,
    progress: &dyn Progress,
) -> Result<Analysis, Error> {
    AnalysisSummary::remove(&dir.analysis())?;
    progress.step("naming nodes", 0);
    let naming = Naming::new(trace, options);
    let mut links = options.algorithm.inference().infer(trace, &naming, options, progress);
    let circles = links.break_circles();
    let budget = Budget::new(options.resources.memory);
    let mut paths = Collector::new(options, &budget, dir.path());
    progress.step("building paths", trace.len() as u64);
    let stretch = Stretch { trace, naming: &naming, links: &links, roots: (0, trace.len()), before: 0 };
    paths.add(&stretch, progress)?;
    let found = paths.finish(&naming, dir, progress)?;
    let totals = Totals {
        messages: trace.len() as u64,
        span: span(trace),
        links: links.len() as u64,
        circles,
        spontaneous: (0..links.messages()).map(|message| links.spontaneous(message)).sum(),
        roots: found.built.roots,
        roots_bounded: found.built.bounded,
        instances: found.instances,
        instances_expected: found.expected,
        instances_cut: found.built.cut,
        patterns: found.patterns,
    };
    Ok(Analysis { options: options.clone(), links, totals })
}

/// From the first event of `trace` to the last.
fn span(trace: &MessageTrace) -> i64 {
    let times = || trace.messages().flat_map(|message| [message.send_ts, message.recv_ts]).flatten();
    match (times().min(), times().max()) {
        (Some(first), Some(last)) => last.saturating_sub(first),
        _ => 0,
    }
}

impl Analysis {
    /// How it was made, and how much came of it.
    pub fn summary(&self) -> AnalysisSummary {
        AnalysisSummary { options: self.options.clone(), totals: self.totals }
    }

    /// Writes links and summary to the data directory. The summary is written last, so that where it is, all is.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &DataDir) -> Result<(), Error> {
        self.links.write(&dir.links())?;
        self.summary().write(&dir.analysis())
    }
}

/// `analysis.json`: how the last analysis was made, and how much came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalysisSummary {
    /// The options it was made with.
    pub options: Options,
    /// How much came of it.
    pub totals: Totals,
}

impl AnalysisSummary {
    /// Reads the summary at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or is no summary.
    pub fn read(path: &Path) -> Result<AnalysisSummary, Error> {
        let text = fs::read(path).map_err(|error| Error::io(path, error))?;
        serde_json::from_slice(&text).map_err(|error| Error::malformed(path, error))
    }

    /// Removes the summary at `path`, if there is one.
    fn remove(path: &Path) -> Result<(), Error> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, error)),
            _ => Ok(()),
        }
    }

    fn write(&self, path: &Path) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| Error::malformed(path, error))?;
        text.push(b'\n');
        let unfinished = path.with_extension("json.unfinished");
        fs::write(&unfinished, text).map_err(|error| Error::io(&unfinished, error))?;
        fs::rename(&unfinished, path).map_err(|error| Error::io(path, error))
    }
}

/// Writes a table of batches that are made as they are needed.
pub(crate) fn write_batches(
    path: &Path,
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, Error>>,
) -> Result<(), Error> {
    let mut failed = None;
    table::write(path, schema, batches.map_while(|batch| batch.map_err(|error| failed = Some(error)).ok()))?;
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
