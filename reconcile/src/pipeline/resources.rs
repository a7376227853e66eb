//! Pass 10: if logs have resources, the activity of threads becomes events, and wake-ups become
//! hand-offs, all on the common clock. Goroutines have hand-offs alone.

use std::io;

use clocks::ClockModel;
use message_trace::{DataPath, PathError};
use out_of_core::{ExternalSorter, MemoryBudget};
use rustc_hash::FxHashMap;
use socket_log::switches::SwitchLog;

use crate::error::Error;
use crate::indices::{HostIndex, ProcessIndex, SocketIndex};
use crate::logs::capture::{Capture, LogFile};
use crate::pipeline::connect::ConnectedCapture;
use crate::pipeline::run::PipelineRun;
use crate::resources::{
    HandoffEventRow, HandoffRow, OwnEvent, ResourceCalls, ResourceSorters, for_each_thread_event,
    match_handoffs, read_goroutine_handoffs, to_own_event, write_events, write_handoffs,
};
use crate::tuning::SORTED_AT_ONCE;

/// Writes `events/sockcap.parquet` and `handoffs.parquet`. If no log has their inputs, they are not
/// written, and previous ones are removed.
pub(crate) fn write_resources(
    run: &PipelineRun,
    connected: &ConnectedCapture,
    clocks: &ClockModel,
) -> Result<(), Error> {
    let (data, capture) = (run.data, &connected.capture);
    let (own_events, own_handoffs) = (data.own_events_path(), data.handoffs_path());
    let having = |has: fn(&LogFile) -> bool| -> Vec<usize> {
        let all = (0..capture.logs.len()).filter(|place| capture.logs.get(*place).is_some_and(has));
        all.collect()
    };
    let (with, of_go) = (having(|log| log.resources), having(|log| log.goroutines));
    let budget = MemoryBudget::after_tables(run.options.memory, run.pool.in_memory());
    let directory = data.path();
    let mut rows = ExternalSorter::<HandoffRow>::new(&budget, directory, SORTED_AT_ONCE);
    for place in &of_go {
        read_goroutine_handoffs(capture, clocks, ProcessIndex::from_index(*place), &mut rows)?;
    }
    if with.is_empty() {
        remove_file(&own_events)?;
        return match of_go.is_empty() {
            true => remove_file(&own_handoffs),
            false => Ok(write_handoffs(&own_handoffs, &rows.finish())?),
        };
    }
    run.progress.begin_step("reading resources", with.len() as u64);
    let sorter = || ExternalSorter::<OwnEvent>::new(&budget, directory, SORTED_AT_ONCE);
    let mut events = sorter();
    let mut handoff_events =
        ExternalSorter::<HandoffEventRow>::new(&budget, directory, SORTED_AT_ONCE);
    let connections = connected.connections.len() as i64;
    let connection = |socket: SocketIndex| {
        match connected.partitions.connection_of.get(socket.index()).and_then(|of| of.get()) {
            Some(connection) => connection.index() as i64,
            // A connection with one end only, or a socket without a connection.
            None => connections + socket.index() as i64,
        }
    };
    let calls =
        ResourceCalls { capture, sockets: &connected.sockets, connection: &connection, clocks };
    for place in &with {
        let mut into = ResourceSorters { events: &mut events, handoff_events: &mut handoff_events };
        calls.read_log(ProcessIndex::from_index(*place), &mut into)?;
        run.progress.advance_step(1);
    }
    add_switches(run, connected, clocks, &with, &budget, &mut events)?;
    match_handoffs(handoff_events, capture, &mut events, &mut rows)?;
    data.events_dir().create_dir_all().map_err(|error| PathError::io(data.events_dir(), error))?;
    write_events(&own_events, &events.finish(), capture, &connected.sockets)?;
    Ok(write_handoffs(&own_handoffs, &rows.finish())?)
}

/// Removes a file, if it exists.
fn remove_file(path: &DataPath) -> Result<(), Error> {
    match path.remove_file() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(PathError::io(path, error).into())
        }
        _ => Ok(()),
    }
}

/// Adds the thread activity in the files of switches for the hosts of logs with resources. A file
/// of a boot without logs with resources is ignored, as its clock is unknown. A boot has one set of
/// process ids, so that the activity of threads belongs to the host that the log of their process
/// names, whatever host the file of switches names.
fn add_switches(
    run: &PipelineRun,
    connected: &ConnectedCapture,
    clocks: &ClockModel,
    with: &[usize],
    budget: &MemoryBudget,
    events: &mut ExternalSorter<OwnEvent>,
) -> Result<(), Error> {
    let capture = &connected.capture;
    for path in run.data.switch_paths()? {
        let Ok(log) = SwitchLog::open(&path) else { continue };
        let Some(hosts) = BootHosts::from_switch_log(&log, capture, with) else { continue };
        for_each_thread_event(&log, budget, run.data.path(), |event| {
            let host = hosts.host_of_process(event.process);
            let common =
                |time: i64| clocks.common_time(host.index(), time.saturating_add(hosts.ahead));
            events.push(to_own_event(&event, host, common(event.time)))
        })?;
    }
    Ok(())
}

/// Hosts of the processes of one boot of a kernel.
struct BootHosts {
    /// The host of each process, by its id, if it differs from `BootHosts::other`.
    of_processes: FxHashMap<u32, HostIndex>,
    /// The host of all other processes.
    other: HostIndex,
    /// Nanoseconds by which the realtime clock is ahead of the clock in the switches.
    ahead: i64,
}

impl BootHosts {
    /// Hosts of the processes of the boot of `file`, according to the logs `with` resources; `None`
    /// if no log is of that boot, or the boot is unknown and no log has the name of the file's
    /// host.
    fn from_switch_log(file: &SwitchLog, capture: &Capture, with: &[usize]) -> Option<BootHosts> {
        let header = file.header();
        let boot = u128::from_le_bytes(header.boot_id);
        let processes = with.iter().filter_map(|place| {
            let process = capture.processes.get(*place).filter(|of| of.boot == boot)?;
            let (_, ahead) = capture.logs.get(*place)?.clock.log_start()?;
            Some((process, ahead))
        });
        let is_named = |host: HostIndex| {
            capture.hosts.get(host.index()).is_some_and(|name| *name == header.host)
        };
        let named = processes.clone().find(|(process, _)| is_named(process.host));
        let any = || processes.clone().next().filter(|_| boot != 0);
        let (process, ahead) = named.or_else(any)?;
        let other = process.host;
        let of_processes = processes
            .filter(|(process, _)| boot != 0 && process.host != other)
            .map(|(process, _)| (process.pid, process.host))
            .collect();
        Some(BootHosts { of_processes, other, ahead })
    }

    /// The host of a process, by its id.
    fn host_of_process(&self, process: u32) -> HostIndex {
        self.of_processes.get(&process).copied().unwrap_or(self.other)
    }
}
