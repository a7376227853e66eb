//! All half flows in columns: there may be as many as there are sockets, so nothing of them is in
//! memory but what is looked at.

use std::net::SocketAddr;
use std::ops::Deref;

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};
use rustc_hash::FxHashMap;

use super::half_flow::{HalfFlow, Side, Turn, Way};

/// A [`HalfFlow`], whose turns are elsewhere. Its names have numbers as well: equal names have
/// equal ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    pub(crate) side: Side,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) local_name: u32,
    pub(crate) peer_name: u32,
    pub(crate) host: u32,
    pub(crate) machine: u32,
    pub(crate) process: u32,
    pub(crate) made: i64,
    pub(crate) sent: Way,
    pub(crate) received: Way,
    pub(crate) all_turns: bool,
    pub(crate) whole: bool,
}

/// A half flow with its turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct HalfView<'a> {
    half: &'a Half,
    pub(super) turns: &'a [Turn],
}

impl Deref for HalfView<'_> {
    type Target = Half;

    fn deref(&self) -> &Half {
        self.half
    }
}

/// All half flows, a column for each of their properties.
#[derive(Debug)]
pub(crate) struct Halves {
    pub(crate) pool: MemoryPool,
    /// With where their turns end; they begin where those of the one before end.
    rows: SpillableVec<(Half, u64)>,
    turns: SpillableVec<Turn>,
    /// The numbers of names are below this.
    pub(super) names: usize,
}

impl Halves {
    /// None yet, whose names have numbers below `names`.
    pub(crate) fn new(pool: &MemoryPool, names: usize) -> Halves {
        Halves {
            pool: pool.clone(),
            rows: SpillableVec::new(pool),
            turns: SpillableVec::new(pool),
            names,
        }
    }

    /// The halves of `flows`, in memory.
    pub(super) fn of(flows: &[HalfFlow]) -> Result<Halves, PathError> {
        let mut this = Halves::new(&MemoryPool::default(), 0);
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
            let half = Half {
                side,
                local,
                peer,
                local_name,
                peer_name,
                host,
                machine,
                process,
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
        half: Half,
        turns: impl IntoIterator<Item = Turn>,
    ) -> Result<(), PathError> {
        self.turns.extend(turns)?;
        self.rows.push((half, self.turns.len() as u64))
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// All of them without their turns, in the order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Half> {
        self.rows.iter().map(|(half, _)| half)
    }

    /// That of this place.
    #[inline]
    pub(crate) fn half(&self, place: u32) -> &Half {
        &self.rows[place as usize].0
    }

    /// The same with its turns.
    pub(super) fn view(&self, place: u32) -> HalfView<'_> {
        let place = place as usize;
        let begin = place.checked_sub(1).map_or(0, |before| self.rows[before].1);
        let (half, end) = &self.rows[place];
        HalfView { half, turns: self.turns.slice(begin as usize..*end as usize) }
    }
}
