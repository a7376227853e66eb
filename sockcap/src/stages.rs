//! Stages that have to run again, and running them. The results of a stage are current if they are
//! there, are newer than what they were made from, and were made with the options that are asked
//! for now. What of a directory is shown, messages or spans, is in [`shown`]; [`spans`] has the
//! stages of spans, and [`requests`](mod@requests) makes requests of paths.

mod requests;
mod shown;
mod spans;

use std::path::Path;
use std::time::SystemTime;

use analyze::AnalysisSummary;
use analyze::naming::Aliases;
use message_trace::DataDir;

use crate::arguments::Inference;
use crate::error::Error;
use crate::progress::Terminal;
use crate::{kinds, tidy};

pub(crate) use requests::requests;
pub(crate) use shown::{Shown, Source};

/// Makes the messages of what is shown, unless they are there and as new as what they are made from.
pub(crate) fn messages(shown: &Shown) -> Result<(), Error> {
    match shown.source {
        Source::Messages => recorded_messages(&shown.data),
        Source::Spans => spans::messages(&shown.data),
    }
}

/// Makes the analysis of what is shown, unless it is there, as new as the messages, and made with the
/// options of `inference`.
pub(crate) fn analysis(shown: &Shown, inference: &Inference) -> Result<AnalysisSummary, Error> {
    match shown.source {
        Source::Messages => recorded_analysis(&shown.data, inference),
        Source::Spans => spans::analysis(&shown.whole, &shown.data, inference),
    }
}

/// Makes the messages, unless they are there and as new as the logs and imports.
pub(crate) fn recorded_messages(data: &DataDir) -> Result<(), Error> {
    // Somebody named the directory of spans itself.
    if data.causes().exists() {
        return spans::messages(data);
    }
    tidy::tidy(data);
    let newest_log = data.logs()?.iter().filter_map(|log| DataDir::written(log)).max();
    let newest = newest_log.max(data.imports_changed()?);
    let messages = DataDir::written(&data.messages()).filter(|_| data.nodes().exists());
    match (newest, messages) {
        // Somebody put the trace itself here.
        (None, Some(_)) => Ok(()),
        (Some(newest), Some(messages)) if newest < messages && !is_outgrown(data) => Ok(()),
        _ => reconcile(data, &reconcile::Options::default()).map(|_| ()),
    }
}

/// Whether a process has gone on since its log was read.
fn is_outgrown(data: &DataDir) -> bool {
    reconcile::Reconciliation::read(data).map_or(true, |last| last.is_outgrown(data))
}

/// Runs reconcile.
pub(crate) fn reconcile(
    data: &DataDir,
    options: &reconcile::Options,
) -> Result<reconcile::Reconciliation, Error> {
    if data.logs()?.is_empty() && data.imported()?.is_empty() {
        return Err(Error::NoLogs(data.path().to_owned()));
    }
    Ok(reconcile::reconcile(data, options, &Terminal::new())?)
}

/// Makes the analysis, unless it is there, as new as the messages, and made with the options of
/// `inference`.
pub(crate) fn recorded_analysis(
    data: &DataDir,
    inference: &Inference,
) -> Result<AnalysisSummary, Error> {
    recorded_messages(data)?;
    if data.causes().exists() {
        return spans::analysis(data, data, inference);
    }
    let last = AnalysisSummary::read(&data.analysis()).ok();
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

/// The options with the user's names: those of the file that `inference` names; else those of the
/// file that the last analysis named, as it is now; else those of the data directory.
pub(crate) fn with_names(
    data: &DataDir,
    inference: &Inference,
    options: analyze::Options,
) -> Result<analyze::Options, Error> {
    let last = options.aliases.named.as_deref();
    let aliases = match (inference.aliases(), last) {
        (Some(file), _) => aliases(data, Some(file))?,
        (None, Some(last)) if last.exists() => aliases(data, Some(last))?,
        (None, Some(_)) => return Ok(options),
        (None, None) => aliases(data, None)?,
    };
    Ok(analyze::Options { aliases, ..options })
}

/// The user's names for tables that need no analysis: those of `file` or, where none is named, of
/// the last analysis or of the data directory.
pub(crate) fn names(shown: &Shown, file: Option<&Path>) -> Result<Aliases, Error> {
    let last = AnalysisSummary::read(&shown.data.analysis())
        .map_or_else(|_| Default::default(), |last| last.options);
    Ok(with_names(&shown.whole, &Inference::named_by(file.map(Path::to_owned)), last)?.aliases)
}

/// The user's names in `file` or, where none is named, in the data directory.
pub(crate) fn aliases(data: &DataDir, file: Option<&Path>) -> Result<Aliases, Error> {
    match file {
        // Later commands may be run from elsewhere.
        Some(file) => {
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            Ok(Aliases::read(file)?.named(whole))
        }
        None if data.aliases().exists() => Ok(Aliases::read(&data.aliases())?),
        None => Ok(Aliases::default()),
    }
}

/// Runs analyze on what is shown, with `options` beside what `inference` says.
pub(crate) fn analyze(
    shown: &Shown,
    inference: &Inference,
    options: analyze::Options,
) -> Result<AnalysisSummary, Error> {
    messages(shown)?;
    let options = with_names(&shown.whole, inference, options)?;
    match (shown.source, inference.asks_to_infer()) {
        (Source::Messages, _) => analyze_recorded(&shown.data, options),
        (Source::Spans, Some(flag)) => Err(Error::KnownCauses(shown.whole.path().to_owned(), flag)),
        (Source::Spans, None) => {
            spans::analyze(&shown.data, &request_flow::options_of_spans(options))
        }
    }
}

/// Runs analyze on messages.
fn analyze_recorded(data: &DataDir, options: analyze::Options) -> Result<AnalysisSummary, Error> {
    let progress = Terminal::new();
    match registry::find(&kinds::algorithms(), options.algorithm.name()) {
        Some(entry) => Ok(analyze::analyze_by(&mut *(entry.begin)(), data, &options, &progress)?),
        None => Ok(analyze::analyze(data, &options, &progress)?),
    }
}

fn newer(path: &Path, than: Option<SystemTime>) -> bool {
    DataDir::written(path).is_some_and(|written| than.is_none_or(|than| written > than))
}
