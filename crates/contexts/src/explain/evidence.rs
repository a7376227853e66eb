//! Evidence that contexts make an operation slow, and the choice of the kind of context.

use super::sentence::reason_sentence;
use super::spent::compare_spent;
use super::split::{SlowCandidate, find_slow};
use crate::equivalence::ContextLevel;
use crate::result::{ContextProfile, OperationProfile, PerLevel, ReasonMeasure, SlowReason};
use crate::statistics::{TimeMoments, TimeSample, sample_quartiles};
use crate::tuning::{
    MIN_DEVIATION_EXPLAINED, MIN_RANKS_EXPLAINED, MIN_SHARE_OF_BEST, MIN_SLOW_CALLS, MIN_SLOWER,
    MIN_SURENESS,
};

/// Input for explaining an operation.
pub(crate) struct OperationEvidence<'a> {
    /// Profile of the operation. The ids of the contexts in it are their numbers within their kind.
    pub(crate) operation: &'a OperationProfile,
    /// Number of contexts of each kind.
    pub(crate) contexts: PerLevel<usize>,
    /// All response times, sorted.
    pub(crate) sorted: &'a [TimeSample],
    /// Returns the context of a response time, given the kind of context and the index of the
    /// response time.
    pub(crate) context: &'a dyn Fn(ContextLevel, usize) -> usize,
}

/// The reason why the operation is sometimes slow; `None` if no context explains it.
pub(crate) fn find_reason(evidence: &OperationEvidence<'_>) -> Option<SlowReason> {
    let by = |measure| {
        explaining_levels(evidence.operation, measure)
            .into_iter()
            .find_map(|level| split_contexts(evidence, level, measure))
    };
    by(ReasonMeasure::Deviation).or_else(|| by(ReasonMeasure::Ranks))
}

/// The kinds of context that explain enough, beginning with the coarsest that explains nearly as
/// much as the best one.
fn explaining_levels(operation: &OperationProfile, measure: ReasonMeasure) -> Vec<ContextLevel> {
    let explained = |level: ContextLevel| {
        let decrease = operation.decrease.get(level);
        let (share, least) = match measure {
            ReasonMeasure::Deviation => (decrease.beyond_chance, MIN_DEVIATION_EXPLAINED),
            ReasonMeasure::Ranks => (decrease.rank_share, MIN_RANKS_EXPLAINED),
        };
        if decrease.sureness >= MIN_SURENESS && share >= least { share } else { 0.0 }
    };
    let best = ContextLevel::CONTEXTS.map(explained).into_iter().fold(0.0, f64::max);
    let enough = |level: &ContextLevel| best > 0.0 && explained(*level) >= MIN_SHARE_OF_BEST * best;
    ContextLevel::CONTEXTS.into_iter().filter(enough).collect()
}

/// The reason by splitting the contexts of a kind into slow ones and the rest; `None` if the slow
/// contexts are not clearly slower.
fn split_contexts(
    evidence: &OperationEvidence<'_>,
    level: ContextLevel,
    measure: ReasonMeasure,
) -> Option<SlowReason> {
    let operation = evidence.operation;
    let of_level: Vec<&ContextProfile> =
        operation.all_contexts().filter(|context| context.level == level).collect();
    let candidates: Vec<SlowCandidate> = of_level
        .iter()
        .filter_map(|context| {
            let times = context.summary.times.as_ref()?;
            let value = match measure {
                ReasonMeasure::Deviation => times.mean,
                ReasonMeasure::Ranks => times.median,
            };
            let calls = times.weight;
            (calls >= MIN_SLOW_CALLS).then_some(SlowCandidate { context: context.id, value, calls })
        })
        .collect();
    let slow = find_slow(&candidates)?;
    let mut is_slow = vec![false; *evidence.contexts.get(level)];
    for context in &slow {
        if let Some(is_slow) = is_slow.get_mut(*context as usize) {
            *is_slow = true;
        }
    }
    let mut parts = [(TimeMoments::default(), Vec::new()), (TimeMoments::default(), Vec::new())];
    for (place, sample) in evidence.sorted.iter().enumerate() {
        let context = (evidence.context)(level, place);
        let part = usize::from(!is_slow.get(context).copied().unwrap_or(false));
        if let Some((moments, samples)) = parts.get_mut(part) {
            moments.add(sample.time as f64, f64::from(sample.weight));
            samples.push(*sample);
        }
    }
    let [(slow_moments, slow_samples), (rest_moments, rest_samples)] = parts;
    let median = |samples: &[TimeSample]| sample_quartiles(samples).map(|[_, median, _]| median);
    let (slow_median, rest_median) = (median(&slow_samples)?, median(&rest_samples)?);
    let is_slower = match measure {
        ReasonMeasure::Deviation => slow_moments.mean >= MIN_SLOWER * rest_moments.mean,
        ReasonMeasure::Ranks => slow_median >= MIN_SLOWER * rest_median,
    };
    let mut reason = SlowReason {
        level,
        measure,
        spent: compare_spent(&of_level, &slow),
        slow,
        contexts: *evidence.contexts.get(level) as u64,
        slow_calls: slow_moments.weight,
        calls: slow_moments.weight + rest_moments.weight,
        slow_mean: slow_moments.mean,
        slow_median,
        rest_mean: rest_moments.mean,
        rest_median,
        sentence: String::new(),
    };
    reason.sentence = reason_sentence(operation, &reason, &of_level);
    is_slower.then_some(reason)
}
