//! Stretches: equal parts of a period's time, to see whether a kind of request comes evenly.

use crate::tuning::STRETCHES;

/// The time of a period in equal parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretches {
    first: i64,
    length: i64,
}

impl Stretches {
    /// The stretches of a period, from the times at which its first and its last request begin.
    pub fn of(begins: Option<(i64, i64)>) -> Stretches {
        let (first, last) = begins.unwrap_or_default();
        let length = last.saturating_sub(first).saturating_add(1);
        Stretches { first, length: length.max(1) }
    }

    /// How long all of them are together, in nanoseconds.
    pub fn length(&self) -> f64 {
        self.length as f64
    }

    /// The stretch that a time lies in.
    pub fn at(&self, time: i64) -> usize {
        let since = time.saturating_sub(self.first).max(0);
        let part = i128::from(since) * STRETCHES as i128 / i128::from(self.length.max(1));
        (part as usize).min(STRETCHES - 1)
    }
}

/// Number of differences between stretches that the design effect of counts is estimated from, in
/// both periods together.
pub(crate) fn degrees_of_counts(totals: &[[f64; STRETCHES]; 2]) -> f64 {
    let parts = totals.iter().flatten().filter(|total| **total > 0.0).count();
    (parts as f64 - 2.0).max(1.0)
}

/// The design effect of counts in stretches, of all requests there: by how much they vary more than
/// they would if each request were of the kind by chance. At least 1.
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
    fn bunches_have_an_effect() {
        assert_eq!(effect_of_counts(&[5.0, 5.0, 5.0], &[10.0, 10.0, 10.0]), 1.0);
        // All in one of three: (5/... by hand: shares 1/3; squares (10-10/3)^2/(10*2/9) twice less.
        let effect = effect_of_counts(&[10.0, 0.0, 0.0], &[10.0, 10.0, 10.0]);
        assert!((effect - (20.0 + 5.0 + 5.0) / 2.0).abs() < 1e-9, "{effect}");
        assert_eq!(effect_of_counts(&[0.0], &[0.0]), 1.0);
    }

    #[test]
    fn times_lie_in_stretches() {
        let stretches = Stretches::of(Some((100, 299)));
        assert_eq!(
            [100, 109, 110, 299, 50, 999].map(|time| stretches.at(time)),
            [0, 0, 1, 19, 0, 19]
        );
    }
}
