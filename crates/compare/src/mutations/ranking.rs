//! Ranking: mutations by their contribution to the change (Spectroscope, 4.2.3). A category that
//! changed in both response time and frequency counts twice, as two virtual categories.

use super::originators::{Originator, find_originators};
use super::response_time::{HopChange, TimeChange};
use super::structural::RateChange;
use crate::analysis::CategoryStats;
use crate::options::Options;
use crate::request_kinds::RequestKind;
use crate::statistics::WeightedMoments;

/// What changed in a category.
#[derive(Clone, Debug, PartialEq)]
pub enum MutationKind {
    /// The response times of the category change.
    ResponseTime {
        /// The hops that cause the change, in descending order of change.
        hops: Vec<HopChange>,
    },
    /// The category has more of the requests of its kind.
    Structural {
        /// Possible former categories of these requests, the most similar first.
        originators: Vec<Originator>,
        /// Shares of the kind's requests in both periods, from 0 to 1.
        shares: [f64; 2],
    },
}

/// A category that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// Index of the category.
    pub category: usize,
    /// What changed in the category.
    pub kind: MutationKind,
    /// Contribution to the change of the sum of all response times, in nanoseconds. The first
    /// period is scaled to the number of requests of the second.
    pub contribution: f64,
    /// Probability of samples that differ at least this much, if nothing changed, adjusted for all
    /// tests.
    pub adjusted: f64,
}

/// All mutations, in descending order of contribution.
pub fn rank_mutations(
    categories: &[CategoryStats],
    kinds: &[RequestKind],
    times: &[TimeChange],
    rates: &[RateChange],
    options: &Options,
) -> Vec<Mutation> {
    let mean = |category: usize, side: usize| categories[category].response[side].moments.mean;
    // Counts of the first period, scaled to the number of requests of the second.
    let all = [0, 1].map(|side| kinds.iter().map(|kind| kind.counts[side]).sum::<f64>());
    let scale = if all[0] > 0.0 { all[1] / all[0] } else { 1.0 };
    let mut found: Vec<Mutation> = times
        .iter()
        .map(|change| {
            let before = categories[change.category].counts[0] * scale;
            let longer = mean(change.category, 1) - mean(change.category, 0);
            let kind = MutationKind::ResponseTime { hops: change.hops.clone() };
            Mutation {
                category: change.category,
                kind,
                contribution: before * longer,
                adjusted: change.adjusted,
            }
        })
        .collect();
    for change in rates.iter().filter(|change| change.change() > 0.0) {
        let originators = find_originators(change, rates, categories, options);
        let before = mean_of_originators(&originators, categories)
            .or_else(|| mean_of_rest(&kinds[change.kind], change.category, categories));
        // Requests without an end have no time to compare.
        let is_timed = categories[change.category].response[1].moments.count > 0;
        let here = if is_timed { mean(change.category, 1) } else { 0.0 };
        let before = before.filter(|_| is_timed);
        let contribution =
            change.change() * kinds[change.kind].counts[1] * (here - before.unwrap_or(here));
        let kind = MutationKind::Structural { originators, shares: change.shares };
        let (category, adjusted) = (change.category, change.adjusted);
        found.push(Mutation { category, kind, contribution, adjusted });
    }
    let key = |mutation: &Mutation| categories[mutation.category].key;
    found.sort_by(|a, b| {
        b.contribution.abs().total_cmp(&a.contribution.abs()).then_with(|| key(a).cmp(&key(b)))
    });
    found
}

/// The mean response time of the other requests of a kind in both periods.
fn mean_of_rest(kind: &RequestKind, category: usize, categories: &[CategoryStats]) -> Option<f64> {
    let mut all = WeightedMoments::default();
    for other in kind.categories.iter().filter(|other| **other != category) {
        categories[*other].response.iter().for_each(|sample| all.merge(&sample.moments));
    }
    (all.count > 0).then_some(all.mean)
}

/// The mean response time of originators, weighted by their similarity. Requests of the second
/// period count; for an originator without any, those of the first.
fn mean_of_originators(originators: &[Originator], categories: &[CategoryStats]) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for originator in originators {
        let [before, after] = &categories[originator.category].response;
        let of = if after.moments.count > 0 { after } else { before };
        let weight = (1.0 - originator.distance).max(1e-3);
        sum += weight * of.moments.mean;
        weights += weight;
    }
    (weights > 0.0).then(|| sum / weights)
}
