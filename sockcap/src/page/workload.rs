//! Costs of requests, for a page: clusters of requests, and some requests with their threads.

use message_trace::DataDir;
use out_of_core::NameInterner;
use report::page::{ExampleRequest, PageWorkload};
use request_flow::tables::{ColumnSelection, RequestTables};
use workload::Workload;
use workload::analysis::{FlowSource, RequestSource, analyze_requests};
use workload::resources::RecordedThreads;

use crate::error::CommandError;
use crate::progress::TerminalProgress;
use crate::shown::ShownData;
use crate::stages;
use crate::tuning::{MAX_EVENTS_OF_A_PAGE, THREADS_IN_MEMORY_BYTES};

/// The costs of the requests of the shown source; `None` if resources were not recorded, or there
/// is no request. The requests must exist.
///
/// # Errors
/// When the tables of requests or of events cannot be read.
pub(super) fn workload_of_page(shown: &ShownData) -> Result<Option<PageWorkload>, CommandError> {
    let data = &shown.data;
    let Some(processor) = stages::charged_time(data)? else { return Ok(None) };
    let columns = ColumnSelection { sizes: true, threads: true, hosts: true, parameters: false };
    let tables = RequestTables::open(data.requests_path(), data.steps_path(), columns)?;
    let source = FlowSource { tables, processor: Some(processor) };
    let mut names = NameInterner::default();
    let progress = TerminalProgress::new();
    let answer = analyze_requests(&source, Workload::default(), &mut names, &|_| ())?;
    drop(progress);
    if answer.model.requests == 0 {
        return Ok(None);
    }
    let wanted = PageWorkload::wanted_requests(&answer.model);
    let threads = recorded_threads(data)?;
    let mut examples = Vec::new();
    source.for_each(&mut names, &mut |found, names| {
        if wanted.contains(&found.facts.number) {
            examples.push(ExampleRequest::from_request(found, names, threads.as_ref()));
        }
        Ok(examples.len() < wanted.len())
    })?;
    let command = format!("sockcap requests{}", shown.repeat_arguments());
    Ok(Some(PageWorkload::from_report(&answer, examples, command)))
}

/// The threads of a recording; `None` if there are more events than are read for a page.
fn recorded_threads(data: &DataDir) -> Result<Option<RecordedThreads>, CommandError> {
    let events = data.own_events_path();
    if !events.is_file() || message_trace::table::count_rows(&events)? > MAX_EVENTS_OF_A_PAGE {
        return Ok(None);
    }
    Ok(Some(RecordedThreads::read_events(&events, THREADS_IN_MEMORY_BYTES, data.path())?))
}
