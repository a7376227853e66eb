//! Shapes of requests. A shape is the number of calls of each kind that were made for a request, in
//! any order. It grows call by call while a request is served. Each shape is stored once and
//! identified by a number.

use std::sync::Arc;

use crate::tuning::auto::model::shapes::MAX_COUNT;
use rustc_hash::FxHashMap;

/// A shape's number; 0 is the shape without calls.
pub(super) type ShapeId = u32;

/// The number of calls of each kind, sorted by kind. It is shared, since every part of a search has
/// its own shapes.
type ShapeCounts = Arc<[(u32, u32)]>;

/// All shapes seen so far.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    /// The calls of each shape.
    counts: Vec<ShapeCounts>,
    ids: FxHashMap<ShapeCounts, ShapeId>,
    /// For a shape and a kind of call the shape with one more such call.
    grown: FxHashMap<(ShapeId, u32), ShapeId>,
}

impl Shapes {
    pub(super) fn new() -> Shapes {
        let none = ShapeCounts::default();
        Shapes {
            counts: vec![none.clone()],
            ids: [(none, 0)].into_iter().collect(),
            grown: FxHashMap::default(),
        }
    }

    /// Number of shapes.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The shape with one more call of the kind `kind`.
    pub(super) fn with_call(&mut self, shape: ShapeId, kind: u32) -> ShapeId {
        if let Some(grown) = self.grown.get(&(shape, kind)) {
            return *grown;
        }
        let mut counts = self.counts[shape as usize].to_vec();
        match counts.binary_search_by_key(&kind, |(of, _)| *of) {
            Ok(at) => counts[at].1 = (counts[at].1 + 1).min(MAX_COUNT),
            Err(at) => counts.insert(at, (kind, 1)),
        }
        let id = match self.ids.get(counts.as_slice()) {
            Some(id) => *id,
            None => {
                let id = self.counts.len() as ShapeId;
                let counts = ShapeCounts::from(counts);
                self.counts.push(counts.clone());
                self.ids.insert(counts, id);
                id
            }
        };
        self.grown.insert((shape, kind), id);
        id
    }

    /// Number of calls of the kind `kind` in the shape.
    pub(super) fn count(&self, shape: ShapeId, kind: u32) -> u32 {
        self.counts[shape as usize]
            .iter()
            .find(|(of, _)| *of == kind)
            .map_or(0, |(_, count)| *count)
    }

    /// Number of calls of each kind in the shape.
    pub(super) fn counts(&self, shape: ShapeId) -> &[(u32, u32)] {
        &self.counts[shape as usize]
    }

    /// Returns whether a request of the shape `small` can still become one of the shape `large`.
    pub(super) fn contains(&self, large: ShapeId, small: ShapeId) -> bool {
        self.counts(small).iter().all(|(kind, count)| self.count(large, *kind) >= *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_calls_does_not_matter() {
        let mut shapes = Shapes::new();
        let grow = |shapes: &mut Shapes, kinds: &[u32]| {
            kinds.iter().fold(0, |shape, kind| shapes.with_call(shape, *kind))
        };
        let (one, other) = (grow(&mut shapes, &[7, 3, 7]), grow(&mut shapes, &[7, 7, 3]));
        assert_eq!(one, other);
        assert_eq!(shapes.counts(one), [(3, 1), (7, 2)]);
        let part = grow(&mut shapes, &[7]);
        assert!(
            shapes.contains(one, part) && !shapes.contains(part, one) && shapes.contains(part, 0)
        );
    }
}
