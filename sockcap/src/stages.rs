//! Decides which stages have to run again, and runs them. The results of a stage are current if
//! they exist, are newer than their inputs, and were made with the options of the current command.
//! The source of a directory, messages or spans, is chosen in [`shown`](crate::shown); [`spans`]
//! has the stages of spans, and [`requests`](mod@requests) makes requests from paths or from
//! imported spans.

mod current;
mod names;
mod recorded;
mod requests;
mod spans;

use std::path::Path;

use analyze::AnalysisSummary;
use analyze::naming::Aliases;
use message_trace::DataDir;
use workload::analysis::ProcessorTime;
use workload::resources::ChargedTime;

use crate::arguments::InferenceArguments;
use crate::error::CommandError;
use crate::kinds;
use crate::progress::TerminalProgress;

use crate::shown::{PathSource, ShownData};
use current::is_newer;
use names::with_names;

pub(crate) use names::find_aliases;
pub(crate) use recorded::run_reconcile;

/// Makes the messages of the shown source, unless they exist and are as new as their inputs.
pub(crate) fn ensure_messages(shown: &ShownData) -> Result<(), CommandError> {
    match shown.source {
        PathSource::Messages => ensure_recorded_messages(&shown.data),
        PathSource::Spans => spans::messages_of_spans(&shown.data),
    }
}

/// Makes the messages, unless they exist and are as new as the logs and imports.
pub(crate) fn ensure_recorded_messages(data: &DataDir) -> Result<(), CommandError> {
    recorded::ensure_messages_of_logs(data, None)
}

/// Makes the analysis of the shown source, unless it exists, is as new as the messages, and was
/// made with the options of `inference`.
pub(crate) fn ensure_analysis(
    shown: &ShownData,
    inference: &InferenceArguments,
) -> Result<AnalysisSummary, CommandError> {
    match shown.source {
        PathSource::Messages => ensure_recorded_analysis(&shown.data, inference),
        PathSource::Spans => spans::analysis_of_spans(&shown.whole, &shown.data, inference),
    }
}

/// Makes the analysis, unless it exists, is as new as the messages, and was made with the options
/// of `inference`.
pub(crate) fn ensure_recorded_analysis(
    data: &DataDir,
    inference: &InferenceArguments,
) -> Result<AnalysisSummary, CommandError> {
    if data.causes_path().exists() {
        return spans::analysis_of_spans(data, data, inference);
    }
    let last = AnalysisSummary::read(data.analysis_path()).ok();
    let options = last.as_ref().map(|last| last.options.clone()).unwrap_or_default();
    recorded::ensure_messages_of_logs(data, Some(inference.apply_to(options).grain))?;
    if let Some(last) = &last {
        let messages = DataDir::modified_time(&data.messages_path());
        let current = [data.links_path(), data.paths_path(), data.patterns_path()]
            .iter()
            .all(|table| is_newer(table, messages));
        if current
            && with_names(data, inference, inference.apply_to(last.options.clone()))?
                == last.options
        {
            return Ok(last.clone());
        }
    }
    // An option that is not given now stays as it was in the last analysis.
    let options = last.map(|last| last.options).unwrap_or_default();
    analyze_recorded(data, with_names(data, inference, inference.apply_to(options))?)
}

/// The user's names for tables that need no analysis: from `file` or, without one, from the last
/// analysis or the data directory.
pub(crate) fn read_aliases(
    shown: &ShownData,
    file: Option<&Path>,
) -> Result<Aliases, CommandError> {
    let last = AnalysisSummary::read(shown.data.analysis_path())
        .map_or_else(|_| Default::default(), |last| last.options);
    Ok(with_names(&shown.whole, &InferenceArguments::with_aliases(file.map(Path::to_owned)), last)?
        .aliases)
}

/// Runs analyze on the shown source, with `options` in addition to those of `inference`.
pub(crate) fn run_analyze(
    shown: &ShownData,
    inference: &InferenceArguments,
    options: analyze::Options,
) -> Result<AnalysisSummary, CommandError> {
    let options = with_names(&shown.whole, inference, options)?;
    match shown.source {
        PathSource::Messages => {
            recorded::ensure_messages_of_logs(&shown.data, Some(options.grain))?
        }
        PathSource::Spans => ensure_messages(shown)?,
    }
    match (shown.source, inference.asks_to_infer()) {
        (PathSource::Messages, _) => analyze_recorded(&shown.data, options),
        (PathSource::Spans, Some(flag)) => {
            Err(CommandError::KnownCauses(shown.whole.path().to_owned(), flag.to_owned()))
        }
        (PathSource::Spans, None) => {
            spans::analyze_spans(&shown.data, &request_flow::options_of_spans(options))
        }
    }
}

/// Makes the requests of the shown source, unless they exist and are newer than their inputs. Spans
/// are requests already, and need no messages.
pub(crate) fn ensure_requests(
    shown: &ShownData,
    inference: &InferenceArguments,
) -> Result<(), CommandError> {
    if shown.source == PathSource::Spans {
        return requests::requests_of_spans(&shown.data);
    }
    ensure_analysis(shown, inference)?;
    requests::requests_of_paths(&shown.data)
}

/// The processor time that was charged to the requests in `data`; `None` if no resources were
/// recorded. The requests must exist: the command `requests` makes them.
pub(crate) fn charged_time(data: &DataDir) -> Result<Option<ProcessorTime>, CommandError> {
    if !data.charged_path().exists() {
        return Ok(None);
    }
    let charged: ChargedTime = message_trace::json::read_json(data.charged_path())?;
    Ok(Some(ProcessorTime {
        charged_ns: charged.charged_ns as i64,
        relevant_ns: charged.processor_ns,
        all_ns: None,
    }))
}

/// Runs analyze on messages.
fn analyze_recorded(
    data: &DataDir,
    options: analyze::Options,
) -> Result<AnalysisSummary, CommandError> {
    let progress = TerminalProgress::new();
    match registry::find_entry(&kinds::algorithms(), options.algorithm.name()) {
        Some(entry) => Ok(analyze::analyze_by(&mut *(entry.begin)(), data, &options, &progress)?),
        None => Ok(analyze::analyze(data, &options, &progress)?),
    }
}
