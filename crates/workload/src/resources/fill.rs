//! Filling in: both tables of requests once more, with the resources of their steps.

use out_of_core::{DataPath, MemoryPool, NameId, Names, PathError, workers};
use request_flow::Request;
use request_flow::tables::{Columns, RequestTables, RequestWriter};

use super::charged::Charged;
use super::gather::Gathering;
use super::of_step::{OfSteps, messages};
use super::timelines::Timelines;

/// A pair of tables of requests.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'path> {
    /// Requests.
    pub requests: &'path DataPath,
    /// Their steps.
    pub steps: &'path DataPath,
}

/// Writes the requests of `from` to `to`, each step with its resources as far as `events` tells of
/// its threads, and says how much processor time was charged. `events` is a table of events on the
/// clock of the requests. Timelines of threads that need more than `memory` bytes go to temporary
/// files beside `to`.
///
/// # Errors
/// When a table cannot be read or written, or events cannot be read.
pub fn fill(
    from: Tables<'_>,
    to: Tables<'_>,
    memory: u64,
    events: impl Into<DataPath>,
) -> Result<Charged, PathError> {
    let events = &events.into();
    let directory = &to.steps.parent();
    let mut gathering = Gathering::new(&MemoryPool::new(memory, directory.as_path()));
    gathering.table(events)?;
    let of_threads = Columns { hosts: true, threads: true, ..Columns::default() };
    let tables = RequestTables::open(from.requests, from.steps, of_threads)?;
    tables.for_each(&mut Names::default(), |_, request, names| {
        let host = |number: NameId| names.text(number);
        messages(&request, host, |thread, time, step, is_last| {
            gathering.mark(thread, time, step, is_last)
        })
    })?;
    let timelines = gathering.finish()?;

    let mut charged = Charged::of(&timelines);
    let tables = RequestTables::open(from.requests, from.steps, Columns::ALL)?;
    let mut writer = RequestWriter::create(to.requests, to.steps)?;
    let mut names = Names::default();
    let work = |group: usize| filled(&tables, group, &timelines);
    workers::in_order(workers::threads(), tables.groups(), work, |_, (own, requests)| {
        let numbers: Vec<NameId> = own.iter().map(|text| names.number(text)).collect();
        for mut request in requests {
            charged.add(&request);
            request.rename(|name| numbers.get(name as usize).copied().unwrap_or(Names::UNKNOWN));
            writer.push(request, &names)?;
        }
        Ok(())
    })?;
    writer.finish(&names)?;
    Ok(charged)
}

/// The requests of a group with their resources, and their names.
fn filled(
    tables: &RequestTables,
    group: usize,
    timelines: &Timelines,
) -> Result<(Names, Vec<Request>), PathError> {
    let (names, mut requests) = tables.group(group)?;
    let mut of_steps = OfSteps::default();
    for request in &mut requests {
        for (place, children) in request.children().iter().enumerate() {
            let host = |number: NameId| names.text(number);
            let sums = of_steps.sums(timelines, request, place, children, host);
            let Some((sums, step)) = sums.zip(request.steps.get_mut(place)) else { continue };
            step.processor_ns = Some(sums.processor_ns);
            step.waits = Some(sums.waits);
            step.disk_bytes = Some(sums.disk_bytes);
        }
    }
    Ok((names, requests))
}
