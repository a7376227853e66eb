//! Test of batch means: whether the means of two periods differ by more than means of windows
//! within each period do (Law and Kelton 1982; the test is Welch's t-test).
//!
//! The Kolmogorov-Smirnov test ignores magnitudes. If times are so regular that a drift of 2% is
//! all their variance, the test has the information of few observations and cannot even find a
//! shift of 50%. Compared with the differences between windows, such a shift is significant.

use statrs::function::beta::beta_reg;

use super::effective_size::WindowedValues;
use crate::tuning::WINDOWS;

/// Numbers of windows in a batch that are tried.
const BATCHES: [usize; 3] = [1, 2, 4];

/// The two-sided p-value of equal means. Batches of several lengths are tested, and the largest
/// p-value counts, as slow drifts differ most between long batches. `lengths` are the lengths of
/// both periods: if one is much longer, its batches of the other period's length count, too.
pub fn batch_means(periods: [&WindowedValues; 2], lengths: [f64; 2]) -> f64 {
    let mut p_value = 0.0_f64;
    for batch_windows in BATCHES {
        let [a, b] = periods.map(|period| BatchMeans::from_period(period, batch_windows));
        p_value = p_value.max(welch_p_value(&a, &b));
    }
    for (long, short) in [(0, 1), (1, 0)] {
        let batch_windows = (WINDOWS as f64 * lengths[short] / lengths[long].max(1.0)).round();
        let batches = BatchMeans::from_period(periods[long], (batch_windows as usize).max(1));
        if batches.count >= 3.0 && batch_windows > 4.0 {
            // The short period is one more batch of this length.
            let one = BatchMeans { count: 1.0, ..BatchMeans::from_period(periods[short], WINDOWS) };
            let deviation = (batches.variance * (1.0 + 1.0 / batches.count)).sqrt();
            p_value = p_value.max(student_p_value(
                one.mean - batches.mean,
                deviation,
                batches.count - 1.0,
            ));
        }
    }
    p_value
}

/// The means of batches.
struct BatchMeans {
    count: f64,
    mean: f64,
    /// Variance of one batch's mean.
    variance: f64,
}

impl BatchMeans {
    fn from_period(period: &WindowedValues, batch_windows: usize) -> BatchMeans {
        let means = period.means_of_batches(batch_windows);
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count.max(1.0);
        let squares: f64 = means.iter().map(|of| (of - mean).powi(2)).sum();
        BatchMeans { count, mean, variance: squares / (count - 1.0).max(1.0) }
    }
}

fn welch_p_value(a: &BatchMeans, b: &BatchMeans) -> f64 {
    if a.count < 2.0 || b.count < 2.0 {
        return 1.0;
    }
    let [x, y] = [a, b].map(|of| of.variance / of.count);
    let degrees = match x + y > 0.0 {
        true => (x + y).powi(2) / (x * x / (a.count - 1.0) + y * y / (b.count - 1.0)),
        false => a.count + b.count - 2.0,
    };
    student_p_value(b.mean - a.mean, (x + y).sqrt(), degrees)
}

/// Two-sided p-value of a difference with this standard deviation.
fn student_p_value(difference: f64, deviation: f64, degrees: f64) -> f64 {
    if difference == 0.0 {
        return 1.0;
    }
    // A histogram does not resolve times more finely than its buckets.
    let t = difference / deviation.max(MIN_DEVIATION);
    beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// Smallest known standard deviation of a mean, in the unit of the logarithms of times: 0.2%.
const MIN_DEVIATION: f64 = 0.002;

#[cfg(test)]
mod tests {
    use super::*;

    fn period(mean: impl Fn(usize) -> f64) -> WindowedValues {
        let mut period = WindowedValues::default();
        for number in 0..400_usize {
            let noise = (message_trace::mix_bits(number as u64) % 1_000) as f64 / 1e5;
            period.add_value(number / 20, mean(number / 20) + noise, 1.0);
        }
        period
    }

    #[test]
    fn a_shift_is_found_despite_a_small_drift_and_the_drift_is_not() {
        let drifting = period(|window| if window < 10 { 1.0 } else { 1.02 });
        let other = period(|window| if window < 5 { 1.0 } else { 1.02 });
        let shifted = period(|window| if window < 10 { 1.4 } else { 1.42 });
        let of = |a: &WindowedValues, b: &WindowedValues| batch_means([a, b], [1.0; 2]);
        assert!(of(&drifting, &shifted) < 1e-6, "{}", of(&drifting, &shifted));
        assert!(of(&drifting, &other) > 0.05, "{}", of(&drifting, &other));
        assert_eq!(of(&drifting, &drifting), 1.0);
        assert_eq!(of(&drifting, &shifted), of(&shifted, &drifting));
    }

    #[test]
    fn a_short_period_is_one_of_the_longer_ones_batches() {
        // The long period wanders by 10% over its length, the short period lies within its range.
        let wandering = period(|window| 1.0 + 0.1 * ((window / 5) % 2) as f64);
        let steady = period(|_| 1.1);
        assert!(batch_means([&wandering, &steady], [4.0, 1.0]) > 0.05);
        assert!(batch_means([&steady, &wandering], [1.0, 4.0]) > 0.05);
    }
}
