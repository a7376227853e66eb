//! Stages that have to run again, and running them. The results of a stage are current if they are
//! there, are newer than what they were made from, and were made with the options that are asked
//! for now. What of a directory is shown, messages or spans, is in
//! [`shown`](crate::shown); [`spans`] has the stages of spans, and [`requests`](mod@requests) makes
//! requests of paths or of imported spans.

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
use workload::resources::Charged;

use crate::arguments::Inference;
use crate::error::Error;
use crate::kinds;
use crate::progress::Terminal;

use crate::shown::{Shown, Source};
use current::newer;
use names::with_names;

pub(crate) use names::aliases;
pub(crate) use recorded::reconcile;

/// Makes the messages of what is shown, unless they are there and as new as what they are made
/// from.
pub(crate) fn messages(shown: &Shown) -> Result<(), Error> {
    match shown.source {
        Source::Messages => recorded_messages(&shown.data),
        Source::Spans => spans::messages(&shown.data),
    }
}

/// Makes the messages, unless they are there and as new as the logs and imports.
pub(crate) fn recorded_messages(data: &DataDir) -> Result<(), Error> {
    recorded::messages(data, None)
}

/// Makes the analysis of what is shown, unless it is there, as new as the messages, and made with
/// the options of `inference`.
pub(crate) fn analysis(shown: &Shown, inference: &Inference) -> Result<AnalysisSummary, Error> {
    match shown.source {
        Source::Messages => recorded_analysis(&shown.data, inference),
        Source::Spans => spans::analysis(&shown.whole, &shown.data, inference),
    }
}

/// Makes the analysis, unless it is there, as new as the messages, and made with the options of
/// `inference`.
pub(crate) fn recorded_analysis(
    data: &DataDir,
    inference: &Inference,
) -> Result<AnalysisSummary, Error> {
    if data.causes().exists() {
        return spans::analysis(data, data, inference);
    }
    let last = AnalysisSummary::read(data.analysis()).ok();
    let options = last.as_ref().map(|last| last.options.clone()).unwrap_or_default();
    recorded::messages(data, Some(inference.applied_to(options).grain))?;
    if let Some(last) = &last {
        let messages = DataDir::written(&data.messages());
        let current = [data.links(), data.paths(), data.patterns()]
            .iter()
            .all(|table| newer(table, messages));
        if current
            && with_names(data, inference, inference.applied_to(last.options.clone()))?
                == last.options
        {
            return Ok(last.clone());
        }
    }
    // An option that is not given now stays as it was in the last analysis.
    let options = last.map(|last| last.options).unwrap_or_default();
    analyze_recorded(data, with_names(data, inference, inference.applied_to(options))?)
}

/// The user's names for tables that need no analysis: those of `file` or, where none is named, of
/// the last analysis or of the data directory.
pub(crate) fn names(shown: &Shown, file: Option<&Path>) -> Result<Aliases, Error> {
    let last = AnalysisSummary::read(shown.data.analysis())
        .map_or_else(|_| Default::default(), |last| last.options);
    Ok(with_names(&shown.whole, &Inference::named_by(file.map(Path::to_owned)), last)?.aliases)
}

/// Runs analyze on what is shown, with `options` beside what `inference` says.
pub(crate) fn analyze(
    shown: &Shown,
    inference: &Inference,
    options: analyze::Options,
) -> Result<AnalysisSummary, Error> {
    let options = with_names(&shown.whole, inference, options)?;
    match shown.source {
        Source::Messages => recorded::messages(&shown.data, Some(options.grain))?,
        Source::Spans => messages(shown)?,
    }
    match (shown.source, inference.asks_to_infer()) {
        (Source::Messages, _) => analyze_recorded(&shown.data, options),
        (Source::Spans, Some(flag)) => Err(Error::KnownCauses(shown.whole.path().to_owned(), flag)),
        (Source::Spans, None) => {
            spans::analyze(&shown.data, &request_flow::options_of_spans(options))
        }
    }
}

/// Makes the requests of what is shown, unless they are there and newer than what they are made
/// from. Spans are requests already, and need no messages.
pub(crate) fn requests(shown: &Shown, inference: &Inference) -> Result<(), Error> {
    if shown.source == Source::Spans {
        return requests::of_spans(&shown.data);
    }
    analysis(shown, inference)?;
    requests::of_paths(&shown.data)
}

/// How much of the processor time was charged to the requests in `data`; `None` where no resources
/// were recorded. They were made by [`requests`](fn@requests).
pub(crate) fn charged(data: &DataDir) -> Result<Option<ProcessorTime>, Error> {
    if !data.charged().exists() {
        return Ok(None);
    }
    let charged: Charged = message_trace::json::read(data.charged())?;
    Ok(Some(ProcessorTime {
        charged_ns: charged.charged_ns as i64,
        relevant_ns: charged.processor_ns,
        all_ns: None,
    }))
}

/// Runs analyze on messages.
fn analyze_recorded(data: &DataDir, options: analyze::Options) -> Result<AnalysisSummary, Error> {
    let progress = Terminal::new();
    match registry::find(&kinds::algorithms(), options.algorithm.name()) {
        Some(entry) => Ok(analyze::analyze_by(&mut *(entry.begin)(), data, &options, &progress)?),
        None => Ok(analyze::analyze(data, &options, &progress)?),
    }
}
