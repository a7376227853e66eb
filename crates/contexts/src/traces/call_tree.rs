//! Dynamic call tree of a trace: a node for each execution, with its operation, its caller, and the
//! group of concurrent calls that it belongs to.

use out_of_core::id_types;
use request_flow::{OverlapTracker, Step};

use crate::identity::OperationId;

id_types! {
    /// Place of a node in its call tree, in depth-first order.
    pub struct TreePlace;
}

/// A node of a call tree, in an array in depth-first order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallNode {
    /// The node's caller; a root has none.
    pub parent: Option<TreePlace>,
    /// The executed operation.
    pub operation: OperationId,
    /// Index of the first call of the node's group: the concurrent calls of one caller.
    pub group: u32,
    /// Whether any other call is concurrent with the node.
    pub is_concurrent: bool,
    /// Number of equal concurrent calls that the node stands for: 1 for a step of a request.
    pub times: u32,
}

const _: () = assert!(size_of::<CallNode>() == 5 * size_of::<u32>());

/// The call tree of a request. Its buffers are reused for the next one.
#[derive(Clone, Debug, Default)]
pub struct DynamicCallTree {
    nodes: Vec<CallNode>,
    /// For each node, the state of its children so far.
    children: Vec<ChildList>,
}

/// The children of a node so far.
#[derive(Clone, Copy, Debug, Default)]
struct ChildList {
    overlaps: OverlapTracker,
    /// Index of the first call of the last child's group.
    group: u32,
}

impl DynamicCallTree {
    /// The tree of the steps `steps`, which are in depth-first order.
    pub fn build_tree(
        &mut self,
        steps: &[Step],
        mut operation: impl FnMut(&Step) -> OperationId,
    ) -> &[CallNode] {
        self.nodes.clear();
        self.children.clear();
        self.children.resize(steps.len(), ChildList::default());
        for (place, step) in (0..).zip(steps) {
            let (mut group, mut is_concurrent) = (place, false);
            let parent = step.parent.filter(|parent| *parent < place);
            if let Some(of) = parent.and_then(|parent| self.children.get_mut(parent as usize)) {
                if of.overlaps.joins_previous(step) {
                    (group, is_concurrent) = (of.group, true);
                    if let Some(first) = self.nodes.get_mut(group as usize) {
                        first.is_concurrent = true;
                    }
                }
                of.group = group;
            }
            self.nodes.push(CallNode {
                parent: parent.map(|parent| TreePlace::from_index(parent as usize)),
                operation: operation(step),
                group,
                is_concurrent,
                times: 1,
            });
        }
        &self.nodes
    }
}

#[cfg(test)]
mod tests {
    use request_flow::{NameId, NameInterner};

    use super::*;

    #[test]
    fn calls_that_overlap_are_a_group() {
        let step = |parent, operation, begin, end| Step {
            parent,
            begin: Some(begin),
            end: Some(end),
            ..Step::new(NameInterner::UNKNOWN, NameId::from_index(operation))
        };
        // The second call has a call of its own; the third begins while the second runs.
        let steps = [
            step(None, 1, 0, 100),
            step(Some(0), 2, 0, 10),
            step(Some(0), 3, 20, 60),
            step(Some(2), 4, 30, 40),
            step(Some(0), 2, 50, 70),
            step(Some(0), 2, 80, 90),
        ];
        let mut tree = DynamicCallTree::default();
        let nodes = tree.build_tree(&steps, |step| OperationId::from_index(step.operation.index()));
        let shown: Vec<(u32, bool)> =
            nodes.iter().map(|node| (node.group, node.is_concurrent)).collect();
        let alone = |place| (place, false);
        assert_eq!(shown, [alone(0), alone(1), (2, true), alone(3), (2, true), alone(5)]);
        assert_eq!(nodes[0].parent, None);
        let operations: Vec<usize> = nodes.iter().map(|node| node.operation.index()).collect();
        assert_eq!(operations, [1, 2, 3, 4, 2, 2]);
    }
}
