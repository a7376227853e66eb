//! Histogram of the times of one call site in both periods, by window.

use rustc_hash::FxHashMap;

use crate::period::PeriodSide;
use crate::statistics::{
    WindowedValues, batch_means, grouped_kolmogorov_smirnov, period_scales, with_estimated_variance,
};
use crate::tuning::{FAR_OCTAVES, MIN_EXECUTIONS, MIN_SPREAD, WINDOWS};

/// Number of mantissa bits in a bucket: 16 buckets for each power of two.
const MANTISSA_BITS: u32 = 4;

/// Buckets for each power of two.
const PER_OCTAVE: u32 = 1 << MANTISSA_BITS;

/// Times in both periods, in buckets that are 4 to 6% wide.
#[derive(Clone, Debug, Default)]
pub struct SiteHistogram {
    /// Weight of the times in each bucket of each window of each period.
    cells: FxHashMap<u32, f64>,
    /// Exact sums over each period.
    sums: [PeriodSums; 2],
}

/// Sums over one period.
#[derive(Clone, Copy, Debug, Default)]
struct PeriodSums {
    count: u64,
    weight: f64,
    total: f64,
}

/// Results of the tests of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeTest {
    /// Probability of times that differ at least this much, if nothing changed, by the
    /// Kolmogorov-Smirnov test.
    pub p_value: f64,
    /// Probability of means that differ at least this much, if nothing changed.
    pub shift: f64,
    /// Design effect: the number of times with the information of one.
    pub effect: f64,
    /// For each of [`FAR_OCTAVES`] and each period, the number of windows with a time that exceeds
    /// the median by that number of octaves, and the number of all windows with a time.
    pub far: [[[f64; 2]; 2]; FAR_OCTAVES.len()],
}

/// Approximate width of a bucket in natural logarithms of times.
const BUCKET_WIDTH: f64 = std::f64::consts::LN_2 / PER_OCTAVE as f64;

/// The bucket of the median in a histogram of times relative to their median.
const RELATIVE_MEDIAN: u32 = 1 << 11;

/// The bucket of a time in nanoseconds.
fn bucket_of_time(ns: i64) -> u32 {
    let ns = ns.max(0) as u64;
    if ns < u64::from(PER_OCTAVE) {
        return ns as u32;
    }
    let octave = ns.ilog2();
    let mantissa = (ns >> (octave - MANTISSA_BITS)) as u32 & (PER_OCTAVE - 1);
    (octave - MANTISSA_BITS + 1) * PER_OCTAVE + mantissa
}

fn cell_index(side: PeriodSide, window: usize, bucket: u32) -> u32 {
    (bucket * WINDOWS as u32 + window as u32) * 2 + side as u32
}

impl SiteHistogram {
    /// Adds a time of `ns` nanoseconds in a window of a period, with its probability `weight`.
    pub fn add_time(&mut self, side: PeriodSide, window: usize, ns: i64, weight: f64) {
        let sums = &mut self.sums[side as usize];
        sums.count += 1;
        sums.weight += weight;
        sums.total += weight * ns as f64;
        *self.cells.entry(cell_index(side, window, bucket_of_time(ns))).or_default() += weight;
    }

    /// Adds the times of another part of the periods.
    pub fn merge(&mut self, other: &SiteHistogram) {
        for (sums, of) in self.sums.iter_mut().zip(&other.sums) {
            sums.count += of.count;
            sums.weight += of.weight;
            sums.total += of.total;
        }
        for (cell, weight) in &other.cells {
            *self.cells.entry(*cell).or_default() += weight;
        }
    }

    /// Number of times that were added in a period.
    pub fn count(&self, side: usize) -> u64 {
        self.sums[side].count
    }

    /// Sum of the weights of a period.
    pub fn weight(&self, side: usize) -> f64 {
        self.sums[side].weight
    }

    /// Mean of a period in nanoseconds; 0 without a time.
    pub fn mean(&self, side: usize) -> f64 {
        let sums = &self.sums[side];
        if sums.weight > 0.0 { sums.total / sums.weight } else { 0.0 }
    }

    /// Adds the times of a histogram relative to their median in both periods, so that slow and
    /// fast operations form one sample. A histogram without times in one period is left out.
    pub fn merge_relative(&mut self, other: &SiteHistogram) {
        if other.sums.iter().any(|sums| sums.count == 0) {
            return;
        }
        let rows = other.sorted_rows();
        let middle = median_bucket(&rows);
        for (bucket, side, window, weight) in rows {
            let bucket = (bucket + RELATIVE_MEDIAN).saturating_sub(middle);
            let side = if side == 0 { PeriodSide::Before } else { PeriodSide::After };
            *self.cells.entry(cell_index(side, window, bucket)).or_default() += weight;
        }
        for (sums, of) in self.sums.iter_mut().zip(&other.sums) {
            sums.count += of.count;
            sums.weight += of.weight;
        }
    }

    /// Rows of the histogram, by bucket.
    fn sorted_rows(&self) -> Vec<HistogramRow> {
        let mut rows: Vec<HistogramRow> = self
            .cells
            .iter()
            .map(|(cell, weight)| {
                let (rest, side) = (cell / 2, (cell % 2) as usize);
                (rest / WINDOWS as u32, side, (rest % WINDOWS as u32) as usize, *weight)
            })
            .collect();
        rows.sort_unstable_by_key(|(bucket, side, window, _)| (*bucket, *side, *window));
        rows
    }

    /// Tests whether times changed; `None` if a period has too few executions, or all of them at
    /// about one time, which does not represent the system at other times. `lengths` are the
    /// lengths of both periods, in any unit.
    pub fn test_change(&self, lengths: [f64; 2]) -> Option<TimeTest> {
        if self.sums.iter().any(|sums| sums.count < MIN_EXECUTIONS) {
            return None;
        }
        let rows = self.sorted_rows();
        let mut of = [WindowedValues::default(); 2];
        for (bucket, side, window, weight) in &rows {
            of[*side].add_value(*window, f64::from(*bucket) * BUCKET_WIDTH, *weight);
        }
        if of.iter().any(|of| of.effective_windows() < MIN_SPREAD) {
            return None;
        }
        let effects = [0, 1]
            .map(|side| of[side].design_effect(period_scales(lengths[side], lengths[1 - side])));
        let effect = effects[0].max(effects[1]);
        let sizes = [0, 1].map(|side| (self.sums[side].weight, effect));
        let by_bucket = rows.iter().map(|(bucket, side, _, weight)| (*bucket, *side, *weight));
        let degrees = of[0].effective_windows() + of[1].effective_windows() - 2.0;
        let p_value = grouped_kolmogorov_smirnov(by_bucket, sizes);
        let p_value = with_estimated_variance(p_value, degrees);
        let shift = batch_means([&of[0], &of[1]], lengths);
        Some(TimeTest { p_value, shift, effect, far: far_counts(&rows) })
    }
}

/// A row of a histogram: bucket, side, window and weight.
type HistogramRow = (u32, usize, usize, f64);

/// The weight of each period.
fn period_weights(rows: &[HistogramRow]) -> [f64; 2] {
    [0, 1].map(|side| {
        rows.iter().filter(|row| row.1 == side).map(|row| row.3).sum::<f64>().max(f64::MIN_POSITIVE)
    })
}

/// The bucket of the median of both periods. Each period counts equally, however many executions it
/// has.
fn median_bucket(rows: &[HistogramRow]) -> u32 {
    let weights = period_weights(rows);
    let mut sum = 0.0;
    for (bucket, side, _, weight) in rows {
        sum += weight / weights[*side];
        if sum >= 1.0 {
            return *bucket;
        }
    }
    0
}

/// For each of [`FAR_OCTAVES`] and each period the number of windows with a time that exceeds the
/// median of both periods by that number of octaves, and the number of all windows with a time.
/// Slow executions occur in bursts, so a window counts once.
fn far_counts(rows: &[HistogramRow]) -> [[[f64; 2]; 2]; FAR_OCTAVES.len()] {
    let middle = median_bucket(rows);
    let weights = period_weights(rows);
    FAR_OCTAVES.map(|octaves| {
        let least = middle + octaves * PER_OCTAVE;
        let mut of = [[(0.0, 0.0); WINDOWS]; 2];
        for (bucket, side, window, weight) in rows {
            let (all, far) = &mut of[*side][*window];
            *all += weight;
            *far += if *bucket >= least { *weight } else { 0.0 };
        }
        // The more executions a window has, the likelier one of them is slow. So an equal number of
        // executions is sampled in each window of either period: the average of a window in the
        // period with fewer.
        let windows = [0, 1].map(|side| of[side].iter().filter(|(all, _)| *all > 0.0).count());
        let sampled =
            (weights[0] / windows[0].max(1) as f64).min(weights[1] / windows[1].max(1) as f64);
        [0, 1].map(|side| {
            let seen = of[side].iter().filter(|(all, far)| *all > 0.0 && *far > 0.0);
            // Probability that the sample contains one of the far executions.
            let with_far = seen.map(|(all, far)| 1.0 - (1.0 - sampled / all).max(0.0).powf(*far));
            [with_far.sum::<f64>(), windows[side] as f64]
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_ascend_and_are_narrow() {
        let mut last = 0;
        for ns in 1..100_000 {
            let here = bucket_of_time(ns);
            assert!(here == last || here == last + 1, "{ns}");
            last = here;
        }
        assert_eq!(bucket_of_time(1 << 20) - bucket_of_time(1 << 19), PER_OCTAVE);
        assert_eq!(bucket_of_time(-5), 0);
    }

    fn filled(times: [&dyn Fn(u64) -> i64; 2]) -> SiteHistogram {
        let mut histogram = SiteHistogram::default();
        for (side, time) in PeriodSide::BOTH.into_iter().zip(times) {
            for number in 0..400 {
                histogram.add_time(side, number as usize / 20, time(number), 1.0);
            }
        }
        histogram
    }

    #[test]
    fn a_shift_is_found_and_equal_times_are_not_one() {
        let drawn = |number: u64| 1_000_000 + (message_trace::mix_bits(number) % 500_000) as i64;
        let other =
            |number: u64| 1_000_000 + (message_trace::mix_bits(number + 999) % 500_000) as i64;
        let same = filled([&drawn, &other]);
        assert!(same.test_change([1.0; 2]).unwrap().p_value > 0.05);
        let slower = filled([&drawn, &|number| other(number) + 200_000]);
        assert!(slower.test_change([1.0; 2]).unwrap().p_value < 1e-6);
        assert!((slower.mean(1) - slower.mean(0) - 200_000.0).abs() < 30_000.0);
    }

    #[test]
    fn far_times_count_once_per_window() {
        let far = |number: u64| if number < 40 { 50_000_000 } else { 1_000_000 };
        let test = filled([&|_| 1_000_000, &far]).test_change([1.0; 2]).unwrap();
        assert_eq!(test.far[0], [[0.0, 20.0], [2.0, 20.0]]);
        assert_eq!(test.far[2], [[0.0, 20.0], [0.0, 20.0]]);
    }

    #[test]
    fn few_times_are_not_tested() {
        let mut histogram = SiteHistogram::default();
        histogram.add_time(PeriodSide::Before, 0, 1, 1.0);
        assert_eq!(histogram.test_change([1.0; 2]), None);
    }
}
