//! The operators in any order, and by hand.

use proptest::prelude::*;

use super::super::context_tree::{NodeState, TreeNode};
use super::super::similarity::TimeSpread;
use super::*;
use crate::equivalence::ContextLevel;

const LEVELS: [ContextLevel; 4] =
    [ContextLevel::Operation, ContextLevel::Caller, ContextLevel::Stack, ContextLevel::Trace];

/// A tree of leaves: for each trace-context its path (the number of the child on each level), its
/// calls, and its median and range.
fn tree(leaves: &[([u8; 4], u16, u8, u8)]) -> ContextTree {
    let node = |parent, level, calls, spread| TreeNode {
        parent,
        level,
        calls,
        spread,
        state: NodeState::Present,
        children: Vec::new(),
        merged: Vec::new(),
    };
    let mut paths: Vec<Vec<u8>> = vec![vec![]];
    for (path, ..) in leaves {
        for depth in 1..=4 {
            let path = path[..depth].to_vec();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let mut tree = ContextTree { nodes: Vec::new() };
    for path in &paths {
        let below = || leaves.iter().filter(|(of, ..)| of.starts_with(path));
        let calls: f64 = below().map(|(_, calls, ..)| f64::from(*calls)).sum();
        #[expect(clippy::type_complexity, reason = "a leaf is a tuple in this test only")]
        let mean = |of: fn(&([u8; 4], u16, u8, u8)) -> u8| {
            below().map(|leaf| f64::from(of(leaf))).sum::<f64>() / below().count() as f64
        };
        let spread = TimeSpread { median: 100.0 + mean(|leaf| leaf.2), range: mean(|leaf| leaf.3) };
        let level = path.len().checked_sub(1).map(|depth| LEVELS[depth]);
        let above = path.len().checked_sub(1).map(|depth| &path[..depth]);
        let parent = above.and_then(|above| paths.iter().position(|other| other == above));
        let parent = parent.unwrap_or(0) as NodeId;
        let id = tree.nodes.len() as NodeId;
        tree.nodes.push(node(parent, level, calls, Some(spread)));
        if level.is_some() {
            tree.nodes[parent as usize].children.push(id);
        }
    }
    tree
}

/// Applies operators one by one, chosen by `choices` among the applicable ones, until none applies.
fn in_any_order(tree: &mut ContextTree, min_calls: f64, bound: f64, choices: &[usize]) {
    enum Operator {
        Remove(NodeId),
        Link(NodeId),
        Merge(NodeId, NodeId),
    }
    let mut choices = choices.iter().cycle();
    loop {
        let all = 0..tree.nodes.len() as NodeId;
        let mut apply: Vec<Operator> = Vec::new();
        for id in all.clone() {
            if remove::removal_applies(tree, id) {
                apply.push(Operator::Remove(id));
            }
            if link::link_applies(tree, id, min_calls) {
                apply.push(Operator::Link(id));
            }
            let others = all
                .clone()
                .filter(|other| merge::merge_applies(tree, id, *other, min_calls, bound));
            apply.extend(others.map(|other| Operator::Merge(id, other)));
        }
        if apply.is_empty() {
            return;
        }
        match apply[choices.next().unwrap() % apply.len()] {
            Operator::Remove(id) => remove::apply_removal(tree, id),
            Operator::Link(id) => link::apply_link(tree, id, min_calls),
            Operator::Merge(one, other) => merge::apply_merge(tree, one, other),
        }
    }
}

/// For each trace-context the lowest number in its part of the model.
fn partition(tree: &ContextTree) -> Vec<usize> {
    let leaves = (0..tree.nodes.len() as NodeId)
        .filter(|id| tree.get(*id).level == Some(ContextLevel::Trace));
    let parts: Vec<NodeId> = leaves.map(|id| tree.stands_for(id)).collect();
    parts.iter().map(|part| parts.iter().position(|other| other == part).unwrap()).collect()
}

fn leaves() -> impl Strategy<Value = Vec<([u8; 4], u16, u8, u8)>> {
    let place = [0..2_u8, 0..3, 0..3, 0..4];
    let leaf = (place, 0..60_u16, prop_oneof![0..4_u8, 0..200_u8], 1..40_u8);
    proptest::collection::vec(leaf, 1..24).prop_map(|mut leaves| {
        leaves.sort_by_key(|(path, ..)| *path);
        leaves.dedup_by_key(|(path, ..)| *path);
        leaves
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 600, ..ProptestConfig::default() })]

    /// Whatever the order of application, the same contexts are distinguished, with equally many
    /// parts.
    #[test]
    fn the_order_of_operators_does_not_matter(leaves in leaves(), choices in proptest::collection::vec(0..1000_usize, 1..40), bound in 0.0..1.5) {
        let (mut one, mut other) = (tree(&leaves), tree(&leaves));
        apply_all(&mut one, 30.0, bound);
        in_any_order(&mut other, 30.0, bound, &choices);
        prop_assert_eq!(partition(&one), partition(&other));
        prop_assert_eq!(one.part_count(), other.part_count());
    }

    /// The properties of a final model: enough calls for each leaf below an operation, no single
    /// leaf, no similar siblings; and a limit is kept if possible.
    #[test]
    fn nothing_applies_at_the_end(leaves in leaves(), most in 1..12_usize) {
        let whole = tree(&leaves);
        let options = ModelOptions { min_calls: 30.0, similar: 0.25, max_leaves: Some(most) };
        let (end, bound) = apply_until_fixpoint(&whole, &options);
        let all = 0..end.nodes.len() as NodeId;
        for id in all.clone() {
            prop_assert!(!remove::removal_applies(&end, id) && !link::link_applies(&end, id, 30.0));
            for other in all.clone() {
                prop_assert!(!merge::merge_applies(&end, id, other, 30.0, bound));
            }
        }
        prop_assert!(end.part_count() <= most || bound == f64::MAX);
        prop_assert!(bound >= options.similar);
    }
}

#[test]
fn by_hand() {
    // Operation 0: caller 0 has one stack with traces of 40 and 50 that differ; caller 1 has two
    // stacks with one trace each, which are similar; caller 2 has too few calls.
    let whole = tree(&[
        ([0, 0, 0, 0], 40, 0, 5),
        ([0, 0, 0, 1], 50, 100, 5),
        ([0, 1, 0, 0], 40, 50, 5),
        ([0, 1, 1, 0], 40, 51, 5),
        ([0, 2, 0, 0], 3, 9, 5),
        ([1, 0, 0, 0], 2, 0, 5),
    ]);
    let options = ModelOptions { min_calls: 30.0, similar: 0.25, max_leaves: None };
    let (end, bound) = apply_until_fixpoint(&whole, &options);
    assert_eq!(bound, 0.25);
    // Root 0, operation 1, caller 2, stack 3, traces 4 and 5, caller 6, stacks 7 and 9, traces 8
    // and 10, caller 11, stack 12, trace 13; operation 14 with the chain 15 to 17.
    let stands: Vec<NodeId> = [4, 5, 8, 10, 13, 17].map(|id| end.stands_for(id)).to_vec();
    assert_eq!(stands, [4, 5, 6, 6, 1, 14]);
    assert!(end.has_links(1) && !end.has_links(2));
    assert_eq!(end.part_count(), 5);
    // With one leaf fewer, the two traces are nearest, and then callers 0 and 1 remain.
    let (fewer, bound) =
        apply_until_fixpoint(&whole, &ModelOptions { max_leaves: Some(4), ..options });
    assert_eq!((fewer.part_count(), fewer.stands_for(4), fewer.stands_for(5)), (2, 1, 1));
    assert!(bound > 0.25);
    let fewest = apply_until_fixpoint(&whole, &ModelOptions { max_leaves: Some(1), ..options });
    assert_eq!((fewest.0.part_count(), fewest.1), (2, f64::MAX), "operations are never merged");
}
