//! Calls of a call site: whether its executions call other operations than before.

use request_flow::NameId;
use rustc_hash::FxHashMap;

use super::evidence::CallChange;
use crate::period_windows::{degrees_of_counts, effect_of_counts};
use crate::sites::{CallPattern, CallSite, ExecutionWeights};
use crate::statistics::{RatePrior, rates_differ, with_estimated_variance};
use crate::tuning::{MAX_TESTED_PATTERNS, WINDOWS};

/// How the calls of a site changed.
#[derive(Clone, Debug)]
pub(super) struct PatternChange {
    /// For each period, the share of the executions with the pattern that changed most, or with any
    /// pattern that is missing in the other period.
    pub(super) shares: [f64; 2],
    /// Probability of a change of at least this size, if nothing changed.
    pub(super) p_value: f64,
    /// Weight of the change per execution.
    pub(super) weight: f64,
    pub(super) calls: Vec<CallChange>,
}

/// Number of executions in a period with a pattern that is missing in one half of it, and number of
/// all its executions.
pub(super) fn novel_halves(site: &CallSite, side: usize) -> [f64; 2] {
    let half = |counts: &ExecutionWeights, second: bool| -> f64 {
        let (first_half, second_half) = counts.0[side].split_at(WINDOWS / 2);
        if second { second_half.iter().sum() } else { first_half.iter().sum() }
    };
    let novel: f64 = site
        .patterns
        .values()
        .map(|counts| [half(counts, false), half(counts, true)])
        .filter(|halves| halves.contains(&0.0))
        .map(|halves| halves.iter().sum::<f64>())
        .sum();
    [novel, site.executions.period_sum(side)]
}

/// The change of the calls of a site; `None` if all its executions make the same calls, or a period
/// has no executions. `novelty` is the prior of how often a new pattern occurs by chance.
pub(super) fn pattern_change(site: &CallSite, novelty: &RatePrior) -> Option<PatternChange> {
    let all = [0, 1].map(|side| site.executions.period_sum(side));
    let is_one = site.patterns.len() < 2;
    if is_one || site.has_more_patterns || all.iter().any(|all| *all <= 0.0) {
        return None;
    }
    let mut patterns: Vec<(&CallPattern, &ExecutionWeights)> = site.patterns.iter().collect();
    patterns.sort_unstable_by(|one, other| one.0.cmp(other.0));
    let degrees = degrees_of_counts(&site.executions.0);
    let (mut least, mut tests) = (1.0_f64, 0.0);
    let mut best = ([0.0; 2], 0.0);
    let mut novel = [ExecutionWeights::default(); 2];
    for (_, counts) in &patterns {
        for side in (0..2).filter(|side| counts.period_sum(1 - side) <= 0.0) {
            let sums = novel[side].0[side].iter_mut().zip(&counts.0[side]);
            sums.for_each(|(sum, count)| *sum += count);
        }
    }
    for counts in &tested_patterns(&patterns, all) {
        let of = [0, 1].map(|side| counts.period_sum(side));
        let effect = bunching_effect(counts, site);
        let p_value = rates_differ(of, all, effect);
        least = least.min(with_estimated_variance(p_value, degrees));
        tests += 1.0;
        keep_heaviest(of, all, &mut best);
    }
    // Patterns in one period only are compared with how often they occur between halves of a
    // period.
    for side in 0..2 {
        let of = novel[side].period_sum(side);
        if of <= 0.0 {
            continue;
        }
        let effect = bunching_effect(&novel[side], site);
        let known = novel_halves(site, 1 - side).map(|count| count / effect);
        let seen = [of / effect, all[side] / effect];
        least = least.min(novelty.p_value_of_more(known, seen));
        tests += 1.0;
        let mut counts = [0.0; 2];
        counts[side] = of;
        keep_heaviest(counts, all, &mut best);
    }
    let (shares, weight) = best;
    Some(PatternChange {
        shares,
        p_value: (least * tests).min(1.0),
        weight,
        calls: call_changes(&patterns, all),
    })
}

/// The counts of the most frequent patterns, and of all others together. Each period counts
/// equally, however many executions it has.
fn tested_patterns(
    patterns: &[(&CallPattern, &ExecutionWeights)],
    all: [f64; 2],
) -> Vec<ExecutionWeights> {
    let share =
        |counts: &ExecutionWeights| counts.period_sum(0) / all[0] + counts.period_sum(1) / all[1];
    // A stable sort: equally frequent patterns stay in the order of their calls.
    let mut counts: Vec<ExecutionWeights> = patterns.iter().map(|(_, counts)| **counts).collect();
    counts.sort_by(|one, other| share(other).total_cmp(&share(one)));
    let rest = counts.split_off(counts.len().min(MAX_TESTED_PATTERNS));
    let mut others = ExecutionWeights::default();
    for of in &rest {
        for (sums, counts) in others.0.iter_mut().zip(&of.0) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    counts.extend((!rest.is_empty()).then_some(others));
    counts
}

/// The design effect of executions that occur in bursts: the larger one of both periods.
fn bunching_effect(counts: &ExecutionWeights, site: &CallSite) -> f64 {
    let of = [0, 1].map(|side| effect_of_counts(&counts.0[side], &site.executions.0[side]));
    of[0].max(of[1])
}

/// Keeps the heaviest change: the change of a share times the logarithm of its odds ratio.
fn keep_heaviest(counts: [f64; 2], all: [f64; 2], best: &mut ([f64; 2], f64)) {
    let shares = [0, 1].map(|side| counts[side] / all[side]);
    let weight = (shares[1] - shares[0]).abs() * ln_odds_ratio(counts, all).abs();
    if weight > best.1 {
        *best = (shares, weight);
    }
}

/// Logarithm of the odds ratio. Half an execution is added to each number, so that no ratio is
/// infinite (Haldane 1956, Anscombe 1956).
pub(super) fn ln_odds_ratio(counts: [f64; 2], all: [f64; 2]) -> f64 {
    let of =
        |side: usize| ((counts[side] + 0.5) / ((all[side] - counts[side]).max(0.0) + 0.5)).ln();
    of(1) - of(0)
}

/// The operations that are called more or less often, the greatest change first.
fn call_changes(patterns: &[(&CallPattern, &ExecutionWeights)], all: [f64; 2]) -> Vec<CallChange> {
    let mut calls: FxHashMap<[NameId; 2], [f64; 2]> = FxHashMap::default();
    for (pattern, counts) in patterns {
        for call in &pattern.0 {
            let sums = calls.entry([call.node, call.operation]).or_default();
            for side in 0..2 {
                sums[side] += counts.period_sum(side) / all[side] * call.typical_count();
            }
        }
    }
    let mut changes: Vec<CallChange> = calls
        .into_iter()
        .map(|([node, operation], calls)| CallChange { node, operation, calls })
        .filter(|change| (change.calls[1] - change.calls[0]).abs() >= 0.005)
        .collect();
    let size = |change: &CallChange| (change.calls[1] - change.calls[0]).abs();
    changes.sort_unstable_by(|a, b| {
        size(b).total_cmp(&size(a)).then((a.node, a.operation).cmp(&(b.node, b.operation)))
    });
    changes
}
