//! A distribution of times on a log axis: so many bins to each doubling, as few as are hit. Ten thousand patterns have some
//! hundred thousand of them, most with a handful of values.

use serde::{Serialize, Serializer};

use super::number::Number;

/// Bins to each doubling of the time: neighbours differ by 9 percent.
pub(crate) const BINS_PER_DOUBLING: u32 = 8;

/// Weights by bin, of bins in which there is something.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Histogram(Vec<(u16, f32)>);

impl Histogram {
    /// Adds a time in nanoseconds with the probability that it was so. What takes no time, or less by bad clocks, is in the
    /// first bin.
    pub(crate) fn add(&mut self, nanoseconds: i64, weight: f32) {
        let bin = bin(nanoseconds);
        match self.0.binary_search_by_key(&bin, |(bin, _)| *bin) {
            Ok(place) => self.0[place].1 += weight,
            Err(place) => self.0.insert(place, (bin, weight)),
        }
    }

    /// The time below which `part` of the weight lies: the middle of its bin, in nanoseconds. None of nothing.
    pub(crate) fn quantile(&self, part: f64) -> Option<f64> {
        let whole: f64 = self.0.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let mut sum = 0.0;
        for (bin, weight) in &self.0 {
            sum += f64::from(*weight);
            if sum >= part * whole {
                return Some(middle(*bin));
            }
        }
        self.0.last().map(|(bin, _)| middle(*bin))
    }
}

/// The bin of a time: bin `b` goes from 2^(b/8) up to 2^((b+1)/8) nanoseconds.
fn bin(nanoseconds: i64) -> u16 {
    match nanoseconds {
        ..=1 => 0,
        time => ((time as f64).log2() * f64::from(BINS_PER_DOUBLING)) as u16,
    }
}

fn middle(bin: u16) -> f64 {
    ((f64::from(bin) + 0.5) / f64::from(BINS_PER_DOUBLING)).exp2()
}

/// Bin, weight, bin, weight and so on, in the order of the bins.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0
                .iter()
                .flat_map(|(bin, weight)| [Number::of(f64::from(*bin)), Number::weight(f64::from(*weight))]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_is_in_the_bin_of_its_time() {
        assert_eq!([-5, 0, 1, 2, 4, 1024, i64::MAX].map(bin), [0, 0, 0, 8, 16, 80, 504]);
        let mut histogram = Histogram::default();
        for (time, weight) in [(1024, 0.5), (-3, 1.0), (1030, 0.25)] {
            histogram.add(time, weight);
        }
        assert_eq!(serde_json::to_string(&histogram).unwrap(), "[0,1,80,0.75]");
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    proptest! {
        #[test]
        fn a_quantile_is_near_the_value(mut times in prop::collection::vec(100..1_000_000_000i64, 1..200), part in 0.0f64..1.0) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|time| histogram.add(*time, 1.0));
            times.sort_unstable();
            let rank = ((part * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let (exact, found) = (times[rank - 1] as f64, histogram.quantile(part).unwrap());
            prop_assert!((found / exact).log2().abs() <= 0.5001 / f64::from(BINS_PER_DOUBLING), "{found} for {exact}");
        }
    }
}
