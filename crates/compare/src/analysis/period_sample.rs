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
    /// Design effect: the number of observations with the information of one; 1 if they are
    /// independent.
    pub effect: f64,
    /// Logarithms of the values by window; `None` if there are few.
    #[serde(skip)]
    pub windowed_values: Option<Box<WindowedValues>>,
}

/// Shorter times count as this much when logarithms are compared, in nanoseconds.
const MIN_NS: f64 = 1_000.0;

/// Weight from which on an observation is more likely than not.
const LIKELY: f64 = 0.5;

impl PeriodSample {
    /// The sample of observations, each a value, its weight and its window. `scales` are the scales
    /// of the period's windows.
    pub fn from_observations(
        observations: impl IntoIterator<Item = (f32, f32, usize)>,
        scales: [usize; 4],
    ) -> PeriodSample {
        let mut moments = WeightedMoments::default();
        let mut in_stretches = WindowedValues::default();
        let mut sorted = Vec::new();
        for (value, weight, stretch) in observations {
            let weight = f64::from(weight);
            moments.add(f64::from(value), weight);
            in_stretches.add_value(stretch, f64::from(value).max(MIN_NS).ln(), weight);
            if weight >= LIKELY {
                sorted.push(value);
            }
        }
        sorted.sort_unstable_by(f32::total_cmp);
        sorted.shrink_to_fit();
        let effect = in_stretches.design_effect(scales);
        // Small samples are never tested, and there may be many small categories.
        let in_stretches = (sorted.len() >= MIN_TESTED).then(|| Box::new(in_stretches));
        PeriodSample { moments, sorted, effect, windowed_values: in_stretches }
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
