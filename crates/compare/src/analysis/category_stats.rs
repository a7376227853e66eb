//! What a category is like in both periods.

use super::hop::{Hop, HopKind};
use super::sample::Sample;
use crate::category::{CategoryKey, Structure};
use crate::observations::Observation;
use crate::statistics::scales;
use crate::stretches::Stretches;
use crate::tuning::STRETCHES;

/// A category in both periods.
#[derive(Clone, Debug)]
pub struct CategoryStats {
    /// By what it is known.
    pub key: CategoryKey,
    /// What its requests have in common.
    pub structure: Structure,
    /// Number of its requests in each period, as the sum of their probabilities.
    pub counts: [f64; 2],
    /// The same in each stretch of each period's time.
    pub stretches: [[f64; STRETCHES]; 2],
    /// Response times.
    pub response: [Sample; 2],
    /// The hops whose time on the critical path is known and ever more than 0.
    pub hops: Vec<Hop>,
}

impl CategoryStats {
    /// The category of these observations.
    pub fn of(
        key: CategoryKey,
        structure: Structure,
        mut observations: [Vec<Observation>; 2],
        stretches_of: &[Stretches; 2],
    ) -> CategoryStats {
        let mut counts = [0.0; 2];
        let mut stretches = [[0.0; STRETCHES]; 2];
        for (side, of_side) in observations.iter_mut().enumerate() {
            // Stable: those that begin together stay in the order of the table.
            of_side.sort_by_key(|observation| observation.begin);
            for observation in of_side.iter() {
                let weight = f64::from(observation.weight);
                counts[side] += weight;
                stretches[side][stretches_of[side].at(observation.begin)] += weight;
            }
            of_side.retain(|observation| !observation.response.is_nan());
        }
        let lengths = stretches_of.each_ref().map(Stretches::length);
        let sample = |side: usize, value: &dyn Fn(&Observation) -> f32| {
            let of = observations[side].iter().map(|observation| {
                let stretch = stretches_of[side].at(observation.begin);
                (value(observation), observation.weight, stretch)
            });
            Sample::of(of, scales(lengths[side], lengths[1 - side]))
        };
        let both = |value: &dyn Fn(&Observation) -> f32| [sample(0, value), sample(1, value)];
        let response = both(&|observation| observation.response);
        let mut hops = Vec::new();
        for place in 0..2 * structure.places.len() {
            let of =
                |observation: &Observation| observation.shares.get(place).copied().unwrap_or(0.0);
            if observations.iter().flatten().any(|observation| of(observation) > 0.0) {
                let kind = if place % 2 == 0 { HopKind::Own } else { HopKind::Network };
                hops.push(Hop { place: (place / 2) as u32, kind, samples: both(&of) });
            }
        }
        CategoryStats { key, structure, counts, stretches, response, hops }
    }
}
