//! Sample: a quantity in one period.

use serde::Serialize;

use crate::statistics::{WeightedMoments, WindowedValues};
use crate::tuning::MIN_TESTED;

/// A quantity of the requests of one category in one period, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PeriodSample {
    /// Count, mean and variance.
    pub moments: WeightedMoments,
    /// Values in ascending order, of the observations with a probability of at least one half.
    #[serde(skip)]
    pub sorted: Vec<f32>,
    /// Design effect: the number of observations that have the information of one independent one;
    /// 1 if they are independent.
    pub effect: f64,
    /// Logarithms of the values by window of the period; `None` if there are too few to be tested.
    #[serde(skip)]
    pub windowed_values: Option<Box<WindowedValues>>,
}

/// Shortest time when logarithms are compared, in nanoseconds; shorter times count as this one.
const MIN_NS: f64 = 1_000.0;

/// Minimum weight of an observation in [`PeriodSample::sorted`]: it is more likely real than not.
const MIN_SORTED_WEIGHT: f64 = 0.5;

impl PeriodSample {
    /// The sample of observations, each a value, its weight and its window. `scales` are the scales
    /// of the period's windows.
    pub fn from_observations(
        observations: impl IntoIterator<Item = (f32, f32, usize)>,
        scales: [usize; 4],
    ) -> PeriodSample {
        let mut moments = WeightedMoments::default();
        let mut windowed_values = WindowedValues::default();
        let mut sorted = Vec::new();
        for (value, weight, window) in observations {
            let weight = f64::from(weight);
            moments.add(f64::from(value), weight);
            windowed_values.add_value(window, f64::from(value).max(MIN_NS).ln(), weight);
            if weight >= MIN_SORTED_WEIGHT {
                sorted.push(value);
            }
        }
        sorted.sort_unstable_by(f32::total_cmp);
        sorted.shrink_to_fit();
        let effect = windowed_values.design_effect(scales);
        // Small samples are never tested, and there may be many small categories.
        let windowed_values = (sorted.len() >= MIN_TESTED).then(|| Box::new(windowed_values));
        PeriodSample { moments, sorted, effect, windowed_values }
    }

    /// The sample of all observations of several samples, without a design effect.
    pub fn merge_samples<'s>(
        samples: impl Iterator<Item = &'s PeriodSample> + Clone,
    ) -> PeriodSample {
        let mut sorted: Vec<f32> =
            samples.clone().flat_map(|sample| sample.sorted.iter().copied()).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        let mut all = PeriodSample { sorted, effect: 1.0, ..PeriodSample::default() };
        samples.for_each(|sample| all.moments.merge(&sample.moments));
        all
    }

    /// The value below which this share of the observations lies; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<f32> {
        let last = self.sorted.len().checked_sub(1)?;
        self.sorted.get((share * last as f64).round() as usize).copied()
    }

    /// The mean of the values, each clamped to `low..=high`.
    pub fn clamped_mean(&self, low: f64, high: f64) -> f64 {
        let count = self.sorted.len() as f64;
        let sum: f64 = self.sorted.iter().map(|value| f64::from(*value).clamp(low, high)).sum();
        if count > 0.0 { sum / count } else { 0.0 }
    }
}
