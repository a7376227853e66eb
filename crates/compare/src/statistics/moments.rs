//! Count, mean and variance of weighted observations, which can be added up.

use serde::Serialize;

/// Sums over observations (Welford 1962; West 1979 for weights).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WeightedMoments {
    /// Number of observations.
    pub count: u64,
    /// Sum of the observations' weights.
    pub weight: f64,
    /// Mean, in the unit of the observations.
    pub mean: f64,
    /// Sum of the weighted squares of distances from the mean.
    squares: f64,
}

impl WeightedMoments {
    /// Adds an observation with its weight.
    pub fn add(&mut self, value: f64, weight: f64) {
        if weight <= 0.0 {
            return;
        }
        self.count += 1;
        self.weight += weight;
        let distance = value - self.mean;
        self.mean += distance * weight / self.weight;
        self.squares += weight * distance * (value - self.mean);
    }

    /// The moments of observations with weight 1.
    pub fn from_values(values: impl IntoIterator<Item = f64>) -> WeightedMoments {
        let mut moments = WeightedMoments::default();
        values.into_iter().for_each(|value| moments.add(value, 1.0));
        moments
    }

    /// Adds the moments of other observations (Chan, Golub and LeVeque 1979).
    pub fn merge(&mut self, other: &WeightedMoments) {
        if other.weight <= 0.0 {
            return;
        }
        let weight = self.weight + other.weight;
        let distance = other.mean - self.mean;
        self.mean += distance * other.weight / weight;
        self.squares += other.squares + distance * distance * self.weight * other.weight / weight;
        self.count += other.count;
        self.weight = weight;
    }

    /// Variance of the observations as a population; 0 without any.
    pub fn variance(&self) -> f64 {
        if self.weight > 0.0 { self.squares / self.weight } else { 0.0 }
    }

    /// Squared coefficient of variation (Spectroscope, 5.2): below 1, requests of one structure
    /// take about the same time. `None` if the mean is 0.
    pub fn squared_variation(&self) -> Option<f64> {
        (self.mean != 0.0 && self.count > 0).then(|| self.variance() / (self.mean * self.mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let moments = WeightedMoments::from_values([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((moments.count, moments.mean), (8, 5.0));
        assert!((moments.variance() - 4.0).abs() < 1e-12);
        assert!((moments.squared_variation().unwrap() - 4.0 / 25.0).abs() < 1e-12);
        let mut weighted = WeightedMoments::default();
        weighted.add(1.0, 3.0);
        weighted.add(5.0, 1.0);
        weighted.add(100.0, 0.0);
        assert_eq!((weighted.count, weighted.weight, weighted.mean), (2, 4.0, 2.0));
        assert!((weighted.variance() - 3.0).abs() < 1e-12, "(3 * 1 + 1 * 9) / 4");
        assert_eq!(WeightedMoments::default().squared_variation(), None);
        let mut merged = WeightedMoments::from_values([2.0, 4.0, 4.0]);
        merged.merge(&WeightedMoments::from_values([4.0, 5.0, 5.0, 7.0, 9.0]));
        assert!((merged.mean - 5.0).abs() < 1e-12 && (merged.variance() - 4.0).abs() < 1e-12);
    }
}
