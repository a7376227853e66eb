//! Trace-contexts by kind: classes that differ only in which of several concurrent calls had ended
//! before another began are joined. [`ConcurrencyByKind`] determines these calls.
//!
//! The input are classes, not requests: their trees show which calls were concurrent, and how
//! often.

use rustc_hash::FxHashSet;

use super::stack_context::StackId;
use super::trace_context::TraceContexts;
use crate::traces::{CallNode, ConcurrencyByKind, PositionId, TraceClass, TreePlace};

/// Contexts after classes were joined. A class is the traces with equal call trees.
#[derive(Clone, Debug)]
pub struct ContextsByKind {
    /// The contexts of the joined classes.
    pub contexts: TraceContexts,
    /// The new class of each former class.
    pub class_of: Vec<u32>,
    /// The new trace-context of each former trace-context.
    pub position_of: Vec<PositionId>,
}

impl ContextsByKind {
    /// The contexts by kind of `contexts`, with the number of `requests` of each class; `None` if
    /// nothing changes.
    pub fn from_trace_contexts(
        contexts: &TraceContexts,
        requests: &[u64],
    ) -> Option<ContextsByKind> {
        let classes = contexts.classes.classes();
        let concurrent = concurrent_callers(contexts);
        if concurrent.is_empty() {
            return None;
        }
        let mut concurrency = ConcurrencyByKind::default();
        for (class, requests) in classes.iter().zip(requests) {
            let tree = contexts.classes.tree_of_class(class);
            let executions = execution_counts(tree, *requests);
            for (caller, calls) in calls_of_executions(contexts, class, &concurrent) {
                let of_caller = executions.get(caller as usize).copied().unwrap_or(0);
                let stack = contexts.stack_of(class.first.at_place(caller));
                concurrency.add_executions(stack.index(), &repeat_calls(tree, &calls), of_caller);
            }
        }
        concurrency.find_concurrent();
        let mut by_kind = ContextsByKind {
            contexts: TraceContexts::default(),
            class_of: Vec::with_capacity(classes.len()),
            position_of: Vec::with_capacity(contexts.len()),
        };
        let mut is_same = true;
        for class in classes {
            let mut tree = contexts.classes.tree_of_class(class).to_vec();
            for (caller, calls) in calls_of_executions(contexts, class, &concurrent) {
                let stack = contexts.stack_of(class.first.at_place(caller));
                let joined = concurrency.joined_calls(stack.index(), &repeat_calls(&tree, &calls));
                is_same &= !join_groups(&mut tree, &calls, &joined);
            }
            let number = by_kind.contexts.class_of_trace(&tree, class.caller);
            by_kind.class_of.push(number);
            let classes = &by_kind.contexts.classes;
            let first = classes.classes().get(number as usize).map(|class| class.first);
            let first = first.unwrap_or_default();
            let places = classes.places_of_nodes().iter();
            by_kind.position_of.extend(places.map(|place| first.at_place(*place)));
        }
        (!is_same).then_some(by_kind)
    }
}

/// The stacks of executions that made concurrent calls in any request.
fn concurrent_callers(contexts: &TraceContexts) -> FxHashSet<StackId> {
    let all = contexts.classes.positions().iter().zip((0..).map(PositionId::from_index));
    let concurrent = all.filter(|(node, _)| node.is_concurrent);
    concurrent
        .filter_map(|(_, position)| contexts.stacks.caller_stack(contexts.stack_of(position)))
        .collect()
}

/// The executions of a class whose stack is in `stacks` and that made several calls, and these
/// calls. All are places in the class's tree.
fn calls_of_executions(
    contexts: &TraceContexts,
    class: &TraceClass,
    stacks: &FxHashSet<StackId>,
) -> Vec<(u32, Vec<u32>)> {
    let tree = contexts.classes.tree_of_class(class);
    let mut calls: Vec<Vec<u32>> = vec![Vec::new(); tree.len()];
    for (place, node) in (0..).zip(tree) {
        let Some(caller) = node.parent.map(TreePlace::index) else { continue };
        let position = class.first.at_place(place.min(caller as u32));
        if stacks.contains(&contexts.stack_of(position))
            && let Some(of_caller) = calls.get_mut(caller)
        {
            of_caller.push(place);
        }
    }
    (0..)
        .zip(calls)
        .filter(|(_, calls)| calls.len() > 1 || stands_for_several(tree, calls))
        .collect()
}

/// Whether one of the nodes stands for several equal calls.
fn stands_for_several(tree: &[CallNode], calls: &[u32]) -> bool {
    calls.iter().any(|call| tree.get(*call as usize).is_some_and(|node| node.times > 1))
}

/// The operation and the group of concurrent calls of each call. A node that stands for several
/// equal calls is repeated.
fn repeat_calls(tree: &[CallNode], calls: &[u32]) -> Vec<(u32, u32)> {
    let nodes = calls.iter().filter_map(|call| tree.get(*call as usize));
    nodes
        .flat_map(|node| {
            std::iter::repeat_n((node.operation.word(), node.group), node.times as usize)
        })
        .collect()
}

/// The number of executions of each node of a tree in `requests` requests.
fn execution_counts(tree: &[CallNode], requests: u64) -> Vec<u64> {
    let mut executions: Vec<u64> = Vec::with_capacity(tree.len());
    for node in tree {
        let above = node.parent.and_then(|parent| executions.get(parent.index()));
        let above = above.copied().unwrap_or(requests);
        executions.push(above.saturating_mul(u64::from(node.times)));
    }
    executions
}

/// Moves the calls for which `joined` is set into the previous group of concurrent calls. Returns
/// whether any call was moved.
fn join_groups(tree: &mut [CallNode], calls: &[u32], joined: &[bool]) -> bool {
    let mut joined = joined.iter();
    // The group of the previous call, before and after it was moved.
    let (mut before, mut now) = (None, None);
    let mut is_changed = false;
    for call in calls {
        let Some(node) = tree.get_mut(*call as usize) else { continue };
        let is_joined = joined.next().copied().unwrap_or(false);
        joined.by_ref().take((node.times as usize).saturating_sub(1)).for_each(drop);
        if before != Some(node.group) {
            before = Some(node.group);
            if !is_joined {
                now = before;
            }
        }
        if let Some(now) = now.filter(|now| *now != node.group) {
            (node.group, node.is_concurrent, is_changed) = (now, true, true);
            if let Some(first) = tree.get_mut(now as usize) {
                first.is_concurrent = true;
            }
        }
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::OperationId;

    fn node(parent: Option<usize>, operation: usize, group: u32, is_concurrent: bool) -> CallNode {
        let operation = OperationId::from_index(operation);
        let parent = parent.map(TreePlace::from_index);
        CallNode { parent, operation, group, is_concurrent, times: 1 }
    }

    #[test]
    fn classes_that_differ_by_chance_are_one() {
        let root = node(None, 1, 0, false);
        // 1 calls 2 and 3 concurrently; 3 calls 4.
        let at_once = [
            root,
            node(Some(0), 2, 1, true),
            node(Some(0), 3, 1, true),
            node(Some(2), 4, 3, false),
        ];
        let one_first = [
            root,
            node(Some(0), 2, 1, false),
            node(Some(0), 3, 2, false),
            node(Some(2), 4, 3, false),
        ];
        let other_first = [
            root,
            node(Some(0), 3, 1, false),
            node(Some(1), 4, 2, false),
            node(Some(0), 2, 3, false),
        ];
        // The same calls are made by another caller, which always makes them sequentially.
        let mut contexts = TraceContexts::default();
        let trees = [&at_once, &one_first, &other_first];
        assert_eq!(
            trees.map(|tree| contexts.class_of_trace(tree, OperationId::EXTERNAL)),
            [0, 1, 2]
        );
        assert_eq!(contexts.class_of_trace(&one_first, OperationId::from_index(9)), 3);
        let by_kind = ContextsByKind::from_trace_contexts(&contexts, &[17, 2, 1, 5]).unwrap();
        assert_eq!(by_kind.class_of, [0, 0, 0, 1]);
        assert_eq!(by_kind.contexts.len(), 8);
        for (position, new) in (0..).map(PositionId::from_index).zip(&by_kind.position_of) {
            let (old, new) = (contexts.stack_of(position), by_kind.contexts.stack_of(*new));
            assert_eq!(
                contexts.stacks.path_of_stack(old),
                by_kind.contexts.stacks.path_of_stack(new)
            );
        }
        assert!(
            ContextsByKind::from_trace_contexts(&contexts, &[3, 2, 1, 5]).is_none(),
            "half of them are not enough"
        );
    }

    #[test]
    fn equal_calls_that_stand_for_each_other_are_counted_one_by_one() {
        let root = node(None, 1, 0, false);
        let at_once = [root, node(Some(0), 2, 1, true), node(Some(0), 2, 1, true)];
        let one_by_one = [root, node(Some(0), 2, 1, false), node(Some(0), 2, 2, false)];
        let mut contexts = TraceContexts::default();
        assert_eq!(
            [&at_once, &one_by_one]
                .map(|tree| contexts.class_of_trace(tree, OperationId::EXTERNAL)),
            [0, 1]
        );
        let by_kind = ContextsByKind::from_trace_contexts(&contexts, &[9, 1]).unwrap();
        assert_eq!(by_kind.class_of, [0, 0]);
        assert_eq!(by_kind.position_of, [0, 1, 0, 1, 1].map(PositionId::from_index));
        assert_eq!(by_kind.contexts.classes.positions()[1].times, 2);
    }
}
