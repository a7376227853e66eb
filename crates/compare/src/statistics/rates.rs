//! Test of two rates (beyond Spectroscope, 4.2.2, which has a threshold): whether a kind of request
//! became more or less frequent among all requests.

use std::f64::consts::SQRT_2;

use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use crate::tuning::MAX_EXACT_COUNTS;

/// The probability of counts that differ at least as much, if the rate is the same in both periods:
/// `counts` of `totals`. `effect` is the design effect of the counts, at least 1.
///
/// Small counts are tested exactly, large ones by the normal approximation.
pub fn rates_differ(counts: [f64; 2], totals: [f64; 2], effect: f64) -> f64 {
    // The smaller rate first, so that rounding is the same whichever period comes first.
    if counts[0] * totals[1] > counts[1] * totals[0] {
        return rates_differ([counts[1], counts[0]], [totals[1], totals[0]], effect);
    }
    let [a, b] = counts.map(|count| count / effect.max(1.0));
    let (n, all) = (a + b, totals[0] + totals[1]);
    if n <= 0.0 || all <= 0.0 {
        return 1.0;
    }
    if totals[0] <= 0.0 || totals[1] <= 0.0 {
        return 1.0;
    }
    let [first_total, second_total] = totals.map(|total| (total / effect.max(1.0)).round());
    if first_total.min(second_total) <= MAX_EXACT_COUNTS || n <= MAX_EXACT_COUNTS {
        return fisher_exact([a.round(), b.round()], [first_total, second_total]);
    }
    // Pearson's test of both proportions, which also counts the requests that are not of this kind.
    let [x, y] = [a / (totals[0] / effect.max(1.0)), b / (totals[1] / effect.max(1.0))];
    let pooled = n / (all / effect.max(1.0));
    let of = |total: f64| pooled * (1.0 - pooled).max(0.0) / (total / effect.max(1.0));
    let deviation = (of(totals[0]) + of(totals[1])).sqrt();
    if deviation <= 0.0 {
        return 1.0;
    }
    erfc((x - y).abs() / deviation / SQRT_2)
}

/// Fisher's exact test (1922), two-sided: given the sum of both counts, the probability of all
/// divisions of it that are no likelier than this one.
fn fisher_exact(counts: [f64; 2], totals: [f64; 2]) -> f64 {
    let ln_ways = |n: f64, k: f64| ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
    let totals = [totals[0].max(counts[0]), totals[1].max(counts[1])];
    let both = counts[0] + counts[1];
    let all = ln_ways(totals[0] + totals[1], both);
    let of =
        |first: f64| (ln_ways(totals[0], first) + ln_ways(totals[1], both - first) - all).exp();
    let here = of(counts[0]) * (1.0 + 1e-9);
    let (least, most) = ((both - totals[1]).max(0.0), both.min(totals[0]));
    // From either end inwards, until divisions are likelier.
    let mut sum = 0.0;
    let mut first = least;
    while first <= most && of(first) <= here {
        sum += of(first);
        first += 1.0;
    }
    let mut last = most;
    while last >= first && of(last) <= here {
        sum += of(last);
        last -= 1.0;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_by_hand() {
        // Of two periods of 4 requests, all 3 events are in the second and none in the first: 2 of
        // C(8, 3) = 56 times 4.
        assert!((rates_differ([0.0, 3.0], [4.0, 4.0], 1.0) - 8.0 / 56.0).abs() < 1e-9);
        // Large counts, checked with an independent implementation of Fisher's test.
        let frequent = rates_differ([484.0, 449.0], [500.0, 500.0], 1.0);
        assert!((frequent / 1.1e-5 - 1.0).abs() < 0.1, "{frequent}");
        assert_eq!(rates_differ([2.0, 2.0], [100.0, 100.0], 1.0), 1.0);
        assert_eq!(rates_differ([0.0, 0.0], [100.0, 100.0], 1.0), 1.0);
    }

    #[test]
    fn twice_as_much_recorded_is_no_change() {
        assert!(rates_differ([100.0, 200.0], [1_000.0, 2_000.0], 1.0) > 0.9);
        assert!(rates_differ([1_000.0, 2_000.0], [10_000.0, 20_000.0], 1.0) > 0.9);
        assert!(rates_differ([1_000.0, 2_300.0], [10_000.0, 20_000.0], 1.0) < 1e-3);
        // Counts in bursts of ten are weaker evidence.
        assert!(rates_differ([1_000.0, 2_300.0], [10_000.0, 20_000.0], 10.0) > 0.05);
    }
}
