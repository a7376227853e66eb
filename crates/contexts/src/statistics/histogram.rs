//! Histogram with bins of equal width on a logarithmic scale. All contexts of an operation share
//! its bins, so that they can be drawn above each other.

use serde::{Deserialize, Serialize};

use super::sample::TimeSample;
use crate::tuning::HISTOGRAM_BINS;

/// The bins of an operation: bin number n begins at `first * ratio^n`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogBins {
    /// Begin of the first bin, in nanoseconds, at least 1.
    pub first: f64,
    /// Ratio of the widths of consecutive bins, above 1.
    pub ratio: f64,
    /// Number of bins.
    pub count: u32,
}

impl LogBins {
    /// Bins from the shortest to the longest time of sorted samples.
    pub fn from_samples(sorted: &[TimeSample]) -> LogBins {
        let bound =
            |sample: Option<&TimeSample>| sample.map_or(1.0, |sample| sample.time.max(1) as f64);
        let (first, last) = (bound(sorted.first()), bound(sorted.last()));
        let ratio = (last / first).powf(1.0 / HISTOGRAM_BINS as f64);
        // If all times are equal, the bins are a thousandth wide.
        LogBins { first, ratio: ratio.max(1.001), count: HISTOGRAM_BINS as u32 }
    }

    /// The bin of a time. Times outside the bins belong to the first or last one.
    pub fn bin_of_time(&self, time: i64) -> usize {
        let place = (time.max(1) as f64 / self.first).ln() / self.ratio.ln();
        (place.max(0.0) as usize).min((self.count as usize).saturating_sub(1))
    }

    /// Weight of the samples in each bin.
    pub fn bin_weights(&self, samples: &[TimeSample]) -> Vec<f32> {
        let mut counts = vec![0.0; self.count as usize];
        for sample in samples {
            if let Some(count) = counts.get_mut(self.bin_of_time(sample.time)) {
                *count += f64::from(sample.weight);
            }
        }
        counts.into_iter().map(|count| count as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_a_bin_and_bins_grow_by_the_ratio() {
        let samples: Vec<TimeSample> = [0, 10, 1_000, 100_000].map(TimeSample::certain).to_vec();
        let bins = LogBins::from_samples(&samples);
        let counts = bins.bin_weights(&samples);
        assert_eq!((counts.iter().sum::<f32>(), counts[0]), (4.0, 1.0));
        assert_eq!(counts.last(), Some(&1.0));
        assert!((bins.first * bins.ratio.powi(bins.count as i32) / 1e5 - 1.0).abs() < 1e-9);
        let middle = bins.bin_of_time(1_000);
        let begin = bins.first * bins.ratio.powi(middle as i32);
        assert!(begin <= 1_000.1 && 1_000.0 < begin * bins.ratio * 1.000_1);
    }

    #[test]
    fn equal_times_are_in_the_first_bin() {
        let samples = [TimeSample::certain(5); 3];
        assert_eq!(LogBins::from_samples(&samples).bin_weights(&samples)[0], 3.0);
    }
}
