//! Fills in the resources of steps by reading both tables of requests again.

use out_of_core::{DataPath, MemoryPool, NameId, NameInterner, PathError, workers};
use request_flow::Request;
use request_flow::tables::{ColumnSelection, RequestTables, RequestWriter};

use super::charged_time::ChargedTime;
use super::step_resources::{StepSums, for_each_message};
use super::timeline_builder::TimelineBuilder;
use super::timelines::ThreadTimelines;

/// A pair of tables of requests.
#[derive(Clone, Copy, Debug)]
pub struct RequestTablePaths<'path> {
    /// Table of requests.
    pub requests: &'path DataPath,
    /// Table of the requests' steps.
    pub steps: &'path DataPath,
}

/// Copies the requests of `from` to `to`, with the resources of each step as far as `events` covers
/// its threads, and returns the charged processor time. `events` is a table of events on the clock
/// of the requests. Timelines of threads that need more than `memory` bytes are spilled to
/// temporary files next to `to`.
///
/// # Errors
/// If a table cannot be read or written, or events cannot be read.
pub fn fill_resources(
    from: RequestTablePaths<'_>,
    to: RequestTablePaths<'_>,
    memory: u64,
    events: impl Into<DataPath>,
) -> Result<ChargedTime, PathError> {
    let events = &events.into();
    let directory = &to.steps.parent();
    let mut gathering = TimelineBuilder::new(&MemoryPool::new(memory, directory.as_path()));
    gathering.add_table(events)?;
    let of_threads = ColumnSelection { hosts: true, threads: true, ..ColumnSelection::default() };
    let tables = RequestTables::open(from.requests, from.steps, of_threads)?;
    tables.for_each(&mut NameInterner::default(), |_, request, names| {
        let host = |number: NameId| names.name_of(number);
        for_each_message(&request, host, |thread, time, step, is_last| {
            gathering.add_message(thread, time, step, is_last)
        })
    })?;
    let timelines = gathering.finish()?;

    let mut charged = ChargedTime::from_timelines(&timelines);
    let tables = RequestTables::open(from.requests, from.steps, ColumnSelection::ALL)?;
    let mut writer = RequestWriter::create(to.requests, to.steps)?;
    let mut names = NameInterner::default();
    let work = |group: usize| fill_group(&tables, group, &timelines);
    workers::run_in_order(
        workers::thread_count(),
        tables.group_count(),
        work,
        |_, (own, requests)| {
            let numbers: Vec<NameId> = own.iter().map(|text| names.intern(text)).collect();
            for mut request in requests {
                charged.add_request(&request);
                request.map_names(|name| {
                    numbers.get(name.index()).copied().unwrap_or(NameInterner::UNKNOWN)
                });
                writer.push_request(request, &names)?;
            }
            Ok(())
        },
    )?;
    writer.finish(&names)?;
    Ok(charged)
}

/// The requests of a row group with the resources of their steps, and the names that they use.
fn fill_group(
    tables: &RequestTables,
    group: usize,
    timelines: &ThreadTimelines,
) -> Result<(NameInterner, Vec<Request>), PathError> {
    let (names, mut requests) = tables.read_group(group)?;
    let mut of_steps = StepSums::default();
    for request in &mut requests {
        for (place, children) in request.children_of_steps().iter().enumerate() {
            let host = |number: NameId| names.name_of(number);
            let sums = of_steps.sums_of_step(timelines, request, place, children, host);
            let Some((sums, step)) = sums.zip(request.steps.get_mut(place)) else { continue };
            step.processor_ns = Some(sums.processor_ns);
            step.waits = Some(sums.waits);
            step.disk_bytes = Some(sums.disk_bytes);
        }
    }
    Ok((names, requests))
}
