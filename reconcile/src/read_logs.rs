//! Reading the logs of all hosts into a [`Capture`]. Damage is counted, with the file's name, and passed over.

use std::path::{Path, PathBuf};

use message_trace::{DataDir, Progress};
use rustc_hash::FxHashMap;
use socket_log::encode::{Direction, ProcessEvent};
use socket_log::layout::{lost, state, tick};
use socket_log::{Clock, Damage, Entry, Header, Log, Record};

use crate::calls::{Datagram, Transfer};
use crate::capture::{Capture, Description, Flow, Naming};
use crate::error::Error;
use crate::process::{self, Process};
use crate::reconciliation::{DamagedLog, Reconciliation, UnendedLog, add};

/// As many places of a damaged log are described; the rest is counted.
const PLACES_SHOWN: usize = 20;

/// The kernel moves less than 2 GiB in one call; what claims more is damage.
const LARGEST_TRANSFER: u64 = 1 << 31;

/// Reads all logs of `data`.
pub(crate) fn read(
    data: &DataDir,
    progress: &dyn Progress,
    outcome: &mut Reconciliation,
) -> Result<Capture, Error> {
    let paths = data.logs()?;
    if paths.is_empty() {
        return Err(Error::NoLogs { hosts: data.hosts() });
    }
    let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    outcome.logs = paths.len() as u64;
    outcome.log_bytes = paths.iter().map(size).sum();
    progress.step("reading logs", outcome.log_bytes);
    let mut reader = Reader { directory: data.path().to_owned(), ..Reader::default() };
    for path in &paths {
        reader.log(path, outcome);
        progress.advance(size(path));
    }
    let capture = reader.capture;
    if capture.processes.is_empty() {
        let first = outcome.damaged.first().and_then(|log| log.what.first());
        return Err(Error::NothingReadable { logs: outcome.logs, first: first.cloned().unwrap_or_default() });
    }
    outcome.hosts = capture.hosts.len() as u64;
    Ok(capture)
}

#[derive(Default)]
struct Reader {
    directory: PathBuf,
    capture: Capture,
    hosts: FxHashMap<String, u32>,
    machines: FxHashMap<([u8; 16], u32), u32>,
}

impl Reader {
    fn log(&mut self, path: &Path, outcome: &mut Reconciliation) {
        let log = match Log::open(path) {
            Ok(log) => log,
            Err(error) => {
                let what = vec![error.to_string()];
                outcome.damaged.push(DamagedLog { file: path.display().to_string(), places: 1, what });
                return;
            }
        };
        let header = log.header();
        for (name, count) in lost::NAMES.iter().zip(header.lost) {
            add(&mut outcome.lost_records, if name.is_empty() { "other" } else { name }, count);
        }
        // A process that became another program goes on in that one's log.
        outcome.processes += u64::from(header.state != state::REPLACED);
        let process = self.process(header, path);
        let mut reading = Reading {
            process: self.capture.processes.len() as u32,
            capture: &mut self.capture,
            flows: FxHashMap::default(),
            ended: None,
            outcome,
        };
        let first_flow = reading.capture.flows.len();
        let mut anchors = vec![header.start];
        let mut damage = Vec::new();
        let mut records = 0;
        let mut chunks = log.chunks();
        for chunk in chunks.by_ref() {
            anchors.push(chunk.anchor);
            damage.extend(chunk.for_each(|entry| {
                records += 1;
                match entry.record {
                    Record::Anchor(anchor) => anchors.push(anchor),
                    _ => reading.entry(entry),
                }
            }));
        }
        damage.extend_from_slice(chunks.damage());
        let ended = reading.ended;
        let clock = Clock::new(anchors, header.tick_clock == tick::MONOTONIC);
        for flow in self.capture.flows.iter_mut().skip(first_flow) {
            flow.finish(&clock);
        }
        let ended = ended.map(|ticks| clock.realtime(ticks));
        self.capture.processes.push(Process { ended, ..process });
        if !damage.is_empty() {
            outcome.damaged.push(describe(path, damage));
        }
        if header.state == state::RUNNING {
            let file = path.strip_prefix(&self.directory).unwrap_or(path).to_owned();
            outcome.unended.push(UnendedLog { file, records });
        }
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
        // Without the kernel's id a host is a machine of its own.
        let unknown = if header.boot_id == [0; 16] { host } else { u32::MAX };
        let next = self.machines.len() as u32;
        let machine = *self.machines.entry((header.boot_id, unknown)).or_insert(next);
        Process { host, machine, pid: header.pid, ended: None, node: process::node(header, name) }
    }
}

/// One log being read.
struct Reading<'a> {
    process: u32,
    capture: &'a mut Capture,
    /// The place of each of the log's flows.
    flows: FxHashMap<u32, u32>,
    ended: Option<u64>,
    outcome: &'a mut Reconciliation,
}

impl Reading<'_> {
    fn flow(&mut self, number: u32, ticks: u64) -> u32 {
        let (flows, process) = (&mut self.capture.flows, self.process);
        *self.flows.entry(number).or_insert_with(|| {
            flows.push(Flow::new(process, number, ticks as i64));
            (flows.len() - 1) as u32
        })
    }

    fn entry(&mut self, entry: Entry) {
        self.outcome.records += 1;
        let Entry { tid, ticks, record } = entry;
        let (process, time, tid) = (self.process, ticks as i64, tid as i32);
        match record {
            Record::Transfer { bytes, .. } if bytes > LARGEST_TRANSFER => {
                add(&mut self.outcome.ignored, "impossible size", 1);
            }
            Record::Transfer { direction, flow, bytes, .. } => {
                let flow = self.at(flow, ticks);
                let calls = if direction == Direction::Send { &mut flow.sends } else { &mut flow.receives };
                calls.push(Transfer { time, bytes, process, tid });
            }
            Record::Datagram { direction, flow, bytes, checksum, truncated, peeked, peer, .. } => {
                if peeked {
                    self.outcome.datagrams.peeked += 1;
                    return;
                }
                self.outcome.datagrams.truncated += u64::from(truncated);
                let peer = self.capture.names.intern_some(peer);
                let (bytes, sent) = (bytes.min(u64::from(u32::MAX)) as u32, direction == Direction::Send);
                let datagram = Datagram { time, bytes, checksum, process, tid, peer, sent, truncated };
                self.at(flow, ticks).datagrams.push(datagram);
            }
            Record::Flow(what) => {
                let flow = self.at(what.flow, ticks);
                flow.opened = flow.opened.min(time);
                flow.described = Some(Description {
                    domain: what.domain,
                    kind: what.kind,
                    protocol: what.protocol,
                    cookie: what.cookie,
                });
            }
            Record::Endpoints { flow, role, local, peer, peer_pid } => {
                let names = &mut self.capture.names;
                let (local, peer) = (names.intern_some(local), names.intern_some(peer));
                self.at(flow, ticks).names.push(Naming { time, role, local, peer, peer_pid });
            }
            Record::Pair { first, second } => {
                let (first, second) = (self.flow(first, ticks), self.flow(second, ticks));
                for (flow, other) in [(first, second), (second, first)] {
                    if let Some(flow) = self.capture.flows.get_mut(flow as usize) {
                        flow.pair = Some(other);
                    }
                }
            }
            Record::Duplicate { flow, .. } => self.at(flow, ticks).descriptors += 1,
            Record::Close { flow, .. } => {
                let flow = self.at(flow, ticks);
                flow.descriptors -= 1;
                flow.last_closed = flow.last_closed.max(time);
            }
            Record::Failure { direction, .. } => {
                let name = if direction == Direction::Send { "send" } else { "receive" };
                add(&mut self.outcome.failed_calls, name, 1);
            }
            Record::Process { event: ProcessEvent::Exit | ProcessEvent::Exec, .. } => {
                self.ended = Some(ticks)
            }
            Record::Process { .. }
            | Record::Anchor(_)
            | Record::Shutdown { .. }
            | Record::Wait { .. }
            | Record::Cpu { .. }
            | Record::Fingerprint { .. }
            | Record::EndOfFile { .. }
            | Record::Call(_)
            | Record::Thread { .. } => {}
        }
    }

    fn at(&mut self, number: u32, ticks: u64) -> &mut Flow {
        let place = self.flow(number, ticks) as usize;
        &mut self.capture.flows[place]
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
