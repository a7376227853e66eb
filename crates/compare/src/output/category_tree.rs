//! Categories with names in place of numbers: as trees of places, and on one line each.

use serde::Serialize;

use super::distribution::DistributionPair;
use crate::analysis::{CategoryStats, HopKind};
use crate::comparison::Comparison;

/// A place of a category.
#[derive(Clone, Debug, Serialize)]
pub struct TreePlace {
    /// Place of the step's parent; `None` for the root.
    pub parent: Option<u32>,
    /// Depth in the tree.
    pub depth: u32,
    /// Node that executes the step.
    pub node: String,
    /// Operation of the step.
    pub operation: String,
    /// Whether the step fails.
    pub failed: bool,
    /// Whether the step is called several times in sequence.
    pub repeated: bool,
    /// Whether the step runs concurrently with the previous sibling.
    pub concurrent: bool,
    /// Mean own time on the critical path in both periods, in nanoseconds.
    pub own_ns: [f64; 2],
    /// Mean transfer time of the step's call and response, in nanoseconds.
    pub network_ns: [f64; 2],
}

/// A category as a tree.
#[derive(Clone, Debug, Serialize)]
pub struct CategoryTree {
    /// Key of the category, which is equal in any recording.
    pub category: String,
    /// The node that calls the root.
    pub caller: String,
    /// Number of requests in both periods.
    pub counts: [f64; 2],
    /// Number of requests with a response time in both periods.
    pub timed: [u64; 2],
    /// Mean response times in nanoseconds; 0 if there is no response time.
    pub mean_ns: [f64; 2],
    /// Variances, in square nanoseconds.
    pub variance: [f64; 2],
    /// Squared coefficients of variation.
    pub squared_variation: [Option<f64>; 2],
    /// Response times in both periods.
    pub distribution: DistributionPair,
    /// Places of the category, depth first.
    pub places: Vec<TreePlace>,
}

impl CategoryTree {
    pub(super) fn from_category(comparison: &Comparison, category: &CategoryStats) -> CategoryTree {
        let names = &comparison.names;
        let mut places: Vec<TreePlace> = category
            .structure
            .places
            .iter()
            .map(|place| TreePlace {
                parent: place.parent,
                depth: place.depth,
                node: names.name_of(place.symbol.node).to_owned(),
                operation: names.name_of(place.symbol.operation).to_owned(),
                failed: place.symbol.failed,
                repeated: place.symbol.repeated,
                concurrent: place.with_previous,
                own_ns: [0.0; 2],
                network_ns: [0.0; 2],
            })
            .collect();
        for hop in &category.hops {
            let Some(place) = places.get_mut(hop.place as usize) else { continue };
            let means = [0, 1].map(|side| hop.samples[side].moments.mean);
            match hop.kind {
                HopKind::Own => place.own_ns = means,
                HopKind::Network => place.network_ns = means,
            }
        }
        let response = &category.response;
        CategoryTree {
            category: format!("{:032x}", category.key),
            caller: names.name_of(category.structure.caller).to_owned(),
            counts: category.counts,
            timed: [0, 1].map(|side| response[side].moments.count),
            mean_ns: [0, 1].map(|side| response[side].moments.mean),
            variance: [0, 1].map(|side| response[side].moments.variance()),
            distribution: DistributionPair::from_samples(response),
            squared_variation: [0, 1].map(|side| response[side].moments.squared_variation()),
            places,
        }
    }
}

/// A category on one line.
#[derive(Clone, Debug, Serialize)]
pub struct CategoryLine {
    /// Key of the category, which is equal in any recording.
    pub category: String,
    /// The node of the root.
    pub node: String,
    /// The operation of the root.
    pub operation: String,
    /// Number of places of the category.
    pub steps: usize,
    /// Number of requests in both periods, as sums of probabilities.
    pub counts: [f64; 2],
    /// Number of requests with a response time.
    pub timed: [u64; 2],
    /// Mean response times in nanoseconds; 0 if there is no response time.
    pub mean_ns: [f64; 2],
    /// Variances, in square nanoseconds.
    pub variance: [f64; 2],
    /// Squared coefficients of variation.
    pub squared_variation: [Option<f64>; 2],
}

impl CategoryLine {
    /// All categories, the most frequent first.
    pub(super) fn from_comparison(comparison: &Comparison) -> Vec<CategoryLine> {
        let names = &comparison.names;
        let one = |category: &CategoryStats| {
            let [_, node, operation] = category.structure.request_kind();
            let moments = category.response.each_ref().map(|sample| sample.moments);
            CategoryLine {
                category: format!("{:032x}", category.key),
                node: names.name_of(node).to_owned(),
                operation: names.name_of(operation).to_owned(),
                steps: category.structure.places.len(),
                counts: category.counts,
                timed: moments.map(|of| of.count),
                mean_ns: moments.map(|of| of.mean),
                variance: moments.map(|of| of.variance()),
                squared_variation: moments.map(|of| of.squared_variation()),
            }
        };
        let mut lines: Vec<CategoryLine> = comparison.categories.iter().map(one).collect();
        let count = |line: &CategoryLine| line.counts[0] + line.counts[1];
        lines.sort_by(|a, b| count(b).total_cmp(&count(a)).then(a.category.cmp(&b.category)));
        lines
    }
}
