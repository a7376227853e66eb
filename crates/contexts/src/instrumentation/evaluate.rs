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
    let pieces = (count as usize).div_ceil(INSTRUMENTATIONS_AT_ONCE);
    let piece = |piece: usize| {
        let mut work = EvaluationBuffers::default();
        let first = (piece * INSTRUMENTATIONS_AT_ONCE) as u64;
        let numbers = first..count.min(first + INSTRUMENTATIONS_AT_ONCE as u64);
        let done: Vec<InstrumentationPoint> = numbers
            .map(|number| {
                let chosen = choose_operations(system.operations.len(), seed, number);
                let chosen = chosen.iter().filter_map(|place| system.operations.get(*place));
                let mut is_seen = vec![false; collected.operations.len()];
                for operation in chosen {
                    if let Some(is_seen) = is_seen.get_mut(operation.index()) {
                        *is_seen = true;
                    }
                }
                InstrumentationPoint { number, ..system.evaluate(&is_seen, &mut work) }
            })
            .collect();
        progress.advance_step(done.len() as u64);
        done
    };
    let full =
        system.evaluate(&vec![true; collected.operations.len()], &mut EvaluationBuffers::default());
    let random = workers::map_items(pieces, piece).into_iter().flatten().collect();
    InstrumentationResults { seed, full, random }
}

/// Evaluates the instrumentation of the operations for which `is_monitored` returns true.
pub fn evaluate_one(
    collected: &CollectedContexts<'_>,
    moments: &[TimeMoments],
    is_monitored: impl Fn(&OperationLabel) -> bool,
) -> InstrumentationPoint {
    let is_seen: Vec<bool> = collected.operations.iter().map(is_monitored).collect();
    EvaluatedSystem::from_collected(collected, moments)
        .evaluate(&is_seen, &mut EvaluationBuffers::default())
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

/// Buffers of one thread.
#[derive(Default)]
struct EvaluationBuffers {
    canonical: TreeCanonicalizer,
    /// First place of each class in `traces`, by its shape.
    classes: FxHashMap<ShapeId, usize>,
    traces: Vec<TimeMoments>,
    stacks: StackContexts,
    of_stack: Vec<TimeMoments>,
    /// The remainder of each stack.
    left: Vec<StackId>,
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

    fn evaluate(&self, is_seen: &[bool], work: &mut EvaluationBuffers) -> InstrumentationPoint {
        let sees =
            |operation: OperationId| is_seen.get(operation.index()).is_some_and(|seen| *seen);
        let mut shown = InstrumentationPoint {
            monitoring_points: self.operations.iter().filter(|one| sees(**one)).count() as u64,
            ..InstrumentationPoint::default()
        };
        self.merge_stacks(sees, work, &mut shown);
        self.merge_traces(sees, work, &mut shown);
        let without = AverageDeviation::from_contexts(&work.operations);
        let by_caller = AverageDeviation::from_contexts(work.callers.values());
        let by_stack = AverageDeviation::from_contexts(&work.of_stack);
        let by_trace = AverageDeviation::from_contexts(&work.traces);
        shown.deviation = without.mean();
        shown.decrease = PerLevel {
            caller: relative_decrease(&without, &by_caller),
            stack: relative_decrease(&without, &by_stack),
            trace: relative_decrease(&without, &by_trace),
        };
        shown
    }

    /// Operations, caller- and stack-contexts: the remainder of each stack.
    fn merge_stacks(
        &self,
        sees: impl Fn(OperationId) -> bool,
        work: &mut EvaluationBuffers,
        shown: &mut InstrumentationPoint,
    ) {
        let full = &self.collected.contexts.stacks;
        work.stacks.clear();
        work.left.clear();
        work.of_stack.clear();
        work.callers.clear();
        work.operations.clear();
        work.operations.resize(self.collected.operations.len(), TimeMoments::default());
        for (stack, (moments, steps)) in full.ids().zip(&self.of_stack) {
            let operation = full.last_operation(stack);
            let Some(caller) = full.caller_stack(stack) else {
                let root = work.stacks.root_stack(operation);
                work.left.push(root);
                continue;
            };
            let above = work.left.get(caller.index()).copied().unwrap_or_default();
            if !sees(operation) {
                work.left.push(above);
                continue;
            }
            let own = work.stacks.callee_stack(above, operation);
            work.left.push(own);
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
            shown.executions += steps;
        }
        shown.contexts.caller = work.callers.len() as u64;
        shown.contexts.stack =
            work.stacks.ids().filter(|stack| work.stacks.caller_stack(*stack).is_some()).count()
                as u64;
    }

    /// Trace-contexts: the remainder of each class.
    fn merge_traces(
        &self,
        sees: impl Fn(OperationId) -> bool,
        work: &mut EvaluationBuffers,
        shown: &mut InstrumentationPoint,
    ) {
        let classes = &self.collected.contexts.classes;
        work.canonical.clear();
        work.classes.clear();
        work.traces.clear();
        for (class, counts) in classes.classes().iter().zip(&self.collected.classes) {
            let tree = classes.tree_of_class(class);
            let shape = work.canonical.fold_tree(tree, class.caller, &sees);
            let size = work.canonical.shape_size(shape) as usize;
            if size == 0 {
                continue;
            }
            shown.traces += counts.requests;
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
                if sees(node.operation)
                    && let Some(merged) = work.traces.get_mut(first + *place as usize)
                {
                    merged.merge(moments);
                }
            }
        }
        shown.classes = work.classes.len() as u64;
        shown.contexts.trace = work.traces.len() as u64;
    }
}
