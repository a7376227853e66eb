//! Scaled request: a canonical request as a text with points as characters.

use std::hash::{Hash, Hasher};

use out_of_core::NameId;
use rustc_hash::FxHasher;

use super::DemandedResource;
use crate::canonical::{CanonicalRequest, ElementAct};
use crate::demands::Demands;

/// Demands on the scale of differences ([`DemandedResource::scale_demand`]).
pub(crate) type ScaledPoint = [f32; 6];

/// The act of an element, and its role.
pub(crate) type TextCharacter = (ElementAct, NameId);

/// A canonical request as a text for the edit distance (Magpie, section 5).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScaledRequest {
    pub(crate) text: Vec<TextCharacter>,
    pub(crate) points: Vec<ScaledPoint>,
    /// Number of characters with each value of a small hash. The counts of two texts give a lower
    /// bound of their edit distance.
    counts: [u16; BUCKETS],
}

/// Number of values of the hash by which characters are counted.
const BUCKETS: usize = 16;

impl ScaledRequest {
    pub(crate) fn from_canonical(canonical: &CanonicalRequest) -> ScaledRequest {
        let text = canonical.elements.iter().map(|element| (element.act, element.role)).collect();
        let points = canonical.elements.iter().map(|element| scale_demands(&element.demands));
        ScaledRequest::new(text, points.collect())
    }

    /// A text with a point for each of its characters.
    pub(crate) fn new(text: Vec<TextCharacter>, points: Vec<ScaledPoint>) -> ScaledRequest {
        let mut counts = [0_u16; BUCKETS];
        for character in &text {
            let mut hasher = FxHasher::default();
            character.hash(&mut hasher);
            // The upper bits of this hash are the mixed ones.
            let count = &mut counts[(hasher.finish() >> 60) as usize % BUCKETS];
            *count = count.saturating_add(1);
        }
        ScaledRequest { text, points, counts }
    }

    /// Lower bound of the number of characters that must be inserted, deleted or given another role
    /// to turn one text into the other.
    pub(crate) fn fewest_edits(&self, other: &ScaledRequest) -> usize {
        let (mut more, mut less) = (0_usize, 0_usize);
        for (a, b) in self.counts.iter().zip(&other.counts) {
            more += usize::from(a.saturating_sub(*b));
            less += usize::from(b.saturating_sub(*a));
        }
        more.max(less).max(self.text.len().abs_diff(other.text.len()))
    }
}

/// Demands on the scale of differences.
pub(crate) fn scale_demands(demands: &Demands) -> ScaledPoint {
    let of: [i64; 6] = (*demands).into();
    let mut point = ScaledPoint::default();
    if of == [0; 6] {
        return point;
    }
    for ((point, demand), resource) in point.iter_mut().zip(of).zip(DemandedResource::ALL) {
        *point = resource.scale_demand(demand as f64) as f32;
    }
    point
}
