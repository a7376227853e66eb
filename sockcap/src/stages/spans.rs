//! The stages of spans: makes messages with known causes from requests, and paths from these.
//! Commands that need only requests make no messages (`ensure_requests::requests_of_spans`).

use analyze::{Algorithm, AnalysisSummary};
use message_trace::DataDir;

use super::current::is_newer;
use super::names::with_names;
use super::requests;
use crate::arguments::InferenceArguments;
use crate::error::CommandError;
use crate::output::print_message;
use crate::progress::TerminalProgress;
use crate::tuning::SPANS_IN_MEMORY_BYTES;

/// Makes the messages of the spans in `data`, unless they exist and are as new as the imports.
pub(super) fn messages_of_spans(data: &DataDir) -> Result<(), CommandError> {
    let imports = data.imports_modified()?;
    let tables = [data.messages_path(), data.nodes_path(), data.causes_path()];
    if tables.iter().all(|table| is_newer(table, imports)) {
        return Ok(());
    }
    requests::requests_of_spans(data)?;
    request_flow::messages_of_requests(data, SPANS_IN_MEMORY_BYTES, &TerminalProgress::new())?;
    Ok(())
}

/// Makes the paths of the spans in `data`, unless they exist, are as new as the messages, and were
/// made with the nodes of `inference`. `whole` is the directory with the user's names.
pub(super) fn analysis_of_spans(
    whole: &DataDir,
    data: &DataDir,
    inference: &InferenceArguments,
) -> Result<AnalysisSummary, CommandError> {
    if let Some(flag) = inference.asks_to_infer() {
        print_message(&format!(
            "spans record their causes: --{flag} is for messages, and nothing is inferred"
        ));
    }
    messages_of_spans(data)?;
    // A summary of another kind of analysis is not one of spans.
    let last = AnalysisSummary::read(data.analysis_path())
        .ok()
        .filter(|last| last.options.algorithm == Algorithm::SPANS);
    let options = last.as_ref().map(|last| last.options.clone()).unwrap_or_default();
    let options = with_names(whole, inference, inference.apply_to(options))?;
    let options = request_flow::options_of_spans(options);
    if let Some(last) = last.filter(|last| last.options == options) {
        let messages = DataDir::modified_time(&data.messages_path());
        let tables = [data.links_path(), data.paths_path(), data.patterns_path()];
        if tables.iter().all(|table| is_newer(table, messages)) {
            return Ok(last);
        }
    }
    analyze_spans(data, &options)
}

/// Makes the paths of the spans in `data`.
pub(super) fn analyze_spans(
    data: &DataDir,
    options: &analyze::Options,
) -> Result<AnalysisSummary, CommandError> {
    Ok(request_flow::paths_of_messages(data, options, &TerminalProgress::new())?)
}
