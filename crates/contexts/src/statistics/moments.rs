//! Moments: mean and variance of weighted times, which can be merged, so that coarser contexts need
//! no second pass over executions.

/// Sum of weights, mean, and sum of the squared distances from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeMoments {
    /// Sum of the weights.
    pub weight: f64,
    /// The weighted mean, in nanoseconds.
    pub mean: f64,
    /// Weighted sum of the squared distances from the mean, in square nanoseconds.
    squares: f64,
}

impl TimeMoments {
    /// Moments of one value.
    pub fn from_value(value: f64, weight: f64) -> TimeMoments {
        TimeMoments { weight, mean: value, squares: 0.0 }
    }

    /// Moments of a context whose weight, mean and standard deviation are known.
    pub fn from_figures(weight: f64, mean: f64, deviation: f64) -> TimeMoments {
        TimeMoments { weight, mean, squares: deviation * deviation * weight }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64, weight: f64) {
        self.merge(&TimeMoments::from_value(value, weight));
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &TimeMoments) {
        let weight = self.weight + other.weight;
        if weight <= 0.0 {
            return;
        }
        let apart = other.mean - self.mean;
        self.mean += apart * (other.weight / weight);
        self.squares += other.squares + apart * apart * (self.weight * other.weight / weight);
        self.weight = weight;
    }

    /// The moments of the values without those of `other`, which are a part of them.
    pub fn excluding(&self, other: &TimeMoments) -> TimeMoments {
        let weight = self.weight - other.weight;
        if weight <= 1e-9 * self.weight {
            return TimeMoments::default();
        }
        let mean = self.mean + (self.mean - other.mean) * (other.weight / weight);
        let apart = other.mean - mean;
        let between = apart * apart * (weight * other.weight / self.weight);
        TimeMoments { weight, mean, squares: (self.squares - other.squares - between).max(0.0) }
    }

    /// The variance of the population.
    pub fn variance(&self) -> f64 {
        if self.weight > 0.0 { self.squares / self.weight } else { 0.0 }
    }

    /// The standard deviation of the population.
    pub fn deviation(&self) -> f64 {
        self.variance().sqrt()
    }

    /// Weighted sum of the squared distances from the mean.
    pub fn squared_distances(&self) -> f64 {
        self.squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let mut moments = TimeMoments::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.add(value, 1.0);
        }
        assert_eq!((moments.mean, moments.deviation(), moments.weight), (5.0, 2.0, 8.0));
        assert_eq!(TimeMoments::from_value(3.0, 0.5).deviation(), 0.0);
        assert_eq!(TimeMoments::default().deviation(), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Merged parts have the moments of all values together, by the definition.
        #[test]
        fn parts_merge_to_the_whole(values in proptest::collection::vec((0.0..1e9, 0.01..1.0), 1..50), cut in 0..50_usize) {
            let cut = cut.min(values.len());
            let of = |part: &[(f64, f64)]| {
                let mut moments = TimeMoments::default();
                part.iter().for_each(|(value, weight)| moments.add(*value, *weight));
                moments
            };
            let mut merged = of(&values[..cut]);
            merged.merge(&of(&values[cut..]));
            let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
            let mean = values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight;
            let variance = values.iter().map(|(value, weight)| (value - mean).powi(2) * weight).sum::<f64>() / weight;
            prop_assert!((merged.mean - mean).abs() <= 1e-6 * mean.max(1.0));
            prop_assert!((merged.deviation() - variance.sqrt()).abs() <= 1e-6 * variance.sqrt().max(1.0));
            let (left, rest) = (merged.excluding(&of(&values[..cut])), of(&values[cut..]));
            prop_assert!((left.mean - rest.mean).abs() <= 1e-3 * mean.max(1.0));
            prop_assert!((left.deviation() - rest.deviation()).abs() <= 1e-3 * mean.max(1.0));
        }
    }
}
