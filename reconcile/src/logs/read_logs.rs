//! The index pass over all logs, on all processors, into one [`Capture`]. Damage is counted, with
//! the file's name, and skipped.

use std::path::PathBuf;

use message_trace::{DataDir, DataPath, Progress};
use out_of_core::{MemoryPool, SpillableVec, workers};
use socket_log::layout::{lost, source, state};
use socket_log::{Ancestor, LogDamage, LogHeader, OpenError};

use crate::error::Error;
use crate::indices::{LogFlowIndex, OptionalIndex, ProcessIndex};
use crate::logs::capture::{Capture, LogFile};
use crate::logs::flow::{FlowNaming, LogFlow};
use crate::logs::index_pass::{LogIndex, index_log};
use crate::logs::machines::{self, MachineTable, ProcessHome};
use crate::logs::namespaces::Namespaces;
use crate::logs::process::{self, TracedProcess};
use crate::logs::program::ProgramDescription;
use crate::logs::program_gaps::{self, LogGap};
use crate::logs::{ancestors, program_names, steady};
use crate::reconciliation::{DamagedLog, Reconciliation, UnendedLog, add_count};
use crate::socket_names::SocketNameId;
use crate::tuning::DAMAGED_PLACES_SHOWN;

/// Reads all logs of `data`, on `threads` threads. There may be no logs.
pub(crate) fn read_all_logs(
    data: &DataDir,
    pool: &MemoryPool,
    threads: usize,
    progress: &dyn Progress,
    outcome: &mut Reconciliation,
) -> Result<Capture, Error> {
    let paths = data.log_paths()?;
    let size =
        |path: &DataPath| path.metadata().map_or(0, |metadata| socket_log::disk_usage(&metadata));
    outcome.logs = paths.len() as u64;
    outcome.log_bytes = paths.iter().map(size).sum();
    progress.begin_step("reading logs", outcome.log_bytes);
    let mut reader = CaptureBuilder {
        directory: data.path().to_owned(),
        capture: Capture::new(pool),
        machines: MachineTable::default(),
        namespaces: Namespaces::default(),
        homes: Vec::new(),
        children: Vec::new(),
        programs: Vec::new(),
        missing: Vec::new(),
        ancestors: Vec::new(),
    };
    workers::run_in_order(
        threads,
        paths.len(),
        |piece| Ok::<_, Error>(index_log(&paths[piece], pool)?),
        |piece, result| {
            let path = &paths[piece];
            reader.add_log(path, result, outcome)?;
            progress.advance_step(size(path));
            Ok(())
        },
    )?;
    let missing = std::mem::take(&mut reader.missing);
    let mut capture = reader.into_capture();
    outcome.holes = program_gaps::group_gaps(&capture, missing);
    outcome.hosts = capture.hosts.len() as u64;
    steady::align_clocks(&mut capture);
    Ok(capture)
}

struct CaptureBuilder {
    directory: PathBuf,
    capture: Capture,
    machines: MachineTable,
    namespaces: Namespaces,
    /// Location of each process.
    homes: Vec<ProcessHome>,
    /// Child processes: the parent, the child's id, and the time of the start in nanoseconds.
    children: Vec<(ProcessIndex, u32, i64)>,
    /// Program of each process.
    programs: Vec<ProgramDescription>,
    /// Gaps in each log, by the index of its process.
    missing: Vec<(ProcessIndex, LogGap)>,
    /// Ancestors of processes, by their indices.
    ancestors: Vec<(ProcessIndex, Vec<Ancestor>)>,
}

impl CaptureBuilder {
    /// Adds the index of a log, or counts a log that cannot be read.
    fn add_log(
        &mut self,
        path: &DataPath,
        result: Result<LogIndex, OpenError>,
        outcome: &mut Reconciliation,
    ) -> Result<(), Error> {
        let mut index = match result {
            Ok(index) => index,
            Err(error) => {
                let what = vec![error.to_string()];
                outcome.damaged.push(DamagedLog {
                    file: path.display().to_string(),
                    places: 1,
                    what,
                });
                return Ok(());
            }
        };
        let records = self.count_damage(path, &mut index, outcome);
        self.store_log(path, index, records)
    }

    /// Counts what a log has lost, its damage, and whether it has ended. Returns its number of
    /// records.
    fn count_damage(
        &mut self,
        path: &DataPath,
        index: &mut LogIndex,
        outcome: &mut Reconciliation,
    ) -> u64 {
        let header = &index.header;
        let place = ProcessIndex::from_index(self.capture.processes.len());
        for (name, count) in lost::NAMES.iter().zip(header.lost).filter(|(_, count)| *count > 0) {
            let cause = if name.is_empty() { "other" } else { name };
            add_count(&mut outcome.lost_records, cause, count);
            self.missing.push((place, LogGap::Records { cause, count }));
        }
        if header.without_log > 0 {
            self.missing.push((place, LogGap::Children(header.without_log)));
        }
        let unseen = std::mem::take(&mut index.unseen);
        self.missing.extend(unseen.into_iter().map(|program| (place, LogGap::Program(program))));
        // A process that became another program continues in that program's log.
        outcome.processes += u64::from(header.state != state::REPLACED);
        if !index.damage.is_empty() {
            outcome.damaged.push(describe_damage(path, std::mem::take(&mut index.damage)));
        }
        if header.source == source::LIBRARY {
            outcome.left_out.handoffs += u64::from(!header.resources);
            outcome.left_out.words += u64::from(header.leaves_out_words);
        }
        let records = index.counts.records;
        if header.state == state::RUNNING {
            let file =
                path.as_path().strip_prefix(&self.directory).unwrap_or(path.as_path()).to_owned();
            outcome.unended.push(UnendedLog { file, records });
        }
        outcome.absorb(std::mem::take(&mut index.counts));
        if header.says.is_some() {
            add_count(&mut outcome.misnamed, &header.host, 1);
        }
        records
    }

    /// Stores a log's process, flows and names, numbered across all logs.
    fn store_log(&mut self, path: &DataPath, index: LogIndex, records: u64) -> Result<(), Error> {
        let LogIndex {
            header,
            clock,
            settings,
            flows,
            namings,
            names,
            namespaces,
            ended,
            children,
            lookups,
            snippets: heads,
            goroutines,
            rare_words,
            unfollowed,
            ..
        } = index;
        let home = self.machines.locate_process(&header, path);
        self.homes.push(home);
        let mut process = TracedProcess { ended, ..build_process(&header, path, home) };
        process.node.unfollowed = unfollowed;
        let capture = &mut self.capture;
        let place = ProcessIndex::from_index(capture.processes.len());
        let first = LogFlowIndex::from_index(capture.flows.len());
        let mut name_ids: SpillableVec<SocketNameId> = SpillableVec::new(&capture.pool);
        for name in names.iter_names() {
            name_ids.push(capture.names.intern(name)?)?;
        }
        drop(names);
        capture.lookups.extend(lookups.into_iter().map(|lookup| (place, lookup)));
        if !header.ancestors.is_empty() {
            self.ancestors.push((place, header.ancestors.clone()));
        }
        self.children.extend(children.into_iter().map(|(pid, time)| (place, pid, time)));
        let name = |local: OptionalIndex<SocketNameId>| {
            OptionalIndex::from(local.get().and_then(|local| name_ids.get(local.index()).copied()))
        };
        capture.namings.extend(namings.iter().map(|naming| FlowNaming {
            flow: naming.flow.in_all_logs(first),
            local: name(naming.local),
            peer: name(naming.peer),
            ..*naming
        }))?;
        capture.flows.extend(flows.iter().map(|flow| {
            let number = flow.namespace.get();
            let namespace = number.and_then(|number| namespaces.get(number.index()));
            let number = namespace
                .map(|namespace| self.namespaces.intern_namespace(&home, *namespace, flow.origin));
            LogFlow {
                process: place,
                pair: flow.pair.get().map(|pair| pair.in_all_logs(first)).into(),
                namespace: number.into(),
                ..*flow
            }
        }))?;
        capture.logs.push(LogFile {
            path: path.to_owned(),
            clock,
            settings,
            flows: first..LogFlowIndex::from_index(capture.flows.len()),
            records,
            resources: header.resources,
            snippets: heads,
            goroutines,
            rare_words,
        });
        capture.processes.push(process);
        self.programs
            .push(ProgramDescription::from_arguments(&header.executable, &header.arguments));
        Ok(())
    }

    /// Assigns each process and the socket of each flow to its machine.
    fn into_capture(self) -> Capture {
        let CaptureBuilder {
            mut capture,
            machines,
            namespaces,
            mut homes,
            children,
            programs,
            ancestors,
            ..
        } = self;
        machines::resolve_homes(&mut homes);
        for (process, home) in capture.processes.iter_mut().zip(homes) {
            (process.kernel, process.machine) = (home.kernel, home.machine);
        }
        program_names::assign_names(&mut capture.processes, programs);
        ancestors::add_ancestors(&mut capture.processes, &ancestors);
        process::infer_starts(&mut capture.processes, &children);
        let of_namespaces = namespaces.assign_machines(machines.machine_count());
        let Capture { flows, processes, .. } = &mut capture;
        flows.for_each_mut(0..flows.len(), |flow| {
            let namespace = flow.namespace.get();
            let of_namespace = namespace.and_then(|number| of_namespaces.get(number.index()));
            let of_process = || processes.get(flow.process.index()).map(|process| process.machine);
            flow.machine = of_namespace.copied().or_else(of_process).into();
        });
        capture.hosts = machines.into_hosts();
        capture
    }
}

fn build_process(header: &LogHeader, path: &DataPath, home: ProcessHome) -> TracedProcess {
    TracedProcess {
        host: home.host,
        kernel: home.kernel,
        machine: home.machine,
        boot: u128::from_le_bytes(header.boot_id),
        source: header.source,
        pid: header.pid,
        ended: None,
        node: process::build_node(header, &machines::host_name(header, path)),
    }
}

fn describe_damage(path: &DataPath, mut damage: Vec<LogDamage>) -> DamagedLog {
    damage.sort_by_key(|damage| damage.offset);
    DamagedLog {
        file: path.display().to_string(),
        places: damage.len() as u64,
        what: damage.iter().take(DAMAGED_PLACES_SHOWN).map(LogDamage::to_string).collect(),
    }
}
