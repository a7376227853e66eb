//! The index pass over one log, its first reading: its flows with their totals, the names, and its
//! clock. A pure function of the file.

use message_trace::{DataPath, PathError};
use out_of_core::{MemoryPool, SpillableVec};
use socket_log::encode::{Direction, ProcessEvent, UncapturedEvent};
use socket_log::layout::tick;
use socket_log::{
    LogClock, LogDamage, LogEntry, LogHeader, LogRecord, OpenError, SocketLog, WallClockStep,
};

use crate::calls::MAX_TRANSFER_BYTES;
use crate::indices::{LogFlowIndex, NamespaceIndex, OptionalIndex};
use crate::logs::flow::{FlowKind, FlowNaming, LogFlow};
use crate::logs::flow_numbers::FlowPlaces;
use crate::logs::lookup::LoggedLookup;
use crate::logs::positions::StreamPositions;
use crate::logs::program_gaps::{self, UnloggedProgram};
use crate::reconciliation::{Reconciliation, add_count};
use crate::socket_names::SocketNameInterner;
use crate::uncaptured;

/// Index of one log, without its calls. Names, and flows in namings, are numbered within it.
pub(crate) struct LogIndex {
    pub(crate) header: LogHeader,
    /// The log's clock, as if it had never been set.
    pub(crate) clock: LogClock,
    /// Settings of the host's wall clock.
    pub(crate) settings: Vec<WallClockStep>,
    pub(crate) flows: SpillableVec<LogFlow>,
    pub(crate) namings: SpillableVec<FlowNaming>,
    pub(crate) names: SocketNameInterner,
    /// The network namespaces of its flows' sockets.
    pub(crate) namespaces: Vec<u64>,
    pub(crate) ended: Option<i64>,
    /// The processes that the log's process started, by their ids, with the times in nanoseconds.
    pub(crate) children: Vec<(u32, i64)>,
    pub(crate) lookups: Vec<LoggedLookup>,
    /// The unrecorded programs that the process started or became.
    pub(crate) unseen: Vec<UnloggedProgram>,
    /// Whether the log has snippets of messages.
    pub(crate) snippets: bool,
    /// Whether the log has goroutines.
    pub(crate) goroutines: bool,
    /// Whether the log has rare words of messages.
    pub(crate) rare_words: bool,
    /// The process's runtime with tasks that are not followed; empty if there is none.
    pub(crate) unfollowed: String,
    pub(crate) damage: Vec<LogDamage>,
    /// The log's share of the counts.
    pub(crate) counts: Reconciliation,
}

/// Reads the log at `path`, which may not exist or not be readable.
///
/// # Errors
/// Fails if there is no space for the tables.
pub(crate) fn index_log(
    path: &DataPath,
    pool: &MemoryPool,
) -> Result<Result<LogIndex, OpenError>, PathError> {
    let log = match SocketLog::open(path) {
        Ok(log) => log,
        Err(error) => return Ok(Err(error)),
    };
    let header = log.header().clone();
    let mut reading = IndexReader::new(header.has_positions, pool);
    let mut anchors = vec![header.start];
    let mut damage = Vec::new();
    let mut chunks = log.chunks();
    for chunk in chunks.by_ref() {
        anchors.push(chunk.anchor);
        reading.positions.next_chunk();
        damage.extend(chunk.for_each(|entry| {
            reading.counts.records += 1;
            match entry.record {
                LogRecord::Anchor(anchor) => anchors.push(anchor),
                _ if reading.failed.is_none() => reading.failed = reading.read_entry(entry).err(),
                _ => {}
            }
        }));
    }
    damage.extend_from_slice(chunks.damage());
    let IndexReader {
        mut flows,
        mut namings,
        names,
        namespaces,
        ended,
        children,
        lookups,
        unseen,
        snippets: heads,
        goroutines,
        rare_words,
        unfollowed,
        counts,
        failed,
        ..
    } = reading;
    if let Some(error) = failed {
        return Err(error);
    }
    let clock = LogClock::new(anchors, header.tick_clock == tick::MONOTONIC);
    let settings = clock.clock_steps();
    let clock = clock.without_steps(&settings);
    flows.for_each_mut(0..flows.len(), |flow| flow.convert_times(&clock));
    namings.for_each_mut(0..namings.len(), |naming| naming.convert_times(&clock));
    namings.sort_by_key(|naming| (naming.flow, naming.time))?;
    let ended = ended.map(|ticks| clock.realtime(ticks));
    let children = children.into_iter().map(|(pid, ticks)| (pid, clock.realtime(ticks))).collect();
    Ok(Ok(LogIndex {
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
        unseen,
        snippets: heads,
        goroutines,
        rare_words,
        unfollowed,
        damage,
        counts,
    }))
}

/// One log being read.
struct IndexReader {
    flows: SpillableVec<LogFlow>,
    places: FlowPlaces<LogFlowIndex>,
    namings: SpillableVec<FlowNaming>,
    names: SocketNameInterner,
    namespaces: Vec<u64>,
    ended: Option<u64>,
    /// Processes that the log's process started, with the times in ticks.
    children: Vec<(u32, u64)>,
    lookups: Vec<LoggedLookup>,
    unseen: Vec<UnloggedProgram>,
    snippets: bool,
    goroutines: bool,
    rare_words: bool,
    unfollowed: String,
    counts: Reconciliation,
    has_positions: bool,
    positions: StreamPositions,
    /// Error for which the tables have no more space.
    failed: Option<PathError>,
}

impl IndexReader {
    fn new(has_positions: bool, pool: &MemoryPool) -> IndexReader {
        IndexReader {
            flows: SpillableVec::new(pool),
            places: FlowPlaces::default(),
            namings: SpillableVec::new(pool),
            names: SocketNameInterner::new(pool),
            namespaces: Vec::new(),
            ended: None,
            children: Vec::new(),
            lookups: Vec::new(),
            unseen: Vec::new(),
            snippets: false,
            goroutines: false,
            rare_words: false,
            unfollowed: String::new(),
            counts: Reconciliation::default(),
            has_positions,
            positions: StreamPositions::default(),
            failed: None,
        }
    }

    /// Adds a record to the index.
    fn read_entry(&mut self, entry: LogEntry) -> Result<(), PathError> {
        let LogEntry { ticks, record, tid } = entry;
        let time = ticks as i64;
        match record {
            LogRecord::Transfer { bytes, .. } if bytes > MAX_TRANSFER_BYTES => {
                add_count(&mut self.counts.ignored, "impossible size", 1);
            }
            LogRecord::Position { flow, direction, before } => {
                self.positions.set_position(flow, direction, before)
            }
            LogRecord::Transfer { direction, flow, bytes, .. } => {
                let begin = self
                    .has_positions
                    .then(|| self.positions.advance_by(flow, direction, bytes))
                    .flatten();
                let flow = self.flow_mut(flow, ticks)?;
                flow.transfers = flow.transfers.saturating_add(1);
                let total = &mut flow.totals[usize::from(direction != Direction::Send)];
                // Includes bytes with overwritten records, if their number is known.
                let end = begin.unwrap_or(*total).saturating_add(bytes);
                *total = end.max(*total);
                flow.last_call = flow.last_call.latest(time);
                if direction == Direction::Send {
                    flow.first_sent = flow.first_sent.earliest(time);
                }
            }
            // If a log has positions, these contain the same numbers.
            LogRecord::Counted { flow, .. } => {
                self.flow_mut(flow, ticks)?.counted = !self.has_positions
            }
            LogRecord::OtherEnd { flow, cookie } => self.flow_mut(flow, ticks)?.other_end = cookie,
            LogRecord::Datagram { peeked: true, .. } => self.counts.datagrams.peeked += 1,
            LogRecord::Datagram { flow, truncated, unchecked, peer, .. } => {
                self.counts.datagrams.truncated += u64::from(truncated);
                self.counts.datagrams.unchecked += u64::from(unchecked);
                if let Some(peer) = peer {
                    self.names.intern(peer)?;
                }
                let flow = self.flow_mut(flow, ticks)?;
                flow.datagrams = flow.datagrams.saturating_add(1);
                flow.last_call = flow.last_call.latest(time);
            }
            LogRecord::Flow(what) => {
                let namespace = self.namespace_place(what.namespace);
                let flow = self.flow_mut(what.flow, ticks)?;
                (flow.origin, flow.namespace) = (Some(what.origin), namespace);
                flow.opened = flow.opened.min(time);
                flow.kind = Some(FlowKind {
                    domain: what.domain,
                    kind: what.kind,
                    protocol: what.protocol,
                });
                flow.cookie = what.cookie;
            }
            LogRecord::Endpoints { flow, role, local, peer, peer_pid, took, under_way } => {
                let (local, peer) = (self.names.intern_some(local)?, self.names.intern_some(peer)?);
                let flow = self.flow_place(flow, ticks)?;
                let called = took.map(|took| ticks.saturating_sub(took) as i64).into();
                let tid = tid as i32;
                let naming =
                    FlowNaming { flow, role, time, called, under_way, tid, local, peer, peer_pid };
                self.namings.push(naming)?;
            }
            LogRecord::Pair { first, second } => {
                let ends = [self.flow_place(first, ticks)?, self.flow_place(second, ticks)?];
                self.flows[ends[0].index()].pair = OptionalIndex::some(ends[1]);
                self.flows[ends[1].index()].pair = OptionalIndex::some(ends[0]);
            }
            LogRecord::Duplicate { flow, .. } => self.flow_mut(flow, ticks)?.descriptors += 1,
            LogRecord::Close { flow, .. } => {
                let flow = self.flow_mut(flow, ticks)?;
                flow.descriptors -= 1;
                flow.last_closed = flow.last_closed.latest(time);
            }
            LogRecord::Failure { direction, .. } => {
                let name = if direction == Direction::Send { "send" } else { "receive" };
                add_count(&mut self.counts.failed_calls, name, 1);
            }
            LogRecord::Process { event: ProcessEvent::Exit | ProcessEvent::Exec, .. } => {
                self.ended = Some(ticks)
            }
            LogRecord::Process { event: ProcessEvent::Fork | ProcessEvent::Spawn, value } => {
                self.children.push((value as u32, ticks));
            }
            LogRecord::Call(call) if LoggedLookup::is_made_by(call.api) => {
                let (begin, duration) = (ticks, call.duration);
                self.lookups.push(LoggedLookup { api: call.api, tid, begin, duration });
            }
            LogRecord::Unseen { cause, pid, program } => {
                self.unseen.push(UnloggedProgram {
                    path: program,
                    pid,
                    cause: program_gaps::cause_of_unlogged(cause),
                });
            }
            LogRecord::Head(_) => self.snippets = true,
            LogRecord::Goroutine { .. } => self.goroutines = true,
            LogRecord::RareWords { .. } => self.rare_words = true,
            LogRecord::Uncaptured { what: UncapturedEvent::Runtime, value, object, .. } => {
                self.unfollowed = uncaptured::runtime_name(&object, value);
            }
            LogRecord::Anchor(_)
            | LogRecord::Shutdown { .. }
            | LogRecord::Wait { .. }
            | LogRecord::Cpu { .. }
            | LogRecord::Fingerprint { .. }
            | LogRecord::Queued { .. }
            | LogRecord::EndOfFile { .. }
            | LogRecord::Call(_)
            | LogRecord::Uncaptured { .. }
            | LogRecord::Thread { .. }
            | LogRecord::File(_)
            | LogRecord::Sleep { .. }
            | LogRecord::Signal(_)
            | LogRecord::Wake(_)
            | LogRecord::Ready { .. }
            | LogRecord::StartedBy { .. } => {}
        }
        Ok(())
    }

    /// The index of a network namespace in this log, which has few; none if unknown.
    fn namespace_place(&mut self, namespace: u64) -> OptionalIndex<NamespaceIndex> {
        if namespace == 0 {
            return OptionalIndex::NONE;
        }
        let place = self.namespaces.iter().rposition(|other| *other == namespace);
        let place = place.unwrap_or_else(|| {
            self.namespaces.push(namespace);
            self.namespaces.len() - 1
        });
        OptionalIndex::some(NamespaceIndex::from_index(place))
    }

    /// The index of a flow by its number; it is added if it is new, as begun at `ticks`.
    fn flow_place(&mut self, number: u32, ticks: u64) -> Result<LogFlowIndex, PathError> {
        let next = LogFlowIndex::from_index(self.flows.len());
        let place = self.places.get_or_insert(number, || next);
        if place == next {
            self.flows.push(LogFlow::new(number, ticks as i64))?;
        }
        Ok(place)
    }

    /// The flow with a number; it is added if it is new, as begun at `ticks`.
    fn flow_mut(&mut self, number: u32, ticks: u64) -> Result<&mut LogFlow, PathError> {
        let place = self.flow_place(number, ticks)?;
        Ok(&mut self.flows[place.index()])
    }
}
