//! Capture gaps: processes and connections that were not recorded, as far as the logs show them.
//!
//! A log names the unrecorded programs that its process started, its peers, and what the process
//! did that is not captured. An unrecorded program, and a connection to a traced machine with its
//! other end in no log, existed without being seen: this module lists them, for `sockcap info`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use message_trace::DataDir;
use rustc_hash::FxHashSet;
use serde::Serialize;
use socket_log::encode::FlowRole;
use socket_log::layout::{source, state};
use socket_log::{LogHeader, LogRecord, SocketLog, SocketName};

use crate::indices::{KernelIndex, MachineIndex, NamespaceIndex};
use crate::logs::machines::{self, MachineTable, ProcessHome};
use crate::logs::namespaces::Namespaces;
use crate::logs::program::ProgramDescription;
use crate::logs::program_gaps::cause_of_unlogged;
use crate::uncaptured::{UncapturedKind, UncapturedThing};

/// Gaps of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureGaps {
    /// Processes that loaded the library and have no socket in their logs.
    pub silent: Vec<ProcessName>,
    /// Programs that a recorded process started, or became, and that load no library.
    pub unseen: Vec<UnrecordedProgram>,
    /// Uncaptured activity of recorded programs, by host, program and thing.
    pub uncaptured: Vec<UncapturedUse>,
    /// Number of processes that used sockets and for which there was no space for a log.
    pub without_log: u64,
    /// Ends of connections on traced machines that are in no log, ordered by name.
    pub unseen_ends: Vec<UnrecordedEnd>,
}

/// A process, as a user would recognise it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ProcessName {
    /// The host of the process.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The arguments of the process, on one line.
    pub command: String,
}

impl ProcessName {
    fn from_header(header: &LogHeader) -> ProcessName {
        ProcessName { host: header.host.clone(), pid: header.pid, command: command_line(header) }
    }
}

/// Returns the arguments of a process on one line, whatever characters they contain.
pub fn command_line(header: &LogHeader) -> String {
    header.arguments.join(" ").replace(char::is_control, " ")
}

/// Returns the name of a process as a node.
pub fn program_name(header: &LogHeader) -> String {
    ProgramDescription::from_arguments(&header.executable, &header.arguments).name
}

/// A program without any recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnrecordedProgram {
    /// The path of the program; of a long path the end.
    pub program: String,
    /// Reason why nothing is recorded.
    pub cause: &'static str,
    /// The id of the program's process.
    pub pid: u32,
    /// The process that started the program, or that became it.
    pub by: ProcessName,
}

/// Use of something that is not captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UncapturedUse {
    /// The host.
    pub host: String,
    /// The program's name as a node.
    pub program: String,
    /// Kind of the thing that was used.
    pub kind: UncapturedKind,
    /// The thing, with its number.
    pub what: String,
    /// Number of things of this name.
    pub count: u64,
    /// Number of processes of the program that used the thing.
    pub processes: u64,
}

/// An end of a connection that is in no log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnrecordedEnd {
    /// The name of the end, and its process if known.
    pub name: String,
    /// The process at the other end.
    pub by: ProcessName,
    /// Number of flows between them.
    pub flows: u64,
}

/// Ends of one flow according to its log.
#[derive(Default)]
struct FlowEnds {
    /// The number of the socket's network namespace, if known.
    namespace: Option<NamespaceIndex>,
    local: Option<SocketName>,
    peer: Option<SocketName>,
    /// The process id of the peer; 0 if unknown.
    peer_pid: u32,
    /// Whether the flow carried bytes.
    carried: bool,
}

/// Facts from all logs, before they are combined.
#[derive(Default)]
struct GapScan {
    /// The processes that have logs, by kernel and id.
    processes: FxHashSet<(KernelIndex, u32)>,
    unseen: Vec<UnrecordedProgram>,
    /// Processes that were seen by a source other than the library, by host and id.
    seen_otherwise: FxHashSet<(String, u32)>,
    without_log: u64,
    addresses: FxHashSet<IpAddr>,
    namespaces: Namespaces,
    /// Number of machines in the headers.
    machines: usize,
    flows: Vec<(ProcessHome, ProcessName, FlowEnds)>,
    silent: Vec<ProcessName>,
    /// Number of each uncaptured thing, and of the processes that used it, by host and program.
    uncaptured: BTreeMap<(String, String, UncapturedThing), [u64; 2]>,
}

/// Finds the gaps in all logs of `data`. Unreadable logs are skipped.
///
/// # Errors
/// Fails if the directory cannot be listed.
pub fn find_capture_gaps(data: &DataDir) -> Result<CaptureGaps, message_trace::PathError> {
    // Only the logs of other processes may show where a process ran, so all headers are read first.
    let (mut machines, mut paths, mut homes) =
        (MachineTable::default(), data.log_paths()?, Vec::new());
    paths.retain(|path| {
        let home = SocketLog::open(path).map(|log| machines.locate_process(log.header(), path));
        homes.extend(&home);
        home.is_ok()
    });
    machines::resolve_homes(&mut homes);
    let mut scan = GapScan { machines: machines.machine_count(), ..GapScan::default() };
    for (path, home) in paths.iter().zip(homes) {
        if let Ok(log) = SocketLog::open(path) {
            scan.add_log(&log, home);
        }
    }
    Ok(scan.finish())
}

impl GapScan {
    /// Adds the facts of a log whose process ran at `home`.
    fn add_log(&mut self, log: &SocketLog, home: ProcessHome) {
        let header = log.header();
        let (kernel, name) = (home.kernel, ProcessName::from_header(header));
        self.processes.insert((kernel, header.pid));
        if header.source != source::LIBRARY {
            self.seen_otherwise.insert((header.host.clone(), header.pid));
        }
        self.without_log = self.without_log.saturating_add(header.without_log);
        let mut flows: BTreeMap<u32, FlowEnds> = BTreeMap::new();
        let mut uncaptured: BTreeMap<UncapturedThing, u64> = BTreeMap::new();
        log.for_each(|entry| match entry.record {
            LogRecord::Flow(flow) => {
                let is_known = flow.namespace != 0;
                let number = is_known.then(|| {
                    self.namespaces.intern_namespace(&home, flow.namespace, Some(flow.origin))
                });
                flows.entry(flow.flow).or_default().namespace = number;
            }
            LogRecord::Transfer { flow, .. } => flows.entry(flow).or_default().carried = true,
            LogRecord::Endpoints { flow, role, local, peer, peer_pid, .. } => {
                let ends = flows.entry(flow).or_default();
                if !matches!(role, FlowRole::Listen | FlowRole::Bind) {
                    let FlowEnds { namespace, carried, .. } = *ends;
                    *ends = FlowEnds { namespace, local: local.clone(), peer, peer_pid, carried };
                }
                if let Some(SocketName::Inet(address)) = local
                    && !address.ip().is_unspecified()
                    && !address.ip().is_loopback()
                {
                    self.addresses.insert(address.ip());
                }
            }
            LogRecord::Unseen { cause, pid, program } => {
                let cause = cause_of_unlogged(cause);
                self.unseen.push(UnrecordedProgram { program, cause, pid, by: name.clone() });
            }
            LogRecord::Uncaptured { .. } => {
                if let Some(thing) = UncapturedThing::from_record(&entry.record) {
                    *uncaptured.entry(thing).or_default() += 1;
                }
            }
            _ => {}
        });
        if flows.is_empty() && uncaptured.is_empty() && header.state != state::REPLACED {
            self.silent.push(name.clone());
        }
        for (thing, count) in uncaptured {
            let key = (header.host.clone(), program_name(header), thing);
            let [all, processes] = self.uncaptured.entry(key).or_default();
            (*all, *processes) = (*all + count, *processes + 1);
        }
        for (_, ends) in flows {
            self.flows.push((home, name.clone(), ends));
        }
    }

    /// Combines the facts of all logs to the gaps.
    fn finish(mut self) -> CaptureGaps {
        let of_namespaces = self.namespaces.assign_machines(self.machines);
        for (home, _, ends) in &mut self.flows {
            // A socket may be on another machine than its process.
            let machine = ends.namespace.and_then(|number| of_namespaces.get(number.index()));
            home.machine = machine.copied().unwrap_or(home.machine);
        }
        let streams: StreamNames = self
            .flows
            .iter()
            .filter_map(|(home, _, ends)| match (&ends.local, &ends.peer) {
                (Some(SocketName::Inet(local)), Some(SocketName::Inet(peer))) => {
                    Some((address_scope(*home, *local), *local, *peer))
                }
                _ => None,
            })
            .collect();
        let mut ends_by: BTreeMap<(String, ProcessName), u64> = BTreeMap::new();
        for (home, by, ends) in self.flows.iter().filter(|(_, _, ends)| ends.carried) {
            if let Some(name) = self.unrecorded_end(*home, ends, &streams) {
                *ends_by.entry((name, by.clone())).or_default() += 1;
            }
        }
        let unseen_ends = ends_by
            .into_iter()
            .map(|((name, by), flows)| UnrecordedEnd { name, by, flows })
            .collect();
        let GapScan { mut silent, mut unseen, seen_otherwise, without_log, uncaptured, .. } = self;
        silent.sort();
        unseen.retain(|unseen| !seen_otherwise.contains(&(unseen.by.host.clone(), unseen.pid)));
        let uncaptured = uncaptured
            .into_iter()
            .map(|((host, program, thing), [count, processes])| {
                let (kind, what) = (thing.kind, thing.describe_count(count));
                UncapturedUse { host, program, kind, what, count, processes }
            })
            .collect();
        CaptureGaps { silent, unseen, uncaptured, without_log, unseen_ends }
    }

    /// Returns the name of a flow's other end if it is on a traced machine and in no log.
    fn unrecorded_end(
        &self,
        home: ProcessHome,
        ends: &FlowEnds,
        streams: &StreamNames,
    ) -> Option<String> {
        match (&ends.local, &ends.peer) {
            (Some(SocketName::Inet(local)), Some(SocketName::Inet(peer))) => {
                let traced = peer.ip().is_loopback() || self.addresses.contains(&peer.ip());
                let seen = streams.contains(&(address_scope(home, *local), *peer, *local));
                (traced && !seen).then(|| peer.to_string())
            }
            (_, Some(SocketName::Inet(_))) => None,
            _ if ends.peer_pid == 0 || self.processes.contains(&(home.kernel, ends.peer_pid)) => {
                None
            }
            (local, peer) => {
                let name =
                    peer.as_ref().or(local.as_ref()).map_or_else(String::new, ToString::to_string);
                Some(format!("{name} of process {}", ends.peer_pid))
            }
        }
    }
}

/// The two names of each stream, and the machine of its own name if that name is local to the
/// machine.
type StreamNames = FxHashSet<(Option<MachineIndex>, SocketAddr, SocketAddr)>;

/// Returns the machine of an address that is local to each machine; `None` if the address means the
/// same on all.
fn address_scope(home: ProcessHome, address: SocketAddr) -> Option<MachineIndex> {
    address.ip().is_loopback().then_some(home.machine)
}
