//! Windows: consecutive parts of a period with about equally many requests each, which show whether
//! a kind of request is evenly distributed. Windows of equal time would be useless if one request
//! has a wrong time, or nothing happens between two bursts.

use message_trace::PathError;

use crate::period::Period;
use crate::tuning::{MAX_WINDOW_BEGINS, WINDOWS};

/// The windows of a period.
#[derive(Clone, Copy, Debug)]
pub struct PeriodWindows {
    /// Begin of each window but the first, in nanoseconds since the Unix epoch.
    boundaries: [i64; WINDOWS - 1],
    /// Length of all windows together, in nanoseconds.
    length: f64,
}

impl Default for PeriodWindows {
    fn default() -> PeriodWindows {
        PeriodWindows { boundaries: [i64::MAX; WINDOWS - 1], length: 1.0 }
    }
}

impl PeriodWindows {
    /// The windows of a period.
    ///
    /// # Errors
    /// If the period's table cannot be read.
    pub fn from_period(period: &Period<'_>) -> Result<PeriodWindows, PathError> {
        // Begins at equal distances are kept; half of them are dropped when there are too many.
        let (mut kept, mut every, mut number) = (Vec::new(), 1_u64, 0_u64);
        period.tables.for_each_begin(|begin| {
            if !period.contains(Some(begin)) {
                return;
            }
            if number.is_multiple_of(every) {
                kept.push(begin);
            }
            number += 1;
            if kept.len() >= MAX_WINDOW_BEGINS {
                let mut is_second = false;
                kept.retain(|_| {
                    is_second = !is_second;
                    is_second
                });
                every *= 2;
            }
        })?;
        Ok(PeriodWindows::from_begins(kept))
    }

    /// The windows of requests that begin at the times `begins`.
    fn from_begins(mut begins: Vec<i64>) -> PeriodWindows {
        begins.sort_unstable();
        let (Some(first), Some(last)) = (begins.first(), begins.last()) else {
            return PeriodWindows::default();
        };
        let length = (last.saturating_sub(*first) as f64).max(1.0);
        let at = |part: usize| begins.get(part * begins.len() / WINDOWS).copied();
        let boundaries = std::array::from_fn(|part| at(part + 1).unwrap_or(i64::MAX));
        PeriodWindows { boundaries, length }
    }

    /// Length of all windows together, in nanoseconds.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// The window of a time.
    pub fn window_of_time(&self, time: i64) -> usize {
        self.boundaries.partition_point(|boundary| *boundary <= time)
    }
}

/// Number of differences between windows from which the design effect of counts is estimated, in
/// both periods together.
pub(crate) fn degrees_of_counts(totals: &[[f64; WINDOWS]; 2]) -> f64 {
    let parts = totals.iter().flatten().filter(|total| **total > 0.0).count();
    (parts as f64 - 2.0).max(1.0)
}

/// The design effect of the counts of a kind of request by window, `totals` being the counts of all
/// requests: the variance of the counts, relative to their variance if requests were of this kind
/// independently of each other. At least 1.
pub(crate) fn effect_of_counts(counts: &[f64], totals: &[f64]) -> f64 {
    let (count, total): (f64, f64) = (counts.iter().sum(), totals.iter().sum());
    let share = if total > 0.0 { count / total } else { 0.0 };
    let parts = totals.iter().filter(|total| **total > 0.0).count();
    if share <= 0.0 || share >= 1.0 || parts < 2 {
        return 1.0;
    }
    let distances = counts.iter().zip(totals).filter(|(_, total)| **total > 0.0);
    let squares = distances
        .map(|(count, total)| (count - share * total).powi(2) / (total * share * (1.0 - share)));
    (squares.sum::<f64>() / (parts as f64 - 1.0)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_have_a_design_effect() {
        assert_eq!(effect_of_counts(&[5.0, 5.0, 5.0], &[10.0, 10.0, 10.0]), 1.0);
        // All in one of three windows: the terms of Pearson's chi-squared are 20, 5 and 5, with 2
        // degrees of freedom.
        let effect = effect_of_counts(&[10.0, 0.0, 0.0], &[10.0, 10.0, 10.0]);
        assert!((effect - (20.0 + 5.0 + 5.0) / 2.0).abs() < 1e-9, "{effect}");
        assert_eq!(effect_of_counts(&[0.0], &[0.0]), 1.0);
    }

    #[test]
    fn requests_are_spread_evenly_over_windows() {
        // Two bursts, and one request with a wrong time.
        let begins: Vec<i64> = (0..100).chain(1_000_000..1_000_099).chain([-5]).collect();
        let windows = PeriodWindows::from_begins(begins.clone());
        let mut counts = [0; WINDOWS];
        begins.iter().for_each(|begin| counts[windows.window_of_time(*begin)] += 1);
        assert!(counts.iter().all(|count| *count == 10), "{counts:?}");
        assert_eq!(
            (windows.window_of_time(i64::MIN), windows.window_of_time(i64::MAX)),
            (0, WINDOWS - 1)
        );
        // Requests at the same time are in the same window.
        let once = PeriodWindows::from_begins(vec![7; 50]);
        assert_eq!(once.window_of_time(7), WINDOWS - 1);
    }
}
