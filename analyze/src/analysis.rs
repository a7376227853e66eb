//! The whole analysis, from the trace to its output in the data directory: `links.parquet`,
//! `paths.parquet`, `patterns.parquet` and, with the options and totals, `analysis.json`.

use message_trace::{DataDir, DataPath, MessageId, PathError, Progress};
use out_of_core::MemoryBudget;
use out_of_core::workers::run_ahead;
use serde::{Deserialize, Serialize};
use tracing::{debug, info};

use crate::batches::{TraceBatches, TraceOverview};
use crate::call_evidence::ServiceEvidence;
use crate::evidence::Evidence;
use crate::evidence_tally::EvidenceTally;
use crate::handoffs::HandoffReader;
use crate::infer::{Inference, InferenceInput};
use crate::links::LinkWriter;
use crate::naming::Namer;
use crate::options::Options;
use crate::paths::PathBuilder;
use crate::warnings::PathWarning;

/// Figures of the analysis as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnalysisTotals {
    /// Messages of the trace.
    pub messages: u64,
    /// Time from the first event of the trace to the last, in nanoseconds.
    pub span: i64,
    /// Pairs of a message and a possible parent.
    pub links: u64,
    /// Cycles of messages that seemed to cause each other; each was broken at one link.
    pub circles: u64,
    /// Expected number of spontaneous messages: the sum of their probabilities of being
    /// spontaneous.
    pub spontaneous: f64,
    /// Messages from which instances were built.
    pub roots: u64,
    /// Roots with more ambiguous links than the limit on links that are tried both ways.
    pub roots_bounded: u64,
    /// Path instances.
    pub instances: u64,
    /// Expected number of real instances: the sum of the instances' probabilities.
    pub instances_expected: f64,
    /// Instances that were cut off because they reached the limit on their size.
    pub instances_cut: u64,
    /// Further instances, each too unlikely to be kept in addition to the others of its root.
    pub instances_unlikely: u64,
    /// Path patterns.
    pub patterns: u64,
    /// Calls with causes that hand-offs between threads show. Omitted from the summary if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub handed_on: u64,
    /// Messages with causes that rare words show, which they share. Omitted from the summary if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub by_words: u64,
}

/// Returns whether a count is 0.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Infers links, path instances and path patterns from the messages of `dir`, and writes them
/// there: `links.parquet`, `paths.parquet`, `patterns.parquet`. The summary is written last; its
/// presence shows that the output is complete.
///
/// The trace is processed in batches of [`Options::stretch`] messages, one after the other
/// (docs/decisions/0405). A path is built from the batch of its root and the next batch.
///
/// # Errors
/// If the messages cannot be read, or a file cannot be written.
pub fn analyze(
    dir: &DataDir,
    options: &Options,
    progress: &dyn Progress,
) -> Result<AnalysisSummary, PathError> {
    analyze_by(&mut *options.algorithm.begin_inference(), dir, options, progress)
}

/// Analyzes as [`analyze`] does, by a new `inference`. `options` contains the name of its
/// algorithm, which need not be one of [`ALGORITHMS`](crate::ALGORITHMS).
///
/// # Errors
/// Same as [`analyze`].
pub fn analyze_by(
    inference: &mut dyn Inference,
    dir: &DataDir,
    options: &Options,
    progress: &dyn Progress,
) -> Result<AnalysisSummary, PathError> {
    let summary = dir.analysis_path();
    AnalysisSummary::remove(&summary)?;
    progress.begin_step("naming nodes", 0);
    let threads = options.resources.thread_count();
    let overview = TraceOverview::read(dir, threads, inference.looks_for_calls())?;
    let overview = overview.without_evidence(&options.without);
    let mut namer = Namer::new(&overview.outline, options);
    let budget = MemoryBudget::new(options.resources.memory);
    let mut paths = PathBuilder::new(options, &budget, dir.path());
    let mut links = LinkWriter::create(&dir.links_path())?;
    let mut totals = AnalysisTotals::default();
    let mut tally = EvidenceTally::default();
    let mut span: Option<(i64, i64)> = None;
    let mut batches = TraceBatches::open(dir, options.stretch, &overview)?;
    let has_use = inference.looks_for_calls() && !options.without.contains(&Evidence::Handoffs);
    let mut reader = if has_use { HandoffReader::open(dir)? } else { None };
    let next = || {
        let Some(batch) = batches.next_batch()? else { return Ok(None) };
        let naming = namer.name_batch(&batch.trace);
        let handoffs = reader.as_mut().map(|all| all.read_for_batch(&batch.trace)).transpose()?;
        Ok(Some((batch, naming, handoffs.unwrap_or_default())))
    };
    run_ahead(threads, next, |(batch, naming, handoffs)| {
        let mut found = inference.infer_links(&InferenceInput {
            trace: &batch.trace,
            first: batch.first,
            handoffs: &handoffs,
            naming: &naming,
            options,
            progress,
        });
        let own = batch.own.clone();
        let own_ids = MessageId::of_rows(own.clone());
        debug!(
            first = batch.first,
            messages = own.len(),
            links = own_ids.clone().map(|message| found.parents(message).len()).sum::<usize>(),
            "links of a batch are inferred"
        );
        totals.circles += found.break_cycles(&own);
        totals.messages += own.len() as u64;
        let is_own = |message: &&MessageId| own.contains(&message.index());
        totals.handed_on +=
            inference.messages_linked_by_handoff().iter().filter(is_own).count() as u64;
        totals.by_words +=
            inference.messages_linked_by_words().iter().filter(is_own).count() as u64;
        totals.links +=
            own_ids.clone().map(|message| found.parents(message).len() as u64).sum::<u64>();
        totals.spontaneous +=
            own_ids.clone().map(|message| found.spontaneous_probability(message)).sum::<f64>();
        for message in own_ids {
            for time in
                [batch.trace.send_ts(message), batch.trace.recv_ts(message)].into_iter().flatten()
            {
                span = Some(
                    span.map_or((time, time), |(first, last)| (time.min(first), time.max(last))),
                );
            }
        }
        tally.count_batch(&batch.trace, &naming, &found, own.clone(), &handoffs);
        progress.begin_step("writing links", 0);
        links.append_links(&found, own, batch.first)?;
        paths.append_batch(&batch, naming, &found);
        // The batch and its links are no longer needed, and building paths needs memory.
        drop((batch, found, handoffs));
        paths.build_previous(progress)
    })?;
    links.finish()?;
    let found = paths.finish(batches.operation_names(), dir, progress)?;
    let totals = AnalysisTotals {
        span: span.map_or(0, |(first, last)| last.saturating_sub(first)),
        roots: found.built.roots,
        roots_bounded: found.built.bounded,
        instances: found.instances,
        instances_expected: found.expected,
        instances_cut: found.built.cut,
        instances_unlikely: found.built.unlikely,
        patterns: found.patterns,
        ..totals
    };
    info!(
        algorithm = %options.algorithm,
        messages = totals.messages,
        links = totals.links,
        instances = totals.instances,
        patterns = totals.patterns,
        warnings = inference.warnings().len(),
        "the trace is analyzed"
    );
    let (doubts, evidence) = (inference.warnings(), tally.into_services());
    let result = AnalysisSummary { options: options.clone(), totals, doubts, evidence };
    result.write(&summary)?;
    Ok(result)
}

/// Contents of `analysis.json`: the options of the last analysis and its totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnalysisSummary {
    /// Options of the analysis.
    pub options: Options,
    /// Totals of the analysis.
    pub totals: AnalysisTotals,
    /// Warnings that concern the whole analysis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<PathWarning>,
    /// What decided for which requests each service made its calls, the service with the most
    /// inferred calls first. Empty if no service makes calls for requests, or if the algorithm does
    /// not know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<ServiceEvidence>,
}

impl AnalysisSummary {
    /// Reads the summary at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a summary.
    pub fn read(path: impl Into<DataPath>) -> Result<AnalysisSummary, PathError> {
        let path = &path.into();
        let text = path.read().map_err(|error| PathError::io(path, error))?;
        serde_json::from_slice(&text).map_err(|error| PathError::malformed(path, error))
    }

    /// Removes the summary at `path` if it exists.
    fn remove(path: &DataPath) -> Result<(), PathError> {
        match path.remove_file() {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(PathError::io(path, error))
            }
            _ => Ok(()),
        }
    }

    fn write(&self, path: &DataPath) -> Result<(), PathError> {
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|error| PathError::malformed(path, error))?;
        text.push(b'\n');
        path.write(text).map_err(|error| PathError::io(path, error))
    }
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
