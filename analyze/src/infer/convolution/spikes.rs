//! The spikes of a correlation (Project 5 section 5.2): a spike is a local maximum at least N
//! standard deviations above the mean. Between two spikes C falls to less than S standard
//! deviations above the mean, S < N; among candidates between which it does not fall so far the
//! largest one is the spike.
//!
//! Only shifts from 0 up are examined: an effect has no negative delay (section 5.2.3).

use super::correlation::Correlation;
use crate::tuning::convolution::REACH_DEVIATIONS;

/// A spike of C, by shifts in quanta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spike {
    /// d: the shift at which C is highest.
    pub(super) delay: usize,
    /// The first and the last shift of the spike. No two spikes share a shift.
    pub(super) extent: (usize, usize),
}

/// Finds the spikes of `c` at shifts of up to `longest`, by their delay. `n` and `s` are N and S.
pub(super) fn find_spikes(c: &Correlation, longest: usize, n: f64, s: f64) -> Vec<Spike> {
    let Some(longest) = c.values.len().checked_sub(2).map(|last| last.min(longest)) else {
        return Vec::new();
    };
    // A constant C varies only by rounding errors.
    if c.deviation <= 1e-9 * c.mean {
        return Vec::new();
    }
    let (high, low) = (c.mean + n * c.deviation, c.mean + s.min(n) * c.deviation);
    let reach = low.min(c.mean + REACH_DEVIATIONS * c.deviation);
    let value = |shift: usize| c.values[shift];
    let before = |shift: usize| c.values[shift.checked_sub(1).unwrap_or(c.values.len() - 1)];
    let mut found = Vec::new();
    let mut shift = 0;
    while shift <= longest {
        if value(shift) < low {
            shift += 1;
            continue;
        }
        let first = shift;
        let mut best: Option<usize> = None;
        while shift <= longest && value(shift) >= low {
            let is_maximum = value(shift) >= before(shift) && value(shift) >= value(shift + 1);
            let is_best = best.is_none_or(|best| value(shift) > value(best));
            if value(shift) >= high && is_maximum && is_best {
                best = Some(shift);
            }
            shift += 1;
        }
        let Some(delay) = best else { continue };
        let lowest = found.last().map_or(0, |spike: &Spike| spike.extent.1 + 1);
        let (mut first, mut last) = (first, shift - 1);
        while first > lowest && value(first - 1) > reach {
            first -= 1;
        }
        while last < longest && value(last + 1) > reach && value(last + 1) < low {
            last += 1;
        }
        found.push(Spike { delay, extent: (first, last) });
        shift = last + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A correlation with these values, with an assumed mean of 0 and standard deviation of 1.
    fn correlation(values: &[f64]) -> Correlation {
        Correlation { values: values.to_vec(), mean: 0.0, deviation: 1.0 }
    }

    fn delays(values: &[f64]) -> Vec<usize> {
        let c = correlation(values);
        find_spikes(&c, values.len(), 4.0, 3.0).into_iter().map(|spike| spike.delay).collect()
    }

    #[test]
    fn a_spike_is_a_local_maximum_n_deviations_above_the_mean() {
        assert_eq!(delays(&[0.0, 1.0, 4.0, 1.0, 3.9, 0.0, 5.0, 0.0]), [2, 6]);
        // A rise at the end of the examined shifts is no maximum.
        assert_eq!(find_spikes(&correlation(&[0.0, 0.0, 5.0, 6.0, 0.0]), 2, 4.0, 3.0), []);
    }

    #[test]
    fn between_two_spikes_there_is_a_point_below_s() {
        // 3 is not below S, 2.9 is.
        assert_eq!(delays(&[0.0, 5.0, 3.0, 6.0, 3.5, 4.5, 2.9, 4.0, 0.0]), [3, 7]);
    }

    #[test]
    fn a_spike_extends_as_far_as_it_is_above_the_rest() {
        let extents = |values: &[f64]| {
            let found = find_spikes(&correlation(values), values.len(), 4.0, 3.0).into_iter();
            found.map(|spike| spike.extent).collect::<Vec<_>>()
        };
        assert_eq!(extents(&[0.0, 1.0, 1.1, 2.0, 5.0, 3.0, 1.1, 0.9, 2.0, 0.0]), [(2, 6)]);
        // The next spike begins where the previous one ends.
        assert_eq!(extents(&[0.0, 5.0, 2.0, 2.5, 2.0, 2.5, 6.0, 1.5, 0.0]), [(1, 5), (6, 7)]);
        assert_eq!(extents(&[5.0, 2.0, 0.0, 0.0, 0.0]), [(0, 1)]);
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_correlation() {
        let values = vec![10.0, 10.0, 18.0, 10.0, 10.0];
        let c = |deviation| Correlation { values: values.clone(), mean: 10.0, deviation };
        assert_eq!(find_spikes(&c(2.0), 4, 4.0, 3.0).len(), 1);
        assert_eq!(find_spikes(&c(2.1), 4, 4.0, 3.0), []);
        assert_eq!(find_spikes(&c(2.1), 4, 3.5, 3.0).len(), 1);
    }

    #[test]
    fn negative_delays_are_suppressed() {
        // The last place is shift -1: a fall from there is not a maximum at 0.
        assert_eq!(delays(&[5.0, 4.0, 0.0, 0.0, 9.0]), Vec::<usize>::new());
        assert_eq!(delays(&[5.0, 4.0, 0.0, 0.0, 0.0]), [0]);
    }

    #[test]
    fn a_constant_correlation_has_no_spikes() {
        let c = Correlation { values: vec![1.0, 1.0 + 1e-15, 1.0], mean: 1.0, deviation: 1e-16 };
        assert_eq!(find_spikes(&c, 2, 4.0, 3.0), []);
        assert_eq!(find_spikes(&Correlation::default(), 2, 4.0, 3.0), []);
    }
}
