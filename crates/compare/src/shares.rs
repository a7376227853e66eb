//! Shares: the change of a mean or a quantile, decomposed into parts that add up to it (beyond
//! Spectroscope, 4.2.3).
//!
//! With P the share of a kind among all requests, p that of a category within its kind and m its
//! mean, the mean of a period is the sum of P p m. The change of a product is exactly (change of
//! one factor) × (midpoint of the other) + (midpoint of the one) × (change of the other), so
//!
//! ```text
//! change = Σ P̄ p̄ Δm          hops that take another time
//!        + Σ P̄ Δp (m̄ − M̄)    other paths within a kind, M̄ being the middle mean of the kind
//!        + Σ ΔP (M̄ − all)     another mix of kinds
//! ```
//!
//! A category that is new or disappeared has only one mean, and so no Δm. A quantile moves from
//! `low` to `high` as requests pass from below to above: the mean of the response times, each
//! clamped to `low..=high`, changes by the same parts, and each part of the quantile's change is
//! proportional to that.

use crate::analysis::CategoryStats;
use crate::request_kinds::RequestKind;

/// The parts of a change, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeShares {
    /// The whole change, in nanoseconds.
    pub total: f64,
    /// For each category, the part of the change that is due to its changed response times.
    pub slower: Vec<f64>,
    /// For each category, the part of its changed share of its kind.
    pub paths: Vec<f64>,
    /// For each kind, the part of its changed share of all requests.
    pub mix: Vec<f64>,
}

/// The parts of the change of the mean.
pub fn shares_of_mean(categories: &[CategoryStats], kinds: &[RequestKind]) -> ChangeShares {
    let mean = |category: &CategoryStats, side: usize| category.response[side].moments.mean;
    decompose_change(categories, kinds, &mean)
}

/// The parts of the change of a quantile from `values[0]` to `values[1]`.
pub fn shares_of_quantile(
    categories: &[CategoryStats],
    kinds: &[RequestKind],
    values: [f64; 2],
) -> ChangeShares {
    let (low, high) = (values[0].min(values[1]), values[0].max(values[1]));
    let clamped =
        |category: &CategoryStats, side: usize| category.response[side].clamped_mean(low, high);
    let mut shares = decompose_change(categories, kinds, &clamped);
    let total = values[1] - values[0];
    let factor = if shares.total == 0.0 { 0.0 } else { total / shares.total };
    for list in [&mut shares.slower, &mut shares.paths, &mut shares.mix] {
        list.iter_mut().for_each(|share| *share *= factor);
    }
    shares.total = total;
    shares
}

fn decompose_change(
    categories: &[CategoryStats],
    kinds: &[RequestKind],
    mean: &dyn Fn(&CategoryStats, usize) -> f64,
) -> ChangeShares {
    let mut shares = ChangeShares {
        total: 0.0,
        slower: vec![0.0; categories.len()],
        paths: vec![0.0; categories.len()],
        mix: vec![0.0; kinds.len()],
    };
    // Only requests with a response time take part in the decomposition.
    let count = |category: &CategoryStats, side: usize| category.response[side].moments.weight;
    let of_kind = |kind: &RequestKind, side: usize| -> f64 {
        kind.categories.iter().map(|category| count(&categories[*category], side)).sum()
    };
    let all = [0, 1].map(|side| kinds.iter().map(|kind| of_kind(kind, side)).sum::<f64>());
    if all[0] <= 0.0 || all[1] <= 0.0 {
        return shares;
    }
    let mut middles = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let counts = [of_kind(kind, 0), of_kind(kind, 1)];
        let of_all = [counts[0] / all[0], counts[1] / all[1]];
        let middle_of_all = f64::midpoint(of_all[0], of_all[1]);
        // The mean of the kind in each period; a missing one is that of the other period.
        let means = [0, 1].map(|side| {
            let sum = kind.categories.iter().map(|category| {
                let category = &categories[*category];
                count(category, side) * mean(category, side)
            });
            (counts[side] > 0.0).then(|| sum.sum::<f64>() / counts[side])
        });
        let Some(means) = in_both(means) else {
            middles.push((of_all, 0.0));
            continue;
        };
        let middle_mean = f64::midpoint(means[0], means[1]);
        middles.push((of_all, middle_mean));
        for number in &kind.categories {
            let category = &categories[*number];
            let of_category = [count(category, 0), count(category, 1)];
            let each = [0, 1].map(|side| (of_category[side] > 0.0).then(|| mean(category, side)));
            let Some(each) = in_both(each) else { continue };
            if counts[0] <= 0.0 || counts[1] <= 0.0 {
                continue;
            }
            let within = [of_category[0] / counts[0], of_category[1] / counts[1]];
            let middle = f64::midpoint(within[0], within[1]);
            shares.slower[*number] = middle_of_all * middle * (each[1] - each[0]);
            shares.paths[*number] = middle_of_all
                * (within[1] - within[0])
                * (f64::midpoint(each[0], each[1]) - middle_mean);
        }
        shares.total += of_all[1] * means[1] - of_all[0] * means[0];
    }
    let middle_of = |side: usize| -> f64 { middles.iter().map(|(of, mean)| of[side] * mean).sum() };
    let middle = f64::midpoint(middle_of(0), middle_of(1));
    for (share, (of_all, mean)) in shares.mix.iter_mut().zip(middles) {
        *share = (of_all[1] - of_all[0]) * (mean - middle);
    }
    shares
}

/// Both values, with a missing one replaced by the other; `None` if both are missing.
fn in_both(values: [Option<f64>; 2]) -> Option<[f64; 2]> {
    match values {
        [Some(one), Some(other)] => Some([one, other]),
        [Some(one), None] | [None, Some(one)] => Some([one; 2]),
        [None, None] => None,
    }
}
