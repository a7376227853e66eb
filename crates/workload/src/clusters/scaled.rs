//! Scaled request: a canonical request as a text whose characters are points.

use std::hash::{Hash, Hasher};

use out_of_core::NameId;
use rustc_hash::FxHasher;

use super::Resource;
use crate::canonical::{Act, Canonical};
use crate::demands::Demands;

/// Demands on the scale of differences ([`Resource::scale`]).
pub(crate) type Point = [f32; 6];

/// What happens in an element, and who does it.
pub(crate) type Character = (Act, NameId);

/// A canonical request as a text for the edit distance (Magpie, section 5).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scaled {
    pub(crate) text: Vec<Character>,
    pub(crate) points: Vec<Point>,
    /// Number of characters by a hash of each: what two texts differ in at least.
    counts: [u16; BUCKETS],
}

const BUCKETS: usize = 16;

impl Scaled {
    pub(crate) fn of(canonical: &Canonical) -> Scaled {
        let text = canonical.elements.iter().map(|element| (element.act, element.role)).collect();
        let points = canonical.elements.iter().map(|element| point(&element.demands));
        Scaled::new(text, points.collect())
    }

    /// A text with a point for each of its characters.
    pub(crate) fn new(text: Vec<Character>, points: Vec<Point>) -> Scaled {
        let mut counts = [0_u16; BUCKETS];
        for character in &text {
            let mut hasher = FxHasher::default();
            character.hash(&mut hasher);
            // The upper bits of this hash are the mixed ones.
            let count = &mut counts[(hasher.finish() >> 60) as usize % BUCKETS];
            *count = count.saturating_add(1);
        }
        Scaled { text, points, counts }
    }

    /// Minimum number of characters that have to be put in, left out or given another role to
    /// make one text of the other.
    pub(crate) fn fewest_edits(&self, other: &Scaled) -> usize {
        let (mut more, mut less) = (0_usize, 0_usize);
        for (a, b) in self.counts.iter().zip(&other.counts) {
            more += usize::from(a.saturating_sub(*b));
            less += usize::from(b.saturating_sub(*a));
        }
        more.max(less).max(self.text.len().abs_diff(other.text.len()))
    }
}

/// Demands on the scale of differences.
pub(crate) fn point(demands: &Demands) -> Point {
    let of: [i64; 6] = (*demands).into();
    let mut point = Point::default();
    if of == [0; 6] {
        return point;
    }
    for ((point, demand), resource) in point.iter_mut().zip(of).zip(Resource::ALL) {
        *point = resource.scale(demand as f64) as f32;
    }
    point
}
