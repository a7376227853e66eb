//! The stages of requests: paths in the form of request flows, and imports of spans combined.

use message_trace::DataDir;
use message_trace::Progress;
use request_flow::tables::{ColumnSelection, RequestTables};
use workload::resources::{RequestTablePaths, fill_resources};

use super::current::{is_newer, same_file};
use crate::error::CommandError;
use crate::progress::TerminalProgress;
use crate::tuning::SPANS_IN_MEMORY_BYTES;

/// Makes the requests of the paths in `data`, unless they exist and are newer than the paths. If
/// resources were recorded, the steps contain them.
pub(super) fn requests_of_paths(data: &DataDir) -> Result<(), CommandError> {
    // The summary is written last.
    let analysis = DataDir::modified_time(&data.analysis_path());
    let events = DataDir::modified_time(&data.own_events_path());
    let made_from = analysis.max(events);
    let are_newer =
        [data.requests_path(), data.steps_path()].iter().all(|table| is_newer(table, made_from));
    // Another version may have written them, without columns that exist now.
    if are_newer
        && RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::ALL)
            .is_ok()
    {
        return Ok(());
    }
    if events.is_none() {
        // The charged times were from events that no longer exist.
        let _ = data.charged_path().remove_file();
        request_flow::from_paths(data, SPANS_IN_MEMORY_BYTES, &TerminalProgress::new())?;
        return Ok(());
    }
    with_resources(data)
}

/// Makes the requests of the paths in `data`, with the resources of their steps. Until the
/// resources are known, the tables have other names: readers only ever find complete tables.
fn with_resources(data: &DataDir) -> Result<(), CommandError> {
    let plain = [".requests.plain", ".steps.plain"].map(|name| data.root_path().join(name));
    let [requests, steps] = plain.each_ref();
    let progress = TerminalProgress::new();
    let filled =
        request_flow::from_paths_to(data, [requests, steps], SPANS_IN_MEMORY_BYTES, &progress)
            .and_then(|_| {
                let to = RequestTablePaths {
                    requests: &data.requests_path(),
                    steps: &data.steps_path(),
                };
                let from = RequestTablePaths { requests, steps };
                progress.begin_step("finding what steps waited for", 0);
                fill_resources(from, to, SPANS_IN_MEMORY_BYTES, data.own_events_path())
            });
    for path in &plain {
        // The temporary tables are no longer needed; the next time, they are overwritten.
        let _ = path.remove_file();
    }
    message_trace::json::write_json(data.charged_path(), &filled?)?;
    Ok(())
}

/// Combines the imports of spans in `data`, unless their tables exist and are as new as these.
/// Without imports, existing tables stay.
pub(super) fn requests_of_spans(data: &DataDir) -> Result<(), CommandError> {
    let imports = data.imported_requests()?;
    let changed = data.imports_modified()?;
    // A single import is not written again: its tables have two names, and are as old as the
    // import.
    let is_only = match imports.as_slice() {
        [] => return Ok(()),
        [only] => {
            same_file(&only.requests_path(), &data.requests_path())
                && same_file(&only.steps_path(), &data.steps_path())
        }
        _ => false,
    };
    if is_only
        || [data.requests_path(), data.steps_path()].iter().all(|table| is_newer(table, changed))
    {
        return Ok(());
    }
    request_flow::merge_imports(data, &TerminalProgress::new())?;
    Ok(())
}
