//! How far two hosts' clocks are apart, learned from the candidates themselves: each would be true for a short stretch of
//! differences only, and the true ones agree on one. Others agree by chance, and what is periodic agrees on many: so the
//! place where most agree counts as far as it stands out from the second best.

use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::candidates::{Crowd, Edge, Field, forth};
use super::difference::{Difference, Vote, hosts, key, median, vote};
use super::fit::fit;
use super::timing::SLACK;
use super::{HalfFlow, Side};

/// As many pairs of one crowd are tried on two hosts whose clocks nothing rarer tells.
const MOST_OF_A_CROWD: usize = 20_000;
/// So many accepting ends of it are tried with all that could have connected.
const OF_A_CROWD: usize = 48;
/// As many pairs of crowds are tried in all.
const MOST_OF_CROWDS: usize = 1_000_000;
/// It takes so many windows to know how wide those that lead to one name usually are.
const LEAST_WIDTHS: usize = 8;
/// Trust above this rules out what does not agree.
const CERTAIN: f64 = 0.999;
/// Trust above this makes a difference known.
const TRUSTED: f64 = 0.9;

/// The difference of two hosts' clocks, known from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// The one host.
    pub from: u32,
    /// The other.
    pub to: u32,
    /// When, on the clock of `from`, in nanoseconds.
    pub at: i64,
    /// The other's clock minus the one's at that time, in nanoseconds.
    pub nanoseconds: i64,
    /// By how many parts per million the other runs ahead.
    pub skew_ppm: f64,
    /// How far `nanoseconds` may be wrong.
    pub uncertainty: i64,
}

/// What the clocks say of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    /// How sure it is that the difference is known.
    pub(super) trust: f64,
    /// How many nanoseconds the candidate is outside of what is possible, beyond all uncertainty; 0: it is possible.
    pub(super) outside: f64,
    /// How much likelier its window lies where it does if it is a true pair's, per nanosecond of where it could lie:
    /// the share of the differences that are possible which it holds, by its width.
    pub(super) density: f64,
    /// How many pairs of these hosts agree.
    pub(super) support: u32,
}

/// The differences of all clocks, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    differences: FxHashMap<(u32, u32), Difference>,
    /// How wide the windows of true pairs usually are, by the two hosts and the name that the accepting end has.
    widths: FxHashMap<((u32, u32), SocketAddr), f64>,
}

impl Clocks {
    pub(super) fn new(halves: &[HalfFlow], known: &[Offset]) -> Clocks {
        let mut differences = FxHashMap::default();
        for half in halves {
            // One host has one clock.
            differences.entry((half.host, half.host)).or_insert(Difference {
                at: half.made,
                offset: 0.0,
                skew: 0.0,
                uncertainty: 0.0,
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
            let known =
                Difference { at, offset: offset_ns, skew, uncertainty, trust: 1.0, scale: 1e6, support: 0 };
            differences.insert(key, known);
        }
        Clocks { differences, widths: FxHashMap::default() }
    }

    /// The clock of `accepting` minus that of `connecting` when the latter shows `time`, and how far it may be wrong;
    /// `None`: it is not known.
    pub(super) fn difference(&self, connecting: u32, accepting: u32, time: i64) -> Option<(i64, i64)> {
        let known = self.differences.get(&key(connecting, accepting))?;
        if known.trust < TRUSTED {
            return None;
        }
        // The line is over the lower-numbered host's time, which is not far from right by the other's offset.
        let (time, sign) =
            if connecting <= accepting { (time, 1.0) } else { (time - known.offset as i64, -1.0) };
        Some(((sign * known.line(time)) as i64, known.uncertainty as i64 + SLACK))
    }

    /// What is known of the clocks of an edge's hosts; `None`: nothing.
    pub(super) fn verdict(&self, field: &Field, edge: &Edge) -> Option<Verdict> {
        let (one, other) = (field.half(edge.connecting), field.half(edge.accepting));
        let known = self.differences.get(&key(one.host, other.host))?;
        let vote = vote(field, edge);
        let (line, slack) = (known.line(vote.time), SLACK as f64);
        let outside = (vote.low - line).max(line - vote.high) - known.uncertainty - slack;
        let unsure = known.uncertainty.max(slack);
        let (low, high) = (vote.low - slack, vote.high + slack);
        let common = (high.min(line + unsure) - low.max(line - unsure)).max(0.0);
        Some(Verdict {
            trust: known.trust,
            outside: outside.max(0.0),
            density: common / (2.0 * unsure) / (high - low),
            support: known.support,
        })
    }

    /// How wide the window of a true pair usually is that leads to the same name as the edge; `None`: not known.
    pub(super) fn usual_width(&self, field: &Field, edge: &Edge) -> Option<f64> {
        let hosts = hosts(field, edge);
        let of_name = self.widths.get(&(hosts, field.half(edge.accepting).local));
        let of_hosts =
            || self.differences.get(&hosts).filter(|known| known.support > 0).map(|known| known.scale);
        of_name.copied().or_else(of_hosts)
    }

    /// Learns how wide windows are, from those that agree with the differences that are known.
    pub(super) fn learn_widths(&mut self, field: &Field, edges: &[Edge]) {
        // The narrowest of each accepting end.
        let mut narrowest: FxHashMap<((u32, u32), u32), f64> = FxHashMap::default();
        for edge in edges {
            let agrees = |verdict: Verdict| verdict.trust >= TRUSTED && verdict.outside == 0.0;
            if self.verdict(field, edge).is_some_and(agrees) {
                let least = narrowest.entry((hosts(field, edge), edge.accepting)).or_insert(f64::INFINITY);
                *least = least.min(edge.window.width() as f64);
            }
        }
        let mut by_name: FxHashMap<_, Vec<f64>> = FxHashMap::default();
        for ((hosts, accepting), width) in narrowest {
            by_name.entry((hosts, field.half(accepting).local)).or_default().push(width);
        }
        let usual = |(name, mut widths): (_, Vec<f64>)| {
            let enough = widths.len() >= LEAST_WIDTHS;
            Some((name, median(&mut widths).filter(|_| enough)?.max(SLACK as f64)))
        };
        self.widths = by_name.into_iter().filter_map(usual).collect();
    }

    /// Whether the clocks allow that the edge's ends are of one flow, as far as they are known.
    pub(super) fn allow(&self, field: &Field, edge: &Edge) -> bool {
        self.verdict(field, edge).is_none_or(|verdict| verdict.trust < CERTAIN || verdict.outside == 0.0)
    }

    /// Learns the differences that are not known yet from the candidates.
    pub(super) fn vote(&mut self, field: &Field, edges: &[Edge], crowds: &[Crowd]) {
        let mut by_hosts: FxHashMap<(u32, u32), Vec<Vote>> = FxHashMap::default();
        for edge in edges {
            by_hosts.entry(hosts(field, edge)).or_default().push(vote(field, edge));
        }
        let mut left = MOST_OF_CROWDS;
        let mut keys: Vec<(u32, u32)> = by_hosts.keys().copied().collect();
        keys.sort_unstable();
        for hosts in &keys {
            self.learn(field, *hosts, by_hosts.get(hosts).cloned().unwrap_or_default());
        }
        let mut more: FxHashMap<(u32, u32), Vec<Vote>> = FxHashMap::default();
        for crowd in crowds {
            self.try_crowd(field, crowd, &mut left, &mut more);
        }
        let mut keys: Vec<(u32, u32)> = more.keys().copied().collect();
        keys.sort_unstable();
        for hosts in keys {
            let mut votes = more.remove(&hosts).unwrap_or_default();
            votes.extend(by_hosts.get(&hosts).into_iter().flatten());
            self.learn(field, hosts, votes);
        }
        self.spread();
    }

    /// Pairs some of a crowd, of hosts whose clocks are not known, with all that they could go with.
    fn try_crowd(
        &self,
        field: &Field,
        crowd: &Crowd,
        left: &mut usize,
        votes: &mut FxHashMap<(u32, u32), Vec<Vote>>,
    ) {
        let by_host = |places: &[u32], side: Side| {
            let mut lists: FxHashMap<u32, Vec<(i64, u32)>> = FxHashMap::default();
            for place in places {
                let half = field.half(*place);
                lists.entry(half.host).or_default().push((forth(half, side), *place));
            }
            let mut lists: Vec<(u32, Vec<(i64, u32)>)> = lists.into_iter().collect();
            lists.sort_unstable_by_key(|(host, _)| *host);
            lists.iter_mut().for_each(|(_, list)| list.sort_unstable());
            lists
        };
        let (connecting, accepting) =
            (by_host(&crowd.connecting, Side::Connecting), by_host(&crowd.accepting, Side::Accepting));
        for (one, made) in &connecting {
            for (other, accepted) in &accepting {
                if self.differences.get(&key(*one, *other)).is_some_and(|known| known.trust >= TRUSTED) {
                    continue;
                }
                let all = votes.entry(key(*one, *other)).or_default();
                let tried = OF_A_CROWD.min(accepted.len());
                let each = (MOST_OF_A_CROWD / tried).min(made.len());
                if all.len() > 2 * MOST_OF_A_CROWD || tried * each > *left {
                    continue;
                }
                *left -= tried * each;
                // The first of those who connected are sought among the first who were accepted.
                let among = (accepted.len() * each / made.len()).max(tried);
                for step in 0..tried {
                    let Some((_, accepting)) = accepted.get(step * among / tried) else { continue };
                    for (_, connecting) in made.iter().take(each) {
                        if let Some(edge) = field.edge(*connecting, *accepting) {
                            all.push(vote(field, &edge));
                        }
                    }
                }
            }
        }
    }

    /// The difference of two hosts' clocks that most of `votes` agree on.
    fn learn(&mut self, field: &Field, hosts: (u32, u32), mut votes: Vec<Vote>) {
        if let Some(known) = self.differences.get_mut(&hosts).filter(|known| known.trust >= TRUSTED) {
            // The difference is known; what is not is how wide the windows are.
            let agrees = |vote: &&Vote| known.agrees(vote, known.uncertainty + SLACK as f64);
            let mut widths: Vec<f64> = votes.iter().filter(agrees).map(|vote| vote.high - vote.low).collect();
            known.support = widths.len() as u32;
            known.scale = median(&mut widths).unwrap_or(known.scale).max(SLACK as f64);
            return;
        }
        if votes.len() > 2 * MOST_OF_A_CROWD {
            votes.sort_unstable_by(|one, other| other.weight.total_cmp(&one.weight));
            votes.truncate(2 * MOST_OF_A_CROWD);
        }
        // What is rare says more, but much of what is common can say it together.
        let by_rarity = fit(field, &votes);
        votes.iter_mut().for_each(|vote| vote.weight = 1.0);
        let found = [by_rarity, fit(field, &votes)].into_iter().flatten();
        if let Some(found) = found.max_by(|one, other| one.trust.total_cmp(&other.trust)) {
            self.differences.insert(hosts, found);
        }
    }

    /// Where the differences of two clocks to a third are known, so is theirs.
    fn spread(&mut self) {
        let mut near: FxHashMap<u32, Vec<(u32, Difference)>> = FxHashMap::default();
        for ((one, other), known) in &self.differences {
            if one != other && known.trust >= TRUSTED {
                near.entry(*one).or_default().push((*other, *known));
                near.entry(*other).or_default().push((*one, known.reversed()));
            }
        }
        let mut hosts: Vec<u32> = near.keys().copied().collect();
        hosts.sort_unstable();
        near.values_mut().for_each(|list| list.sort_unstable_by_key(|(host, _)| *host));
        for from in &hosts {
            let mut reached: FxHashMap<u32, Difference> = FxHashMap::default();
            let mut queue = std::collections::VecDeque::new();
            for (host, known) in near.get(from).into_iter().flatten() {
                reached.insert(*host, *known);
                queue.push_back(*host);
            }
            while let Some(via) = queue.pop_front() {
                let Some(here) = reached.get(&via).copied() else { continue };
                for (host, known) in near.get(&via).into_iter().flatten() {
                    if host != from && !reached.contains_key(host) {
                        reached.insert(*host, here.and(known));
                        queue.push_back(*host);
                    }
                }
            }
            for (host, known) in reached.into_iter().filter(|(host, _)| host > from) {
                let place = self.differences.entry((*from, host)).or_insert(known);
                if place.trust < TRUSTED {
                    *place = known;
                }
            }
        }
    }
}
