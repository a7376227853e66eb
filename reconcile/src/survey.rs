//! The first reading of one log: its flows with their totals, the names, and its clock. A pure function of the file.

use std::path::Path;

use rustc_hash::FxHashMap;
use socket_log::encode::{Direction, ProcessEvent};
use socket_log::layout::tick;
use socket_log::{Clock, Damage, Entry, Header, Log, OpenError, Record, Setting};

use crate::capture::{Flow, Kind, NONE, Naming};
use crate::names::Names;
use crate::positions::Positions;
use crate::reconciliation::{Reconciliation, add};

/// The kernel moves less than 2 GiB in one call; what claims more is damage.
pub(crate) const LARGEST_TRANSFER: u64 = 1 << 31;

/// What one log says, without its calls. Names, and flows in namings, are numbered within it.
pub(crate) struct Survey {
    pub(crate) header: Header,
    /// As if it had never been set.
    pub(crate) clock: Clock,
    /// When it was set.
    pub(crate) settings: Vec<Setting>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) namings: Vec<Naming>,
    pub(crate) names: Names,
    pub(crate) ended: Option<i64>,
    pub(crate) damage: Vec<Damage>,
    /// Its share of the counts.
    pub(crate) counts: Reconciliation,
}

/// Reads the log at `path`.
///
/// # Errors
/// When it is no log, or cannot be read.
pub(crate) fn survey(path: &Path) -> Result<Survey, OpenError> {
    let log = Log::open(path)?;
    let header = log.header().clone();
    let mut reading = Reading { has_positions: header.has_positions, ..Reading::default() };
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
                _ => reading.entry(entry),
            }
        }));
    }
    damage.extend_from_slice(chunks.damage());
    let Reading { mut flows, mut namings, names, ended, counts, .. } = reading;
    let clock = Clock::new(anchors, header.tick_clock == tick::MONOTONIC);
    let settings = clock.settings();
    let clock = clock.never_set(&settings);
    flows.iter_mut().for_each(|flow| flow.convert(&clock));
    namings.iter_mut().for_each(|naming| naming.time = clock.realtime(naming.time as u64));
    namings.sort_by_key(|naming| (naming.flow, naming.time));
    let ended = ended.map(|ticks| clock.realtime(ticks));
    Ok(Survey { header, clock, settings, flows, namings, names, ended, damage, counts })
}

/// One log being read.
#[derive(Default)]
struct Reading {
    flows: Vec<Flow>,
    places: Places,
    namings: Vec<Naming>,
    names: Names,
    ended: Option<u64>,
    counts: Reconciliation,
    has_positions: bool,
    positions: Positions,
}

impl Reading {
    fn entry(&mut self, entry: Entry) {
        let Entry { ticks, record, .. } = entry;
        let time = ticks as i64;
        match record {
            Record::Transfer { bytes, .. } if bytes > LARGEST_TRANSFER => {
                add(&mut self.counts.ignored, "impossible size", 1);
            }
            Record::Position { flow, direction, before } => self.positions.set(flow, direction, before),
            Record::Transfer { direction, flow, bytes, .. } => {
                let begin =
                    self.has_positions.then(|| self.positions.moved(flow, direction, bytes)).flatten();
                let flow = self.at(flow, ticks);
                flow.transfers = flow.transfers.saturating_add(1);
                let total = &mut flow.totals[usize::from(direction != Direction::Send)];
                // With what the log has forgotten, where it says how much that was.
                let end = begin.unwrap_or(*total).saturating_add(bytes);
                *total = end.max(*total);
                flow.last_call = flow.last_call.max(time);
            }
            Record::Datagram { peeked: true, .. } => self.counts.datagrams.peeked += 1,
            Record::Datagram { flow, truncated, unchecked, peer, .. } => {
                self.counts.datagrams.truncated += u64::from(truncated);
                self.counts.datagrams.unchecked += u64::from(unchecked);
                if let Some(peer) = peer {
                    self.names.intern(peer);
                }
                let flow = self.at(flow, ticks);
                flow.datagrams = flow.datagrams.saturating_add(1);
                flow.last_call = flow.last_call.max(time);
            }
            Record::Flow(what) => {
                let flow = self.at(what.flow, ticks);
                flow.opened = flow.opened.min(time);
                flow.kind = Some(Kind { domain: what.domain, kind: what.kind, protocol: what.protocol });
                flow.cookie = what.cookie;
            }
            Record::Endpoints { flow, role, local, peer, peer_pid } => {
                let (local, peer) = (self.names.intern_some(local), self.names.intern_some(peer));
                let flow = self.place(flow, ticks);
                self.namings.push(Naming { flow, role, time, local, peer, peer_pid });
            }
            Record::Pair { first, second } => {
                self.at(first, ticks).pair = second;
                self.at(second, ticks).pair = first;
            }
            Record::Duplicate { flow, .. } => self.at(flow, ticks).descriptors += 1,
            Record::Close { flow, .. } => {
                let flow = self.at(flow, ticks);
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

    fn place(&mut self, number: u32, ticks: u64) -> u32 {
        let flows = &mut self.flows;
        self.places.of(number, || {
            flows.push(Flow::new(number, ticks as i64));
            (flows.len() - 1) as u32
        })
    }

    fn at(&mut self, number: u32, ticks: u64) -> &mut Flow {
        let place = self.place(number, ticks) as usize;
        &mut self.flows[place]
    }
}

/// What belongs to each of a log's flow numbers. Numbers count up from 1, so a table finds most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    table: Vec<u32>,
    /// Those beyond the table: a damaged record may name any number.
    others: FxHashMap<u32, u32>,
}

/// The first number that is beyond the table.
const TABLE_LIMIT: u32 = 1 << 22;

impl Places {
    /// The place of `number`; where it has none, it is given what `new` says.
    #[inline]
    pub(crate) fn of(&mut self, number: u32, new: impl FnOnce() -> u32) -> u32 {
        if number >= TABLE_LIMIT {
            return *self.others.entry(number).or_insert_with(new);
        }
        let at = number as usize;
        if at >= self.table.len() {
            self.table.resize(at + 1, NONE);
        }
        if self.table[at] == NONE {
            self.table[at] = new();
        }
        self.table[at]
    }

    /// The place of `number`, where it has one.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<u32> {
        match self.table.get(number as usize) {
            Some(place) => Some(*place).filter(|place| *place != NONE),
            None => self.others.get(&number).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_has_a_place() {
        let mut places = Places::default();
        assert_eq!(places.of(7, || 1), 1);
        assert_eq!(places.of(7, || 2), 1);
        assert_eq!(places.of(u32::MAX, || 3), 3);
        assert_eq!((places.get(7), places.get(6), places.get(u32::MAX)), (Some(1), None, Some(3)));
        assert_eq!((places.get(8), places.get(u32::MAX - 1)), (None, None));
    }
}
