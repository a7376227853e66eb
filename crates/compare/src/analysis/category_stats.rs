//! Statistics of a category in both periods.

use super::hop::{CategoryHop, HopKind};
use super::period_sample::PeriodSample;
use crate::category::{CategoryKey, CategoryStructure};
use crate::observations::RequestObservation;
use crate::period_windows::PeriodWindows;
use crate::statistics::period_scales;
use crate::tuning::WINDOWS;

/// A category in both periods.
#[derive(Clone, Debug)]
pub struct CategoryStats {
    /// Key of the category.
    pub key: CategoryKey,
    /// The structure that the category's requests have in common.
    pub structure: CategoryStructure,
    /// Number of the category's requests in each period, as the sum of their probabilities.
    pub counts: [f64; 2],
    /// Number of the category's requests in each window of each period.
    pub windows: [[f64; WINDOWS]; 2],
    /// Response times of the category's requests in both periods.
    pub response: [PeriodSample; 2],
    /// The hops with a known time on the critical path that is not always 0.
    pub hops: Vec<CategoryHop>,
}

impl CategoryStats {
    /// The statistics of the category with these observations.
    pub fn from_observations(
        key: CategoryKey,
        structure: CategoryStructure,
        mut observations: [Vec<RequestObservation>; 2],
        windows_of: &[PeriodWindows; 2],
    ) -> CategoryStats {
        let mut counts = [0.0; 2];
        let mut windows = [[0.0; WINDOWS]; 2];
        for (side, of_side) in observations.iter_mut().enumerate() {
            // Stable: observations that begin together stay in the order of the table.
            of_side.sort_by_key(|observation| observation.begin);
            for observation in of_side.iter() {
                let weight = f64::from(observation.weight);
                counts[side] += weight;
                windows[side][windows_of[side].window_of_time(observation.begin)] += weight;
            }
            of_side.retain(|observation| !observation.response.is_nan());
        }
        let lengths = windows_of.each_ref().map(PeriodWindows::length);
        let sample = |side: usize, value: &dyn Fn(&RequestObservation) -> f32| {
            let of = observations[side].iter().map(|observation| {
                let window = windows_of[side].window_of_time(observation.begin);
                (value(observation), observation.weight, window)
            });
            PeriodSample::from_observations(of, period_scales(lengths[side], lengths[1 - side]))
        };
        let both =
            |value: &dyn Fn(&RequestObservation) -> f32| [sample(0, value), sample(1, value)];
        let response = both(&|observation| observation.response);
        let mut hops = Vec::new();
        for place in 0..2 * structure.places.len() {
            let of = |observation: &RequestObservation| {
                observation.shares.get(place).copied().unwrap_or(0.0)
            };
            if observations.iter().flatten().any(|observation| of(observation) > 0.0) {
                let kind = if place % 2 == 0 { HopKind::Own } else { HopKind::Network };
                hops.push(CategoryHop { place: (place / 2) as u32, kind, samples: both(&of) });
            }
        }
        CategoryStats { key, structure, counts, windows, response, hops }
    }
}
