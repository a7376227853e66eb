//! What requests cost, for a page: clusters of requests, and some requests with their threads.

use message_trace::DataDir;
use out_of_core::Names;
use report::page::{ExampleRequest, PageWorkload};
use request_flow::tables::{Columns, RequestTables};
use workload::Workload;
use workload::analysis::{FlowSource, Source, analyze};
use workload::resources::Threads;

use crate::error::Error;
use crate::progress::Terminal;
use crate::shown::Shown;
use crate::stages;
use crate::tuning::{MAX_EVENTS_OF_A_PAGE, THREADS_IN_MEMORY_BYTES};

/// What the requests of what is shown cost; `None` where resources were not recorded, or there is
/// no request. Requests are there.
///
/// # Errors
/// When the tables of requests or of events cannot be read.
pub(super) fn of(shown: &Shown) -> Result<Option<PageWorkload>, Error> {
    let data = &shown.data;
    let Some(processor) = stages::charged(data)? else { return Ok(None) };
    let columns = Columns { sizes: true, threads: true, hosts: true, parameters: false };
    let tables = RequestTables::open(data.requests(), data.steps(), columns)?;
    let source = FlowSource { tables, processor: Some(processor) };
    let mut names = Names::default();
    let progress = Terminal::new();
    let answer = analyze(&source, Workload::default(), &mut names, &|_| ())?;
    drop(progress);
    if answer.model.requests == 0 {
        return Ok(None);
    }
    let wanted = PageWorkload::wanted(&answer.model);
    let threads = threads(data)?;
    let mut examples = Vec::new();
    source.for_each(&mut names, &mut |found, names| {
        if wanted.contains(&found.facts.number) {
            examples.push(ExampleRequest::of(found, names, threads.as_ref()));
        }
        Ok(examples.len() < wanted.len())
    })?;
    let command = format!("sockcap requests{}", shown.again());
    Ok(Some(PageWorkload::of(&answer, examples, command)))
}

/// The threads of a recording; none where there are more events than are read for a page.
fn threads(data: &DataDir) -> Result<Option<Threads>, Error> {
    let events = data.own_events();
    if !events.is_file() || message_trace::table::rows(&events)? > MAX_EVENTS_OF_A_PAGE {
        return Ok(None);
    }
    Ok(Some(Threads::read(&events, THREADS_IN_MEMORY_BYTES, data.path())?))
}
