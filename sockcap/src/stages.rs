//! Stages that have to run again, and running them. The results of a stage are current if they are
//! there, are newer than what they were made from, and were made with the options that are asked
//! for now.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use analyze::AnalysisSummary;
use analyze::naming::Aliases;
use message_trace::DataDir;
use request_flow::tables::{Columns, RequestTables};

use crate::arguments::Inference;
use crate::error::Error;
use crate::progress::Terminal;
use crate::{kinds, tidy};

/// Makes the messages, unless they are there and as new as the logs and imports.
pub(crate) fn messages(data: &DataDir) -> Result<(), Error> {
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
pub(crate) fn analysis(data: &DataDir, inference: &Inference) -> Result<AnalysisSummary, Error> {
    messages(data)?;
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
    analyze(data, with_names(data, inference, inference.applied_to(options))?)
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
pub(crate) fn names(data: &DataDir, file: Option<&Path>) -> Result<Aliases, Error> {
    let last = AnalysisSummary::read(&data.analysis())
        .map_or_else(|_| Default::default(), |last| last.options);
    Ok(with_names(data, &Inference::named_by(file.map(Path::to_owned)), last)?.aliases)
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

/// The requests: those of spans where there are some, else those of paths.
pub(crate) fn requests(data: &DataDir) -> Result<RequestTables, Error> {
    let spans = data.spans();
    let imports = requests_imported(&spans)?;
    let places = [[spans.requests(), spans.steps()]]
        .into_iter()
        .chain(imports)
        .chain([[data.requests(), data.steps()]]);
    let there = places.into_iter().find(|places| places.iter().all(|place| place.exists()));
    let [requests, steps] = there.ok_or_else(|| Error::NoRequests(data.path().to_owned()))?;
    Ok(RequestTables::open(&requests, &steps, Columns::default())?)
}

/// The tables of requests that were imported, where there is only one import of them.
fn requests_imported(spans: &DataDir) -> Result<Option<[PathBuf; 2]>, Error> {
    let Ok(entries) = std::fs::read_dir(spans.imports()) else { return Ok(None) };
    let directories = entries.flatten().map(|entry| DataDir::new(entry.path()));
    let mut whole = directories.filter(|import| import.requests().exists());
    match (whole.next(), whole.next()) {
        (Some(only), None) => Ok(Some([only.requests(), only.steps()])),
        _ => Ok(None),
    }
}

/// Runs analyze.
pub(crate) fn analyze(data: &DataDir, options: analyze::Options) -> Result<AnalysisSummary, Error> {
    let progress = Terminal::new();
    match registry::find(&kinds::algorithms(), options.algorithm.name()) {
        Some(entry) => Ok(analyze::analyze_by(&mut *(entry.begin)(), data, &options, &progress)?),
        None => Ok(analyze::analyze(data, &options, &progress)?),
    }
}

fn newer(path: &Path, than: Option<SystemTime>) -> bool {
    DataDir::written(path).is_some_and(|written| than.is_none_or(|than| written > than))
}
