//! Classes of traces: traces with equal trees, and the positions in these trees. A position is a
//! trace-context.

use rustc_hash::FxHashMap;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::call_tree::{CallNode, TreePlace};
use super::canonical::TreeCanonicalizer;
use super::shapes::ShapeId;
use crate::identity::OperationId;

/// Number of a position among the positions of a [`TraceClasses`], dense from 0 over all classes.
/// The positions of a class are in canonical depth-first order.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    Immutable,
)]
#[repr(transparent)]
pub struct PositionId(u32);

impl PositionId {
    /// The id of the position at this index.
    pub const fn from_index(index: usize) -> PositionId {
        PositionId(index as u32)
    }

    /// The index of the position.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The position at a place of the class that begins with this position.
    pub const fn at_place(self, place: u32) -> PositionId {
        PositionId(self.0 + place)
    }

    /// The place of the position in the class that begins with `first`.
    pub const fn place_after(self, first: PositionId) -> u32 {
        self.0 - first.0
    }
}

/// A class of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceClass {
    /// The caller that began the class's traces.
    pub caller: OperationId,
    /// First position of the class.
    pub first: PositionId,
    /// Number of the class's positions.
    pub size: u32,
}

/// All classes so far.
#[derive(Clone, Debug, Default)]
pub struct TraceClasses {
    canonical: TreeCanonicalizer,
    numbers: FxHashMap<ShapeId, u32>,
    classes: Vec<TraceClass>,
    /// The trees of all classes, concatenated, with parents and groups as places in the class.
    positions: Vec<CallNode>,
}

impl TraceClasses {
    /// Number of the class of a trace, which is added if it is new. The position of a node is the
    /// first position of the class plus the value in [`TraceClasses::places_of_nodes`].
    pub fn class_of_trace(&mut self, tree: &[CallNode], caller: OperationId) -> u32 {
        let shape = self.canonical.fold_tree(tree, caller, |_| true);
        if let Some(class) = self.numbers.get(&shape) {
            return *class;
        }
        let class = self.classes.len() as u32;
        self.numbers.insert(shape, class);
        self.add_class(tree, caller, self.canonical.shape_size(shape));
        class
    }

    /// The place of each node of the last trace in its class.
    pub fn places_of_nodes(&self) -> &[u32] {
        self.canonical.places_of_nodes()
    }

    /// All classes, by number.
    pub fn classes(&self) -> &[TraceClass] {
        &self.classes
    }

    /// All positions, by number; see [`TraceClasses::tree_of_class`].
    pub fn positions(&self) -> &[CallNode] {
        &self.positions
    }

    /// The tree of a class, with parents and groups as places in this tree.
    pub fn tree_of_class(&self, class: &TraceClass) -> &[CallNode] {
        let first = class.first.index();
        self.positions.get(first..first + class.size as usize).unwrap_or_default()
    }

    /// The class of a position.
    pub fn class_of(&self, position: PositionId) -> u32 {
        (self.classes.partition_point(|class| class.first <= position) as u32).saturating_sub(1)
    }

    fn add_class(&mut self, tree: &[CallNode], caller: OperationId, size: u32) {
        let first = self.positions.len();
        self.classes.push(TraceClass { caller, first: PositionId::from_index(first), size });
        let places = self.canonical.places_of_nodes();
        let place = |node: TreePlace| {
            let place = places.get(node.index())?;
            Some(TreePlace::from_index(*place as usize))
        };
        // The first place of each group, by its first node.
        let mut groups: Vec<u32> = vec![u32::MAX; tree.len()];
        for (node, place) in tree.iter().zip(places) {
            if let Some(group) = groups.get_mut(node.group as usize) {
                *group = (*group).min(*place);
            }
        }
        let blank =
            CallNode { parent: None, operation: caller, group: 0, is_concurrent: false, times: 1 };
        self.positions.resize(first + size as usize, blank);
        for ((node, at), times) in tree.iter().zip(places).zip(self.canonical.repetitions()) {
            if let Some(position) = self.positions.get_mut(first + *at as usize) {
                *position = CallNode {
                    parent: node.parent.and_then(place),
                    group: groups.get(node.group as usize).copied().unwrap_or(*at),
                    times: *times,
                    ..*node
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<usize>, operation: usize, group: u32, is_concurrent: bool) -> CallNode {
        let operation = OperationId::from_index(operation);
        let parent = parent.map(TreePlace::from_index);
        CallNode { parent, operation, group, is_concurrent, times: 1 }
    }

    #[test]
    fn a_class_has_its_tree_in_canonical_order() {
        let mut classes = TraceClasses::default();
        // Concurrent calls of 5, 4 (which calls 6) and 5; then one of 4.
        let one = [
            node(None, 1, 0, false),
            node(Some(0), 5, 1, true),
            node(Some(0), 4, 1, true),
            node(Some(2), 6, 3, false),
            node(Some(0), 5, 1, true),
            node(Some(0), 4, 5, false),
        ];
        // An equal tree with the concurrent calls in another order.
        let other = [
            node(None, 1, 0, false),
            node(Some(0), 4, 1, true),
            node(Some(1), 6, 2, false),
            node(Some(0), 5, 1, true),
            node(Some(0), 5, 1, true),
            node(Some(0), 4, 5, false),
        ];
        assert_eq!(classes.class_of_trace(&one, OperationId::EXTERNAL), 0);
        let places = classes.places_of_nodes().to_vec();
        assert_eq!(places[1], places[4], "equal concurrent calls have one place");
        assert_eq!(classes.class_of_trace(&other, OperationId::EXTERNAL), 0);
        assert_eq!(classes.places_of_nodes()[1..3], places[2..4]);
        assert_eq!(classes.class_of_trace(&other, OperationId::from_index(9)), 1, "another caller");
        let tree = classes.tree_of_class(&classes.classes()[0]);
        assert_eq!(tree.len(), 5);
        let fives = &tree[places[1] as usize];
        assert_eq!((fives.operation.index(), fives.times, fives.is_concurrent), (5, 2, true));
        assert!(
            tree.iter()
                .zip(TreePlace::ids())
                .all(|(node, at)| node.parent.is_none_or(|parent| parent < at))
        );
        assert_eq!(
            [0, 4, 5, 9].map(|index| classes.class_of(PositionId::from_index(index))),
            [0, 0, 1, 1]
        );
    }
}
