//! The stage of requests: paths in the form of request flows.

use message_trace::DataDir;

use super::current::newer;
use crate::error::Error;
use crate::progress::Terminal;
use crate::tuning::SPANS_IN_MEMORY_BYTES;

/// Makes the requests of the paths in `data`, unless they are there and newer than these.
pub(super) fn of_paths(data: &DataDir) -> Result<(), Error> {
    // The summary is written last.
    let analysis = DataDir::written(&data.analysis());
    if [data.requests(), data.steps()].iter().all(|table| newer(table, analysis)) {
        return Ok(());
    }
    request_flow::from_paths(data, SPANS_IN_MEMORY_BYTES, &Terminal::new())?;
    Ok(())
}
