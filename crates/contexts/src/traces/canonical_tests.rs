//! Canonical forms compared with a slow algorithm that follows the definition: trees as texts.

use proptest::prelude::*;

use super::*;
use crate::traces::TreePlace;

/// A generated tree: an operation, and groups of concurrent calls, in order.
#[derive(Clone, Debug)]
struct DrawnTree {
    operation: OperationId,
    groups: Vec<Vec<DrawnTree>>,
}

fn any_operation() -> impl Strategy<Value = OperationId> {
    (1..5_usize).prop_map(OperationId::from_index)
}

fn any_tree() -> impl Strategy<Value = DrawnTree> {
    let leaf = any_operation().prop_map(|operation| DrawnTree { operation, groups: vec![] });
    leaf.prop_recursive(4, 24, 4, |inner| {
        let group = proptest::collection::vec(inner, 1..4);
        (any_operation(), proptest::collection::vec(group, 0..3))
            .prop_map(|(operation, groups)| DrawnTree { operation, groups })
    })
}

/// The nodes of a tree; `turn` determines the order of calls in a group.
fn nodes(drawn: &DrawnTree, turn: usize) -> Vec<CallNode> {
    fn add(
        drawn: &DrawnTree,
        parent: Option<TreePlace>,
        group: Option<u32>,
        turn: usize,
        nodes: &mut Vec<CallNode>,
    ) {
        let place = nodes.len() as u32;
        let is_concurrent = group.is_some();
        let (operation, group) = (drawn.operation, group.unwrap_or(place));
        nodes.push(CallNode { parent, operation, group, is_concurrent, times: 1 });
        for group in &drawn.groups {
            let mut calls: Vec<&DrawnTree> = group.iter().collect();
            let by = turn % calls.len();
            calls.rotate_left(by);
            let first = nodes.len() as u32;
            for call in calls {
                let place = Some(TreePlace::from_index(place as usize));
                add(call, place, (group.len() > 1).then_some(first), turn, nodes);
            }
        }
    }
    let mut all = Vec::new();
    add(drawn, None, None, turn, &mut all);
    all
}

/// The remainder of a tree: its groups of instrumented calls. A vanishing call in a larger group
/// leaves all its calls to that group.
fn left(drawn: &DrawnTree, seen: &[bool]) -> Vec<Vec<DrawnTree>> {
    let mut groups: Vec<Vec<DrawnTree>> = Vec::new();
    for group in &drawn.groups {
        match group.as_slice() {
            [only] if !seen[only.operation.index()] => groups.extend(left(only, seen)),
            calls => groups.push(
                calls
                    .iter()
                    .flat_map(|call| match seen[call.operation.index()] {
                        true => {
                            vec![DrawnTree { operation: call.operation, groups: left(call, seen) }]
                        }
                        false => left(call, seen).concat(),
                    })
                    .collect(),
            ),
        }
    }
    groups.into_iter().filter(|group| !group.is_empty()).collect()
}

/// The tree as a text, which is the same for equal trees.
fn text(groups: &[Vec<DrawnTree>]) -> String {
    let group = |calls: &Vec<DrawnTree>| {
        let mut calls: Vec<String> = calls
            .iter()
            .map(|call| format!("{}({})", call.operation.index(), text(&call.groups)))
            .collect();
        calls.sort();
        calls.join("|")
    };
    groups.iter().map(group).collect::<Vec<_>>().join(" ")
}

fn whole(drawn: &DrawnTree) -> DrawnTree {
    DrawnTree { operation: OperationId::EXTERNAL, groups: vec![vec![drawn.clone()]] }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Trees have equal shapes if and only if their texts are equal, whatever the order in a group
    /// and whatever is instrumented.
    #[test]
    fn shapes_are_equal_for_equal_trees(trees in proptest::collection::vec(any_tree(), 1..6), seen in proptest::collection::vec(any::<bool>(), 5), turn in 0..3_usize) {
        let mut canonical = TreeCanonicalizer::default();
        let mut all: Vec<(ShapeId, String)> = Vec::new();
        for tree in &trees {
            for turn in [0, turn] {
                let is_seen = |operation: OperationId| seen[operation.index()];
                let shape = canonical.fold_tree(&nodes(tree, turn), OperationId::EXTERNAL, is_seen);
                all.push((shape, text(&left(&whole(tree), &seen))));
            }
        }
        for (shape, text) in &all {
            for (other, of_other) in &all {
                prop_assert_eq!(shape == other, text == of_other, "{} and {}", text, of_other);
            }
        }
    }

    /// Places are dense, in depth-first order, and nodes at one place are equal: the same
    /// operation, with callers at one place.
    #[test]
    fn places_form_a_tree(tree in any_tree(), seen in proptest::collection::vec(any::<bool>(), 5)) {
        let nodes = nodes(&tree, 1);
        let mut canonical = TreeCanonicalizer::default();
        let shape = canonical.fold_tree(&nodes, OperationId::EXTERNAL, |operation| seen[operation.index()]);
        let size = canonical.shape_size(shape) as usize;
        let mut at: Vec<Option<(OperationId, Option<u32>)>> = vec![None; size];
        for (node, place) in nodes.iter().zip(canonical.places_of_nodes()) {
            if !seen[node.operation.index()] {
                continue;
            }
            let mut caller = node.parent;
            while let Some(at) = caller.filter(|at| !seen[nodes[at.index()].operation.index()]) {
                caller = nodes[at.index()].parent;
            }
            let caller = caller.map(|caller| canonical.places_of_nodes()[caller.index()]);
            prop_assert!(caller.is_none_or(|caller| caller < *place));
            let here = (node.operation, caller);
            prop_assert!(at[*place as usize].is_none_or(|other| other == here));
            at[*place as usize] = Some(here);
        }
        prop_assert!(at.iter().all(Option::is_some), "{:?}", at);
    }
}

/// Folding the tree of a class removes the same nodes as folding its traces: computations on
/// classes and on traces agree.
#[test]
fn a_class_folds_like_its_traces() {
    use crate::traces::TraceClasses;
    let runner = &mut proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let seen = proptest::collection::vec(any::<bool>(), 5);
    let result = runner.run(&(any_tree(), seen), |(tree, seen)| {
        let is_seen = |operation: OperationId| seen[operation.index()];
        let nodes = nodes(&tree, 1);
        let mut classes = TraceClasses::default();
        let number = classes.class_of_trace(&nodes, OperationId::EXTERNAL) as usize;
        let places = classes.places_of_nodes().to_vec();
        let mut canonical = TreeCanonicalizer::default();
        let of_trace = canonical.fold_tree(&nodes, OperationId::EXTERNAL, is_seen);
        let expected: Vec<u32> = canonical.places_of_nodes().to_vec();
        let of_class = canonical.fold_tree(
            classes.tree_of_class(&classes.classes()[number]),
            OperationId::EXTERNAL,
            is_seen,
        );
        prop_assert_eq!(of_trace, of_class);
        for ((node, place), expected) in nodes.iter().zip(&places).zip(&expected) {
            if is_seen(node.operation) {
                prop_assert_eq!(canonical.places_of_nodes()[*place as usize], *expected);
            }
        }
        Ok(())
    });
    result.unwrap();
}
