//! The profile of all operations.

use std::ops::Range;

use message_trace::{PathError, Progress};
use out_of_core::{MemoryBudget, workers};
use rustc_hash::{FxHashMap, FxHashSet};

use super::classes::ClassNumbers;
use super::operation;
use crate::collect::{CollectedContexts, ExecutionCounts};
use crate::equivalence::ContextLevel;
use crate::identity::OperationId;
use crate::result::{ContextProfile, OperationProfile, PerLevel, Profile, ProfileTotals};
use crate::statistics::{AverageDeviation, TimeMoments, relative_decrease};
use crate::traces::PositionId;

/// A profile, and the input for other results.
#[derive(Debug)]
pub struct ProfileResult {
    /// Profile of the contexts.
    pub profile: Profile,
    /// Mean and deviation of the response times of each trace-context.
    pub moments: Vec<TimeMoments>,
    /// The trace-contexts in the order of the calling-context tree.
    pub by_context: Vec<PositionId>,
    /// For each node of the calling-context tree, by its number, the range of its trace-contexts in
    /// `by_context`.
    pub of_node: Vec<Range<usize>>,
}

/// Profiles the collected data. `budget` is the memory budget of the collecting pass.
///
/// # Errors
/// If a temporary file cannot be read or written.
pub fn profile_contexts(
    collected: &CollectedContexts<'_>,
    budget: &MemoryBudget,
    progress: &dyn Progress,
) -> Result<ProfileResult, PathError> {
    let by_context = collected.contexts.by_context();
    let mut rank = vec![0_u32; by_context.len()];
    for (place, position) in (0..).zip(&by_context) {
        if let Some(rank) = rank.get_mut(position.index()) {
            *rank = place;
        }
    }
    let classes = ClassNumbers::from_collected(collected);
    let parts = positions_by_partition(collected, &by_context);
    progress.begin_step("profiling operations", parts.len() as u64);
    let work = |partition: usize| {
        let mut observations = collected.take_observations(partition)?;
        observations.sort_unstable_by_key(|one| {
            (rank.get(one.position.index()).copied(), one.time, one.request)
        });
        let mut rest = observations.as_slice();
        let mut profiled = Vec::new();
        for range in parts.get(partition).into_iter().flatten() {
            let positions = by_context.get(range.clone()).unwrap_or_default();
            let last = range.end as u32;
            let count = rest
                .partition_point(|one| rank.get(one.position.index()).is_some_and(|at| *at < last));
            let (of, others) = rest.split_at(count);
            rest = others;
            profiled.push((
                range.clone(),
                operation::profile_operation(collected, &classes, positions, of),
            ));
        }
        collected.return_observations(partition, observations)?;
        Ok(profiled)
    };
    let mut moments = vec![TimeMoments::default(); by_context.len()];
    let mut operations: Vec<ProfiledOperation> = Vec::new();
    workers::run_in_order(workers::thread_count(), parts.len(), work, |_, profiled| {
        for (range, one) in profiled {
            let positions = by_context.get(range.clone()).unwrap_or_default();
            for (position, of) in positions.iter().zip(one.moments) {
                if let Some(moments) = moments.get_mut(position.index()) {
                    *moments = of;
                }
            }
            operations.push(ProfiledOperation {
                range,
                operation: one.operation,
                ranges: one.ranges,
            });
        }
        progress.advance_step(1);
        Ok::<(), PathError>(())
    })?;
    sort_by_explained_deviation(&mut operations);
    let mut of_node = Vec::new();
    of_node.push(0..by_context.len());
    operations.iter_mut().for_each(|found| number_contexts(found, &mut of_node));
    let operation_of = |found: &ProfiledOperation| {
        let first = by_context.get(found.range.start);
        first.map(|first| collected.contexts.operation_of(*first))
    };
    let places: FxHashMap<OperationId, u32> = (0..)
        .zip(&operations)
        .filter_map(|(place, found)| Some((operation_of(found)?, place)))
        .collect();
    let classes = classes.class_profiles(collected, &places);
    let operations: Vec<OperationProfile> =
        operations.into_iter().map(|found| found.operation).collect();
    let without = AverageDeviation::from_contexts(
        &operations.iter().map(|operation| operation.summary.moments()).collect::<Vec<_>>(),
    );
    let profile = Profile {
        by: collected.by,
        totals: ProfileTotals {
            spilled: budget.bytes_spilled(),
            ..count_totals(collected, operations.len())
        },
        deviation: without.mean(),
        decrease: PerLevel::from_fn(|level| {
            relative_decrease(&without, &deviation_within(&operations, level))
        }),
        operations,
        classes,
    };
    Ok(ProfileResult { profile, moments, by_context, of_node })
}

/// A profiled operation.
struct ProfiledOperation {
    /// The range of the operation's trace-contexts in [`ProfileResult::by_context`].
    range: Range<usize>,
    operation: OperationProfile,
    /// The trace-contexts of each context of the operation, as indices among the operation's
    /// trace-contexts.
    ranges: PerLevel<Vec<Range<usize>>>,
}

/// The trace-contexts of each operation, as ranges of `by_context`, by the partition of its
/// response times.
fn positions_by_partition(
    collected: &CollectedContexts<'_>,
    by_context: &[PositionId],
) -> Vec<Vec<Range<usize>>> {
    let mut parts = vec![Vec::new(); collected.partition_count()];
    let operation = |position: &PositionId| collected.contexts.operation_of(*position);
    let mut begin = 0;
    for of in by_context.chunk_by(|a, b| operation(a) == operation(b)) {
        let part = of.first().map_or(0, |first| collected.partition_of(operation(first)));
        if let Some(part) = parts.get_mut(part) {
            part.push(begin..begin + of.len());
        }
        begin += of.len();
    }
    parts
}

/// Sorts operations by the standard deviation that context explains beyond chance, times the number
/// of calls, in descending order.
fn sort_by_explained_deviation(operations: &mut [ProfiledOperation]) {
    let explained = |operation: &OperationProfile| {
        let moments = operation.summary.moments();
        let share = ContextLevel::CONTEXTS.map(|level| operation.decrease.get(level).beyond_chance);
        moments.weight * moments.deviation() * share.into_iter().fold(0.0, f64::max)
    };
    operations.sort_by(|a, b| {
        let (a, b) = (&a.operation, &b.operation);
        let by_share = explained(b).total_cmp(&explained(a));
        by_share.then_with(|| b.summary.count.cmp(&a.summary.count)).then(a.name.cmp(&b.name))
    });
}

/// Numbers an operation and its contexts in the calling-context tree, and adds the trace-contexts
/// of each to `of_node`.
fn number_contexts(found: &mut ProfiledOperation, of_node: &mut Vec<Range<usize>>) {
    fn number_nested(
        contexts: &mut [ContextProfile],
        range: &impl Fn(ContextLevel, u32) -> Range<usize>,
        of_node: &mut Vec<Range<usize>>,
        numbers: &mut FxHashMap<(ContextLevel, u32), u32>,
    ) {
        for context in contexts {
            let id = of_node.len() as u32;
            numbers.insert((context.level, context.id), id);
            of_node.push(range(context.level, context.id));
            context.id = id;
            number_nested(&mut context.contexts, range, of_node, numbers);
        }
    }
    let ProfiledOperation { range, operation, ranges } = found;
    operation.id = of_node.len() as u32;
    of_node.push(range.clone());
    let begin = range.start;
    let range = |level: ContextLevel, number: u32| {
        let of = ranges.get(level).get(number as usize).cloned().unwrap_or_default();
        begin + of.start..begin + of.end
    };
    let mut numbers = FxHashMap::default();
    number_nested(&mut operation.contexts, &range, of_node, &mut numbers);
    if let Some(reason) = &mut operation.reason {
        let number = |of: &u32| numbers.get(&(reason.level, *of)).copied();
        reason.slow = reason.slow.iter().filter_map(number).collect();
    }
}

/// Average deviation within the contexts of a kind.
fn deviation_within(operations: &[OperationProfile], level: ContextLevel) -> AverageDeviation {
    let mut average = AverageDeviation::default();
    for operation in operations {
        let weight = operation.summary.moments().weight;
        average.add(&TimeMoments::from_figures(
            weight,
            0.0,
            operation.decrease.get(level).deviation,
        ));
    }
    average
}

fn count_totals(collected: &CollectedContexts<'_>, operations: usize) -> ProfileTotals {
    let mut all = ExecutionCounts::default();
    collected.counts.iter().for_each(|counts| all.add(counts));
    let stacks = &collected.contexts.stacks;
    let callers: Vec<(OperationId, OperationId)> =
        stacks.ids().filter_map(|stack| stacks.caller_context(stack)).collect();
    ProfileTotals {
        requests: collected.classes.iter().map(|class| class.requests).sum(),
        torn: collected.torn,
        classes: collected.classes.len() as u64,
        steps: all.steps,
        expected: all.expected,
        timed: all.timed,
        outliving: all.outliving,
        operations: operations as u64,
        contexts: PerLevel {
            caller: callers.iter().collect::<FxHashSet<_>>().len() as u64,
            stack: callers.len() as u64,
            trace: collected.contexts.len() as u64,
        },
        spilled: 0,
    }
}
