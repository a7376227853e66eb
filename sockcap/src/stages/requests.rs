//! The stages of requests: paths in the form of request flows, and imports of spans as one.

use message_trace::DataDir;
use message_trace::Progress;
use request_flow::tables::{Columns, RequestTables};
use workload::resources::{Tables, fill};

use super::current::{newer, same_file};
use crate::error::Error;
use crate::progress::Terminal;
use crate::tuning::SPANS_IN_MEMORY_BYTES;

/// Makes the requests of the paths in `data`, unless they are there and newer than these. Where
/// resources were recorded, the steps have them.
pub(super) fn of_paths(data: &DataDir) -> Result<(), Error> {
    // The summary is written last.
    let analysis = DataDir::written(&data.analysis());
    let events = DataDir::written(&data.own_events());
    let made_from = analysis.max(events);
    let are_newer = [data.requests(), data.steps()].iter().all(|table| newer(table, made_from));
    // Another version may have written them, without columns that there are now.
    if are_newer && RequestTables::open(data.requests(), data.steps(), Columns::ALL).is_ok() {
        return Ok(());
    }
    if events.is_none() {
        // They were of events that are gone.
        let _ = data.charged().remove_file();
        request_flow::from_paths(data, SPANS_IN_MEMORY_BYTES, &Terminal::new())?;
        return Ok(());
    }
    with_resources(data)
}

/// Makes the requests of the paths in `data`, with the resources of their steps. Until these are
/// known, the tables have other names: whatever finds tables finds whole ones.
fn with_resources(data: &DataDir) -> Result<(), Error> {
    let plain = [".requests.plain", ".steps.plain"].map(|name| data.root().join(name));
    let [requests, steps] = plain.each_ref();
    let progress = Terminal::new();
    let filled =
        request_flow::from_paths_to(data, [requests, steps], SPANS_IN_MEMORY_BYTES, &progress)
            .and_then(|_| {
                let to = Tables { requests: &data.requests(), steps: &data.steps() };
                let from = Tables { requests, steps };
                progress.step("finding what steps waited for", 0);
                fill(from, to, SPANS_IN_MEMORY_BYTES, data.own_events())
            });
    for path in &plain {
        // They are of no use any more; the next time, they are written over.
        let _ = path.remove_file();
    }
    message_trace::json::write(data.charged(), &filled?)?;
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
