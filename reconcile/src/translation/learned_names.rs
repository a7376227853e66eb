//! Evidence of a candidate's names: the parts that its translation preserves (the client's port and
//! address, the server's name), compared with how often they are equal by chance, and where the
//! same virtual name has led elsewhere. It is learned from the candidates that are clearly ahead of
//! their rivals, without each one's own contribution when it is scored itself.

use std::net::IpAddr;

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};

use super::candidates::{CandidateEdge, HalfFlowField};
use super::half_flow_table::HalfFlowRow;
use crate::tuning::{CLIENT_PORTS, NEW_TRANSLATION_MATCHES, PRIOR_MATCHES, UNTRANSLATED_FLOWS};

/// Parts that a candidate's names share: the client's port, its address, and the server's name.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreservedParts(pub(super) [bool; 3]);

/// Translation of a candidate: numbers of the virtual name, the real one, and both with the address
/// that the server saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct TranslatedName {
    pub(super) virtual_name: u32,
    pub(super) real: u32,
    pub(super) both: u32,
}

/// The parts of names that the connecting end `one` and the accepting end `other` share.
pub(super) fn preserved_parts(one: &HalfFlowRow, other: &HalfFlowRow) -> PreservedParts {
    PreservedParts([
        one.local.port() == other.peer.port(),
        one.local.ip() == other.peer.ip() && !one.local.ip().is_loopback(),
        one.peer == other.local && !one.peer.ip().is_loopback(),
    ])
}

/// Returns the translations of all candidates, and their number.
pub(super) fn find_translated_names(
    field: &HalfFlowField,
    edges: &SpillableVec<CandidateEdge>,
) -> Result<(SpillableVec<TranslatedName>, usize), PathError> {
    let pool = &field.halves.pool;
    let mut names = SpillableVec::new(pool);
    let mut seen_as: SpillableVec<([u32; 2], Option<IpAddr>, u32)> = SpillableVec::new(pool);
    for (place, edge) in (0u32..).zip(edges.iter()) {
        let (one, other) =
            (field.halves.half_at(edge.connecting), field.halves.half_at(edge.accepting));
        let (virtual_name, real) = (one.peer_name, other.local_name);
        // A preserved address is the client's, and there are many.
        let seen = Some(other.peer.ip()).filter(|ip| *ip != one.local.ip());
        names.push(TranslatedName { virtual_name, real, both: 0 })?;
        seen_as.push(([virtual_name, real], seen, place))?;
    }
    seen_as.sort_by_key(|row| *row)?;
    let mut count = 0;
    let mut before = None;
    for (name_pair, seen, place) in seen_as.iter() {
        if before.replace((*name_pair, *seen)) != Some((*name_pair, *seen)) {
            count += 1;
        }
        names[*place as usize].both = count as u32 - 1;
    }
    Ok((names, count))
}

/// Probabilities that parts of names are equal by chance.
#[derive(Debug)]
pub(super) struct ChanceMatches {
    /// Number of accepting ends with a peer of each address, sorted by address.
    addresses: SpillableVec<(IpAddr, u32)>,
    /// Numbers of connecting ends with a peer of each name, and of accepting ends with each name.
    pub(super) totals: [SpillableVec<f64>; 2],
    /// Number of accepting ends, at least 1.
    all: f64,
}

impl ChanceMatches {
    /// Counts the names and addresses of all half flows.
    pub(super) fn from_field(field: &HalfFlowField) -> Result<ChanceMatches, PathError> {
        let (halves, pool) = (field.halves, &field.halves.pool);
        let none = || SpillableVec::filled(pool, halves.names, 0.0);
        let mut totals = [none()?, none()?];
        for place in field.connecting.iter() {
            totals[0][halves.half_at(*place).peer_name as usize] += 1.0;
        }
        let mut all: SpillableVec<IpAddr> = SpillableVec::new(pool);
        for place in field.accepting.iter() {
            let half = halves.half_at(*place);
            totals[1][half.local_name as usize] += 1.0;
            all.push(half.peer.ip())?;
        }
        all.sort_by_key(|address| *address)?;
        let mut addresses: SpillableVec<(IpAddr, u32)> = SpillableVec::new(pool);
        for address in all.iter() {
            match addresses.len().checked_sub(1).and_then(|last| addresses.get_mut(last)) {
                Some((last, count)) if last == address => *count += 1,
                _ => addresses.push((*address, 1))?,
            }
        }
        Ok(ChanceMatches { addresses, totals, all: field.accepting.len().max(1) as f64 })
    }

    /// Probabilities of an equal port, an equal client's address, an equal server's name.
    pub(super) fn chances_of_edge(&self, one: &HalfFlowRow) -> [f64; 3] {
        let address = one.local.ip();
        let at = self.addresses.partition_point(0..self.addresses.len(), |row| row.0 < address);
        let of_address =
            self.addresses.get(at).filter(|row| row.0 == address).map_or(0, |row| row.1);
        let of_name = self.totals[1].get(one.peer_name as usize).copied().unwrap_or(0.0);
        let share = |count: f64| (count / self.all).clamp(1e-3, 0.9);
        [1.0 / CLIENT_PORTS, share(f64::from(of_address)), share(of_name)]
    }
}

/// Learned facts about the translations: expected numbers of matches.
#[derive(Debug)]
pub(super) struct LearnedTranslations {
    /// Flows by virtual name and by real name.
    totals: [SpillableVec<f64>; 2],
    /// Matches by virtual name and by real name.
    matches: [SpillableVec<f64>; 2],
    /// Matches by [`TranslatedName::both`].
    pub(super) both: SpillableVec<f64>,
    /// Number of matches of a virtual name in which each part was preserved.
    preserved: SpillableVec<[f64; 3]>,
    iterations: u32,
}

impl LearnedTranslations {
    /// Creates an instance without matches, for this number of `names`.
    pub(super) fn new(
        pool: &MemoryPool,
        names: usize,
        totals: [SpillableVec<f64>; 2],
    ) -> Result<LearnedTranslations, PathError> {
        let none = |len| SpillableVec::filled(pool, len, 0.0);
        let matches = [none(totals[0].len())?, none(totals[1].len())?];
        let (both, preserved) =
            (none(names)?, SpillableVec::filled(pool, totals[0].len(), [0.0; 3])?);
        Ok(LearnedTranslations { matches, both, preserved, totals, iterations: 0 })
    }

    /// Evidence of the candidate's names, in nats, without its own contribution `itself` (the
    /// weight with which it counts as a match).
    pub(super) fn name_log_odds(
        &self,
        name: TranslatedName,
        preserved: PreservedParts,
        chance: [f64; 3],
        itself: f64,
    ) -> f64 {
        let (one, other) = (name.virtual_name as usize, name.real as usize);
        let others = |sum: f64| (sum - itself).max(0.0);
        let matches = [others(self.matches[0][one]), others(self.matches[1][other])];
        let both_matches = others(self.both[name.both as usize]);
        // The share of this translation in the flows to the virtual name, or in those that came to
        // the real one.
        let share = |side: usize, at: usize| {
            // The more matches there are, the weaker is the penalty for this one.
            let penalty = PRIOR_MATCHES + UNTRANSLATED_FLOWS / (1.0 + matches[side]);
            let matched =
                (matches[side] + PRIOR_MATCHES) / (self.totals[side][at].max(1.0) + penalty);
            if self.iterations == 0 {
                matched
            } else {
                matched * (both_matches + NEW_TRANSLATION_MATCHES) / (matches[side] + 1.0)
            }
        };
        let translated = share(0, one).max(share(1, other)).min(0.999);
        let mut log_odds = (translated / (1.0 - translated)).ln();
        for part in 0..3 {
            // The prior: each part is preserved as often as not, the server's name less often.
            let before = [1.0, 0.6, 0.4][part];
            let mine = if preserved.0[part] { itself } else { 0.0 };
            let rate = ((self.preserved[one][part] - mine).max(0.0) + before / 2.0)
                / (matches[0] + before + 0.5);
            let chance = chance[part];
            log_odds += if preserved.0[part] {
                (rate / chance).ln()
            } else {
                ((1.0 - rate) / (1.0 - chance)).ln()
            };
        }
        log_odds
    }

    /// Learns the translations from all candidates: from their names, their preserved parts, and
    /// their weights as matches.
    pub(super) fn learn_from(
        &mut self,
        candidates: impl Iterator<Item = (TranslatedName, PreservedParts, f64)>,
    ) {
        for sums in self.matches.iter_mut().chain([&mut self.both]) {
            sums.for_each_mut(0..sums.len(), |sum| *sum = 0.0);
        }
        self.preserved.for_each_mut(0..self.preserved.len(), |sums| *sums = [0.0; 3]);
        for (name, preserved, count) in candidates {
            self.matches[0][name.virtual_name as usize] += count;
            self.matches[1][name.real as usize] += count;
            self.both[name.both as usize] += count;
            for part in 0..3 {
                self.preserved[name.virtual_name as usize][part] +=
                    if preserved.0[part] { count } else { 0.0 };
            }
        }
        self.iterations += 1;
    }
}
