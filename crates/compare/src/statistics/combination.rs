//! Combination of dependent tests of one question (Liu and Xie 2020): p-values become Cauchy
//! variates. Their weighted mean is again Cauchy in the far tail that matters, whatever their
//! dependence.

use std::f64::consts::PI;

/// The combined p-value of several with their weights, which add up to 1. Values above one half are
/// no evidence and count as one half.
pub fn combine_p_values(tests: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let variates = tests.into_iter().map(|(p_value, weight)| {
        // Below this p-value the tangent is 1 / (pi p) to the last digit, and its argument is not
        // exact.
        let variate = match p_value {
            ..1e-15 => 1.0 / (PI * p_value.max(1e-300)),
            p_value => ((0.5 - p_value.min(0.5)) * PI).tan(),
        };
        weight * variate
    });
    let sum: f64 = variates.sum();
    // The upper tail of the Cauchy distribution.
    if sum > 1e15 { 1.0 / (PI * sum) } else { 0.5 - sum.atan() / PI }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_p_values_stay_and_one_alone_pays_for_the_others() {
        for p_value in [0.3, 0.01, 1e-9, 1e-40] {
            let same = combine_p_values([(p_value, 0.5), (p_value, 0.5)]);
            assert!((same / p_value - 1.0).abs() < 1e-6, "{p_value} {same}");
            let alone = combine_p_values([(p_value, 0.25), (1.0, 0.75)]);
            assert!(alone <= 4.0 * p_value + 1e-12 && alone > p_value, "{p_value} {alone}");
        }
        assert!((combine_p_values([(1.0, 1.0)]) - 0.5).abs() < 1e-12);
    }
}
