//! Confidence of pairs. Each candidate has odds against chance: the features that its two ends
//! share, weighted by how common they are; whether its times fit the clocks; and what the
//! translation that it would belong to has preserved and has led to elsewhere. The last two are
//! learned from the candidates themselves, in a few rounds: frequent matches make a translation
//! probable, and a probable translation its matches.

use std::fmt;

use message_trace::PathError;
use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;

use super::beliefs::CandidateRivals;
use super::candidates::{CandidateEdge, HalfFlowField};
use super::half_flow_table::HalfFlowRow;
use super::learned_names::{
    ChanceMatches, LearnedTranslations, PreservedParts, TranslatedName, find_translated_names,
    preserved_parts,
};
use super::median::OrderedFloat;
use super::offsets::{ClockDifferences, ClockVerdict};
use crate::tuning::{LEARNING_ROUNDS, MIN_CHANCE, TIME_SLACK_NS};

/// Evidence for a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairEvidence {
    /// Number of the first turns with the same size at both ends.
    pub turns: u8,
    /// Whether the bytes of both directions are equal.
    pub totals: bool,
    /// Number of directions with equal checksums of the beginning.
    pub fingerprints: u8,
    /// Whether the client's port is the same at both ends.
    pub port: bool,
    /// Whether the client's address is the same.
    pub client: bool,
    /// Whether the server's name is the same.
    pub server: bool,
    /// Number of pairs of these two hosts that agree on the difference of their clocks.
    pub agreeing: u32,
    /// Expected number of pairs with the same virtual and the same real name.
    pub alike: f32,
}

impl fmt::Display for PairEvidence {
    fn fmt(&self, text: &mut fmt::Formatter) -> fmt::Result {
        let mut reasons = Vec::new();
        if self.totals {
            reasons.push("equal bytes".to_owned());
        }
        if self.turns > 0 {
            reasons.push(format!("{} equal turns", self.turns));
        }
        if self.fingerprints > 0 {
            reasons.push("equal checksums".to_owned());
        }
        if self.port {
            reasons.push("the client's port".to_owned());
        }
        if self.client {
            reasons.push("the client's address".to_owned());
        }
        if self.server {
            reasons.push("the server's name".to_owned());
        }
        if self.agreeing > 1 {
            reasons.push(format!("times that agree with {} pairs", self.agreeing));
        }
        if self.alike >= 2.0 {
            reasons.push(format!("{:.0} pairs of the same names", self.alike));
        }
        text.write_str(&reasons.join(", "))
    }
}

/// Score of a candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct CandidateScore {
    /// The candidate's log-odds against chance.
    pub(super) odds: f64,
    /// The candidate's probability.
    pub(super) belief: f64,
    pub(super) evidence: PairEvidence,
}

/// Facts about a candidate that learning does not change.
#[derive(Clone, Copy, Debug)]
struct CandidateFacts {
    translated_name: TranslatedName,
    preserved: PreservedParts,
    /// Evidence of its shared features and its times, in nats.
    likely: f64,
    /// Probabilities that its names share the parts that they share by chance.
    chance: [f64; 3],
    agreeing: u32,
}

/// Scores all candidates.
pub(super) fn score_candidates(
    field: &HalfFlowField,
    edges: &SpillableVec<CandidateEdge>,
    clocks: &ClockDifferences,
) -> Result<SpillableVec<CandidateScore>, PathError> {
    let pool = &field.halves.pool;
    let (spans, durations) = (accepting_spans(field), usual_durations(field)?);
    let chances = ChanceMatches::from_field(field)?;
    let (names, name_count) = find_translated_names(field, edges)?;
    let candidate = |(edge, name): (&CandidateEdge, &TranslatedName)| {
        let (one, other) =
            (field.halves.half_at(edge.connecting), field.halves.half_at(edge.accepting));
        let verdict = clocks.verdict_on_edge(field, edge);
        let likely = independent_log_odds(field, edge, clocks, verdict, &spans, &durations);
        let agreeing =
            verdict.filter(|verdict| verdict.trust > 0.5).map_or(0, |verdict| verdict.support);
        CandidateFacts {
            translated_name: *name,
            preserved: preserved_parts(one, other),
            likely,
            chance: chances.chances_of_edge(one),
            agreeing,
        }
    };
    let candidates = SpillableVec::collect(pool, edges.iter().zip(names.iter()).map(candidate))?;
    drop((names, durations));
    let ends =
        SpillableVec::collect(pool, edges.iter().map(|edge| [edge.connecting, edge.accepting]))?;
    let mut rivals = CandidateRivals::new(ends, field.halves.len());
    let mut learned = LearnedTranslations::new(pool, name_count, chances.totals)?;
    let mut odds = SpillableVec::filled(pool, edges.len(), 0.0)?;
    let (mut beliefs, mut counts) =
        (SpillableVec::new(pool), SpillableVec::filled(pool, edges.len(), 0.0)?);
    for _ in 0..LEARNING_ROUNDS {
        let mut of_candidates = candidates.iter().zip(counts.iter()).map(|(candidate, count)| {
            let CandidateFacts { translated_name: name, preserved, likely, chance, .. } =
                *candidate;
            likely + learned.name_log_odds(name, preserved, chance, *count)
        });
        odds.for_each_mut(0..edges.len(), |odds| *odds = of_candidates.next().unwrap_or(*odds));
        drop(of_candidates);
        beliefs = rivals.estimate_beliefs(&odds)?;
        // A candidate that is as probable as a rival is no evidence for a translation.
        counts = rivals.lead_over_rivals(&beliefs)?;
        let counted = candidates.iter().zip(counts.iter());
        learned
            .learn_from(counted.map(|(candidate, count)| {
                (candidate.translated_name, candidate.preserved, *count)
            }));
    }
    let all = edges.iter().zip(candidates.iter()).zip(odds.iter().zip(beliefs.iter()));
    let scores = all.map(|((edge, candidate), (odds, belief))| CandidateScore {
        odds: *odds,
        belief: *belief,
        evidence: PairEvidence {
            turns: edge.likeness.turns,
            totals: edge.likeness.totals,
            fingerprints: edge.likeness.fingerprints,
            port: candidate.preserved.0[0],
            client: candidate.preserved.0[1],
            server: candidate.preserved.0[2],
            agreeing: candidate.agreeing,
            alike: learned.both[candidate.translated_name.both as usize] as f32,
        },
    });
    SpillableVec::collect(pool, scores)
}

/// Evidence of the features that the two ends share, given how common they are, and of the times;
/// in nats.
fn independent_log_odds(
    field: &HalfFlowField,
    edge: &CandidateEdge,
    clocks: &ClockDifferences,
    verdict: Option<ClockVerdict>,
    spans: &FxHashMap<u32, f64>,
    durations: &SpillableVec<f64>,
) -> f64 {
    let alike = field.count_alike(edge).map(f64::from);
    let rare = field.accepting.len().max(field.connecting.len()) as f64
        * (-edge.likeness.information).exp();
    let chance = rare.max(alike[0]).max(alike[1]).max(MIN_CHANCE);
    let times = verdict.map_or(0.0, |verdict| {
        let span = spans.get(&field.halves.half_at(edge.accepting).host).copied().unwrap_or(1e9);
        let one = field.halves.half_at(edge.connecting);
        let long =
            durations.get(one.peer_name as usize).map_or(1.0, |usual| flow_duration(one) / usual);
        let width = edge.window.width().max(TIME_SLACK_NS) as f64;
        let wide = clocks.usual_width(field, edge).map_or(1.0, |usual| width / usual);
        let fits = span * verdict.density * likeness_of_width(wide, long);
        (verdict.trust * fits + (1.0 - verdict.trust) + 1e-12).ln()
    });
    edge.pauses + times - chance.ln()
}

/// Likelihood ratio of a true pair over a false one for a window that is `wide` times as wide as
/// usual. A true window is never much narrower than usual, as no byte travels faster than that. It
/// is much wider now and then; if the connection took `long` times as long as usual that is
/// expected, and would be so with any other as well.
fn likeness_of_width(wide: f64, long: f64) -> f64 {
    let usual = |times: f64| times.powi(3) / (1.0 + times * times).powi(2);
    let most = usual(1.0);
    if wide <= 1.0 { usual(wide) } else { (most * usual(wide) / usual(long.max(1.0))).min(most) }
}

/// Duration of a half flow, in nanoseconds.
fn flow_duration(half: &HalfFlowRow) -> f64 {
    let last = half.sent.last.max(half.received.last);
    last.saturating_sub(half.made).max(1) as f64
}

/// Usual duration of the connections to each name, by its number.
fn usual_durations(field: &HalfFlowField) -> Result<SpillableVec<f64>, PathError> {
    let pool = &field.halves.pool;
    let lasted = field.connecting.iter().map(|place| {
        let half = field.halves.half_at(*place);
        (half.peer_name, OrderedFloat::from_f64(flow_duration(half)))
    });
    let mut all = SpillableVec::collect(pool, lasted)?;
    all.sort_by_key(|row| *row)?;
    let mut usual = SpillableVec::filled(pool, field.halves.names, 1.0)?;
    let mut start = 0;
    while let Some((name, _)) = all.get(start).copied() {
        let end = all.end_where(start, |row| row.0 == name);
        usual[name as usize] = all[start + (end - start) / 2].1.to_f64();
        start = end;
    }
    Ok(usual)
}

/// Period in which each host was seen to accept, in nanoseconds, at least a second.
fn accepting_spans(field: &HalfFlowField) -> FxHashMap<u32, f64> {
    let mut ranges: FxHashMap<u32, (i64, i64)> = FxHashMap::default();
    for place in field.accepting.iter() {
        let half = field.halves.half_at(*place);
        let range = ranges.entry(half.host).or_insert((half.made, half.made));
        *range = (range.0.min(half.made), range.1.max(half.made));
    }
    ranges
        .into_iter()
        .map(|(host, (first, last))| (host, ((last - first) as f64).max(1e9)))
        .collect()
}
