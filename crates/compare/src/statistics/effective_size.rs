//! Design effect of a sample: the number of its observations that have the information of one.
//!
//! Consecutive requests meet the same queue, the same cache and the same neighbour. Tests that
//! assume independence find a change in each pair of periods. So each period is cut into windows:
//! if observations were independent, means of windows would differ by the variance of one
//! observation over the number in a window. The factor by which their variance exceeds this is the
//! factor by which there are fewer effective observations (Kish 1965).

use crate::tuning::WINDOWS;

/// Weighted observations by window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowedValues {
    /// Weight and weighted sum of the observations of each window.
    of: [(f64, f64); WINDOWS],
    /// Weighted sum of the squares of all observations.
    squares: f64,
}

impl Default for WindowedValues {
    fn default() -> WindowedValues {
        WindowedValues { of: [(0.0, 0.0); WINDOWS], squares: 0.0 }
    }
}

impl WindowedValues {
    /// Adds observations of one value. Values should be logarithms or similar, so that a single one
    /// cannot dominate.
    pub fn add_value(&mut self, window: usize, value: f64, weight: f64) {
        if let Some((weights, sum)) = self.of.get_mut(window) {
            *weights += weight;
            *sum += weight * value;
            self.squares += weight * value * value;
        }
    }

    /// Approximate number of windows over which the observations are spread: 1 if all are in one.
    pub fn effective_windows(&self) -> f64 {
        let (sum, squares) = self.of.iter().fold((0.0, 0.0), |(sum, squares), (weight, _)| {
            (sum + weight, squares + weight * weight)
        });
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }

    /// The mean of each batch of `batch_windows` windows that has observations.
    pub(super) fn means_of_batches(&self, batch_windows: usize) -> Vec<f64> {
        let parts = self
            .of
            .chunks(batch_windows.max(1))
            .map(|part| part.iter().fold((0.0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1)));
        parts.filter(|(weight, _)| *weight > 0.0).map(|(weight, sum)| sum / weight).collect()
    }

    /// The design effect, at least 1. Slow drifts differ more between long batches than between
    /// short ones, so `scales` are numbers of windows in a batch. The scale with the greatest
    /// effect counts.
    pub fn design_effect(&self, scales: impl IntoIterator<Item = usize>) -> f64 {
        let (weight, sum) =
            self.of.iter().fold((0.0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1));
        if weight <= 0.0 {
            return 1.0;
        }
        let mean = sum / weight;
        let variance = (self.squares / weight - mean * mean).max(0.0);
        if variance <= 0.0 {
            return 1.0;
        }
        let effects = scales.into_iter().map(|batch_windows| {
            let parts = self.of.chunks(batch_windows.max(1)).map(|part| {
                part.iter().fold((0.0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1))
            });
            let parts: Vec<(f64, f64)> = parts.filter(|(weight, _)| *weight > 0.0).collect();
            if parts.len() < 2 || weight <= parts.len() as f64 {
                return 1.0;
            }
            let between = parts.iter().map(|(weight, sum)| weight * (sum / weight - mean).powi(2));
            between.sum::<f64>() / (parts.len() as f64 - 1.0) / variance
        });
        effects.fold(1.0, f64::max)
    }
}

/// The scales, as numbers of windows in a batch, of a period of length `length` that is compared
/// with a period of length `other`. Both periods come from one system: a slow drift in the longer
/// one also exists in the shorter one, which is too short to show it.
pub fn period_scales(length: f64, other: f64) -> [usize; 4] {
    let batch_windows = (WINDOWS as f64 * other / length.max(1.0)).round();
    [1, 2, 4, (batch_windows as usize).clamp(1, WINDOWS / 2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(value: impl Fn(u64) -> f64) -> f64 {
        let mut all = WindowedValues::default();
        for number in 0..6_400_u64 {
            all.add_value(number as usize * WINDOWS / 6_400, value(number), 1.0);
        }
        assert!((all.effective_windows() - WINDOWS as f64).abs() < 1e-9);
        all.design_effect([1, 2, 4])
    }

    #[test]
    fn independent_observations_count_once_and_repeated_ones_together() {
        let drawn = |number: u64| (message_trace::mix_bits(number + 1) % 1_000) as f64;
        let alone = effect(drawn);
        assert!((1.0..3.0).contains(&alone), "{alone}");
        // Each value occurs 40 times in sequence: 40 values have the information of one.
        let together = effect(|number| drawn(number / 40));
        assert!((20.0..120.0).contains(&together), "{together}");
        // A slow drift shows best in long batches.
        let drifting = effect(|number| drawn(number) + number as f64 / 10.0);
        assert!(drifting > 100.0, "{drifting}");
        assert_eq!(WindowedValues::default().design_effect([1]), 1.0);
        assert_eq!(effect(|_| 3.0), 1.0);
    }

    #[test]
    fn a_longer_period_shows_its_drift_over_the_length_of_the_other() {
        assert_eq!(period_scales(60.0, 60.0), [1, 2, 4, 10]);
        assert_eq!(period_scales(60.0, 15.0), [1, 2, 4, 5]);
        assert_eq!(period_scales(15.0, 60.0), [1, 2, 4, 10]);
    }
}
