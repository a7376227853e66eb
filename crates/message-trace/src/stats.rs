//! Summaries of weighted delays, which describe every pattern, node and hop.

/// Mean, median and 99th percentile of weighted samples, in the samples' unit (nanoseconds for
/// delays).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelaySummary {
    /// The weighted mean.
    pub mean: f64,
    /// The weighted median.
    pub p50: f64,
    /// The weighted 99th percentile.
    pub p99: f64,
}

impl DelaySummary {
    /// Summarises `samples`, pairs of value and weight; `None` if the sum of the weights is not
    /// positive. A percentile is the smallest sample at which the cumulated weight reaches its
    /// share of the whole, so that it is always a delay that was seen.
    pub fn from_samples(samples: &mut [(i64, f64)]) -> Option<DelaySummary> {
        let total: f64 = samples.iter().map(|(_, weight)| weight).sum();
        if total.is_nan() || total <= 0.0 {
            return None;
        }
        samples.sort_unstable_by_key(|(value, _)| *value);
        let mean =
            samples.iter().map(|(value, weight)| *value as f64 * weight).sum::<f64>() / total;
        let percentile = |share: f64| {
            let mut cumulated = 0.0;
            for (value, weight) in samples.iter() {
                cumulated += weight;
                // A small tolerance, so that rounding in the sum does not skip to the next sample.
                if cumulated >= share * total * (1.0 - 1e-12) {
                    return *value as f64;
                }
            }
            samples.last().map_or(0.0, |(value, _)| *value as f64)
        };
        Some(DelaySummary { mean, p50: percentile(0.50), p99: percentile(0.99) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights() {
        let mut samples: Vec<(i64, f64)> = (1..=100).rev().map(|value| (value, 0.7)).collect();
        let summary = DelaySummary::from_samples(&mut samples).unwrap();
        assert!((summary.mean - 50.5).abs() < 1e-9);
        assert_eq!((summary.p50, summary.p99), (50.0, 99.0));
    }

    #[test]
    fn weights_count() {
        let summary = DelaySummary::from_samples(&mut [(10, 3.0), (20, 1.0)]).unwrap();
        assert_eq!((summary.mean, summary.p50, summary.p99), (12.5, 10.0, 20.0));
    }

    #[test]
    fn an_empty_sample_has_no_summary() {
        assert_eq!(DelaySummary::from_samples(&mut []), None);
        assert_eq!(DelaySummary::from_samples(&mut [(5, 0.0)]), None);
    }
}
