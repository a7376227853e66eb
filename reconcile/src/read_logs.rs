//! The first reading of all logs, on all processors, into one [`Capture`]. Damage is counted, with the file's name,
//! and passed over.

use std::path::{Path, PathBuf};

use message_trace::{DataDir, Progress};
use rustc_hash::FxHashMap;
use socket_log::layout::{lost, state};
use socket_log::{Damage, Header, OpenError};

use crate::capture::{Capture, LogFile, NONE};
use crate::error::Error;
use crate::names::NO_NAME;
use crate::parallel;
use crate::process::{self, Process};
use crate::reconciliation::{DamagedLog, Reconciliation, UnendedLog, add};
use crate::steady;
use crate::survey::{Places, Survey, survey};

/// As many places of a damaged log are described; the rest is counted.
const PLACES_SHOWN: usize = 20;

/// Reads all logs of `data`, on `threads` threads. There may be none.
pub(crate) fn read(
    data: &DataDir,
    threads: usize,
    progress: &dyn Progress,
    outcome: &mut Reconciliation,
) -> Result<Capture, Error> {
    let paths = data.logs()?;
    let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    outcome.logs = paths.len() as u64;
    outcome.log_bytes = paths.iter().map(size).sum();
    progress.step("reading logs", outcome.log_bytes);
    let mut reader = Reader { directory: data.path().to_owned(), ..Reader::default() };
    parallel::in_order(
        threads,
        paths.len(),
        |piece| Ok::<_, Error>(survey(&paths[piece])),
        |piece, result| {
            let path = &paths[piece];
            reader.add(path, result, outcome);
            progress.advance(size(path));
            Ok(())
        },
    )?;
    outcome.hosts = reader.capture.hosts.len() as u64;
    find_machines(&mut reader.capture.processes);
    steady::align(&mut reader.capture);
    Ok(reader.capture)
}

/// Gives processes whose log has no boot (packets and strace tell nothing of the machine) to the machine that the others of
/// their host are on, with its loopback addresses, where that is one.
fn find_machines(processes: &mut [Process]) {
    let mut machines: FxHashMap<u32, Option<(u32, u32)>> = FxHashMap::default();
    for process in processes.iter().filter(|process| process.boot != 0) {
        let machine = (process.kernel, process.machine);
        machines
            .entry(process.host)
            .and_modify(|known| *known = known.filter(|known| *known == machine))
            .or_insert(Some(machine));
    }
    for process in processes.iter_mut().filter(|process| process.boot == 0) {
        if let Some(Some((kernel, machine))) = machines.get(&process.host) {
            (process.kernel, process.machine) = (*kernel, *machine);
        }
    }
}

#[derive(Default)]
struct Reader {
    directory: PathBuf,
    capture: Capture,
    hosts: FxHashMap<String, u32>,
    kernels: FxHashMap<([u8; 16], u32), u32>,
    machines: FxHashMap<(u32, u64), u32>,
}

impl Reader {
    fn add(&mut self, path: &Path, result: Result<Survey, OpenError>, outcome: &mut Reconciliation) {
        let survey = match result {
            Ok(survey) => survey,
            Err(error) => {
                let what = vec![error.to_string()];
                outcome.damaged.push(DamagedLog { file: path.display().to_string(), places: 1, what });
                return;
            }
        };
        let Survey { header, clock, settings, mut flows, namings, names, ended, damage, counts } = survey;
        for (name, count) in lost::NAMES.iter().zip(header.lost) {
            add(&mut outcome.lost_records, if name.is_empty() { "other" } else { name }, count);
        }
        // A process that became another program goes on in that one's log.
        outcome.processes += u64::from(header.state != state::REPLACED);
        if !damage.is_empty() {
            outcome.damaged.push(describe(path, damage));
        }
        let records = counts.records;
        if header.state == state::RUNNING {
            let file = path.strip_prefix(&self.directory).unwrap_or(path).to_owned();
            outcome.unended.push(UnendedLog { file, records });
        }
        outcome.absorb(counts);

        let process = Process { ended, ..self.process(&header, path) };
        let capture = &mut self.capture;
        let (place, first) = (capture.processes.len() as u32, capture.flows.len() as u32);
        let names: Vec<u32> = names.into_values().map(|name| capture.names.intern(name)).collect();
        let name = |local: u32| names.get(local as usize).copied().unwrap_or(NO_NAME);
        let mut numbers = Places::default();
        for (local, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.pair != NONE) {
            numbers.of(flow.number, || first + local as u32);
        }
        for flow in &mut flows {
            flow.process = place;
            flow.pair = numbers.get(flow.pair).unwrap_or(NONE);
        }
        capture.namings.extend(namings.into_iter().map(|mut naming| {
            naming.flow += first;
            (naming.local, naming.peer) = (name(naming.local), name(naming.peer));
            naming
        }));
        let flows_end = first + flows.len() as u32;
        capture.flows.append(&mut flows);
        capture.logs.push(LogFile {
            path: path.to_owned(),
            clock,
            settings,
            flows: first..flows_end,
            records,
        });
        capture.processes.push(process);
    }

    fn process(&mut self, header: &Header, path: &Path) -> Process {
        // The directory is named after the host as well; it stands in where the header has no name.
        let directory = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let name = if header.host.is_empty() { directory.as_ref() } else { header.host.as_str() };
        let hosts = &mut self.capture.hosts;
        let host = *self.hosts.entry(name.to_owned()).or_insert_with(|| {
            hosts.push(name.to_owned());
            (hosts.len() - 1) as u32
        });
        // Without the kernel's id a host is a kernel of its own, unless others say which it is.
        let unknown = if header.boot_id == [0; 16] { host } else { NONE };
        let next = self.kernels.len() as u32;
        let kernel = *self.kernels.entry((header.boot_id, unknown)).or_insert(next);
        let next = self.machines.len() as u32;
        let machine = *self.machines.entry((kernel, header.namespace)).or_insert(next);
        let (boot, source) = (u128::from_le_bytes(header.boot_id), header.source);
        Process {
            host,
            kernel,
            machine,
            boot,
            source,
            pid: header.pid,
            ended: None,
            node: process::node(header, name),
        }
    }
}

fn describe(path: &Path, mut damage: Vec<Damage>) -> DamagedLog {
    damage.sort_by_key(|damage| damage.offset);
    DamagedLog {
        file: path.display().to_string(),
        places: damage.len() as u64,
        what: damage.iter().take(PLACES_SHOWN).map(Damage::to_string).collect(),
    }
}
