//! Similarity of two distributions of response times: by median and interquartile range, which the
//! paper prefers to mean and deviation, as few very long times hardly affect them (trace-context
//! profiling, section 4.3).

use crate::result::ResponseTimes;
use crate::tuning::MIN_SCALE;

/// Median and interquartile range of response times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeSpread {
    pub(super) median: f64,
    /// Interquartile range.
    pub(super) range: f64,
}

impl TimeSpread {
    pub(super) fn from_times(times: &ResponseTimes) -> TimeSpread {
        TimeSpread { median: times.median, range: times.interquartile_range() }
    }

    /// The distance of two distributions: the difference of their medians, or of their
    /// interquartile ranges if that is larger, in units of the mean interquartile range. That unit
    /// is at least [`MIN_SCALE`] of the mean median, so that distributions without any spread are
    /// similar if they are nearly the same.
    pub(super) fn distance(&self, other: &TimeSpread) -> f64 {
        let apart = (self.median - other.median).abs().max((self.range - other.range).abs());
        if apart == 0.0 {
            return 0.0;
        }
        let mean = |one: f64, other: f64| (one + other) / 2.0;
        let least = MIN_SCALE * mean(self.median, other.median);
        apart / mean(self.range, other.range).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(one: (f64, f64), other: (f64, f64)) -> f64 {
        let spread = |(median, range)| TimeSpread { median, range };
        let there = spread(one).distance(&spread(other));
        assert_eq!(there, spread(other).distance(&spread(one)));
        there
    }

    #[test]
    fn by_hand() {
        assert_eq!(distance((100.0, 20.0), (110.0, 20.0)), 0.5);
        assert_eq!(distance((100.0, 10.0), (100.0, 30.0)), 1.0);
        assert_eq!(distance((100.0, 20.0), (100.0, 20.0)), 0.0);
        // Without any spread: 1 in a unit of 0.02 * 100.5.
        assert!((distance((100.0, 0.0), (101.0, 0.0)) - 1.0 / 2.01).abs() < 1e-12);
        assert_eq!(distance((0.0, 0.0), (0.0, 0.0)), 0.0);
    }
}
