//! A histogram of times on a logarithmic axis. The bins are narrow while few are non-empty, so that
//! times close to each other stay distinct, and become wider when there are more. A page of ten
//! thousand patterns has some hundred thousand histograms, most with a handful of values.

use serde::{Serialize, Serializer};

use super::number::ShortNumber;
use crate::tuning::{COARSEST_BINS, FINEST_BINS, MAX_BINS};

/// The weights of the non-empty bins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogHistogram {
    /// The number of bins per doubling of the time: bin `b` goes from 2^(b/fineness) up to
    /// 2^((b+1)/fineness) nanoseconds.
    fineness: u32,
    bins: Vec<(u16, f32)>,
}

impl Default for LogHistogram {
    fn default() -> LogHistogram {
        LogHistogram { fineness: FINEST_BINS, bins: Vec::new() }
    }
}

impl LogHistogram {
    /// Adds a time in nanoseconds with its probability. A time of zero, or below zero because of
    /// inaccurate clocks, is in the first bin.
    pub(crate) fn add_time(&mut self, nanoseconds: i64, weight: f32) {
        let bin = bin_of_time(nanoseconds, self.fineness);
        match self.bins.binary_search_by_key(&bin, |(bin, _)| *bin) {
            Ok(place) => self.bins[place].1 += weight,
            Err(place) => {
                self.bins.insert(place, (bin, weight));
                while self.bins.len() > MAX_BINS && self.fineness > COARSEST_BINS {
                    self.coarsen();
                }
            }
        }
    }

    /// Merges each two neighbouring bins into one.
    fn coarsen(&mut self) {
        self.fineness /= 2;
        self.bins.iter_mut().for_each(|(bin, _)| *bin /= 2);
        self.bins.dedup_by(|(bin, weight), (kept, sum)| {
            let is_same = bin == kept;
            if is_same {
                *sum += *weight;
            }
            is_same
        });
    }

    /// The quantile of `part`: the middle of the bin that contains it, in nanoseconds. `None` if
    /// the histogram is empty.
    pub(crate) fn quantile(&self, part: f64) -> Option<f64> {
        let whole: f64 = self.bins.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let mut sum = 0.0;
        for (bin, weight) in &self.bins {
            sum += f64::from(*weight);
            if sum >= part * whole {
                return Some(self.bin_center(*bin));
            }
        }
        self.bins.last().map(|(bin, _)| self.bin_center(*bin))
    }

    /// Adds the weights of `other`.
    pub(crate) fn merge(&mut self, other: &LogHistogram) {
        for (bin, weight) in &other.bins {
            self.add_time(other.bin_center(*bin) as i64, *weight);
        }
    }

    fn bin_center(&self, bin: u16) -> f64 {
        ((f64::from(bin) + 0.5) / f64::from(self.fineness)).exp2()
    }
}

/// The bin of a time.
fn bin_of_time(nanoseconds: i64, fineness: u32) -> u16 {
    match nanoseconds {
        ..=1 => 0,
        time => ((time as f64).log2() * f64::from(fineness)) as u16,
    }
}

/// A flat list: the bins per doubling, then bin and weight of each bin in order. An empty histogram
/// is an empty list.
impl Serialize for LogHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fineness =
            (!self.bins.is_empty()).then(|| ShortNumber::from_value(f64::from(self.fineness)));
        let weights = self.bins.iter().flat_map(|(bin, weight)| {
            [ShortNumber::from_value(f64::from(*bin)), ShortNumber::from_weight(f64::from(*weight))]
        });
        serializer.collect_seq(fineness.into_iter().chain(weights))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_is_in_the_bin_of_its_time() {
        let bin = |time| bin_of_time(time, COARSEST_BINS);
        assert_eq!([-5, 0, 1, 2, 4, 1024, i64::MAX].map(bin), [0, 0, 0, 8, 16, 80, 504]);
        let mut histogram = LogHistogram::default();
        for (time, weight) in [(1024, 0.5), (-3, 1.0), (1024, 0.25), (1030, 2.0)] {
            histogram.add_time(time, weight);
        }
        assert_eq!(serde_json::to_string(&histogram).unwrap(), "[256,0,1,2560,0.75,2562,2]");
        assert_eq!(serde_json::to_string(&LogHistogram::default()).unwrap(), "[]");
    }

    #[test]
    fn bins_are_as_narrow_as_fit() {
        let of = |times: &mut dyn Iterator<Item = i64>| {
            let mut histogram = LogHistogram::default();
            times.for_each(|time| histogram.add_time(time, 1.0));
            assert!(histogram.bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
            (histogram.fineness, histogram.bins.len())
        };
        // Times within 2 per cent of a millisecond: one of the coarsest bins, and several here.
        let (fineness, bins) = of(&mut (1_000_000..1_020_000).step_by(100));
        assert!(fineness == FINEST_BINS && bins > 6, "{fineness}, {bins}");
        // Times within a factor of two.
        let (fineness, bins) = of(&mut (1_000_000..2_000_000).step_by(1_000));
        assert!((32..=128).contains(&fineness) && bins > 30, "{fineness}, {bins}");
        // Times from a microsecond to a second, which are twenty doublings.
        let (fineness, bins) =
            of(&mut (0..100_000i32).map(|n| 1.001f64.powi(n % 13_800 + 6_900) as i64));
        assert!(fineness == COARSEST_BINS && bins > MAX_BINS, "{fineness}, {bins}");
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(LogHistogram::default().quantile(0.5), None);
    }

    #[test]
    fn the_order_does_not_matter() {
        let times: Vec<i64> = (0..3_000).map(|n| 1_000 + n * n % 70_001).collect();
        let of = |times: &mut dyn Iterator<Item = &i64>| {
            let mut histogram = LogHistogram::default();
            times.for_each(|time| histogram.add_time(*time, 1.0));
            histogram
        };
        assert_eq!(of(&mut times.iter()), of(&mut times.iter().rev()));
    }

    proptest! {
        #[test]
        fn a_quantile_is_near_the_value(mut times in prop::collection::vec(100..1_000_000_000i64, 1..200), part in 0.0f64..1.0) {
            let mut histogram = LogHistogram::default();
            times.iter().for_each(|time| histogram.add_time(*time, 1.0));
            times.sort_unstable();
            let rank = ((part * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let (exact, found) = (times[rank - 1] as f64, histogram.quantile(part).unwrap());
            prop_assert!((found / exact).log2().abs() <= 0.5001 / f64::from(COARSEST_BINS), "{found} for {exact}");
            let mut merged = LogHistogram::default();
            merged.merge(&histogram);
            prop_assert!((merged.quantile(part).unwrap() / exact).log2().abs() <= 1.0 / f64::from(COARSEST_BINS));
        }
    }
}
