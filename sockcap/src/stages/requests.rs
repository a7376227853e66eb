//! The stage of requests: paths in the form of request flows. Spans are in that form already.

use message_trace::DataDir;

use super::newer;
use super::shown::{Shown, Source};
use crate::arguments::Inference;
use crate::error::Error;
use crate::progress::Terminal;
use crate::tuning::SPANS_IN_MEMORY_BYTES;

/// Makes the requests of what is shown, unless they are there and newer than what they are made
/// from.
pub(crate) fn requests(shown: &Shown, inference: &Inference) -> Result<(), Error> {
    let data = &shown.data;
    if shown.source == Source::Spans {
        return super::messages(shown);
    }
    super::analysis(shown, inference)?;
    // The summary is written last.
    let analysis = DataDir::written(&data.analysis());
    if [data.requests(), data.steps()].iter().all(|table| newer(table, analysis)) {
        return Ok(());
    }
    request_flow::from_paths(data, SPANS_IN_MEMORY_BYTES, &Terminal::new())?;
    Ok(())
}
