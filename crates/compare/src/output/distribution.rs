//! Distribution: response times of both periods in the same buckets, for one plot.

use serde::Serialize;

use crate::analysis::PeriodSample;
use crate::tuning::DISTRIBUTION_BUCKETS;

/// Distributions of the response times of both periods.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DistributionPair {
    /// Bounds of the buckets in nanoseconds, each a constant factor above the previous one; one
    /// more than there are buckets.
    pub bounds_ns: Vec<f64>,
    /// Share of the requests of each period in each bucket, from 0 to 1.
    pub shares: [Vec<f64>; 2],
}

impl DistributionPair {
    /// The distributions of two samples; empty if both samples are empty.
    pub fn from_samples(samples: &[PeriodSample; 2]) -> DistributionPair {
        let ends = |side: usize| {
            let sorted = &samples[side].sorted;
            Some((f64::from(*sorted.first()?), f64::from(*sorted.last()?)))
        };
        let both = [ends(0), ends(1)];
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for (first, last) in both.into_iter().flatten() {
            (least, most) = (least.min(first), most.max(last));
        }
        if !least.is_finite() {
            return DistributionPair::default();
        }
        // From 1 ns on, as 0 has no logarithm.
        let (least, most) = (least.max(1.0), most.max(2.0) * 1.001);
        let factor = (most / least).ln() / DISTRIBUTION_BUCKETS as f64;
        let bounds_ns: Vec<f64> = (0..=DISTRIBUTION_BUCKETS)
            .map(|number| least * (factor * number as f64).exp())
            .collect();
        let shares = [0, 1].map(|side| {
            let sorted = &samples[side].sorted;
            let below = |bound: f64| sorted.partition_point(|value| f64::from(*value) < bound);
            let all = sorted.len().max(1) as f64;
            let ends = bounds_ns.iter().enumerate().skip(1).map(|(number, bound)| {
                if number == DISTRIBUTION_BUCKETS { sorted.len() } else { below(*bound) }
            });
            let mut last = 0;
            let counts = ends.map(|end| {
                let here = end.saturating_sub(last);
                last = end.max(last);
                here as f64 / all
            });
            counts.collect()
        });
        DistributionPair { bounds_ns, shares }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_are_in_a_bucket() {
        let sample = |values: &[f32]| {
            PeriodSample::from_observations(values.iter().map(|value| (*value, 1.0, 0)), [1; 4])
        };
        let both = [sample(&[0.0, 5.0, 7.0, 1e6]), sample(&[20.0])];
        let DistributionPair { bounds_ns, shares } = DistributionPair::from_samples(&both);
        assert_eq!(bounds_ns.len(), DISTRIBUTION_BUCKETS + 1);
        for of in &shares {
            assert!((of.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{of:?}");
        }
        assert_eq!(shares[0].last(), Some(&0.25));
        assert_eq!(
            DistributionPair::from_samples(&[PeriodSample::default(), PeriodSample::default()])
                .bounds_ns,
            [0.0; 0]
        );
    }
}
