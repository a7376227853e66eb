//! FindCorrelation (Project 5, Figure 6): the cross correlation C of two indicator functions, by
//! fast Fourier transforms. C(d) is the sum over t of s1(t) s2(t + d): roughly the number of
//! messages of s2 that came d quanta after one of s1.
//!
//! Signals are treated as cyclic: the first quantum follows the last one. With as many zeros in
//! between as the longest requested delay, no shift up to this delay reaches the other end. A
//! correlation of finite signals would be highest at shift zero and fall on both sides, just
//! because their overlap shrinks, and a peak above that slope at one shift would be hidden at
//! another (docs/decisions/0403).

use fourier::{Complex, ForwardTransform, InverseTransform};

/// The spectrum of a signal.
pub(super) type Spectrum = Vec<Complex<f64>>;

/// Correlates signals of one length.
pub(super) struct Correlator {
    length: usize,
    forward: ForwardTransform,
    inverse: InverseTransform,
}

/// C, with its mean and standard deviation over all shifts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Correlation {
    /// C(d) at the place d; C(-d) is d places before the end.
    pub(super) values: Vec<f64>,
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Correlator {
    /// Creates a correlator of signals of `quanta` quanta, for shifts of up to `longest`.
    pub(super) fn new(quanta: usize, longest: usize) -> Correlator {
        // One more place than the longest shift, for the neighbour that a local maximum is compared
        // with, and one for the neighbour of shift 0.
        let length = fast_length(quanta.saturating_add(longest).saturating_add(2));
        let (forward, inverse) = fourier::real_transforms(length);
        Correlator { length, forward, inverse }
    }

    /// Length that a signal must have.
    pub(super) fn signal_length(&self) -> usize {
        self.length
    }

    /// The spectrum of `signal`, which is overwritten.
    pub(super) fn compute_spectrum(&self, signal: &mut [f64]) -> Spectrum {
        let mut spectrum = self.forward.make_output_vec();
        // The transform fails only for signals of another length.
        match self.forward.process(signal, &mut spectrum) {
            Ok(()) => spectrum,
            Err(_) => Spectrum::new(),
        }
    }

    /// The correlation of the signals with the spectra `s1` and `s2`.
    pub(super) fn correlate(&self, s1: &[Complex<f64>], s2: &[Complex<f64>]) -> Correlation {
        let mut product: Spectrum =
            s1.iter().zip(s2).map(|(one, other)| one.conj() * other).collect();
        // The ends of real signals are real; rounding errors must not change that.
        let ends = [0, product.len().saturating_sub(1)];
        for end in ends {
            if let Some(value) = product.get_mut(end) {
                value.im = 0.0;
            }
        }
        // The first value is the sum of C, and the sum of the squares of all is that of C
        // (Parseval); the values that are not stored are the conjugates of the stored ones.
        let squares: f64 = product.iter().map(|value| value.norm_sqr()).sum();
        let [sum, last] = ends.map(|end| product.get(end).map_or(0.0, |value| value.re));
        let length = self.length as f64;
        let mean = sum / length;
        let variance =
            ((2.0 * squares - sum.powi(2) - last.powi(2)) / length.powi(2) - mean.powi(2)).max(0.0);
        let mut values = self.inverse.make_output_vec();
        if self.inverse.process(&mut product, &mut values).is_err() {
            return Correlation::default();
        }
        values.iter_mut().for_each(|value| *value /= length);
        Correlation { values, mean, deviation: variance.sqrt() }
    }
}

/// The least even number of at least `length` without prime factors except 2, 3 and 5: transforms
/// of these lengths are fast.
fn fast_length(length: usize) -> usize {
    let mut best = length.max(2).checked_next_power_of_two().unwrap_or(length);
    let mut fives = 1;
    while fives < best {
        let mut threes = fives;
        while threes < best {
            let mut candidate = threes * 2;
            while candidate < length {
                candidate *= 2;
            }
            best = best.min(candidate);
            threes *= 3;
        }
        fives *= 5;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn correlated(one: &[f64], other: &[f64], longest: usize) -> Correlation {
        let correlator = Correlator::new(one.len().max(other.len()), longest);
        let spectrum = |signal: &[f64]| {
            let mut padded = signal.to_vec();
            padded.resize(correlator.signal_length(), 0.0);
            correlator.compute_spectrum(&mut padded)
        };
        correlator.correlate(&spectrum(one), &spectrum(other))
    }

    /// C by its definition.
    fn direct(one: &[f64], other: &[f64], shift: usize) -> f64 {
        (0..one.len()).map(|t| one[t] * other.get(t + shift).copied().unwrap_or(0.0)).sum()
    }

    #[test]
    fn a_copy_shifted_by_three_correlates_at_three() {
        // Messages at 0, 2, 7; three quanta later at 3, 5, 10; and a lone one at 4.
        let s1 = [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let s2 = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let c = correlated(&s1, &s2, 5);
        let rounded: Vec<f64> =
            c.values[..6].iter().map(|value| (value * 1e9).round() / 1e9).collect();
        // At 2: 2 -> 4. At 3: all three. At 1: 2 -> 3. At 4: 0 -> 4. At 5: 0 -> 5.
        assert_eq!(rounded, [0.0, 1.0, 1.0, 3.0, 1.0, 1.0]);
        // Shifts back: 7 -> 5 two, 7 -> 4 three, 7 -> 3 four places before the end.
        let end = c.values.len();
        assert!([2, 3, 4].iter().all(|back| (c.values[end - back] - 1.0).abs() < 1e-9));
        // 3 messages by 4, over all shifts.
        assert!((c.mean * end as f64 - 12.0).abs() < 1e-9);
        // 8 and its neighbours: one 3, nine 1, the rest 0.
        let square = (9.0 + 9.0) / end as f64 - c.mean.powi(2);
        assert!((c.deviation - square.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn square_roots_make_a_product_count_messages() {
        // Four messages in a quantum, and four in the next: four pairs, not sixteen.
        let c = correlated(&[2.0, 0.0], &[0.0, 2.0], 2);
        assert!((c.values[1] - 4.0).abs() < 1e-9);
    }

    #[test]
    fn lengths_are_even_products_of_small_primes() {
        assert_eq!(
            [0, 1, 2, 3, 7, 11, 17, 97, 1025].map(fast_length),
            [2, 2, 2, 4, 8, 12, 18, 100, 1080]
        );
        // 2^11 times 25.
        assert_eq!(fast_length(50_700), 51_200);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn transforms_match_the_definition(
            one in proptest::collection::vec(0.0..4.0f64, 1..80),
            other in proptest::collection::vec(0.0..4.0f64, 1..80),
            longest in 0usize..100,
        ) {
            let c = correlated(&one, &other, longest);
            for shift in 0..=longest {
                prop_assert!((c.values[shift] - direct(&one, &other, shift)).abs() < 1e-9);
            }
            let total = one.iter().sum::<f64>() * other.iter().sum::<f64>();
            prop_assert!((c.mean * c.values.len() as f64 - total).abs() < 1e-6);
        }
    }
}
