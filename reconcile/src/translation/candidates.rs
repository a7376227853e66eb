//! Who could go with whom: half flows that share a key, all of them where they are few, and only
//! those near in time where they are many. No loop is over all pairs.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::SpillableVec;

use super::half_flow::Side;
use super::halves::{HalfView, Halves};
use super::signature::{self, Likeness};
use super::timing::{self, Window};
use crate::tuning::MAX_RARE;

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

/// Half flows with the same key, too many to compare one by one: those that connected, and those
/// that accepted, by their places in the list of members.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    pub(super) connecting: Range<usize>,
    pub(super) accepting: Range<usize>,
}

/// What can be had without knowing clocks.
#[derive(Debug)]
pub(super) struct Rare {
    /// Pairs that share a key that few have.
    pub(super) edges: SpillableVec<Edge>,
    /// The half flows that share keys that many have.
    pub(super) crowds: Crowds,
}

/// The half flows of all crowds.
#[derive(Debug)]
pub(super) struct Crowds {
    pub(super) members: SpillableVec<u32>,
    /// Where the members of each begin and where its accepting ones do. It ends where the next
    /// begins.
    begins: SpillableVec<[u64; 2]>,
}

impl Crowds {
    /// Each of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Crowd> {
        (0..self.begins.len()).map(|place| {
            let [begin, border] = self.begins[place].map(|at| at as usize);
            let end =
                self.begins.get(place + 1).map_or(self.members.len(), |next| next[0] as usize);
            Crowd { connecting: begin..border, accepting: border..end }
        })
    }
}

/// All half flows, and how common each kind of them is.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) halves: &'a Halves,
    pub(super) connecting: SpillableVec<u32>,
    pub(super) accepting: SpillableVec<u32>,
    /// How many others on the same side look like it, by half flow; first as connecting, then as
    /// accepting ends.
    alike: [SpillableVec<u32>; 2],
}

impl<'a> Field<'a> {
    pub(super) fn of(halves: &'a Halves) -> Result<Field<'a>, PathError> {
        let of_side = |side: Side| {
            let others = if side == Side::Connecting { Side::Accepting } else { Side::Connecting };
            let all = (0..).zip(halves.iter());
            let all = all.filter(|(_, half)| {
                half.side != others && half.sent.bytes + half.received.bytes > 0
            });
            SpillableVec::collect(&halves.pool, all.map(|(place, _)| place))
        };
        let (connecting, accepting) = (of_side(Side::Connecting)?, of_side(Side::Accepting)?);
        let alike = [
            alike(halves, &connecting, Side::Connecting)?,
            alike(halves, &accepting, Side::Accepting)?,
        ];
        Ok(Field { halves, connecting, accepting, alike })
    }

    pub(super) fn half(&self, place: u32) -> HalfView<'_> {
        self.halves.view(place)
    }

    /// How many other connecting ends look like this one, and how many other accepting ends like
    /// that one.
    pub(super) fn alike(&self, edge: &Edge) -> [u32; 2] {
        [self.alike[0][edge.connecting as usize], self.alike[1][edge.accepting as usize]]
    }

    /// All pairs that share a key that few have, and the crowds of the keys that many have.
    pub(super) fn rare(&self) -> Result<Rare, PathError> {
        let pool = &self.halves.pool;
        // The key, and the half flow with its side above its number.
        let mut keyed: SpillableVec<(u64, u64)> = SpillableVec::new(pool);
        for (places, side) in
            [(&self.connecting, Side::Connecting), (&self.accepting, Side::Accepting)]
        {
            let bit = u64::from(side == Side::Accepting) << 32;
            for place in places.iter() {
                let mut failed = None;
                signature::keys(self.half(*place), side, |key| {
                    failed = keyed.push((key, u64::from(*place) | bit)).err().or(failed.take());
                });
                failed.map_or(Ok(()), Err)?;
            }
        }
        keyed.sort_by_key(|row| *row)?;
        let mut pairs: SpillableVec<(u32, u32)> = SpillableVec::new(pool);
        let mut crowds =
            Crowds { members: SpillableVec::new(pool), begins: SpillableVec::new(pool) };
        let mut start = 0;
        while let Some((key, _)) = keyed.get(start).copied() {
            let group = start..keyed.end(start, |row| row.0 == key);
            start = group.end;
            let border = keyed.partition_point(group.clone(), |(_, tagged)| tagged >> 32 == 0);
            let sides = [group.start..border, border..group.end];
            if sides.iter().any(Range::is_empty) {
                continue;
            }
            let members =
                |range: Range<usize>| keyed.range(range).map(|(_, tagged)| *tagged as u32);
            if sides.iter().all(|side| side.len() <= MAX_RARE) {
                let [connecting, accepting] = sides;
                for one in members(connecting) {
                    pairs.extend(members(accepting.clone()).map(|other| (one, other)))?;
                }
            } else {
                let begin = crowds.members.len();
                crowds.begins.push([begin, begin + sides[0].len()].map(|at| at as u64))?;
                crowds.members.extend(members(group))?;
            }
        }
        drop(keyed);
        Ok(Rare { edges: self.edges(pairs)?, crowds })
    }

    /// The edges between `pairs`, in order and each once.
    pub(super) fn edges(
        &self,
        mut pairs: SpillableVec<(u32, u32)>,
    ) -> Result<SpillableVec<Edge>, PathError> {
        pairs.sort_by_key(|pair| *pair)?;
        pairs.dedup_by_key(|pair| *pair);
        SpillableVec::collect(
            &self.halves.pool,
            pairs.iter().filter_map(|(one, other)| self.edge(*one, *other)),
        )
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
        // What went out by loopback was passed on by the same machine, and so was what came in by
        // it.
        if one.peer.ip().is_loopback()
            && other.peer.ip().is_loopback()
            && one.machine != other.machine
        {
            return None;
        }
        let likeness = signature::compare(one, other)?;
        let window = timing::window(one, other, likeness.turns, likeness.totals)?;
        let pauses = timing::pauses(one, likeness.turns, window);
        Some(Edge { connecting, accepting, likeness, window, pauses })
    }

    /// Puts these members of the crowds into `list`: by host, and then by time.
    pub(super) fn by_host(
        &self,
        crowds: &Crowds,
        members: Range<usize>,
        side: Side,
        list: &mut SpillableVec<Timed>,
    ) -> Result<(), PathError> {
        list.truncate(0);
        for place in crowds.members.range(members) {
            let half = self.halves.half(*place);
            list.push((half.host, forth(half, side), *place))?;
        }
        list.sort_by_key(|row| *row)
    }
}

/// A half flow: its host, when it began there, and its place.
pub(super) type Timed = (u32, i64, u32);

/// The hosts of a list that is in their order, each with where its half flows are.
pub(super) fn hosts(list: &SpillableVec<Timed>) -> Vec<(u32, Range<usize>)> {
    let mut hosts = Vec::new();
    let mut start = 0;
    while let Some((host, ..)) = list.get(start).copied() {
        let end = list.partition_point(start..list.len(), |row| row.0 == host);
        hosts.push((host, start..end));
        start = end;
    }
    hosts
}

/// How many others of `places` look like each of them, by half flow.
fn alike(
    halves: &Halves,
    places: &SpillableVec<u32>,
    side: Side,
) -> Result<SpillableVec<u32>, PathError> {
    let looks = places.iter().map(|place| (signature::looks(halves.view(*place), side), *place));
    let mut looks = SpillableVec::collect(&halves.pool, looks)?;
    looks.sort_by_key(|row| *row)?;
    let mut alike = SpillableVec::filled(&halves.pool, halves.len(), 0)?;
    let mut start = 0;
    while let Some((look, _)) = looks.get(start).copied() {
        let end = looks.end(start, |row| row.0 == look);
        for (_, place) in looks.range(start..end) {
            alike[*place as usize] = (end - start - 1) as u32;
        }
        start = end;
    }
    Ok(alike)
}

/// When the first bytes went forth (or, without any, the connection was made), at that side.
pub(super) fn forth(half: &super::halves::Half, side: Side) -> i64 {
    let way = if side == Side::Connecting { half.sent } else { half.received };
    if way.bytes > 0 { way.first } else { half.made }
}
