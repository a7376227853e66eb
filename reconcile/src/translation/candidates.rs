//! Who could go with whom: half flows that share a key, all of them where they are few, and only those near in time where
//! they are many. No loop is over all pairs.

use rustc_hash::FxHashMap;

use super::offsets::Clocks;
use super::signature::{self, Likeness};
use super::timing::{self, Window};
use super::{HalfFlow, Side};

/// As many half flows with one key, at either side, are compared one by one.
const FEW: usize = 8;
/// As many of a crowd are candidates for one connecting end: those nearest in time.
const NEAREST: usize = 8;
/// Candidates are sought as far behind the expected time as this, in nanoseconds.
const REACH: i64 = 1_000_000_000;

/// Two half flows that could be the ends of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    pub(super) connecting: u32,
    pub(super) accepting: u32,
    pub(super) likeness: Likeness,
    pub(super) window: Window,
    /// What the pauses between the turns say, in nats.
    pub(super) pauses: f64,
}

/// Half flows with the same key, too many to compare one by one.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    pub(super) connecting: Vec<u32>,
    pub(super) accepting: Vec<u32>,
}

/// What can be had without knowing clocks.
#[derive(Debug, Default)]
pub(super) struct Rare {
    pub(super) edges: Vec<Edge>,
    pub(super) crowds: Vec<Crowd>,
}

/// All half flows, and how common each kind of them is.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) halves: &'a [HalfFlow],
    pub(super) connecting: Vec<u32>,
    pub(super) accepting: Vec<u32>,
    /// How many others on the same side look like it, by half flow; first as connecting, then as accepting ends.
    alike: [Vec<u32>; 2],
}

impl<'a> Field<'a> {
    pub(super) fn of(halves: &'a [HalfFlow]) -> Field<'a> {
        let of_side = |side: Side| -> Vec<u32> {
            let others = if side == Side::Connecting { Side::Accepting } else { Side::Connecting };
            let fits = |half: &HalfFlow| half.side != others && half.sent.bytes + half.received.bytes > 0;
            (0..).zip(halves).filter(|(_, half)| fits(half)).map(|(place, _)| place).collect()
        };
        let (connecting, accepting) = (of_side(Side::Connecting), of_side(Side::Accepting));
        let alike = [(&connecting, Side::Connecting), (&accepting, Side::Accepting)].map(|(places, side)| {
            let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
            let looks: Vec<u64> =
                places.iter().map(|place| signature::looks(&halves[*place as usize], side)).collect();
            looks.iter().for_each(|looks| *counts.entry(*looks).or_insert(0) += 1);
            let mut alike = vec![0; halves.len()];
            for (place, looks) in places.iter().zip(&looks) {
                alike[*place as usize] = counts.get(looks).map_or(0, |count| count - 1);
            }
            alike
        });
        Field { halves, connecting, accepting, alike }
    }

    pub(super) fn half(&self, place: u32) -> &HalfFlow {
        &self.halves[place as usize]
    }

    /// How many other connecting ends look like this one, and how many other accepting ends like that one.
    pub(super) fn alike(&self, edge: &Edge) -> [u32; 2] {
        [self.alike[0][edge.connecting as usize], self.alike[1][edge.accepting as usize]]
    }

    /// All pairs that share a key that few have, and the crowds of the keys that many have.
    pub(super) fn rare(&self) -> Rare {
        // The key, and the half flow with its side in the lowest bit.
        let mut keyed: Vec<(u64, u64)> = Vec::with_capacity(self.halves.len() * 4);
        for (places, side) in [(&self.connecting, Side::Connecting), (&self.accepting, Side::Accepting)] {
            let bit = u64::from(side == Side::Accepting);
            for place in places {
                let half = self.half(*place);
                signature::keys(half, side, |key| keyed.push((key, u64::from(*place) << 1 | bit)));
            }
        }
        keyed.sort_unstable();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut rare = Rare::default();
        for group in keyed.chunk_by(|one, other| one.0 == other.0) {
            let side = |bit: u64| {
                group
                    .iter()
                    .filter(move |(_, tagged)| tagged & 1 == bit)
                    .map(|(_, tagged)| (*tagged >> 1) as u32)
            };
            let accepting = side(1).count();
            let connecting = group.len() - accepting;
            if connecting == 0 || accepting == 0 {
                continue;
            }
            if connecting.max(accepting) <= FEW {
                pairs.extend(side(0).flat_map(|one| side(1).map(move |other| (one, other))));
            } else {
                rare.crowds.push(Crowd { connecting: side(0).collect(), accepting: side(1).collect() });
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        rare.edges = pairs.into_iter().filter_map(|(one, other)| self.edge(one, other)).collect();
        rare
    }

    /// The edge between the two, if they can be the ends of one flow.
    pub(super) fn edge(&self, connecting: u32, accepting: u32) -> Option<Edge> {
        if connecting == accepting {
            return None;
        }
        let (one, other) = (self.half(connecting), self.half(accepting));
        // Whose names are mirrored has been paired by them, or not for a reason.
        if one.local == other.peer && one.peer == other.local {
            return None;
        }
        // What went out by loopback was passed on by the same machine, and so was what came in by it.
        if one.peer.ip().is_loopback() && other.peer.ip().is_loopback() && one.machine != other.machine {
            return None;
        }
        let likeness = signature::compare(one, other)?;
        let window = timing::window(one, other, likeness.turns, likeness.totals)?;
        let pauses = timing::pauses(one, likeness.turns, window);
        Some(Edge { connecting, accepting, likeness, window, pauses })
    }

    /// Adds the pairs of the crowds that are near in time, where the difference of their clocks is known. `edges` are
    /// put in order, each once.
    pub(super) fn near_in_time(&self, crowds: &[Crowd], clocks: &Clocks, edges: &mut Vec<Edge>) {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for crowd in crowds {
            let mut by_host: FxHashMap<u32, Vec<(i64, u32)>> = FxHashMap::default();
            for place in &crowd.accepting {
                let half = self.half(*place);
                by_host.entry(half.host).or_default().push((forth(half, Side::Accepting), *place));
            }
            by_host.values_mut().for_each(|list| list.sort_unstable());
            let mut hosts: Vec<(u32, Vec<(i64, u32)>)> = by_host.into_iter().collect();
            hosts.sort_unstable_by_key(|(host, _)| *host);
            for place in &crowd.connecting {
                let half = self.half(*place);
                let time = forth(half, Side::Connecting);
                for (host, list) in &hosts {
                    let Some((difference, uncertainty)) = clocks.difference(half.host, *host, time) else {
                        continue;
                    };
                    let expected = time + difference - uncertainty;
                    let from = list.partition_point(|(time, _)| *time < expected);
                    let near = list
                        .iter()
                        .skip(from)
                        .take(NEAREST)
                        .take_while(|(time, _)| *time <= expected + REACH);
                    pairs.extend(near.map(|(_, other)| (*place, *other)));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        edges.extend(pairs.into_iter().filter_map(|(one, other)| self.edge(one, other)));
        edges.sort_unstable_by_key(|edge| (edge.connecting, edge.accepting));
        edges.dedup_by_key(|edge| (edge.connecting, edge.accepting));
    }
}

/// When the first bytes went forth (or, without any, the connection was made), at that side.
pub(super) fn forth(half: &HalfFlow, side: Side) -> i64 {
    let way = if side == Side::Connecting { half.sent } else { half.received };
    if way.bytes > 0 { way.first } else { half.made }
}
