//! Quartiles, interpolated between the samples next to them: the default of R and NumPy (type 7),
//! here with weights.

use super::sample::TimeSample;

/// Shares of the samples below the quartiles.
const SHARES: [f64; 3] = [0.25, 0.5, 0.75];

/// First quartile, median and third quartile of sorted samples; `None` if there is none.
///
/// With equal weights a quartile is at the index (n - 1) p of the samples, which are counted from
/// 0. Otherwise n is the effective number of samples, the square of the sum of the weights divided
/// by the sum of their squares; a quartile is then the mean of the samples from the share (n - 1) p
/// / n of the whole weight on, over one n-th of it. With equal weights this is the same.
pub fn sample_quartiles(sorted: &[TimeSample]) -> Option<[f64; 3]> {
    let (first, last) = (sorted.first()?, sorted.last()?);
    if sorted.iter().any(|sample| sample.weight != first.weight) {
        return Some(weighted_quartiles(sorted));
    }
    let apart = (sorted.len() - 1) as f64;
    Some(SHARES.map(|share| {
        let place = share * apart;
        let below = place.floor();
        let at = |place: usize| sorted.get(place).unwrap_or(last).time as f64;
        let (low, high) = (at(below as usize), at(below as usize + 1));
        low + (place - below) * (high - low)
    }))
}

fn weighted_quartiles(sorted: &[TimeSample]) -> [f64; 3] {
    let weights = || sorted.iter().map(|sample| f64::from(sample.weight));
    let whole: f64 = weights().sum();
    let number = whole * whole / weights().map(|weight| weight * weight).sum::<f64>();
    let part = whole / number;
    let begins = SHARES.map(|share| (number - 1.0) * share * part);
    let (mut sums, mut before) = ([0.0; 3], 0.0);
    for sample in sorted {
        let until = before + f64::from(sample.weight);
        for (sum, begin) in sums.iter_mut().zip(begins) {
            let common = until.min(begin + part) - before.max(begin);
            *sum += common.max(0.0) * sample.time as f64;
        }
        before = until;
    }
    sums.map(|sum| sum / part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quartiles_of(samples: &[(i64, f32)]) -> Option<[f64; 3]> {
        let samples: Vec<TimeSample> = samples
            .iter()
            .map(|(time, weight)| TimeSample { time: *time, weight: *weight })
            .collect();
        sample_quartiles(&samples)
    }

    fn are_close(found: Option<[f64; 3]>, expected: [f64; 3], by: f64) -> bool {
        found.is_some_and(|found| found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= by))
    }

    #[test]
    fn by_hand() {
        assert_eq!(quartiles_of(&[]), None);
        assert_eq!(quartiles_of(&[(7, 1.0)]), Some([7.0; 3]));
        // numpy.quantile([10, 20, 40, 80], [.25, .5, .75])
        let four = [(10, 1.0), (20, 1.0), (40, 1.0), (80, 1.0)];
        assert_eq!(quartiles_of(&four), Some([17.5, 30.0, 50.0]));
        assert_eq!(quartiles_of(&four.map(|(time, _)| (time, 0.25))), quartiles_of(&four));
        assert_eq!(quartiles_of(&[(1, 1.0), (2, 1.0), (3, 1.0)]), Some([1.5, 2.0, 2.5]));
    }

    /// Weights 1 and 3 are worth n = 16 / 10 samples, each 4 / 1.6 = 2.5 of the weight. The median
    /// is the mean from 0.6 * 0.5 * 2.5 = 0.75 to 3.25: 0.25 of the first, 2.25 of the other.
    #[test]
    fn weights_count() {
        let median = quartiles_of(&[(10, 1.0), (20, 3.0)]).unwrap()[1];
        assert!((median - (0.25 * 10.0 + 2.25 * 20.0) / 2.5).abs() < 1e-9, "{median}");
        // A sample with hardly any weight hardly moves them.
        let nearly = quartiles_of(&[(10, 1.0), (20, 1.0), (30, 1.0), (99, 1e-6)]);
        assert!(are_close(nearly, [15.0, 20.0, 25.0], 1e-3), "{nearly:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The weighted computation gives the same result as the other one if weights are equal.
        #[test]
        fn both_ways_agree(mut times in proptest::collection::vec(0..1_000_000_i64, 1..60)) {
            times.sort_unstable();
            let samples: Vec<TimeSample> = times.into_iter().map(TimeSample::certain).collect();
            let one = sample_quartiles(&samples);
            prop_assert!(are_close(one, weighted_quartiles(&samples), 1e-3), "{:?} {:?}", one, weighted_quartiles(&samples));
        }
    }
}
