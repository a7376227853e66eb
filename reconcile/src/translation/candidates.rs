//! Candidate pairs: half flows that share a key (facts that are equal at both ends, see
//! `signature`). All of them are candidates if they are few, and only those near in time if they
//! are many. No loop is over all pairs.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::SpillableVec;

use super::half_flow::HalfFlowSide;
use super::half_flow_table::{HalfFlowTable, HalfFlowView};
use super::signature::{self, FlowLikeness};
use super::timing::{self, OffsetWindow};
use crate::tuning::MAX_HALVES_OF_A_RARE_KEY;

/// Two half flows that could be the ends of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CandidateEdge {
    pub(super) connecting: u32,
    pub(super) accepting: u32,
    pub(super) likeness: FlowLikeness,
    /// Clock differences for which the two can be one flow.
    pub(super) window: OffsetWindow,
    /// Evidence of the pauses between the turns, in nats.
    pub(super) pauses: f64,
}

/// Crowd: half flows with the same key, too many to compare one by one; the connecting and the
/// accepting ones, by their indices in the list of members.
#[derive(Clone, Debug)]
pub(super) struct HalfFlowCrowd {
    pub(super) connecting: Range<usize>,
    pub(super) accepting: Range<usize>,
}

/// Candidates that are found without knowing clocks.
#[derive(Debug)]
pub(super) struct RareKeyPairs {
    /// Pairs that share a rare key.
    pub(super) edges: SpillableVec<CandidateEdge>,
    /// The half flows that share common keys.
    pub(super) crowds: HalfFlowCrowds,
}

/// The half flows of all crowds.
#[derive(Debug)]
pub(super) struct HalfFlowCrowds {
    pub(super) members: SpillableVec<u32>,
    /// Begin of the members of each crowd and of its accepting ones. A crowd ends where the next
    /// begins.
    begins: SpillableVec<[u64; 2]>,
}

impl HalfFlowCrowds {
    /// Iterates over the crowds.
    pub(super) fn iter(&self) -> impl Iterator<Item = HalfFlowCrowd> {
        (0..self.begins.len()).map(|place| {
            let [begin, boundary] = self.begins[place].map(|at| at as usize);
            let end =
                self.begins.get(place + 1).map_or(self.members.len(), |next| next[0] as usize);
            HalfFlowCrowd { connecting: begin..boundary, accepting: boundary..end }
        })
    }
}

/// All half flows, and the frequency of each kind of them.
#[derive(Debug)]
pub(super) struct HalfFlowField<'a> {
    pub(super) halves: &'a HalfFlowTable,
    pub(super) connecting: SpillableVec<u32>,
    pub(super) accepting: SpillableVec<u32>,
    /// Number of other half flows on the same side that look like a half flow, by its index; first
    /// as connecting, then as accepting ends.
    alike: [SpillableVec<u32>; 2],
}

impl<'a> HalfFlowField<'a> {
    /// The field of all half flows that moved bytes.
    pub(super) fn from_table(halves: &'a HalfFlowTable) -> Result<HalfFlowField<'a>, PathError> {
        let of_side = |side: HalfFlowSide| {
            let others = if side == HalfFlowSide::Connecting {
                HalfFlowSide::Accepting
            } else {
                HalfFlowSide::Connecting
            };
            let all = (0..).zip(halves.iter());
            let all = all.filter(|(_, half)| {
                half.side != others && half.sent.bytes + half.received.bytes > 0
            });
            SpillableVec::collect(&halves.pool, all.map(|(place, _)| place))
        };
        let (connecting, accepting) =
            (of_side(HalfFlowSide::Connecting)?, of_side(HalfFlowSide::Accepting)?);
        let alike = [
            count_lookalikes(halves, &connecting, HalfFlowSide::Connecting)?,
            count_lookalikes(halves, &accepting, HalfFlowSide::Accepting)?,
        ];
        Ok(HalfFlowField { halves, connecting, accepting, alike })
    }

    pub(super) fn half_at(&self, place: u32) -> HalfFlowView<'_> {
        self.halves.view_at(place)
    }

    /// Numbers of other connecting ends that look like this edge's, and of other accepting ends.
    pub(super) fn count_alike(&self, edge: &CandidateEdge) -> [u32; 2] {
        [self.alike[0][edge.connecting as usize], self.alike[1][edge.accepting as usize]]
    }

    /// Returns all pairs that share a rare key, and the crowds of the common keys.
    pub(super) fn pair_rare_keys(&self) -> Result<RareKeyPairs, PathError> {
        let pool = &self.halves.pool;
        // The key, and the half flow with its side above its number.
        let mut keyed: SpillableVec<(u64, u64)> = SpillableVec::new(pool);
        for (places, side) in [
            (&self.connecting, HalfFlowSide::Connecting),
            (&self.accepting, HalfFlowSide::Accepting),
        ] {
            let bit = u64::from(side == HalfFlowSide::Accepting) << 32;
            for place in places.iter() {
                let mut failed = None;
                signature::for_each_key(self.half_at(*place), side, |key| {
                    failed = keyed.push((key, u64::from(*place) | bit)).err().or(failed.take());
                });
                failed.map_or(Ok(()), Err)?;
            }
        }
        keyed.sort_by_key(|row| *row)?;
        let mut pairs: SpillableVec<(u32, u32)> = SpillableVec::new(pool);
        let mut crowds =
            HalfFlowCrowds { members: SpillableVec::new(pool), begins: SpillableVec::new(pool) };
        let mut start = 0;
        while let Some((key, _)) = keyed.get(start).copied() {
            let group = start..keyed.end_where(start, |row| row.0 == key);
            start = group.end;
            let boundary = keyed.partition_point(group.clone(), |(_, tagged)| tagged >> 32 == 0);
            let sides = [group.start..boundary, boundary..group.end];
            if sides.iter().any(Range::is_empty) {
                continue;
            }
            let members =
                |range: Range<usize>| keyed.range(range).map(|(_, tagged)| *tagged as u32);
            if sides.iter().all(|side| side.len() <= MAX_HALVES_OF_A_RARE_KEY) {
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
        Ok(RareKeyPairs { edges: self.edges_between(pairs)?, crowds })
    }

    /// Returns the edges between `pairs`, sorted and each once.
    pub(super) fn edges_between(
        &self,
        mut pairs: SpillableVec<(u32, u32)>,
    ) -> Result<SpillableVec<CandidateEdge>, PathError> {
        pairs.sort_by_key(|pair| *pair)?;
        pairs.dedup_by_key(|pair| *pair);
        SpillableVec::collect(
            &self.halves.pool,
            pairs.iter().filter_map(|(one, other)| self.edge_between(*one, *other)),
        )
    }

    /// The edge between two half flows, if they can be the ends of one flow.
    pub(super) fn edge_between(&self, connecting: u32, accepting: u32) -> Option<CandidateEdge> {
        if connecting == accepting {
            return None;
        }
        let (one, other) = (self.half_at(connecting), self.half_at(accepting));
        // Halves with mirrored names were paired by name, or left unpaired for a reason.
        if one.local == other.peer && one.peer == other.local {
            return None;
        }
        // Loopback traffic is passed on by the same machine at both ends.
        if one.peer.ip().is_loopback()
            && other.peer.ip().is_loopback()
            && one.machine != other.machine
        {
            return None;
        }
        let likeness = signature::compare_flows(one, other)?;
        let window = timing::offset_window(one, other, likeness.turns, likeness.totals)?;
        let pauses = timing::pause_log_odds(one, likeness.turns, window);
        Some(CandidateEdge { connecting, accepting, likeness, window, pauses })
    }

    /// Collects these members of the crowds into `list`, sorted by host and time.
    pub(super) fn members_by_host(
        &self,
        crowds: &HalfFlowCrowds,
        members: Range<usize>,
        side: HalfFlowSide,
        list: &mut SpillableVec<TimedHalfFlow>,
    ) -> Result<(), PathError> {
        list.truncate(0);
        for place in crowds.members.range(members) {
            let half = self.halves.half_at(*place);
            list.push((half.host, first_forward_time(half, side), *place))?;
        }
        list.sort_by_key(|row| *row)
    }
}

/// A half flow: its host, the time when it began there, and its index.
pub(super) type TimedHalfFlow = (u32, i64, u32);

/// The hosts of a sorted list, each with the range of its half flows.
pub(super) fn ranges_by_host(list: &SpillableVec<TimedHalfFlow>) -> Vec<(u32, Range<usize>)> {
    let mut hosts = Vec::new();
    let mut start = 0;
    while let Some((host, ..)) = list.get(start).copied() {
        let end = list.partition_point(start..list.len(), |row| row.0 == host);
        hosts.push((host, start..end));
        start = end;
    }
    hosts
}

/// Number of others of `places` that look like each of them, by half flow.
fn count_lookalikes(
    halves: &HalfFlowTable,
    places: &SpillableVec<u32>,
    side: HalfFlowSide,
) -> Result<SpillableVec<u32>, PathError> {
    let looks = places
        .iter()
        .map(|place| (signature::appearance_hash(halves.view_at(*place), side), *place));
    let mut looks = SpillableVec::collect(&halves.pool, looks)?;
    looks.sort_by_key(|row| *row)?;
    let mut alike = SpillableVec::filled(&halves.pool, halves.len(), 0)?;
    let mut start = 0;
    while let Some((look, _)) = looks.get(start).copied() {
        let end = looks.end_where(start, |row| row.0 == look);
        for (_, place) in looks.range(start..end) {
            alike[*place as usize] = (end - start - 1) as u32;
        }
        start = end;
    }
    Ok(alike)
}

/// Time of the first bytes from the connecting to the accepting end (or, without any, of the setup
/// of the connection), at the end `side`.
pub(super) fn first_forward_time(
    half: &super::half_flow_table::HalfFlowRow,
    side: HalfFlowSide,
) -> i64 {
    let forward = if side == HalfFlowSide::Connecting { half.sent } else { half.received };
    if forward.bytes > 0 { forward.first } else { half.made }
}
