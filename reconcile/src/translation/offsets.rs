//! Offsets between hosts' clocks, learned from the candidate pairs themselves: each pair is
//! possible for a short interval of clock differences only, and the true pairs agree on one
//! difference. False pairs agree by chance, and periodic ones agree on many differences: so the
//! difference on which most pairs agree counts by how far it stands out from the second best.

use message_trace::PathError;
use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;

use super::candidates::{
    self, CandidateEdge, HalfFlowCrowd, HalfFlowCrowds, HalfFlowField, TimedHalfFlow,
};
use super::difference::{
    ClockDifference, DifferenceVote, hosts_of_edge, ordered_hosts, vote_of_edge,
};
use super::half_flow::HalfFlowSide;
use super::half_flow_table::HalfFlowTable;
use super::line_fitting::fit_difference;
use super::median::{OrderedFloat, find_median};
use crate::tuning::{
    ACCEPTING_OF_A_CROWD, CERTAIN_TRUST, KNOWN_TRUST, MAX_TRIED_OF_A_CROWD, MAX_TRIED_OF_CROWDS,
    MIN_WIDTHS, TIME_SLACK_NS,
};

/// A difference of two hosts' clocks that is known from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownOffset {
    /// The first host.
    pub from: u32,
    /// The second host.
    pub to: u32,
    /// Time of the measurement, on the clock of `from`, in nanoseconds.
    pub at: i64,
    /// The second host's clock minus the first one's at that time, in nanoseconds.
    pub nanoseconds: i64,
    /// Parts per million by which the second clock runs ahead.
    pub skew_ppm: f64,
    /// Uncertainty of the difference, in nanoseconds.
    pub uncertainty: i64,
}

/// Verdict of the clocks on a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClockVerdict {
    /// Probability that the difference is known.
    pub(super) trust: f64,
    /// Nanoseconds by which the candidate is outside of the possible range, beyond all uncertainty;
    /// 0 if it is possible.
    pub(super) outside: f64,
    /// Likelihood ratio of its window's position for a true pair, per nanosecond of its possible
    /// positions: the share of the possible differences within it, by its width.
    pub(super) density: f64,
    /// Number of agreeing pairs of these hosts.
    pub(super) support: u32,
}

/// Trials of pairs from crowds (half flows with a common key), to learn the clocks of their hosts.
struct CrowdTrials {
    /// Number of pairs that may still be tried.
    left: usize,
    /// Number of votes, by hosts.
    counts: FxHashMap<(u32, u32), usize>,
    votes: SpillableVec<((u32, u32), DifferenceVote)>,
}

/// Returns all of `votes`, or the weightiest of them if there are very many, and of equal ones some
/// of all times.
fn select_best_votes(votes: impl Iterator<Item = DifferenceVote>) -> Vec<DifferenceVote> {
    let most = 2 * MAX_TRIED_OF_A_CROWD;
    let cut = |kept: &mut Vec<DifferenceVote>| {
        let place =
            |vote: &DifferenceVote| (vote.connecting.wrapping_mul(0x9E37_79B1), vote.accepting);
        kept.sort_unstable_by(|one, other| {
            other.weight.total_cmp(&one.weight).then_with(|| place(one).cmp(&place(other)))
        });
        kept.truncate(most);
    };
    let mut kept = Vec::new();
    for vote in votes {
        kept.push(vote);
        if kept.len() == 2 * most {
            cut(&mut kept);
        }
    }
    if kept.len() > most {
        cut(&mut kept);
    }
    kept
}

/// The known differences of all clocks.
#[derive(Debug, Default)]
pub(super) struct ClockDifferences {
    differences: FxHashMap<(u32, u32), ClockDifference>,
    /// Usual width of the windows of true pairs, by the two hosts and the name of the accepting
    /// end.
    widths: FxHashMap<((u32, u32), u32), f64>,
}

impl ClockDifferences {
    pub(super) fn new(halves: &HalfFlowTable, known: &[KnownOffset]) -> ClockDifferences {
        let mut differences = FxHashMap::default();
        for half in halves.iter() {
            // One host has one clock.
            differences.entry((half.host, half.host)).or_insert(ClockDifference {
                at: half.made,
                offset: 0.0,
                skew: 0.0,
                uncertainty: 0.0,
                skew_uncertainty: 0.0,
                trust: 1.0,
                scale: 1e6,
                support: 0,
            });
        }
        for offset in known {
            let (ahead, skew) = (offset.nanoseconds as f64, offset.skew_ppm / 1e6);
            let (key, at, offset_ns, skew) = if offset.from <= offset.to {
                ((offset.from, offset.to), offset.at, ahead, skew)
            } else {
                ((offset.to, offset.from), offset.at + offset.nanoseconds, -ahead, -skew)
            };
            let uncertainty = offset.uncertainty as f64;
            let known = ClockDifference {
                at,
                offset: offset_ns,
                skew,
                uncertainty,
                skew_uncertainty: 0.0,
                trust: 1.0,
                scale: 1e6,
                support: 0,
            };
            differences.insert(key, known);
        }
        ClockDifferences { differences, widths: FxHashMap::default() }
    }

    /// The clock of `accepting` minus the clock of `connecting` when the latter shows `time`, and
    /// its uncertainty; `None` if unknown.
    pub(super) fn difference_at(
        &self,
        connecting: u32,
        accepting: u32,
        time: i64,
    ) -> Option<(i64, i64)> {
        let known = self.differences.get(&ordered_hosts(connecting, accepting))?;
        if known.trust < KNOWN_TRUST {
            return None;
        }
        // The difference is a line over the lower-numbered host's time. If that is the accepting
        // host, `time` is converted to its clock by the offset at `known.at`: the skew since then
        // changes the time far too little to matter to the line.
        let (time, sign) =
            if connecting <= accepting { (time, 1.0) } else { (time - known.offset as i64, -1.0) };
        let uncertainty = known.uncertainty_at(time) as i64 + TIME_SLACK_NS;
        Some(((sign * known.offset_at(time)) as i64, uncertainty))
    }

    /// Verdict of the clocks of an edge's hosts; `None` if they are unknown.
    pub(super) fn verdict_on_edge(
        &self,
        field: &HalfFlowField,
        edge: &CandidateEdge,
    ) -> Option<ClockVerdict> {
        let (one, other) =
            (field.halves.half_at(edge.connecting), field.halves.half_at(edge.accepting));
        let known = self.differences.get(&ordered_hosts(one.host, other.host))?;
        let vote = vote_of_edge(field, edge);
        let (line, slack) = (known.offset_at(vote.time), TIME_SLACK_NS as f64);
        let uncertainty = known.uncertainty_at(vote.time);
        let outside = (vote.low - line).max(line - vote.high) - uncertainty - slack;
        let unsure = uncertainty.max(slack);
        let (low, high) = (vote.low - slack, vote.high + slack);
        let common = (high.min(line + unsure) - low.max(line - unsure)).max(0.0);
        Some(ClockVerdict {
            trust: known.trust,
            outside: outside.max(0.0),
            density: common / (2.0 * unsure) / (high - low),
            support: known.support,
        })
    }

    /// Usual width of a true pair's window with the same name as the edge; `None` if unknown.
    pub(super) fn usual_width(&self, field: &HalfFlowField, edge: &CandidateEdge) -> Option<f64> {
        let hosts = hosts_of_edge(field, edge);
        let of_name = self.widths.get(&(hosts, field.halves.half_at(edge.accepting).local_name));
        let of_hosts = || {
            self.differences.get(&hosts).filter(|known| known.support > 0).map(|known| known.scale)
        };
        of_name.copied().or_else(of_hosts)
    }

    /// Learns the usual widths of windows from the windows that agree with the known differences.
    pub(super) fn learn_widths(
        &mut self,
        field: &HalfFlowField,
        edges: &SpillableVec<CandidateEdge>,
    ) -> Result<(), PathError> {
        let pool = &field.halves.pool;
        // The narrowest window of each accepting end.
        let mut narrowest: SpillableVec<((u32, u32), u32, i64)> = SpillableVec::new(pool);
        for edge in edges.iter() {
            let agrees =
                |verdict: ClockVerdict| verdict.trust >= KNOWN_TRUST && verdict.outside == 0.0;
            if self.verdict_on_edge(field, edge).is_some_and(agrees) {
                narrowest.push((
                    hosts_of_edge(field, edge),
                    edge.accepting,
                    edge.window.width(),
                ))?;
            }
        }
        narrowest.sort_by_key(|row| *row)?;
        narrowest.dedup_by_key(|row| (row.0, row.1));
        let by_name = narrowest.iter().map(|(hosts, accepting, width)| {
            let name = field.halves.half_at(*accepting).local_name;
            ((*hosts, name), OrderedFloat::from_f64(*width as f64))
        });
        let mut by_name = SpillableVec::collect(pool, by_name)?;
        drop(narrowest);
        by_name.sort_by_key(|row| *row)?;
        let mut start = 0;
        while let Some((name, _)) = by_name.get(start).copied() {
            let end = by_name.end_where(start, |row| row.0 == name);
            if end - start >= MIN_WIDTHS {
                let usual = by_name[start + (end - start) / 2].1.to_f64();
                self.widths.insert(name, usual.max(TIME_SLACK_NS as f64));
            }
            start = end;
        }
        Ok(())
    }

    /// Whether the known clocks allow that the edge's ends are of one flow.
    pub(super) fn allows_edge(&self, field: &HalfFlowField, edge: &CandidateEdge) -> bool {
        self.verdict_on_edge(field, edge)
            .is_none_or(|verdict| verdict.trust < CERTAIN_TRUST || verdict.outside == 0.0)
    }

    /// Learns the unknown differences from the candidates.
    pub(super) fn learn_from_votes(
        &mut self,
        field: &HalfFlowField,
        edges: &SpillableVec<CandidateEdge>,
        crowds: &HalfFlowCrowds,
    ) -> Result<(), PathError> {
        let pool = &field.halves.pool;
        let mut by_hosts = SpillableVec::collect(
            pool,
            (0u32..).zip(edges.iter()).map(|(place, edge)| (hosts_of_edge(field, edge), place)),
        )?;
        by_hosts.sort_by_key(|row| *row)?;
        let of_edge = |(_, place): &((u32, u32), u32)| vote_of_edge(field, &edges[*place as usize]);
        let mut start = 0;
        while let Some((hosts, _)) = by_hosts.get(start).copied() {
            let group = start..by_hosts.end_where(start, |row| row.0 == hosts);
            start = group.end;
            self.learn_difference(field, hosts, by_hosts.range(group).map(of_edge))?;
        }
        let mut more = CrowdTrials {
            left: MAX_TRIED_OF_CROWDS,
            counts: FxHashMap::default(),
            votes: SpillableVec::new(pool),
        };
        for crowd in crowds.iter() {
            self.try_crowd(field, crowds, crowd, &mut more)?;
        }
        let CrowdTrials { counts, mut votes, .. } = more;
        votes.sort_by_key(|row| row.0)?;
        let mut keys: Vec<(u32, u32)> = counts.into_keys().collect();
        keys.sort_unstable();
        for hosts in keys {
            let tried = votes.partition_point(0..votes.len(), |row| row.0 < hosts);
            let tried = tried..votes.end_where(tried, |row| row.0 == hosts);
            let rare = by_hosts.partition_point(0..by_hosts.len(), |row| row.0 < hosts);
            let rare = rare..by_hosts.end_where(rare, |row| row.0 == hosts);
            let tried = votes.range(tried).map(|(_, vote)| *vote);
            self.learn_difference(field, hosts, tried.chain(by_hosts.range(rare).map(of_edge)))?;
        }
        self.derive_differences();
        Ok(())
    }

    /// Pairs some members of a crowd, of hosts with unknown clocks, with all possible counterparts.
    fn try_crowd(
        &self,
        field: &HalfFlowField,
        crowds: &HalfFlowCrowds,
        crowd: HalfFlowCrowd,
        tried: &mut CrowdTrials,
    ) -> Result<(), PathError> {
        let by_host = |members, side| {
            let mut list: SpillableVec<TimedHalfFlow> = SpillableVec::new(&field.halves.pool);
            field.members_by_host(crowds, members, side, &mut list)?;
            Ok::<_, PathError>((candidates::ranges_by_host(&list), list))
        };
        let (connecting, made) = by_host(crowd.connecting, HalfFlowSide::Connecting)?;
        let (accepting, accepted) = by_host(crowd.accepting, HalfFlowSide::Accepting)?;
        for (one, of_one) in &connecting {
            for (other, of_other) in &accepting {
                if self
                    .differences
                    .get(&ordered_hosts(*one, *other))
                    .is_some_and(|known| known.trust >= KNOWN_TRUST)
                {
                    continue;
                }
                let hosts = ordered_hosts(*one, *other);
                let all = tried.counts.entry(hosts).or_default();
                let some = ACCEPTING_OF_A_CROWD.min(of_other.len());
                let each = (MAX_TRIED_OF_A_CROWD / some).min(of_one.len());
                if *all > 2 * MAX_TRIED_OF_A_CROWD || some * each > tried.left {
                    continue;
                }
                tried.left -= some * each;
                // Both lists are in the order of time, so the other ends of the first connecting
                // half flows are sought among the first accepting ones.
                let among = (of_other.len() * each / of_one.len()).max(some);
                for step in 0..some {
                    let at = step * among / some;
                    let Some(place) = of_other.clone().nth(at) else { continue };
                    let (.., accepting) = accepted[place];
                    for (.., connecting) in made.range(of_one.clone()).take(each) {
                        if let Some(edge) = field.edge_between(*connecting, accepting) {
                            *all += 1;
                            tried.votes.push((hosts, vote_of_edge(field, &edge)))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Learns the difference of two hosts' clocks on which most of `votes` agree.
    fn learn_difference(
        &mut self,
        field: &HalfFlowField,
        hosts: (u32, u32),
        votes: impl Iterator<Item = DifferenceVote>,
    ) -> Result<(), PathError> {
        if let Some(known) =
            self.differences.get_mut(&hosts).filter(|known| known.trust >= KNOWN_TRUST)
        {
            // The difference is known; the width of the windows is not.
            let slack = TIME_SLACK_NS as f64;
            let agrees = |vote: &DifferenceVote| {
                known.agrees_with(vote, known.uncertainty_at(vote.time) + slack)
            };
            let widths =
                votes.filter(agrees).map(|vote| OrderedFloat::from_f64(vote.high - vote.low));
            let mut widths = SpillableVec::collect(&field.halves.pool, widths)?;
            known.support = widths.len() as u32;
            known.scale =
                find_median(&mut widths)?.unwrap_or(known.scale).max(TIME_SLACK_NS as f64);
            return Ok(());
        }
        let mut votes = select_best_votes(votes);
        // Rare candidates are stronger evidence, but many common ones together can be as strong.
        let by_rarity = fit_difference(field, &votes);
        votes.iter_mut().for_each(|vote| vote.weight = 1.0);
        let found = [by_rarity, fit_difference(field, &votes)].into_iter().flatten();
        if let Some(found) = found.max_by(|one, other| one.trust.total_cmp(&other.trust)) {
            self.differences.insert(hosts, found);
        }
        Ok(())
    }

    /// Derives the difference of two clocks from their known differences to a third.
    fn derive_differences(&mut self) {
        let mut near: FxHashMap<u32, Vec<(u32, ClockDifference)>> = FxHashMap::default();
        for ((one, other), known) in &self.differences {
            if one != other && known.trust >= KNOWN_TRUST {
                near.entry(*one).or_default().push((*other, *known));
                near.entry(*other).or_default().push((*one, known.to_reversed()));
            }
        }
        let mut hosts: Vec<u32> = near.keys().copied().collect();
        hosts.sort_unstable();
        near.values_mut().for_each(|list| list.sort_unstable_by_key(|(host, _)| *host));
        for from in &hosts {
            let mut reached: FxHashMap<u32, ClockDifference> = FxHashMap::default();
            let mut queue = std::collections::VecDeque::new();
            for (host, known) in near.get(from).into_iter().flatten() {
                reached.insert(*host, *known);
                queue.push_back(*host);
            }
            while let Some(via) = queue.pop_front() {
                let Some(here) = reached.get(&via).copied() else { continue };
                for (host, known) in near.get(&via).into_iter().flatten() {
                    if host != from && !reached.contains_key(host) {
                        reached.insert(*host, here.chain_with(known));
                        queue.push_back(*host);
                    }
                }
            }
            for (host, known) in reached.into_iter().filter(|(host, _)| host > from) {
                let place = self.differences.entry((*from, host)).or_insert(known);
                if place.trust < KNOWN_TRUST {
                    *place = known;
                }
            }
        }
    }
}
