//! Response-time mutations (Spectroscope, 4.2.1): categories with changed response times, and the
//! hops of the critical path that cause the change.

use crate::analysis::{CategoryStats, PeriodSample};
use crate::options::Options;
use crate::statistics::{
    adjust_p_values, batch_means, combine_p_values, kolmogorov_smirnov, with_estimated_variance,
};
use crate::tuning::{MIN_SPREAD, MIN_TESTED, PAPER_LEVEL, PAPER_ROUNDING_NS};

/// The tested response times of a category.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeChange {
    /// Index of the category.
    pub category: usize,
    /// Probability of samples that differ at least this much, if nothing changed.
    pub p_value: f64,
    /// The p-value adjusted for all tests.
    pub adjusted: f64,
    /// The hops that changed, in descending order of change.
    pub hops: Vec<HopChange>,
}

/// A hop with changed times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopChange {
    /// Index of the hop in the category.
    pub hop: usize,
    /// Increase of the hop's mean, in nanoseconds.
    pub change: f64,
    /// Probability of samples that differ at least this much, if nothing changed, adjusted for all
    /// hops of the category.
    pub adjusted: f64,
}

/// Tests the response times of all categories with enough requests, in their order. All tested
/// categories are returned, changed or not. `lengths` are the lengths of both periods in
/// nanoseconds.
pub fn time_tests(
    categories: &[CategoryStats],
    lengths: [f64; 2],
    options: &Options,
) -> Vec<TimeChange> {
    let tested = categories.iter().enumerate().filter_map(|(category, of)| {
        let p_value = p_value(&of.response, lengths, options)?;
        Some(TimeChange { category, p_value, adjusted: p_value, hops: Vec::new() })
    });
    tested.collect()
}

/// The tested categories that changed, with the hops that cause the change.
pub fn time_changes(
    tested: Vec<TimeChange>,
    categories: &[CategoryStats],
    lengths: [f64; 2],
    options: &Options,
) -> Vec<TimeChange> {
    let level = if options.paper { PAPER_LEVEL } else { options.false_discoveries };
    let is_changed = |change: &TimeChange| {
        change.adjusted <= level
            && (options.paper || is_large_change(&categories[change.category].response, options))
    };
    let mut changed: Vec<TimeChange> = tested.into_iter().filter(is_changed).collect();
    for change in &mut changed {
        change.hops = hop_changes(&categories[change.category], lengths, options, level);
    }
    changed
}

/// The hops of a category that changed.
fn hop_changes(
    category: &CategoryStats,
    lengths: [f64; 2],
    options: &Options,
    level: f64,
) -> Vec<HopChange> {
    let tested: Vec<(usize, f64)> = category
        .hops
        .iter()
        .enumerate()
        .filter_map(|(place, hop)| Some((place, p_value(&hop.samples, lengths, options)?)))
        .collect();
    let p_values: Vec<f64> = tested.iter().map(|(_, p_value)| *p_value).collect();
    let all = if options.paper { p_values } else { adjust_p_values(&p_values) };
    // A hop must change by enough compared with the change of the whole response time.
    let whole = (category.response[1].moments.mean - category.response[0].moments.mean).abs();
    let mut changes: Vec<HopChange> = tested
        .into_iter()
        .zip(all)
        .map(|((hop, _), adjusted)| HopChange {
            hop,
            change: category.hops[hop].change(),
            adjusted,
        })
        .filter(|change| change.adjusted <= level)
        .filter(|change| options.paper || change.change.abs() >= options.least_relative * whole)
        .collect();
    changes.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()).then(a.hop.cmp(&b.hop)));
    changes
}

/// The p-value of two samples; `None` if one is too small to be tested.
fn p_value(samples: &[PeriodSample; 2], lengths: [f64; 2], options: &Options) -> Option<f64> {
    let [before, after] = samples;
    if before.sorted.len().min(after.sorted.len()) < MIN_TESTED {
        return None;
    }
    let (Some(first), Some(second)) = (&before.windowed_values, &after.windowed_values) else {
        return None;
    };
    let spread = [first.effective_windows(), second.effective_windows()];
    // A sample that arrived at about one time does not represent the system at other times.
    if !options.paper && spread[0].min(spread[1]) < MIN_SPREAD {
        return None;
    }
    let test = if options.paper {
        let rounded = |sample: &PeriodSample| -> Vec<f32> {
            sample.sorted.iter().map(|time| (time / PAPER_ROUNDING_NS).round()).collect()
        };
        kolmogorov_smirnov(&rounded(before), &rounded(after), [1.0; 2])
    } else {
        let effect = before.effect.max(after.effect);
        let test = kolmogorov_smirnov(&before.sorted, &after.sorted, [effect; 2])?;
        let degrees = spread[0] + spread[1] - 2.0;
        let unlike = with_estimated_variance(test.p_value, degrees);
        let shift = batch_means([&**first, &**second], lengths);
        return Some(combine_p_values([(unlike, 0.5), (shift, 0.5)]));
    };
    test.map(|test| test.p_value)
}

/// Whether a change of the mean, or of the median and the upper quartile, is large enough to
/// matter.
pub(crate) fn is_large_change(samples: &[PeriodSample; 2], options: &Options) -> bool {
    let [before, after] = samples;
    let is_large = |before: f64, after: f64| {
        let change = (after - before).abs();
        change >= options.least_ns && change >= options.least_relative * before.min(after).abs()
    };
    let quantile = |share: f64| {
        let both = before.quantile(share).zip(after.quantile(share));
        both.is_some_and(|(before, after)| is_large(f64::from(before), f64::from(after)))
    };
    // A mean of few very slow requests does not describe the others, and the median does not
    // describe the mean: both are tested.
    let is_mean = is_large(before.moments.mean, after.moments.mean);
    is_mean && [0.5, 0.75, 0.95].into_iter().any(quantile) || quantile(0.5) && quantile(0.75)
}
