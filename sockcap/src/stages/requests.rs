//! The stages of requests: paths in the form of request flows, and imports of spans as one.

use message_trace::DataDir;
use request_flow::tables::{Columns, RequestTables};

use super::current::{newer, same_file};
use crate::error::Error;
use crate::progress::Terminal;
use crate::tuning::SPANS_IN_MEMORY_BYTES;

/// Makes the requests of the paths in `data`, unless they are there and newer than these.
pub(super) fn of_paths(data: &DataDir) -> Result<(), Error> {
    // The summary is written last.
    let analysis = DataDir::written(&data.analysis());
    let are_newer = [data.requests(), data.steps()].iter().all(|table| newer(table, analysis));
    // Another version may have written them, without columns that there are now.
    if are_newer && RequestTables::open(&data.requests(), &data.steps(), Columns::ALL).is_ok() {
        return Ok(());
    }
    request_flow::from_paths(data, SPANS_IN_MEMORY_BYTES, &Terminal::new())?;
    Ok(())
}

/// Puts the imports of spans in `data` together, unless their tables are there and as new as these.
/// Without imports, whatever tables are there stay.
pub(super) fn of_spans(data: &DataDir) -> Result<(), Error> {
    let imports = data.imported_requests()?;
    let changed = data.imports_changed()?;
    // A single import is not written again: its tables have two names, and are as old as it.
    let is_only = match imports.as_slice() {
        [] => return Ok(()),
        [only] => {
            same_file(&only.requests(), &data.requests()) && same_file(&only.steps(), &data.steps())
        }
        _ => false,
    };
    if is_only || [data.requests(), data.steps()].iter().all(|table| newer(table, changed)) {
        return Ok(());
    }
    request_flow::merge_imports(data, &Terminal::new())?;
    Ok(())
}
