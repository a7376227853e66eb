//! The stages of spans: requests to messages whose causes are known, and these to paths. What needs
//! requests only makes no messages ([`requests::of_spans`]).

use analyze::{Algorithm, AnalysisSummary};
use message_trace::DataDir;

use super::current::newer;
use super::names::with_names;
use super::requests;
use crate::arguments::Inference;
use crate::error::Error;
use crate::output::say;
use crate::progress::Terminal;
use crate::tuning::SPANS_IN_MEMORY_BYTES;

/// Makes the messages of the spans in `data`, unless they are there and as new as the imports.
pub(super) fn messages(data: &DataDir) -> Result<(), Error> {
    let imports = data.imports_changed()?;
    let tables = [data.messages(), data.nodes(), data.causes()];
    if tables.iter().all(|table| newer(table, imports)) {
        return Ok(());
    }
    requests::of_spans(data)?;
    request_flow::messages_of_requests(data, SPANS_IN_MEMORY_BYTES, &Terminal::new())?;
    Ok(())
}

/// Makes the paths of the spans in `data`, unless they are there, as new as the messages, and made
/// with what `inference` says of nodes. `whole` is the directory that has the user's names.
pub(super) fn analysis(
    whole: &DataDir,
    data: &DataDir,
    inference: &Inference,
) -> Result<AnalysisSummary, Error> {
    if let Some(flag) = inference.asks_to_infer() {
        say(&format!("spans tell their causes: --{flag} is for messages, and nothing is inferred"));
    }
    messages(data)?;
    // A summary of something else that was here is none of spans.
    let last = AnalysisSummary::read(data.analysis())
        .ok()
        .filter(|last| last.options.algorithm == Algorithm::SPANS);
    let options = last.as_ref().map(|last| last.options.clone()).unwrap_or_default();
    let options = with_names(whole, inference, inference.applied_to(options))?;
    let options = request_flow::options_of_spans(options);
    if let Some(last) = last.filter(|last| last.options == options) {
        let messages = DataDir::written(&data.messages());
        let tables = [data.links(), data.paths(), data.patterns()];
        if tables.iter().all(|table| newer(table, messages)) {
            return Ok(last);
        }
    }
    analyze(data, &options)
}

/// Makes the paths of the spans in `data`.
pub(super) fn analyze(
    data: &DataDir,
    options: &analyze::Options,
) -> Result<AnalysisSummary, Error> {
    Ok(request_flow::paths_of_messages(data, options, &Terminal::new())?)
}
