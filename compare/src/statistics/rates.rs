//! Test of two rates (beyond Spectroscope, 4.2.2, which has a threshold): whether a kind of request
//! became more or less frequent among all requests.

use std::f64::consts::SQRT_2;

use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use crate::tuning::EXACT_COUNTS;

/// The probability of counts as unlike as these, or more, if the rate is the same in both periods:
/// `counts` of `totals`. `effect` is the design effect of the counts, at least 1.
///
/// Given the number in both periods together, how many of them are in the first is binomially
/// distributed (Przyborowski and Wilenski 1940). Few are tested exactly, many by the normal
/// approximation.
pub fn rates_differ(counts: [f64; 2], totals: [f64; 2], effect: f64) -> f64 {
    // The smaller rate first, so that roundings are the same whichever period comes first.
    if counts[0] * totals[1] > counts[1] * totals[0] {
        return rates_differ([counts[1], counts[0]], [totals[1], totals[0]], effect);
    }
    let [a, b] = counts.map(|count| count / effect.max(1.0));
    let (n, all) = (a + b, totals[0] + totals[1]);
    if n <= 0.0 || all <= 0.0 {
        return 1.0;
    }
    let p = totals[0] / all;
    if p <= 0.0 || p >= 1.0 {
        return 1.0;
    }
    if n <= EXACT_COUNTS {
        // Fractions, from probabilities and effects, are rounded to the side of no difference.
        let expected = n * p;
        let first = if a < expected { a.ceil().min(expected) } else { a.floor().max(expected) };
        return binomial(first, n.round(), p);
    }
    // Pearson's test of both proportions, in which what is not of this kind counts, too.
    let [x, y] = [a / (totals[0] / effect.max(1.0)), b / (totals[1] / effect.max(1.0))];
    let pooled = n / (all / effect.max(1.0));
    let of = |total: f64| pooled * (1.0 - pooled).max(0.0) / (total / effect.max(1.0));
    let deviation = (of(totals[0]) + of(totals[1])).sqrt();
    if deviation <= 0.0 {
        return 1.0;
    }
    erfc((x - y).abs() / deviation / SQRT_2)
}

/// Two-sided p-value of `count` of `n`: the probability of all numbers that are no more likely.
fn binomial(count: f64, n: f64, p: f64) -> f64 {
    let of = |k: f64| {
        let ways = ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
        (ways + k * p.ln() + (n - k) * (1.0 - p).ln()).exp()
    };
    // Between two whole numbers, the likelier one.
    let here = of(count.floor()).max(of(count.ceil().min(n)));
    let numbers = (0..=n as u64).map(|k| of(k as f64));
    numbers.filter(|other| *other <= here * (1.0 + 1e-9)).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_by_hand() {
        // None of 4 in the first of two equal periods: 2 / 16.
        assert!((rates_differ([0.0, 4.0], [100.0, 100.0], 1.0) - 0.125).abs() < 1e-9);
        assert_eq!(rates_differ([2.0, 2.0], [100.0, 100.0], 1.0), 1.0);
        assert_eq!(rates_differ([0.0, 0.0], [100.0, 100.0], 1.0), 1.0);
    }

    #[test]
    fn twice_as_much_recorded_is_no_change() {
        assert!(rates_differ([100.0, 200.0], [1_000.0, 2_000.0], 1.0) > 0.9);
        assert!(rates_differ([1_000.0, 2_000.0], [10_000.0, 20_000.0], 1.0) > 0.9);
        assert!(rates_differ([1_000.0, 2_300.0], [10_000.0, 20_000.0], 1.0) < 1e-3);
        // Counts that come in bunches of ten say less.
        assert!(rates_differ([1_000.0, 2_300.0], [10_000.0, 20_000.0], 10.0) > 0.05);
    }
}
