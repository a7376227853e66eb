//! Histogram of times of one call site in both periods, by stretch of time.

use rustc_hash::FxHashMap;

use crate::period::Side;
use crate::statistics::grouped_kolmogorov_smirnov;
use crate::tuning::{FAR_OCTAVES, MIN_TESTED, STRETCHES};

/// Bits of the mantissa that tell two buckets apart: 16 buckets for each power of two.
const MANTISSA_BITS: u32 = 4;

/// Buckets for each power of two.
const PER_OCTAVE: u32 = 1 << MANTISSA_BITS;

/// Times in both periods, in buckets that are 4 to 6% wide.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Weight of the times in each bucket of each stretch of each period.
    cells: FxHashMap<u32, f64>,
    /// Sums over each period, exact.
    sums: [Sums; 2],
}

/// Sums over one period.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    weight: f64,
    total: f64,
}

/// What the tests say of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeTest {
    /// Probability of times as unlike as these if nothing changed.
    pub p_value: f64,
    /// For each of [`FAR_OCTAVES`] and each period, the number of stretches with a time as far above
    /// the usual, and of all with a time.
    pub far: [[[f64; 2]; 2]; FAR_OCTAVES.len()],
}

/// The bucket of a time in nanoseconds.
fn bucket(ns: i64) -> u32 {
    let ns = ns.max(0) as u64;
    if ns < u64::from(PER_OCTAVE) {
        return ns as u32;
    }
    let octave = ns.ilog2();
    let mantissa = (ns >> (octave - MANTISSA_BITS)) as u32 & (PER_OCTAVE - 1);
    (octave - MANTISSA_BITS + 1) * PER_OCTAVE + mantissa
}

fn cell(side: Side, stretch: usize, bucket: u32) -> u32 {
    (bucket * STRETCHES as u32 + stretch as u32) * 2 + side as u32
}

impl Histogram {
    /// Adds a time in nanoseconds.
    pub fn add(&mut self, side: Side, stretch: usize, ns: i64, weight: f64) {
        let sums = &mut self.sums[side as usize];
        sums.count += 1;
        sums.weight += weight;
        sums.total += weight * ns as f64;
        *self.cells.entry(cell(side, stretch, bucket(ns))).or_default() += weight;
    }

    /// Adds those of another part of the periods.
    pub fn merge(&mut self, other: &Histogram) {
        for (sums, of) in self.sums.iter_mut().zip(&other.sums) {
            sums.count += of.count;
            sums.weight += of.weight;
            sums.total += of.total;
        }
        for (cell, weight) in &other.cells {
            *self.cells.entry(*cell).or_default() += weight;
        }
    }

    /// Number of times in a period.
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

    /// Tests whether times changed; `None` where a period has too few. `lengths` are how long both
    /// periods are, in any unit.
    pub fn test(&self, lengths: [f64; 2]) -> Option<TimeTest> {
        if self.sums.iter().any(|sums| (sums.count as usize) < MIN_TESTED) {
            return None;
        }
        let mut rows: Vec<(u32, usize, usize, f64)> = self
            .cells
            .iter()
            .map(|(cell, weight)| {
                let (rest, side) = (cell / 2, (cell % 2) as usize);
                (rest / STRETCHES as u32, side, (rest % STRETCHES as u32) as usize, *weight)
            })
            .collect();
        rows.sort_unstable_by_key(|(bucket, side, stretch, _)| (*bucket, *side, *stretch));
        // Both periods are of one system. What the longer one shows of its slow drift is there in
        // the shorter one, which is too short to show it.
        let effects = [0, 1].map(|side| {
            let together = (STRETCHES as f64 * lengths[1 - side] / lengths[side].max(1.0)).round();
            let scales = [1, 2, 4, (together as usize).clamp(1, STRETCHES / 2)];
            effect(&rows, side, self.sums[side].count, scales)
        });
        let effect = effects[0].max(effects[1]);
        let sizes = [0, 1].map(|side| (self.sums[side].weight, effect));
        let by_bucket = rows.iter().map(|(bucket, side, _, weight)| (*bucket, *side, *weight));
        let p_value = grouped_kolmogorov_smirnov(by_bucket, sizes);
        Some(TimeTest { p_value, far: far(&rows) })
    }
}

/// The design effect of the times of one period: by how much means of stretches differ more than
/// they would if times were independent. Buckets are logarithms, so that one slow time alone does
/// not decide.
///
/// What drifts slowly differs more between long stretches than between short ones, so `scales` are
/// numbers of stretches that are taken together.
fn effect<const N: usize>(
    rows: &[(u32, usize, usize, f64)],
    side: usize,
    count: u64,
    scales: [usize; N],
) -> f64 {
    let mut of = [(0.0, 0.0); STRETCHES];
    let (mut weight, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (bucket, _, stretch, here) in rows.iter().filter(|row| row.1 == side) {
        let value = f64::from(*bucket);
        of[*stretch].0 += here;
        of[*stretch].1 += here * value;
        weight += here;
        sum += here * value;
        squares += here * value * value;
    }
    if weight <= 0.0 {
        return 1.0;
    }
    let mean = sum / weight;
    let variance = (squares / weight - mean * mean).max(0.0);
    if variance <= 0.0 {
        return 1.0;
    }
    let scales = scales.map(|together| {
        let sums = of
            .chunks(together)
            .map(|part| part.iter().fold((0.0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1)));
        let of: Vec<(f64, f64)> = sums.filter(|(weight, _)| *weight > 0.0).collect();
        if of.len() < 2 || count as usize <= of.len() {
            return 1.0;
        }
        let between = of.iter().map(|(weight, sum)| weight * (sum / weight - mean).powi(2));
        between.sum::<f64>() / (of.len() as f64 - 1.0) / variance
    });
    scales.into_iter().fold(1.0, f64::max)
}

/// For each level and period the number of stretches with a time as far above the median of both,
/// and of all stretches with a time. What is slow comes in bunches, so a stretch counts once.
fn far(rows: &[(u32, usize, usize, f64)]) -> [[[f64; 2]; 2]; FAR_OCTAVES.len()] {
    let weights = [0, 1].map(|side| {
        rows.iter().filter(|row| row.1 == side).map(|row| row.3).sum::<f64>().max(f64::MIN_POSITIVE)
    });
    // Each period counts the same, however many executions it has.
    let (mut sum, mut middle) = (0.0, 0);
    for (bucket, side, _, weight) in rows {
        sum += weight / weights[*side];
        if sum >= 1.0 {
            middle = *bucket;
            break;
        }
    }
    // The greatest bucket of each stretch.
    let mut greatest = [[None; STRETCHES]; 2];
    for (bucket, side, stretch, _) in rows {
        greatest[*side][*stretch] = Some(*bucket).max(greatest[*side][*stretch]);
    }
    FAR_OCTAVES.map(|octaves| {
        let least = middle + octaves * PER_OCTAVE;
        greatest.map(|of| {
            let seen = of.iter().flatten();
            [seen.clone().filter(|bucket| **bucket >= least).count() as f64, seen.count() as f64]
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
            let here = bucket(ns);
            assert!(here == last || here == last + 1, "{ns}");
            last = here;
        }
        assert_eq!(bucket(1 << 20) - bucket(1 << 19), PER_OCTAVE);
        assert_eq!(bucket(-5), 0);
    }

    fn filled(times: [&dyn Fn(u64) -> i64; 2]) -> Histogram {
        let mut histogram = Histogram::default();
        for (side, time) in Side::BOTH.into_iter().zip(times) {
            for number in 0..400 {
                histogram.add(side, number as usize / 20, time(number), 1.0);
            }
        }
        histogram
    }

    #[test]
    fn a_shift_is_found_and_none_is_not() {
        let drawn = |number: u64| 1_000_000 + (message_trace::mixed(number) % 500_000) as i64;
        let other = |number: u64| 1_000_000 + (message_trace::mixed(number + 999) % 500_000) as i64;
        let same = filled([&drawn, &other]);
        assert!(same.test([1.0; 2]).unwrap().p_value > 0.05);
        let slower = filled([&drawn, &|number| other(number) + 200_000]);
        assert!(slower.test([1.0; 2]).unwrap().p_value < 1e-6);
        assert!((slower.mean(1) - slower.mean(0) - 200_000.0).abs() < 30_000.0);
    }

    #[test]
    fn what_is_far_is_counted_once_a_stretch() {
        let far = |number: u64| if number < 40 { 50_000_000 } else { 1_000_000 };
        let test = filled([&|_| 1_000_000, &far]).test([1.0; 2]).unwrap();
        assert_eq!(test.far[0], [[0.0, 20.0], [2.0, 20.0]]);
        assert_eq!(test.far[2], [[0.0, 20.0], [0.0, 20.0]]);
    }

    #[test]
    fn few_times_are_not_tested() {
        let mut histogram = Histogram::default();
        histogram.add(Side::Before, 0, 1, 1.0);
        assert_eq!(histogram.test([1.0; 2]), None);
    }
}
