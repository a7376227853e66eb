//! The first reading of one log: its flows with their totals, the names, and its clock. A pure
//! function of the file.

use message_trace::{DataPath, PathError};
use out_of_core::{MemoryPool, SpillableVec};
use socket_log::encode::{Direction, ProcessEvent};
use socket_log::layout::tick;
use socket_log::{Clock, Damage, Entry, Header, Log, OpenError, Record, Setting};

use crate::absent::NONE;
use crate::calls::LARGEST_TRANSFER;
use crate::logs::flow::{Flow, Kind, Naming};
use crate::logs::flow_numbers::Places;
use crate::logs::holes::{self, UnseenProgram};
use crate::logs::lookup::Lookup;
use crate::logs::positions::Positions;
use crate::names::Names;
use crate::reconciliation::{Reconciliation, add};

/// What one log says, without its calls. Names, and flows in namings, are numbered within it.
pub(crate) struct Survey {
    pub(crate) header: Header,
    /// The log's clock, as if it had never been set.
    pub(crate) clock: Clock,
    /// Settings of its clock.
    pub(crate) settings: Vec<Setting>,
    pub(crate) flows: SpillableVec<Flow>,
    pub(crate) namings: SpillableVec<Naming>,
    pub(crate) names: Names,
    /// The network namespaces of its flows' sockets.
    pub(crate) namespaces: Vec<u64>,
    pub(crate) ended: Option<i64>,
    /// The processes that it started, by their numbers, and when.
    pub(crate) children: Vec<(u32, i64)>,
    pub(crate) lookups: Vec<Lookup>,
    /// The programs without any recording that it began or became.
    pub(crate) unseen: Vec<UnseenProgram>,
    /// Whether it has heads of messages.
    pub(crate) heads: bool,
    /// Whether it has goroutines.
    pub(crate) goroutines: bool,
    pub(crate) damage: Vec<Damage>,
    /// Its share of the counts.
    pub(crate) counts: Reconciliation,
}

/// Reads the log at `path`, which may be none, or one that cannot be read.
///
/// # Errors
/// When the tables have no room.
pub(crate) fn survey(
    path: &DataPath,
    pool: &MemoryPool,
) -> Result<Result<Survey, OpenError>, PathError> {
    let log = match Log::open(path) {
        Ok(log) => log,
        Err(error) => return Ok(Err(error)),
    };
    let header = log.header().clone();
    let mut reading = Reading::new(header.has_positions, pool);
    let mut anchors = vec![header.start];
    let mut damage = Vec::new();
    let mut chunks = log.chunks();
    for chunk in chunks.by_ref() {
        anchors.push(chunk.anchor);
        reading.positions.next_chunk();
        damage.extend(chunk.for_each(|entry| {
            reading.counts.records += 1;
            match entry.record {
                Record::Anchor(anchor) => anchors.push(anchor),
                _ if reading.failed.is_none() => reading.failed = reading.entry(entry).err(),
                _ => {}
            }
        }));
    }
    damage.extend_from_slice(chunks.damage());
    let Reading {
        mut flows,
        mut namings,
        names,
        namespaces,
        ended,
        children,
        lookups,
        unseen,
        heads,
        goroutines,
        counts,
        failed,
        ..
    } = reading;
    if let Some(error) = failed {
        return Err(error);
    }
    let clock = Clock::new(anchors, header.tick_clock == tick::MONOTONIC);
    let settings = clock.settings();
    let clock = clock.never_set(&settings);
    flows.for_each_mut(0..flows.len(), |flow| flow.convert(&clock));
    namings.for_each_mut(0..namings.len(), |naming| naming.convert(&clock));
    namings.sort_by_key(|naming| (naming.flow, naming.time))?;
    let ended = ended.map(|ticks| clock.realtime(ticks));
    let children = children.into_iter().map(|(pid, ticks)| (pid, clock.realtime(ticks))).collect();
    Ok(Ok(Survey {
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
        heads,
        goroutines,
        damage,
        counts,
    }))
}

/// One log being read.
struct Reading {
    flows: SpillableVec<Flow>,
    places: Places,
    namings: SpillableVec<Naming>,
    names: Names,
    namespaces: Vec<u64>,
    ended: Option<u64>,
    /// By when in ticks they were started.
    children: Vec<(u32, u64)>,
    lookups: Vec<Lookup>,
    unseen: Vec<UnseenProgram>,
    heads: bool,
    goroutines: bool,
    counts: Reconciliation,
    has_positions: bool,
    positions: Positions,
    /// Why the tables have no more room.
    failed: Option<PathError>,
}

impl Reading {
    fn new(has_positions: bool, pool: &MemoryPool) -> Reading {
        Reading {
            flows: SpillableVec::new(pool),
            places: Places::default(),
            namings: SpillableVec::new(pool),
            names: Names::new(pool),
            namespaces: Vec::new(),
            ended: None,
            children: Vec::new(),
            lookups: Vec::new(),
            unseen: Vec::new(),
            heads: false,
            goroutines: false,
            counts: Reconciliation::default(),
            has_positions,
            positions: Positions::default(),
            failed: None,
        }
    }

    fn entry(&mut self, entry: Entry) -> Result<(), PathError> {
        let Entry { ticks, record, tid } = entry;
        let time = ticks as i64;
        match record {
            Record::Transfer { bytes, .. } if bytes > LARGEST_TRANSFER => {
                add(&mut self.counts.ignored, "impossible size", 1);
            }
            Record::Position { flow, direction, before } => {
                self.positions.set(flow, direction, before)
            }
            Record::Transfer { direction, flow, bytes, .. } => {
                let begin = self
                    .has_positions
                    .then(|| self.positions.moved(flow, direction, bytes))
                    .flatten();
                let flow = self.at(flow, ticks)?;
                flow.transfers = flow.transfers.saturating_add(1);
                let total = &mut flow.totals[usize::from(direction != Direction::Send)];
                // With what the log has forgotten, where it says how much that was.
                let end = begin.unwrap_or(*total).saturating_add(bytes);
                *total = end.max(*total);
                flow.last_call = flow.last_call.max(time);
                if direction == Direction::Send {
                    flow.first_sent = flow.first_sent.min(time);
                }
            }
            // Where a log has positions, these tell the same.
            Record::Counted { flow, .. } => self.at(flow, ticks)?.counted = !self.has_positions,
            Record::OtherEnd { flow, cookie } => self.at(flow, ticks)?.other_end = cookie,
            Record::Datagram { peeked: true, .. } => self.counts.datagrams.peeked += 1,
            Record::Datagram { flow, truncated, unchecked, peer, .. } => {
                self.counts.datagrams.truncated += u64::from(truncated);
                self.counts.datagrams.unchecked += u64::from(unchecked);
                if let Some(peer) = peer {
                    self.names.intern(peer)?;
                }
                let flow = self.at(flow, ticks)?;
                flow.datagrams = flow.datagrams.saturating_add(1);
                flow.last_call = flow.last_call.max(time);
            }
            Record::Flow(what) => {
                let machine = self.namespace(what.namespace);
                let flow = self.at(what.flow, ticks)?;
                (flow.origin, flow.machine) = (Some(what.origin), machine);
                flow.opened = flow.opened.min(time);
                flow.kind =
                    Some(Kind { domain: what.domain, kind: what.kind, protocol: what.protocol });
                flow.cookie = what.cookie;
            }
            Record::Endpoints { flow, role, local, peer, peer_pid, took, under_way } => {
                let (local, peer) = (self.names.intern_some(local)?, self.names.intern_some(peer)?);
                let flow = self.place(flow, ticks)?;
                let called = took.map_or(i64::MIN, |took| ticks.saturating_sub(took) as i64);
                let tid = tid as i32;
                let naming =
                    Naming { flow, role, time, called, under_way, tid, local, peer, peer_pid };
                self.namings.push(naming)?;
            }
            Record::Pair { first, second } => {
                self.at(first, ticks)?.pair = second;
                self.at(second, ticks)?.pair = first;
            }
            Record::Duplicate { flow, .. } => self.at(flow, ticks)?.descriptors += 1,
            Record::Close { flow, .. } => {
                let flow = self.at(flow, ticks)?;
                flow.descriptors -= 1;
                flow.last_closed = flow.last_closed.max(time);
            }
            Record::Failure { direction, .. } => {
                let name = if direction == Direction::Send { "send" } else { "receive" };
                add(&mut self.counts.failed_calls, name, 1);
            }
            Record::Process { event: ProcessEvent::Exit | ProcessEvent::Exec, .. } => {
                self.ended = Some(ticks)
            }
            Record::Process { event: ProcessEvent::Fork | ProcessEvent::Spawn, value } => {
                self.children.push((value as u32, ticks));
            }
            Record::Call(call) if Lookup::is_made_by(call.api) => {
                let (begin, duration) = (ticks, call.duration);
                self.lookups.push(Lookup { api: call.api, tid, begin, duration });
            }
            Record::Unseen { cause, pid, program } => {
                self.unseen.push(UnseenProgram {
                    path: program,
                    pid,
                    cause: holes::cause_of_unseen(cause),
                });
            }
            Record::Head(_) => self.heads = true,
            Record::Goroutine { .. } => self.goroutines = true,
            Record::Anchor(_)
            | Record::Shutdown { .. }
            | Record::Wait { .. }
            | Record::Cpu { .. }
            | Record::Fingerprint { .. }
            | Record::Queued { .. }
            | Record::EndOfFile { .. }
            | Record::Call(_)
            | Record::Uncaptured { .. }
            | Record::Thread { .. }
            | Record::File(_)
            | Record::Sleep { .. }
            | Record::Signal(_)
            | Record::Wake(_)
            | Record::Ready { .. } => {}
        }
        Ok(())
    }

    /// The place of a network namespace among those of this log, which are few; [`NONE`] where it
    /// is not known.
    fn namespace(&mut self, namespace: u64) -> u32 {
        if namespace == 0 {
            return NONE;
        }
        let place = self.namespaces.iter().rposition(|other| *other == namespace);
        place.unwrap_or_else(|| {
            self.namespaces.push(namespace);
            self.namespaces.len() - 1
        }) as u32
    }

    fn place(&mut self, number: u32, ticks: u64) -> Result<u32, PathError> {
        let next = self.flows.len() as u32;
        let place = self.places.of(number, || next);
        if place == next {
            self.flows.push(Flow::new(number, ticks as i64))?;
        }
        Ok(place)
    }

    fn at(&mut self, number: u32, ticks: u64) -> Result<&mut Flow, PathError> {
        let place = self.place(number, ticks)? as usize;
        Ok(&mut self.flows[place])
    }
}
