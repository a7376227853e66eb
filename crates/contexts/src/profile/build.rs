//! The profile of all operations.

use std::ops::Range;

use message_trace::{PathError, Progress};
use out_of_core::{MemoryBudget, workers};
use rustc_hash::{FxHashMap, FxHashSet};

use super::classes::ClassNumbers;
use super::operation;
use crate::collect::{Collected, Counts};
use crate::equivalence::Level;
use crate::identity::OperationId;
use crate::result::{ContextProfile, OperationProfile, PerLevel, Profile, Totals};
use crate::statistics::{AverageDeviation, Moments, decrease};
use crate::traces::PositionId;

/// A profile, and what else can be made of it.
#[derive(Debug)]
pub struct Profiled {
    /// The profile.
    pub profile: Profile,
    /// Mean and deviation of the response times of each trace-context.
    pub moments: Vec<Moments>,
    /// The trace-contexts in the order of the calling-context tree.
    pub by_context: Vec<PositionId>,
    /// Items of each node of that tree, as places in that order, by the node's number.
    pub of_node: Vec<Range<usize>>,
}

/// Profiles what was collected. `budget` is the one that it was collected with.
///
/// # Errors
/// When a temporary file cannot be read or written.
pub fn profile(
    collected: &Collected<'_>,
    budget: &MemoryBudget,
    progress: &dyn Progress,
) -> Result<Profiled, PathError> {
    let by_context = collected.contexts.by_context();
    let mut rank = vec![0_u32; by_context.len()];
    for (place, position) in (0..).zip(&by_context) {
        if let Some(rank) = rank.get_mut(*position as usize) {
            *rank = place;
        }
    }
    let classes = ClassNumbers::of(collected);
    let parts = parts(collected, &by_context);
    progress.step("profiling operations", parts.len() as u64);
    let work = |partition: usize| {
        let mut observations = collected.take(partition)?;
        observations.sort_unstable_by_key(|one| {
            (rank.get(one.position as usize).copied(), one.time, one.request)
        });
        let mut rest = observations.as_slice();
        let mut profiled = Vec::new();
        for range in parts.get(partition).into_iter().flatten() {
            let positions = by_context.get(range.clone()).unwrap_or_default();
            let last = range.end as u32;
            let count = rest.partition_point(|one| {
                rank.get(one.position as usize).is_some_and(|at| *at < last)
            });
            let (of, others) = rest.split_at(count);
            rest = others;
            profiled.push((range.clone(), operation::profile(collected, &classes, positions, of)));
        }
        collected.give(partition, observations)?;
        Ok(profiled)
    };
    let mut moments = vec![Moments::default(); by_context.len()];
    let mut operations: Vec<Found> = Vec::new();
    workers::in_order(workers::threads(), parts.len(), work, |_, profiled| {
        for (range, one) in profiled {
            let positions = by_context.get(range.clone()).unwrap_or_default();
            for (position, of) in positions.iter().zip(one.moments) {
                if let Some(moments) = moments.get_mut(*position as usize) {
                    *moments = of;
                }
            }
            operations.push(Found { range, operation: one.operation, ranges: one.ranges });
        }
        progress.advance(1);
        Ok::<(), PathError>(())
    })?;
    rank_by_what_context_explains(&mut operations);
    let mut of_node = Vec::new();
    of_node.push(0..by_context.len());
    operations.iter_mut().for_each(|found| number(found, &mut of_node));
    let operation_of = |found: &Found| {
        let first = by_context.get(found.range.start);
        first.map(|first| collected.contexts.operation_of(*first))
    };
    let places: FxHashMap<OperationId, u32> = (0..)
        .zip(&operations)
        .filter_map(|(place, found)| Some((operation_of(found)?, place)))
        .collect();
    let classes = classes.profiles(collected, &places);
    let operations: Vec<OperationProfile> =
        operations.into_iter().map(|found| found.operation).collect();
    let without = AverageDeviation::of(
        &operations.iter().map(|operation| operation.summary.moments()).collect::<Vec<_>>(),
    );
    let profile = Profile {
        by: collected.by,
        totals: Totals { spilled: budget.spilled(), ..totals(collected, operations.len()) },
        deviation: without.mean(),
        decrease: PerLevel::each(|level| decrease(&without, &within(&operations, level))),
        operations,
        classes,
    };
    Ok(Profiled { profile, moments, by_context, of_node })
}

/// An operation that was profiled.
struct Found {
    /// Its trace-contexts, as places among all.
    range: Range<usize>,
    operation: OperationProfile,
    /// The trace-contexts of its contexts, as places among its own.
    ranges: PerLevel<Vec<Range<usize>>>,
}

/// The trace-contexts of each operation, as places in `by_context`, by the part that its response
/// times are in.
fn parts(collected: &Collected<'_>, by_context: &[PositionId]) -> Vec<Vec<Range<usize>>> {
    let mut parts = vec![Vec::new(); collected.partitions()];
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

/// Puts the operations first whose context takes the most standard deviation away: beyond
/// chance, times the number of calls.
fn rank_by_what_context_explains(operations: &mut [Found]) {
    let explained = |operation: &OperationProfile| {
        let moments = operation.summary.moments();
        let share = Level::CONTEXTS.map(|level| operation.decrease.of(level).beyond_chance);
        moments.weight * moments.deviation() * share.into_iter().fold(0.0, f64::max)
    };
    operations.sort_by(|a, b| {
        let (a, b) = (&a.operation, &b.operation);
        let by_share = explained(b).total_cmp(&explained(a));
        by_share.then_with(|| b.summary.count.cmp(&a.summary.count)).then(a.name.cmp(&b.name))
    });
}

/// Gives an operation and its contexts their numbers in the calling-context tree, and adds the
/// trace-contexts of each to `of_node`.
fn number(found: &mut Found, of_node: &mut Vec<Range<usize>>) {
    fn each(
        contexts: &mut [ContextProfile],
        range: &impl Fn(Level, u32) -> Range<usize>,
        of_node: &mut Vec<Range<usize>>,
        numbers: &mut FxHashMap<(Level, u32), u32>,
    ) {
        for context in contexts {
            let id = of_node.len() as u32;
            numbers.insert((context.level, context.id), id);
            of_node.push(range(context.level, context.id));
            context.id = id;
            each(&mut context.contexts, range, of_node, numbers);
        }
    }
    let Found { range, operation, ranges } = found;
    operation.id = of_node.len() as u32;
    of_node.push(range.clone());
    let begin = range.start;
    let range = |level: Level, number: u32| {
        let of = ranges.of(level).get(number as usize).cloned().unwrap_or_default();
        begin + of.start..begin + of.end
    };
    let mut numbers = FxHashMap::default();
    each(&mut operation.contexts, &range, of_node, &mut numbers);
    if let Some(reason) = &mut operation.reason {
        let number = |of: &u32| numbers.get(&(reason.level, *of)).copied();
        reason.slow = reason.slow.iter().filter_map(number).collect();
    }
}

/// Average deviation within the contexts of a kind.
fn within(operations: &[OperationProfile], level: Level) -> AverageDeviation {
    let mut average = AverageDeviation::default();
    for operation in operations {
        let weight = operation.summary.moments().weight;
        average.add(&Moments::known(weight, 0.0, operation.decrease.of(level).deviation));
    }
    average
}

fn totals(collected: &Collected<'_>, operations: usize) -> Totals {
    let mut all = Counts::default();
    collected.counts.iter().for_each(|counts| all.add(counts));
    let stacks = &collected.contexts.stacks;
    let callers: Vec<(OperationId, OperationId)> =
        (0..stacks.len() as u32).filter_map(|stack| stacks.caller_context(stack)).collect();
    Totals {
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
