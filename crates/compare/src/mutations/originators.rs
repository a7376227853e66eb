//! Originators (later papers: precursors): the categories that a structural mutation's requests may
//! have belonged to before (Spectroscope, 4.2.2).

use super::structural::RateChange;
use crate::analysis::CategoryStats;
use crate::category::CategoryStructure;
use crate::options::Options;
use crate::statistics::normalized_edit_distance;
use crate::tuning::MAX_ORIGINATORS;

/// A category to which a mutation's requests may have belonged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Originator {
    /// Index of the category.
    pub category: usize,
    /// Normalized edit distance to the mutation, from 0 to 1.
    pub distance: f64,
    /// The place at which the two structures first differ: in the mutation, and in the originator.
    pub parting: [u32; 2],
}

/// The originators of a mutation, the most similar one first: categories of the same kind that
/// became less frequent. With [`Options::one_to_many`], a category must have lost at least the
/// share that the mutation gained, unless no category lost as much: several may then have lost it
/// together.
pub fn find_originators(
    mutation: &RateChange,
    changes: &[RateChange],
    categories: &[CategoryStats],
    options: &Options,
) -> Vec<Originator> {
    let increase = mutation.change();
    let is_less = |change: &RateChange| change.kind == mutation.kind && change.change() < 0.0;
    let is_enough = |change: &RateChange| -change.change() >= increase * (1.0 - 1e-9);
    let waived = !options.one_to_many || !changes.iter().any(|of| is_less(of) && is_enough(of));
    let fits = |change: &&RateChange| is_less(change) && (waived || is_enough(change));
    let of_mutation = &categories[mutation.category].structure;
    let symbols = of_mutation.walk_symbols();
    let mut found: Vec<Originator> = Vec::new();
    for change in changes.iter().filter(fits) {
        let other = &categories[change.category].structure;
        // A category farther away than the kept ones needs no exact distance.
        let farthest = found.get(MAX_ORIGINATORS - 1).map_or(1.0, |last| last.distance);
        let distance = normalized_edit_distance(&symbols, &other.walk_symbols(), farthest);
        let Some(distance) = distance else { continue };
        let parting = first_divergence(of_mutation, other);
        found.push(Originator { category: change.category, distance, parting });
        found.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.category.cmp(&b.category)));
        found.truncate(MAX_ORIGINATORS);
    }
    found
}

/// The places of both structures at which they first differ, in the order of the depth-first walk;
/// if one ends, its last place.
pub fn first_divergence(one: &CategoryStructure, other: &CategoryStructure) -> [u32; 2] {
    let same = one.places.iter().zip(&other.places).take_while(|(one, other)| one == other);
    let same = same.count() as u32;
    let last = |structure: &CategoryStructure| (structure.places.len() as u32).saturating_sub(1);
    [same.min(last(one)), same.min(last(other))]
}
