//! Trace-contexts: positions in classes of traces, each with its stack-context. Stacks are computed
//! once per class, so that an execution costs one array access.

use super::stack_context::{StackContexts, StackId};
use crate::identity::OperationId;
use crate::traces::{CallNode, PositionId, TraceClasses};

/// All contexts so far, on all levels.
#[derive(Clone, Debug, Default)]
pub struct TraceContexts {
    /// The classes of traces.
    pub classes: TraceClasses,
    /// The stack-contexts.
    pub stacks: StackContexts,
    /// Stack-context of each trace-context.
    stack_of: Vec<StackId>,
}

impl TraceContexts {
    /// Number of the class of a trace. The position of each of its nodes is the first position of
    /// the class plus the node's value in [`TraceClasses::places_of_nodes`].
    pub fn class_of_trace(&mut self, tree: &[CallNode], caller: OperationId) -> u32 {
        let class = self.classes.class_of_trace(tree, caller);
        let TraceContexts { classes, stacks, stack_of } = self;
        if let Some(new) = classes.classes().get(class as usize)
            && new.first.index() == stack_of.len()
        {
            let root = stacks.root_stack(new.caller);
            for node in classes.tree_of_class(new) {
                let parent = node.parent.map(|parent| new.first.index() + parent.index());
                let above = parent.and_then(|parent| stack_of.get(parent)).copied().unwrap_or(root);
                stack_of.push(stacks.callee_stack(above, node.operation));
            }
        }
        class
    }

    /// The stack-context of a trace-context.
    pub fn stack_of(&self, position: PositionId) -> StackId {
        self.stack_of.get(position.index()).copied().unwrap_or_default()
    }

    /// The operation of a trace-context.
    pub fn operation_of(&self, position: PositionId) -> OperationId {
        self.classes
            .positions()
            .get(position.index())
            .map(|node| node.operation)
            .unwrap_or_default()
    }

    /// Number of trace-contexts.
    pub fn len(&self) -> usize {
        self.stack_of.len()
    }

    /// Whether there is no trace-context.
    pub fn is_empty(&self) -> bool {
        self.stack_of.is_empty()
    }

    /// All trace-contexts in the order of the calling-context tree: grouped by operation, then by
    /// caller, then by stack.
    pub fn by_context(&self) -> Vec<PositionId> {
        let mut all: Vec<PositionId> = (0..self.len()).map(PositionId::from_index).collect();
        all.sort_by_cached_key(|position| {
            let stack = self.stack_of(*position);
            let (caller, operation) = self.stacks.caller_context(stack).unwrap_or_default();
            (operation, caller, stack, *position)
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::TreePlace;

    #[test]
    fn positions_have_the_stacks_of_their_trees() {
        let node = |parent: Option<usize>, operation, group| CallNode {
            parent: parent.map(TreePlace::from_index),
            operation: OperationId::from_index(operation),
            group,
            is_concurrent: false,
            times: 1,
        };
        let mut contexts = TraceContexts::default();
        let one = [node(None, 1, 0), node(Some(0), 2, 1), node(Some(0), 2, 2)];
        let other = [node(None, 1, 0), node(Some(0), 2, 1), node(Some(1), 2, 2)];
        assert_eq!(
            [&one, &other, &one].map(|tree| contexts.class_of_trace(tree, OperationId::EXTERNAL)),
            [0, 1, 0]
        );
        let paths: Vec<Vec<OperationId>> = (0..6)
            .map(PositionId::from_index)
            .map(|position| contexts.stacks.path_of_stack(contexts.stack_of(position)))
            .collect();
        let [short, long] = [&[0, 1, 2][..], &[0, 1, 2, 2]]
            .map(|path| path.iter().copied().map(OperationId::from_index).collect::<Vec<_>>());
        assert_eq!(paths[1..3], [short.clone(), short.clone()]);
        assert_eq!(paths[4..], [short, long]);
        assert_eq!((contexts.len(), contexts.stacks.len()), (6, 4));
        // By operation, then caller, then stack.
        assert_eq!(contexts.by_context(), [0, 3, 1, 2, 4, 5].map(PositionId::from_index));
    }
}
