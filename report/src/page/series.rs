//! What happens when: the trace cut into slices of equal length, and of each how many paths began in it and how long they
//! took.

use serde::Serialize;

use super::histogram::Histogram;
use super::number::Number;

/// Slices of the whole trace.
pub(super) const SLICES: usize = 240;
/// Slices for a pattern of its own, of which there may be thousands.
pub(super) const PATTERN_SLICES: usize = 60;

/// When a trace begins, and into how many slices it is cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slices {
    begin: i64,
    step: i64,
    number: usize,
}

impl Slices {
    /// Cuts `span` nanoseconds from `begin` into `number` slices.
    pub(super) fn of(begin: i64, span: i64, number: usize) -> Slices {
        let step = span.max(0).div_euclid(number as i64).saturating_add(1);
        Slices { begin, step, number }
    }

    /// The slice of a time; what lies outside is in the first or the last.
    pub(super) fn at(&self, time: i64) -> usize {
        let slice = time.saturating_sub(self.begin).max(0) / self.step;
        usize::try_from(slice).unwrap_or(usize::MAX).min(self.number.saturating_sub(1))
    }
}

/// The paths of the whole trace over time.
#[derive(Debug)]
pub(super) struct Series {
    slices: Slices,
    expected: Vec<f64>,
    time: Vec<f64>,
    durations: Vec<Histogram>,
}

/// The same as columns: times in nanoseconds, null where no path began.
#[derive(Debug, Serialize)]
pub(super) struct SeriesColumns {
    step: i64,
    expected: Vec<Number>,
    mean: Vec<Option<Number>>,
    p50: Vec<Option<Number>>,
    p99: Vec<Option<Number>>,
}

impl Series {
    pub(super) fn of(begin: i64, span: i64) -> Series {
        Series {
            slices: Slices::of(begin, span, SLICES),
            expected: vec![0.0; SLICES],
            time: vec![0.0; SLICES],
            durations: vec![Histogram::default(); SLICES],
        }
    }

    /// Adds a path that began at `time` and took `duration`.
    pub(super) fn add(&mut self, time: i64, duration: i64, probability: f64) {
        let slice = self.slices.at(time);
        self.expected[slice] += probability;
        self.time[slice] += probability * duration as f64;
        self.durations[slice].add(duration, probability as f32);
    }

    pub(super) fn columns(&self) -> SeriesColumns {
        let mean = |(time, expected): (&f64, &f64)| (*expected > 0.0).then(|| Number::whole(time / expected));
        let quantile = |part: f64| {
            self.durations.iter().map(|durations| durations.quantile(part).map(Number::whole)).collect()
        };
        SeriesColumns {
            step: self.slices.step,
            expected: self.expected.iter().map(|expected| Number::of(*expected)).collect(),
            mean: self.time.iter().zip(&self.expected).map(mean).collect(),
            p50: quantile(0.5),
            p99: quantile(0.99),
        }
    }
}

/// The paths of a pattern over time, of slices in which one began.
#[derive(Clone, Debug, Default)]
pub(super) struct PatternSeries(Vec<(u16, f64, f64)>);

impl PatternSeries {
    /// Adds a path that began in `slice`.
    pub(super) fn add(&mut self, slice: usize, duration: i64, probability: f64) {
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

    /// Slice, expected paths, their mean duration, and so on.
    pub(super) fn columns(&self) -> Vec<Number> {
        let row = |(slice, expected, time): &(u16, f64, f64)| {
            let mean = if *expected > 0.0 { time / expected } else { 0.0 };
            [Number::of(f64::from(*slice)), Number::of(*expected), Number::whole(mean)]
        };
        self.0.iter().flat_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_has_its_slice() {
        let slices = Slices::of(1_000, 239, 240);
        assert_eq!([0, 1_000, 1_001, 1_239, i64::MAX].map(|time| slices.at(time)), [0, 0, 1, 239, 239]);
        assert_eq!(Slices::of(0, 0, 60).at(5), 5);
        assert_eq!(Slices::of(i64::MIN, i64::MAX, 60).at(i64::MAX), 59);
    }

    #[test]
    fn means_are_weighted() {
        let mut series = Series::of(0, 239);
        series.add(0, 100, 1.0);
        series.add(0, 400, 0.5);
        series.add(7, 50, 0.25);
        let columns = series.columns();
        assert_eq!((columns.expected[0], columns.mean[0]), (Number::of(1.5), Some(Number::of(200.0))));
        assert_eq!(
            (columns.expected[7], columns.mean[7], columns.mean[8]),
            (Number::of(0.25), Some(Number::of(50.0)), None)
        );
        let mut of_pattern = PatternSeries::default();
        for (slice, duration, probability) in [(3, 10, 1.0), (1, 20, 0.5), (3, 30, 1.0)] {
            of_pattern.add(slice, duration, probability);
        }
        assert_eq!(of_pattern.columns(), [1.0, 0.5, 20.0, 3.0, 2.0, 20.0].map(Number::of));
    }
}
