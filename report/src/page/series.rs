//! Series: the time of the trace is cut into slices of equal length. Each slice has the number of
//! paths that began in it and their durations. Slices are so long that each has enough paths: the
//! duration of two paths is no trend.

use serde::Serialize;

use super::histogram::LogHistogram;
use super::number::ShortNumber;
use crate::tuning::{
    MERGED_SLICES, MIN_PATHS_FOR_MEDIAN, MIN_PATHS_FOR_P99, PATHS_PER_SLICE, SLICES,
};

/// The slices of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeSlices {
    begin: i64,
    step: i64,
    number: usize,
}

impl TimeSlices {
    /// `number` slices of `span` nanoseconds in total, from `begin` on.
    pub(super) fn new(begin: i64, span: i64, number: usize) -> TimeSlices {
        let step = span.max(0).div_euclid(number as i64).saturating_add(1);
        TimeSlices { begin, step, number }
    }

    /// The length of a slice, in nanoseconds.
    pub(super) fn slice_length(&self) -> i64 {
        self.step
    }

    /// The slice of a time. A time outside of the trace is in the first or the last slice.
    pub(super) fn slice_at(&self, time: i64) -> usize {
        let slice = time.saturating_sub(self.begin).max(0) / self.step;
        usize::try_from(slice).unwrap_or(usize::MAX).min(self.number.saturating_sub(1))
    }
}

/// The paths of the whole trace over time.
#[derive(Debug)]
pub(super) struct PathSeries {
    slices: TimeSlices,
    /// The expected number of paths that began in each slice.
    expected: Vec<f64>,
    /// The sum of duration times probability of each slice, in nanoseconds.
    time: Vec<f64>,
    /// The distribution of the durations of each slice.
    durations: Vec<LogHistogram>,
}

/// The series as columns. Times are in nanoseconds, null if no paths or too few began.
#[derive(Debug, Serialize)]
pub(super) struct SeriesColumns {
    step: i64,
    expected: Vec<ShortNumber>,
    mean: Vec<Option<ShortNumber>>,
    p50: Vec<Option<ShortNumber>>,
    p99: Vec<Option<ShortNumber>>,
}

impl PathSeries {
    pub(super) fn new(begin: i64, span: i64) -> PathSeries {
        PathSeries {
            slices: TimeSlices::new(begin, span, SLICES),
            expected: vec![0.0; SLICES],
            time: vec![0.0; SLICES],
            durations: vec![LogHistogram::default(); SLICES],
        }
    }

    /// Adds a path that began at `time` and took `duration`.
    pub(super) fn add_path(&mut self, time: i64, duration: i64, probability: f64) {
        let slice = self.slices.slice_at(time);
        self.expected[slice] += probability;
        self.time[slice] += probability * duration as f64;
        self.durations[slice].add_time(duration, probability as f32);
    }

    /// The columns, with as few slices merged into one as are necessary for enough paths in each.
    pub(super) fn to_columns(&self) -> SeriesColumns {
        let together = MERGED_SLICES.into_iter().find(|number| self.is_enough(*number));
        let together = together.unwrap_or(MERGED_SLICES[MERGED_SLICES.len() - 1]);
        let expected = sums_of_groups(&self.expected, together);
        let time = sums_of_groups(&self.time, together);
        let durations: Vec<LogHistogram> =
            self.durations.chunks(together).map(merge_histograms).collect();
        let mean = |(time, expected): (&f64, &f64)| {
            (*expected > 0.0).then(|| ShortNumber::from_whole(time / expected))
        };
        let quantile = |part: f64, least: f64| {
            let of_slice = |(durations, expected): (&LogHistogram, &f64)| {
                // The tolerance is necessary because sums of probabilities are a little below the
                // count.
                (*expected >= least - 1e-3)
                    .then(|| durations.quantile(part).map(ShortNumber::from_whole))
                    .flatten()
            };
            durations.iter().zip(&expected).map(of_slice).collect()
        };
        SeriesColumns {
            step: self.slices.step.saturating_mul(together as i64),
            mean: time.iter().zip(&expected).map(mean).collect(),
            p50: quantile(0.5, MIN_PATHS_FOR_MEDIAN),
            p99: quantile(0.99, MIN_PATHS_FOR_P99),
            expected: expected.into_iter().map(ShortNumber::from_value).collect(),
        }
    }

    /// Whether slices have enough paths if `together` of them are merged into one.
    fn is_enough(&self, together: usize) -> bool {
        let slices = sums_of_groups(&self.expected, together);
        let begun = slices.iter().filter(|expected| **expected > 0.0).count();
        slices.iter().sum::<f64>() >= PATHS_PER_SLICE * begun as f64
    }
}

/// The sums of each `together` values.
fn sums_of_groups(values: &[f64], together: usize) -> Vec<f64> {
    values.chunks(together).map(|of| of.iter().sum()).collect()
}

fn merge_histograms(histograms: &[LogHistogram]) -> LogHistogram {
    match histograms {
        [one] => one.clone(),
        many => many.iter().fold(LogHistogram::default(), |mut all, one| {
            all.merge(one);
            all
        }),
    }
}

/// The paths of one pattern over time: the slices in which a path began, each with the expected
/// number of paths and the sum of duration times probability in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct PatternSeries(Vec<(u16, f64, f64)>);

impl PatternSeries {
    /// Adds a path that began in `slice`.
    pub(super) fn add_path(&mut self, slice: usize, duration: i64, probability: f64) {
        let slice = slice as u16;
        let place = match self.0.binary_search_by_key(&slice, |(slice, ..)| *slice) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (slice, 0.0, 0.0));
                place
            }
        };
        let (_, expected, time) = &mut self.0[place];
        *expected += probability;
        *time += probability * duration as f64;
    }

    /// A flat list with three numbers for each slice: its number, the expected paths, and their
    /// mean duration.
    pub(super) fn to_columns(&self) -> Vec<ShortNumber> {
        let row = |(slice, expected, time): &(u16, f64, f64)| {
            let mean = if *expected > 0.0 { time / expected } else { 0.0 };
            [
                ShortNumber::from_value(f64::from(*slice)),
                ShortNumber::from_value(*expected),
                ShortNumber::from_whole(mean),
            ]
        };
        self.0.iter().flat_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_has_its_slice() {
        let slices = TimeSlices::new(1_000, 239, 240);
        assert_eq!(
            [0, 1_000, 1_001, 1_239, i64::MAX].map(|time| slices.slice_at(time)),
            [0, 0, 1, 239, 239]
        );
        assert_eq!(TimeSlices::new(0, 0, 60).slice_at(5), 5);
        assert_eq!(TimeSlices::new(i64::MIN, i64::MAX, 60).slice_at(i64::MAX), 59);
    }

    #[test]
    fn slices_have_enough_paths() {
        // With one path in each slice of the first half, ten slices are merged into one.
        let mut series = PathSeries::new(0, 239);
        (0..120).for_each(|time| series.add_path(time, 100 + time, 1.0));
        let columns = series.to_columns();
        assert_eq!((columns.step, columns.expected.len()), (10, 24));
        assert!(
            columns.expected[..12]
                .iter()
                .all(|expected| *expected == ShortNumber::from_value(10.0))
        );
        assert_eq!(columns.mean[0], Some(ShortNumber::from_value(104.5 + 0.5)));
        assert!(columns.p50[..12].iter().all(Option::is_some), "{:?}", columns.p50);
        assert!(columns.p99.iter().all(Option::is_none), "of ten paths: {:?}", columns.p99);
    }

    #[test]
    fn few_paths_have_neither_median_nor_p99() {
        let mut series = PathSeries::new(0, 239);
        for time in [0, 1, 100, 230] {
            series.add_path(time, 100, 1.0);
        }
        let columns = series.to_columns();
        assert_eq!(columns.expected.len(), SLICES / MERGED_SLICES[MERGED_SLICES.len() - 1]);
        assert_eq!(columns.mean.iter().flatten().count(), 3);
        assert!(columns.p50.iter().chain(&columns.p99).all(Option::is_none), "{columns:?}");
        (0..20).for_each(|_| series.add_path(50, 100, 1.0));
        let columns = series.to_columns();
        assert_eq!(columns.p99.iter().flatten().count(), 1);
    }

    #[test]
    fn means_are_weighted() {
        let mut series = PathSeries::new(0, 239);
        for _ in 0..10 {
            series.add_path(0, 100, 1.0);
            series.add_path(0, 400, 0.5);
            series.add_path(7, 50, 1.0);
        }
        let columns = series.to_columns();
        assert_eq!((columns.step, columns.expected.len()), (1, SLICES));
        assert_eq!(
            (columns.expected[0], columns.mean[0]),
            (ShortNumber::from_value(15.0), Some(ShortNumber::from_value(200.0)))
        );
        assert_eq!(
            (columns.expected[7], columns.mean[7], columns.mean[8]),
            (ShortNumber::from_value(10.0), Some(ShortNumber::from_value(50.0)), None)
        );
        let mut of_pattern = PatternSeries::default();
        for (slice, duration, probability) in [(3, 10, 1.0), (1, 20, 0.5), (3, 30, 1.0)] {
            of_pattern.add_path(slice, duration, probability);
        }
        assert_eq!(
            of_pattern.to_columns(),
            [1.0, 0.5, 20.0, 3.0, 2.0, 20.0].map(ShortNumber::from_value)
        );
    }
}
