//! The Kolmogorov-Smirnov test of two samples (Spectroscope, 4.2.1): whether both come from one
//! distribution, whatever that is.

use std::f64::consts::PI;

use crate::tuning::MAX_EXACT_SIZES;

/// Result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KolmogorovSmirnov {
    /// Greatest difference between the two distribution functions, from 0 to 1.
    pub statistic: f64,
    /// Probability of a difference of at least this size, if both samples come from one
    /// distribution.
    pub p_value: f64,
}

/// Tests two samples in ascending order. `effects` are the design effects of both: the number of
/// observations with the information of one
/// ([`WindowedValues`](crate::statistics::WindowedValues)). `None` if a sample is empty.
///
/// The p-value is exact for small samples of independent observations, and otherwise asymptotic,
/// for the effective sizes.
pub fn kolmogorov_smirnov(a: &[f32], b: &[f32], effects: [f64; 2]) -> Option<KolmogorovSmirnov> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let difference = greatest_difference(a, b);
    let (n, m) = (a.len(), b.len());
    let statistic = difference as f64 / (n as f64 * m as f64);
    let is_independent = effects.iter().all(|effect| *effect <= 1.0);
    let p_value = if is_independent && n.saturating_mul(m) <= MAX_EXACT_SIZES {
        exact_p_value(n, m, difference)
    } else {
        let [n, m] = [n as f64 / effects[0].max(1.0), m as f64 / effects[1].max(1.0)];
        asymptotic_p_value((n * m / (n + m)).sqrt() * statistic)
    };
    Some(KolmogorovSmirnov { statistic, p_value })
}

/// Tests two weighted samples with values in buckets: rows of bucket, sample (0 or 1) and weight,
/// in ascending order of buckets. `sizes` are the whole weight of each sample and its design
/// effect. Returns the p-value, asymptotic with the correction for small samples of Stephens
/// (1970).
pub fn grouped_kolmogorov_smirnov(
    rows: impl Iterator<Item = (u32, usize, f64)>,
    sizes: [(f64, f64); 2],
) -> f64 {
    let [(a, a_effect), (b, b_effect)] = sizes;
    if a <= 0.0 || b <= 0.0 {
        return 1.0;
    }
    let (mut last, mut below, mut statistic) = (None, [0.0; 2], 0.0_f64);
    for (bucket, sample, weight) in rows {
        if last.is_some_and(|last| last != bucket) {
            statistic = statistic.max((below[0] / a - below[1] / b).abs());
        }
        last = Some(bucket);
        below[sample & 1] += weight;
    }
    let [n, m] = [a / a_effect.max(1.0), b / b_effect.max(1.0)];
    let size = (n * m / (n + m)).sqrt();
    asymptotic_p_value((size + 0.12 + 0.11 / size) * statistic)
}

/// Greatest difference of the distribution functions, times the sizes of both samples.
fn greatest_difference(a: &[f32], b: &[f32]) -> u64 {
    let (n, m) = (a.len() as i64, b.len() as i64);
    let (mut i, mut j, mut greatest) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let at = x.min(*y);
        // All equal values are counted before the functions are compared.
        i += a.get(i..).unwrap_or_default().iter().take_while(|x| **x <= at).count();
        j += b.get(j..).unwrap_or_default().iter().take_while(|y| **y <= at).count();
        greatest = (i as i64 * m - j as i64 * n).abs().max(greatest);
    }
    greatest.unsigned_abs()
}

/// The probability that the greatest difference is `difference` or more, by counting the paths from
/// (0, 0) to (n, m) on which the difference stays below (Hodges 1958). `difference` is multiplied
/// by n m.
fn exact_p_value(n: usize, m: usize, difference: u64) -> f64 {
    if difference == 0 {
        return 1.0;
    }
    let stays = |i: usize, j: usize| {
        (i as i64 * m as i64 - j as i64 * n as i64).unsigned_abs() < difference
    };
    // The share of all paths to (i, j) that stay below: unlike their number, it never overflows.
    let mut row: Vec<f64> = vec![0.0; m + 1];
    for i in 0..=n {
        for j in 0..=m {
            let share = match (i, j) {
                (0, 0) => 1.0,
                _ => {
                    let left = j.checked_sub(1).and_then(|j| row.get(j)).copied().unwrap_or(0.0);
                    let above = if i == 0 { 0.0 } else { row.get(j).copied().unwrap_or(0.0) };
                    (left * j as f64 + above * i as f64) / (i + j) as f64
                }
            };
            if let Some(cell) = row.get_mut(j) {
                *cell = if stays(i, j) { share } else { 0.0 };
            }
        }
    }
    (1.0 - row.last().copied().unwrap_or(0.0)).clamp(0.0, 1.0)
}

/// Kolmogorov's limiting distribution: the probability of a value of `t` or more.
fn asymptotic_p_value(t: f64) -> f64 {
    if t < 0.2 {
        return 1.0;
    }
    // Two series of the same function; each converges where the other is slow.
    if t < 1.2 {
        let below: f64 = (1..=8)
            .map(|k| f64::from(2 * k - 1))
            .map(|odd| (-odd * odd * PI * PI / (8.0 * t * t)).exp())
            .sum();
        return (1.0 - (2.0 * PI).sqrt() / t * below).clamp(0.0, 1.0);
    }
    let above: f64 = (1..=8)
        .map(|k| (if k % 2 == 1 { 2.0 } else { -2.0 }) * (-2.0 * f64::from(k * k) * t * t).exp())
        .sum();
    above.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6 * b.abs().max(1e-3), "{a} and {b}");
    }

    #[test]
    fn small_samples_by_hand() {
        // Of the 6 orders of 2 and 2, those with all of one before the other differ by 1.
        let test = kolmogorov_smirnov(&[1.0, 2.0], &[3.0, 4.0], [1.0; 2]).unwrap();
        assert_eq!(test.statistic, 1.0);
        near(test.p_value, 2.0 / 6.0);
        // Equal samples.
        let test = kolmogorov_smirnov(&[1.0, 2.0], &[1.0, 2.0], [1.0; 2]).unwrap();
        assert_eq!((test.statistic, test.p_value), (0.0, 1.0));
        assert_eq!(kolmogorov_smirnov(&[], &[1.0], [1.0; 2]), None);
    }

    #[test]
    fn ties_are_passed_together() {
        let test = kolmogorov_smirnov(&[1.0, 1.0, 2.0], &[1.0, 2.0, 2.0], [1.0; 2]).unwrap();
        near(test.statistic, 1.0 / 3.0);
    }

    #[test]
    fn both_series_are_one_function() {
        // Values of the limiting distribution from tables.
        near(asymptotic_p_value(1.358_098_639), 0.05);
        near(asymptotic_p_value(1.627_623_612), 0.01);
        near(asymptotic_p_value(0.827_573_555), 0.5);
        assert_eq!(asymptotic_p_value(0.0), 1.0);
        near(asymptotic_p_value(1.199_999_9), asymptotic_p_value(1.200_000_1));
    }

    #[test]
    fn dependent_observations_count_for_less() {
        let a: Vec<f32> = (0..400).map(|number| number as f32).collect();
        let b: Vec<f32> = (0..400).map(|number| number as f32 + 60.0).collect();
        let alone = kolmogorov_smirnov(&a, &b, [1.0; 2]).unwrap();
        let together = kolmogorov_smirnov(&a, &b, [10.0; 2]).unwrap();
        assert_eq!(alone.statistic, together.statistic);
        assert!(alone.p_value < 1e-3 && together.p_value > 0.3, "{alone:?} {together:?}");
    }
}
