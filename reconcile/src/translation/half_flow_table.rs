//! Table of all half flows in columns: there may be as many as there are sockets, so only the ones
//! in use are in memory.

use std::net::SocketAddr;
use std::ops::Deref;

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};
use rustc_hash::FxHashMap;

use super::half_flow::{FlowDirectionSummary, FlowTurn, HalfFlow, HalfFlowSide};
use crate::indices::{MachineIndex, ProcessIndex};

/// A [`HalfFlow`] without its turns. Its names have numbers as well: equal names have equal ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfFlowRow {
    pub(crate) side: HalfFlowSide,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) local_name: u32,
    pub(crate) peer_name: u32,
    pub(crate) host: u32,
    pub(crate) machine: MachineIndex,
    pub(crate) process: ProcessIndex,
    pub(crate) made: i64,
    pub(crate) sent: FlowDirectionSummary,
    pub(crate) received: FlowDirectionSummary,
    pub(crate) all_turns: bool,
    pub(crate) whole: bool,
}

/// A half flow with its turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct HalfFlowView<'a> {
    half: &'a HalfFlowRow,
    pub(super) turns: &'a [FlowTurn],
}

impl Deref for HalfFlowView<'_> {
    type Target = HalfFlowRow;

    fn deref(&self) -> &HalfFlowRow {
        self.half
    }
}

/// All half flows, a column for each of their properties.
#[derive(Debug)]
pub(crate) struct HalfFlowTable {
    pub(crate) pool: MemoryPool,
    /// Each row with the end of its turns; they begin at the end of the previous row's.
    rows: SpillableVec<(HalfFlowRow, u64)>,
    turns: SpillableVec<FlowTurn>,
    /// Upper bound of the numbers of names.
    pub(super) names: usize,
}

impl HalfFlowTable {
    /// An empty table, for names with numbers below `names`.
    pub(crate) fn new(pool: &MemoryPool, names: usize) -> HalfFlowTable {
        HalfFlowTable {
            pool: pool.clone(),
            rows: SpillableVec::new(pool),
            turns: SpillableVec::new(pool),
            names,
        }
    }

    /// The half flows of `flows`, with numbers for their names.
    pub(super) fn from_flows(
        flows: &[HalfFlow],
        pool: &MemoryPool,
    ) -> Result<HalfFlowTable, PathError> {
        let mut this = HalfFlowTable::new(pool, 0);
        let mut numbers: FxHashMap<SocketAddr, u32> = FxHashMap::default();
        for flow in flows {
            let [local_name, peer_name] = [flow.local, flow.peer].map(|name| {
                let next = numbers.len() as u32;
                *numbers.entry(name).or_insert(next)
            });
            let HalfFlow {
                side, local, peer, host, machine, process, made, sent, received, ..
            } = *flow;
            let (all_turns, whole) = (flow.all_turns, flow.whole);
            let half = HalfFlowRow {
                side,
                local,
                peer,
                local_name,
                peer_name,
                host,
                machine: MachineIndex::from_index(machine as usize),
                process: ProcessIndex::from_index(process as usize),
                made,
                sent,
                received,
                all_turns,
                whole,
            };
            this.push(half, flow.turns.iter().copied())?;
        }
        this.names = numbers.len();
        Ok(this)
    }

    pub(crate) fn push(
        &mut self,
        half: HalfFlowRow,
        turns: impl IntoIterator<Item = FlowTurn>,
    ) -> Result<(), PathError> {
        self.turns.extend(turns)?;
        self.rows.push((half, self.turns.len() as u64))
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// All half flows without their turns, in the order of their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &HalfFlowRow> {
        self.rows.iter().map(|(half, _)| half)
    }

    /// The half flow at this index.
    #[inline]
    pub(crate) fn half_at(&self, place: u32) -> &HalfFlowRow {
        &self.rows[place as usize].0
    }

    /// The half flow at this index with its turns.
    pub(super) fn view_at(&self, place: u32) -> HalfFlowView<'_> {
        let place = place as usize;
        let begin = place.checked_sub(1).map_or(0, |before| self.rows[before].1);
        let (half, end) = &self.rows[place];
        HalfFlowView { half, turns: self.turns.slice(begin as usize..*end as usize) }
    }
}
