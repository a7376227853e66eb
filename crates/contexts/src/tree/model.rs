//! From a profile to its timing model.

use std::ops::Range;

use message_trace::PathError;

use super::context_tree::{ContextTree, NodeId, NodeState, TreeNode};
use super::fixpoint::apply_until_fixpoint;
use super::timing_model::{LeafKind, ModelLeaf, ModelOptions, TimingModel};
use crate::collect::CollectedContexts;
use crate::equivalence::ContextLevel;
use crate::profile::ProfileResult;
use crate::result::{ContextSummary, OperationProfile, ResponseTimes};
use crate::statistics::{AverageDeviation, TimeMoments, clock_tick, relative_decrease};
use crate::summarise::{SummaryScale, response_times, time_samples};

/// The timing model of a profile.
///
/// # Errors
/// If the response times of merged contexts cannot be read from the temporary file.
pub fn build_model(
    profiled: &ProfileResult,
    collected: &CollectedContexts<'_>,
    options: &ModelOptions,
) -> Result<TimingModel, PathError> {
    let profile = &profiled.profile;
    let (tree, bound) = apply_until_fixpoint(&ContextTree::from_profile(profile), options);
    let (mut leaves, mut parts) = (Vec::new(), AverageDeviation::default());
    let mut part_of: Vec<Option<u32>> = vec![None; tree.nodes.len()];
    for (place, operation) in (0..).zip(&profile.operations) {
        let summaries = summaries_by_number(operation);
        for (id, summary) in (operation.id..).zip(&summaries) {
            let node = tree.get(id);
            let (kind, moments) = match (tree.is_leaf(id), node.merged.is_empty()) {
                (true, true) => (LeafKind::Context, summary.moments()),
                (true, false) => {
                    let merged = std::iter::once(&id).chain(&node.merged);
                    (LeafKind::Merged, sum_moments(merged, operation.id, &summaries))
                }
                (false, _) if tree.has_links(id) => {
                    let of_children = node
                        .children
                        .iter()
                        .flat_map(|child| std::iter::once(child).chain(&tree.get(*child).merged));
                    let of_children = sum_moments(of_children, operation.id, &summaries);
                    (LeafKind::Linked, summary.moments().excluding(&of_children))
                }
                (false, _) => continue,
            };
            parts.add(&moments);
            part_of[id as usize] = Some(leaves.len() as u32);
            let mut contexts: Vec<NodeId> = std::iter::once(id).collect();
            contexts.extend(&node.merged);
            contexts.sort_unstable();
            leaves.push(ModelLeaf {
                kind,
                operation: place,
                level: node.level.unwrap_or(ContextLevel::Operation),
                contexts,
                calls: moments.weight,
                times: summary.times.clone(),
            });
        }
    }
    pool_leaves(profiled, collected, &mut leaves)?;
    // An inner node to which other nodes are linked is a part of the model only for the linked
    // nodes.
    let leaf_of = (0..).zip(&tree.nodes).map(|(id, node)| {
        let is_inner = node.state == NodeState::Present && !tree.is_leaf(id);
        if is_inner { None } else { part_of[tree.stands_for(id) as usize] }
    });
    let leaf_of = leaf_of.collect();
    let without = AverageDeviation::from_contexts(
        &profile.operations.iter().map(|one| one.summary.moments()).collect::<Vec<_>>(),
    );
    let count = |is: &dyn Fn(&TreeNode) -> bool| tree.nodes.iter().filter(|node| is(node)).count();
    // Nodes below a linked node moved with it.
    let is_linked = |node: &TreeNode| matches!(node.state, NodeState::Linked(_));
    let is_below_linked = |node: &TreeNode| is_linked(node) && is_linked(tree.get(node.parent));
    Ok(TimingModel {
        options: *options,
        bound: (bound < f64::MAX).then_some(bound),
        nodes: tree.nodes.len() as u64 - 1,
        removed: count(&|node| node.state == NodeState::Removed || is_below_linked(node)) as u64,
        merged: count(&|node| matches!(node.state, NodeState::Merged(_))) as u64,
        linked: count(&|node| is_linked(node) && !is_below_linked(node)) as u64,
        too_few: profile
            .operations
            .iter()
            .filter(|operation| operation.summary.moments().weight < options.min_calls)
            .count() as u64,
        deviation: parts.mean(),
        decrease: relative_decrease(&without, &parts),
        leaves,
        leaf_of,
    })
}

/// The summaries of an operation and its contexts. Their numbers are consecutive, and that of the
/// operation is the first.
fn summaries_by_number(operation: &OperationProfile) -> Vec<&ContextSummary> {
    let contexts = operation.all_contexts().map(|context| &context.summary);
    std::iter::once(&operation.summary).chain(contexts).collect()
}

fn sum_moments<'a>(
    nodes: impl Iterator<Item = &'a NodeId>,
    first: NodeId,
    summaries: &[&ContextSummary],
) -> TimeMoments {
    let mut sum = TimeMoments::default();
    for node in nodes {
        let summary = summaries.get((node - first) as usize);
        sum.merge(&summary.map_or(TimeMoments::default(), |summary| summary.moments()));
    }
    sum
}

/// Sets the response times of each merged leaf: those of all its contexts together.
fn pool_leaves(
    profiled: &ProfileResult,
    collected: &CollectedContexts<'_>,
    leaves: &mut [ModelLeaf],
) -> Result<(), PathError> {
    let operation_of = |leaf: &ModelLeaf| {
        let node = leaf.contexts.first().and_then(|node| profiled.of_node.get(*node as usize));
        let position = node.and_then(|range| profiled.by_context.get(range.start));
        position.map(|position| collected.contexts.operation_of(*position))
    };
    let mut merged: Vec<(usize, &mut ModelLeaf)> = leaves
        .iter_mut()
        .filter(|leaf| leaf.kind == LeafKind::Merged)
        .filter_map(|leaf| Some((collected.partition_of(operation_of(leaf)?), leaf)))
        .collect();
    merged.sort_by_key(|(partition, _)| *partition);
    let mut place = vec![0_usize; profiled.by_context.len()];
    for (number, position) in profiled.by_context.iter().enumerate() {
        place[position.index()] = number;
    }
    for of_partition in merged.chunk_by_mut(|(a, _), (b, _)| a == b) {
        let Some(partition) = of_partition.first().map(|(partition, _)| *partition) else {
            continue;
        };
        // The observations are in the order of the trace-contexts.
        let all = collected.take_observations(partition)?;
        let among = |range: &Range<usize>| {
            let begin = |bound| all.partition_point(|one| place[one.position.index()] < bound);
            &all[begin(range.start)..begin(range.end)]
        };
        for (_, leaf) in of_partition {
            let ranges =
                leaf.contexts.iter().filter_map(|node| profiled.of_node.get(*node as usize));
            let mut observations = ranges.map(among).collect::<Vec<_>>().concat();
            observations.sort_by_key(|one| (one.time, one.request));
            leaf.times = pooled_times(profiled, leaf, &observations);
        }
        collected.return_observations(partition, all)?;
    }
    Ok(())
}

fn pooled_times(
    profiled: &ProfileResult,
    leaf: &ModelLeaf,
    sorted: &[crate::collect::ResponseObservation],
) -> Option<ResponseTimes> {
    let operation = profiled.profile.operations.get(leaf.operation as usize)?;
    let scale = SummaryScale { bins: operation.bins?, tick: clock_tick(&time_samples(sorted)) };
    let mut moments = TimeMoments::default();
    sorted.iter().for_each(|one| moments.add(one.time as f64, f64::from(one.weight)));
    response_times(&moments, sorted, &scale)
}
