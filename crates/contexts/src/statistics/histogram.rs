//! Histogram with bins that are equally wide on a logarithmic scale. All contexts of an operation
//! share its bins, so that they can be drawn above each other.

use serde::{Deserialize, Serialize};

use super::sample::Sample;
use crate::tuning::HISTOGRAM_BINS;

/// The bins of an operation: bin number n begins at `first * ratio^n`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    /// Where the first bin begins, in nanoseconds, at least 1.
    pub first: f64,
    /// How many times longer a bin is than the one before it, above 1.
    pub ratio: f64,
    /// Number of bins.
    pub count: u32,
}

impl Bins {
    /// Bins from the least to the greatest of sorted samples.
    pub fn of(sorted: &[Sample]) -> Bins {
        let bound =
            |sample: Option<&Sample>| sample.map_or(1.0, |sample| sample.time.max(1) as f64);
        let (first, last) = (bound(sorted.first()), bound(sorted.last()));
        let ratio = (last / first).powf(1.0 / HISTOGRAM_BINS as f64);
        // Where all times are equal, the bins are a thousandth wide.
        Bins { first, ratio: ratio.max(1.001), count: HISTOGRAM_BINS as u32 }
    }

    /// The bin of a time. Times beyond the bins are in the outer ones.
    pub fn bin(&self, time: i64) -> usize {
        let place = (time.max(1) as f64 / self.first).ln() / self.ratio.ln();
        (place.max(0.0) as usize).min((self.count as usize).saturating_sub(1))
    }

    /// How much weight of the samples is in each bin.
    pub fn counts(&self, samples: &[Sample]) -> Vec<f32> {
        let mut counts = vec![0.0; self.count as usize];
        for sample in samples {
            if let Some(count) = counts.get_mut(self.bin(sample.time)) {
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
        let samples: Vec<Sample> = [0, 10, 1_000, 100_000].map(Sample::certain).to_vec();
        let bins = Bins::of(&samples);
        let counts = bins.counts(&samples);
        assert_eq!((counts.iter().sum::<f32>(), counts[0]), (4.0, 1.0));
        assert_eq!(counts.last(), Some(&1.0));
        assert!((bins.first * bins.ratio.powi(bins.count as i32) / 1e5 - 1.0).abs() < 1e-9);
        let middle = bins.bin(1_000);
        let begin = bins.first * bins.ratio.powi(middle as i32);
        assert!(begin <= 1_000.1 && 1_000.0 < begin * bins.ratio * 1.000_1);
    }

    #[test]
    fn equal_times_are_in_the_first_bin() {
        let samples = [Sample::certain(5); 3];
        assert_eq!(Bins::of(&samples).counts(&samples)[0], 3.0);
    }
}
