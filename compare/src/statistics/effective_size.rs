//! The design effect of a sample in order of time: how many of its observations have the
//! information of one.
//!
//! Requests that come one after the other meet the same queue, the same cache and the same
//! neighbour. Tests that take them for independent find a change in each pair of periods. So each
//! period is cut into stretches with equally many observations: were these independent, means of
//! stretches would differ by the variance of one observation over the number in a stretch. By as
//! much as they differ more, there are fewer observations than it seems (Kish 1965).

use super::moments::Moments;
use crate::tuning::{MIN_STRETCH, STRETCHES};

/// The design effect of observations in order of time, at least 1.
pub fn design_effect(in_order: &[f32]) -> f64 {
    let stretches = STRETCHES.min(in_order.len() / MIN_STRETCH);
    if stretches < 2 {
        return 1.0;
    }
    let all = Moments::of(in_order.iter().map(|value| f64::from(*value)));
    let variance = all.variance();
    if variance <= 0.0 {
        return 1.0;
    }
    let length = in_order.len() as f64 / stretches as f64;
    let mut means = Moments::default();
    for stretch in 0..stretches {
        let at = |number: usize| (number as f64 * length).round() as usize;
        let part = in_order.get(at(stretch)..at(stretch + 1)).unwrap_or_default();
        means.add(Moments::of(part.iter().map(|value| f64::from(*value))).mean, 1.0);
    }
    let stretches = stretches as f64;
    let of_means = means.variance() * stretches / (stretches - 1.0);
    (of_means / (variance / length)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look as if they were drawn, each the same at each run.
    fn drawn(count: u64) -> impl Iterator<Item = f32> {
        (0..count).map(|number| (message_trace::mixed(number + 1) % 1_000) as f32)
    }

    #[test]
    fn independent_observations_count_once_and_repeated_ones_together() {
        let alone: Vec<f32> = drawn(6_400).collect();
        let effect = design_effect(&alone);
        assert!((1.0..2.0).contains(&effect), "{effect}");
        // Each 40 times, one after the other: 40 have the information of one.
        let together: Vec<f32> =
            drawn(160).flat_map(|value| std::iter::repeat_n(value, 40)).collect();
        let effect = design_effect(&together);
        assert!((20.0..80.0).contains(&effect), "{effect}");
        assert_eq!(design_effect(&[]), 1.0);
        assert_eq!(design_effect(&[3.0; 1_000]), 1.0);
    }
}
