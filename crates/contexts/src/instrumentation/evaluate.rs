//! Evaluating instrumentations on classes of traces.

use std::collections::hash_map::Entry;

use message_trace::Progress;
use out_of_core::workers;
use rustc_hash::FxHashMap;

use super::choice::choose_operations;
use super::results::{InstrumentationPoint, InstrumentationResults};
use crate::collect::CollectedContexts;
use crate::equivalence::{StackContexts, StackId};
use crate::identity::{OperationId, OperationLabel};
use crate::result::PerLevel;
use crate::statistics::{AverageDeviation, TimeMoments, relative_decrease};
use crate::traces::{PositionId, ShapeId, TreeCanonicalizer};
use crate::tuning::INSTRUMENTATIONS_AT_ONCE;

/// Evaluates the full instrumentation and `count` random ones. `moments` are the moments of each
/// trace-context.
pub fn evaluate_random(
    collected: &CollectedContexts<'_>,
    moments: &[TimeMoments],
    count: u64,
    seed: u64,
    progress: &dyn Progress,
) -> InstrumentationResults {
    let system = EvaluatedSystem::from_collected(collected, moments);
    progress.begin_step("evaluating instrumentations", count);
    let work_items = (count as usize).div_ceil(INSTRUMENTATIONS_AT_ONCE);
    let work_item = |work_item: usize| {
        let mut work = EvaluationBuffers::default();
        let first = (work_item * INSTRUMENTATIONS_AT_ONCE) as u64;
        let numbers = first..count.min(first + INSTRUMENTATIONS_AT_ONCE as u64);
        let done: Vec<InstrumentationPoint> = numbers
            .map(|number| {
                let chosen = choose_operations(system.operations.len(), seed, number);
                let chosen = chosen.iter().filter_map(|place| system.operations.get(*place));
                let mut is_monitored = vec![false; collected.operations.len()];
                for operation in chosen {
                    if let Some(is_monitored) = is_monitored.get_mut(operation.index()) {
                        *is_monitored = true;
                    }
                }
                InstrumentationPoint { number, ..system.evaluate(&is_monitored, &mut work) }
            })
            .collect();
        progress.advance_step(done.len() as u64);
        done
    };
    let full =
        system.evaluate(&vec![true; collected.operations.len()], &mut EvaluationBuffers::default());
    let random = workers::map_items(work_items, work_item).into_iter().flatten().collect();
    InstrumentationResults { seed, full, random }
}

/// Evaluates the instrumentation of the operations for which `is_monitored` returns true.
pub fn evaluate_one(
    collected: &CollectedContexts<'_>,
    moments: &[TimeMoments],
    is_monitored: impl Fn(&OperationLabel) -> bool,
) -> InstrumentationPoint {
    let is_monitored: Vec<bool> = collected.operations.iter().map(is_monitored).collect();
    EvaluatedSystem::from_collected(collected, moments)
        .evaluate(&is_monitored, &mut EvaluationBuffers::default())
}

/// The input that all instrumentations share.
struct EvaluatedSystem<'a> {
    collected: &'a CollectedContexts<'a>,
    moments: &'a [TimeMoments],
    /// The operations that have steps.
    operations: Vec<OperationId>,
    /// The moments and the number of steps of each stack-context.
    of_stack: Vec<(TimeMoments, u64)>,
}

/// Buffers that a thread reuses from one instrumentation to the next.
#[derive(Default)]
struct EvaluationBuffers {
    canonical: TreeCanonicalizer,
    /// Index in `traces` of the first trace-context of each class, by the shape of the class.
    classes: FxHashMap<ShapeId, usize>,
    /// Moments of each trace-context.
    traces: Vec<TimeMoments>,
    stacks: StackContexts,
    of_stack: Vec<TimeMoments>,
    /// For each stack of the full instrumentation, the stack of its monitored operations.
    remainder_of: Vec<StackId>,
    callers: FxHashMap<(OperationId, OperationId), TimeMoments>,
    operations: Vec<TimeMoments>,
}

impl<'a> EvaluatedSystem<'a> {
    fn from_collected(
        collected: &'a CollectedContexts<'_>,
        moments: &'a [TimeMoments],
    ) -> EvaluatedSystem<'a> {
        let contexts = &collected.contexts;
        let mut of_stack = vec![(TimeMoments::default(), 0); contexts.stacks.len()];
        let mut has_steps = vec![false; collected.operations.len()];
        for ((position, moments), counts) in
            (0..).map(PositionId::from_index).zip(moments).zip(&collected.counts)
        {
            if let Some((merged, steps)) = of_stack.get_mut(contexts.stack_of(position).index()) {
                merged.merge(moments);
                *steps += counts.steps;
            }
            if let Some(has_steps) = has_steps.get_mut(contexts.operation_of(position).index()) {
                *has_steps = true;
            }
        }
        let operations =
            (0..).map(OperationId::from_index).zip(has_steps).filter(|(_, has_steps)| *has_steps);
        let operations = operations.map(|(operation, _)| operation).collect();
        EvaluatedSystem { collected, moments, operations, of_stack }
    }

    fn evaluate(
        &self,
        is_monitored: &[bool],
        work: &mut EvaluationBuffers,
    ) -> InstrumentationPoint {
        let monitors = |operation: OperationId| {
            is_monitored.get(operation.index()).is_some_and(|monitored| *monitored)
        };
        let mut point = InstrumentationPoint {
            monitoring_points: self.operations.iter().filter(|one| monitors(**one)).count() as u64,
            ..InstrumentationPoint::default()
        };
        self.merge_stacks(monitors, work, &mut point);
        self.merge_traces(monitors, work, &mut point);
        let without = AverageDeviation::from_contexts(&work.operations);
        let by_caller = AverageDeviation::from_contexts(work.callers.values());
        let by_stack = AverageDeviation::from_contexts(&work.of_stack);
        let by_trace = AverageDeviation::from_contexts(&work.traces);
        point.deviation = without.mean();
        point.decrease = PerLevel {
            caller: relative_decrease(&without, &by_caller),
            stack: relative_decrease(&without, &by_stack),
            trace: relative_decrease(&without, &by_trace),
        };
        point
    }

    /// Merges the moments of operations, caller- and stack-contexts, by the monitored operations of
    /// each stack.
    fn merge_stacks(
        &self,
        monitors: impl Fn(OperationId) -> bool,
        work: &mut EvaluationBuffers,
        point: &mut InstrumentationPoint,
    ) {
        let full = &self.collected.contexts.stacks;
        work.stacks.clear();
        work.remainder_of.clear();
        work.of_stack.clear();
        work.callers.clear();
        work.operations.clear();
        work.operations.resize(self.collected.operations.len(), TimeMoments::default());
        for (stack, (moments, steps)) in full.ids().zip(&self.of_stack) {
            let operation = full.last_operation(stack);
            let Some(caller) = full.caller_stack(stack) else {
                let root = work.stacks.root_stack(operation);
                work.remainder_of.push(root);
                continue;
            };
            let above = work.remainder_of.get(caller.index()).copied().unwrap_or_default();
            if !monitors(operation) {
                work.remainder_of.push(above);
                continue;
            }
            let own = work.stacks.callee_stack(above, operation);
            work.remainder_of.push(own);
            work.of_stack.resize(work.stacks.len(), TimeMoments::default());
            if let Some(merged) = work.of_stack.get_mut(own.index()) {
                merged.merge(moments);
            }
            if let Some(context) = work.stacks.caller_context(own) {
                work.callers.entry(context).or_default().merge(moments);
            }
            if let Some(merged) = work.operations.get_mut(operation.index()) {
                merged.merge(moments);
            }
            point.executions += steps;
        }
        point.contexts.caller = work.callers.len() as u64;
        point.contexts.stack =
            work.stacks.ids().filter(|stack| work.stacks.caller_stack(*stack).is_some()).count()
                as u64;
    }

    /// Merges the moments of trace-contexts, by the monitored operations of each class of traces.
    fn merge_traces(
        &self,
        monitors: impl Fn(OperationId) -> bool,
        work: &mut EvaluationBuffers,
        point: &mut InstrumentationPoint,
    ) {
        let classes = &self.collected.contexts.classes;
        work.canonical.clear();
        work.classes.clear();
        work.traces.clear();
        for (class, counts) in classes.classes().iter().zip(&self.collected.classes) {
            let tree = classes.tree_of_class(class);
            let shape = work.canonical.fold_tree(tree, class.caller, &monitors);
            let size = work.canonical.shape_size(shape) as usize;
            if size == 0 {
                continue;
            }
            point.traces += counts.requests;
            let first = match work.classes.entry(shape) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let first = work.traces.len();
                    work.traces.resize(first + size, TimeMoments::default());
                    *new.insert(first)
                }
            };
            let own = self.moments.get(class.first.index()..).unwrap_or_default();
            for ((node, place), moments) in
                tree.iter().zip(work.canonical.places_of_nodes()).zip(own)
            {
                if monitors(node.operation)
                    && let Some(merged) = work.traces.get_mut(first + *place as usize)
                {
                    merged.merge(moments);
                }
            }
        }
        point.classes = work.classes.len() as u64;
        point.contexts.trace = work.traces.len() as u64;
    }
}
