//! The profile of one operation: a function of only its response times and contexts.

use std::ops::Range;

use super::classes::ClassNumbers;
use super::evidence::{decrease_share, measure_decrease};
use crate::collect::{CollectedContexts, ExecutionCounts, ResponseObservation};
use crate::equivalence::ContextLevel;
use crate::explain::{OperationEvidence, find_reason};
use crate::identity::{OperationId, OperationLabel};
use crate::result::{ContextProfile, ContextSummary, CountedContexts, OperationProfile, PerLevel};
use crate::statistics::{LogBins, TimeMoments, clock_tick};
use crate::summarise::{SummaryScale, summarise_context, time_samples};
use crate::traces::PositionId;
use crate::tuning::{MAX_LISTED, MIN_LISTED_STEPS};

/// Result of one operation.
pub(super) struct OperationResult {
    pub(super) operation: OperationProfile,
    /// Mean and deviation of each trace-context of the operation, in their order.
    pub(super) moments: Vec<TimeMoments>,
    /// The trace-contexts of each context, as indices among the operation's trace-contexts, by the
    /// kind and the id of the context.
    pub(super) ranges: PerLevel<Vec<Range<usize>>>,
}

/// Trace-contexts of an operation that form one context of a coarser kind.
struct PositionGroup {
    /// Indices of these trace-contexts among the trace-contexts of the operation.
    positions: Range<usize>,
    moments: TimeMoments,
}

/// An operation while it is profiled.
struct OperationWork<'a> {
    collected: &'a CollectedContexts<'a>,
    classes: &'a ClassNumbers,
    /// Trace-contexts of the operation, in the order of the calling-context tree.
    positions: &'a [PositionId],
    /// Response times in the order of the trace-contexts; within each, sorted by time.
    observations: &'a [ResponseObservation],
    /// The range of each trace-context in `observations`.
    ranges: Vec<Range<usize>>,
    moments: Vec<TimeMoments>,
    scale: SummaryScale,
}

/// The profile of the operation with these trace-contexts. They are in the order of the
/// calling-context tree, and so are the response times, which are sorted by time within a
/// trace-context.
pub(super) fn profile_operation(
    collected: &CollectedContexts<'_>,
    classes: &ClassNumbers,
    positions: &[PositionId],
    observations: &[ResponseObservation],
) -> OperationResult {
    let mut work = OperationWork {
        collected,
        classes,
        positions,
        observations,
        ranges: ranges_of_positions(positions, observations),
        moments: Vec::new(),
        scale: SummaryScale { bins: LogBins::from_samples(&[]), tick: 1 },
    };
    work.moments =
        work.ranges.iter().map(|range| observation_moments(&observations[range.clone()])).collect();
    let (by_time, place) = work.by_time(0..positions.len());
    let sorted = time_samples(&by_time);
    work.scale = SummaryScale { bins: LogBins::from_samples(&sorted), tick: clock_tick(&sorted) };
    let whole = work.sum_moments(0..positions.len());
    let levels = work.groups_by_level();
    // The number of the context of each trace-context, on each level.
    let of_position: PerLevel<Vec<usize>> = PerLevel::from_fn(|level| {
        let groups = levels.get(level).iter().enumerate();
        groups.flat_map(|(number, group)| group.positions.clone().map(move |_| number)).collect()
    });
    let evidence = PerLevel::from_fn(|level| {
        let moments: Vec<TimeMoments> =
            levels.get(level).iter().map(|group| group.moments).collect();
        let context = |at: usize| of_position.get(level)[place[at] as usize];
        measure_decrease(&whole, &moments, &sorted, context)
    });
    let contexts = work.caller_contexts(&levels);
    let first = positions.first().map(|first| collected.contexts.operation_of(*first));
    let operation = first.unwrap_or_default();
    let names = collected.operations.get(operation.index()).cloned().unwrap_or_default();
    let summary =
        summarise_context(&work.sum_counts(0..positions.len()), &whole, &by_time, &work.scale);
    let mut profile = OperationProfile {
        id: 0,
        name: names.to_string(),
        names,
        summary,
        bins: (!sorted.is_empty()).then_some(work.scale.bins),
        decrease: evidence,
        reason: None,
        contexts,
    };
    profile.reason = find_reason(&OperationEvidence {
        operation: &profile,
        contexts: PerLevel::from_fn(|level| levels.get(level).len()),
        sorted: &sorted,
        context: &|level, at| of_position.get(level)[place[at] as usize],
    });
    let ranges = PerLevel::from_fn(|level| {
        levels.get(level).iter().map(|group| group.positions.clone()).collect()
    });
    OperationResult { operation: profile, moments: work.moments, ranges }
}

/// The range of the response times of each trace-context.
fn ranges_of_positions(
    positions: &[PositionId],
    observations: &[ResponseObservation],
) -> Vec<Range<usize>> {
    let mut begin = 0;
    let range = |position: &PositionId| {
        let of = observations.get(begin..).unwrap_or_default();
        let count = of.partition_point(|observation| observation.position == *position);
        begin += count;
        begin - count..begin
    };
    positions.iter().map(range).collect()
}

fn observation_moments(observations: &[ResponseObservation]) -> TimeMoments {
    let mut moments = TimeMoments::default();
    for observation in observations {
        moments.add(observation.time as f64, f64::from(observation.weight));
    }
    moments
}

impl OperationWork<'_> {
    /// Response times of the trace-contexts `positions`, sorted by time, and the index of the
    /// trace-context of each.
    fn by_time(&self, positions: Range<usize>) -> (Vec<ResponseObservation>, Vec<u32>) {
        let places = positions.clone().zip(self.ranges.get(positions).unwrap_or_default());
        let mut all: Vec<(ResponseObservation, u32)> = places
            .flat_map(|(place, range)| {
                self.observations[range.clone()].iter().map(move |one| (*one, place as u32))
            })
            .collect();
        // The observations consist of a few sorted runs, which a stable sort merges.
        all.sort_by_key(|(observation, _)| (observation.time, observation.request));
        all.into_iter().unzip()
    }

    fn sum_moments(&self, positions: Range<usize>) -> TimeMoments {
        let mut sum = TimeMoments::default();
        self.moments.get(positions).unwrap_or_default().iter().for_each(|of| sum.merge(of));
        sum
    }

    fn sum_counts(&self, positions: Range<usize>) -> ExecutionCounts {
        let mut sum = ExecutionCounts::default();
        for position in self.positions.get(positions).unwrap_or_default() {
            if let Some(counts) = self.collected.counts.get(position.index()) {
                sum.add(counts);
            }
        }
        sum
    }

    /// The contexts of each kind, in order.
    fn groups_by_level(&self) -> PerLevel<Vec<PositionGroup>> {
        let contexts = &self.collected.contexts;
        PerLevel::from_fn(|level| {
            let key = |position: &PositionId| {
                let stack = contexts.stack_of(*position);
                match level {
                    ContextLevel::Operation => (0, 0),
                    ContextLevel::Caller => {
                        let context = contexts.stacks.caller_context(stack).unwrap_or_default();
                        (context.0.index(), context.1.index())
                    }
                    ContextLevel::Stack => (stack.index(), 0),
                    ContextLevel::Trace => (position.index(), 0),
                }
            };
            let mut begin = 0;
            let group = |of: &[PositionId]| {
                begin += of.len();
                let positions = begin - of.len()..begin;
                PositionGroup { moments: self.sum_moments(positions.clone()), positions }
            };
            self.positions.chunk_by(|a, b| key(a) == key(b)).map(group).collect()
        })
    }

    fn group_summary(&self, group: &PositionGroup) -> ContextSummary {
        let counts = self.sum_counts(group.positions.clone());
        if let [only] = self.ranges.get(group.positions.clone()).unwrap_or_default() {
            let sorted = &self.observations[only.clone()];
            return summarise_context(&counts, &group.moments, sorted, &self.scale);
        }
        let (by_time, _) = self.by_time(group.positions.clone());
        summarise_context(&counts, &group.moments, &by_time, &self.scale)
    }

    /// The share of the standard deviation of a context that its subcontexts of a finer kind
    /// explain. `within` are all contexts of that kind.
    fn explained_share(&self, group: &PositionGroup, within: &[PositionGroup]) -> Option<f64> {
        let within: Vec<TimeMoments> =
            subgroups_of(within, group).iter().map(|inner| inner.moments).collect();
        Some(decrease_share(&group.moments, &within))
    }

    fn caller_contexts(&self, levels: &PerLevel<Vec<PositionGroup>>) -> Vec<ContextProfile> {
        let profile = |group: &PositionGroup| ContextProfile {
            decrease: PerLevel {
                caller: None,
                stack: self.explained_share(group, &levels.stack),
                trace: self.explained_share(group, &levels.trace),
            },
            contexts: subgroups_of(&levels.stack, group)
                .iter()
                .map(|stack| self.stack_context(stack, levels))
                .collect(),
            ..self.build_context(ContextLevel::Caller, group, levels)
        };
        levels.caller.iter().map(profile).collect()
    }

    fn stack_context(
        &self,
        group: &PositionGroup,
        levels: &PerLevel<Vec<PositionGroup>>,
    ) -> ContextProfile {
        let steps = |trace: &PositionGroup| self.sum_counts(trace.positions.clone()).steps;
        let lists_all = self.collected.contexts.len() <= MAX_LISTED;
        let is_listed = |trace: &&PositionGroup| lists_all || steps(trace) >= MIN_LISTED_STEPS;
        let traces = subgroups_of(&levels.trace, group);
        let unlisted = traces.iter().filter(|trace| !is_listed(trace));
        let further = CountedContexts {
            contexts: unlisted.clone().count() as u64,
            steps: unlisted.map(steps).sum(),
        };
        let trace = |trace: &PositionGroup| {
            let position = self.positions.get(trace.positions.start).copied().unwrap_or_default();
            let (class, step) = self.classes.class_and_step(self.collected, position);
            ContextProfile {
                class: Some(class),
                step: Some(step),
                ..self.build_context(ContextLevel::Trace, trace, levels)
            }
        };
        ContextProfile {
            decrease: PerLevel {
                trace: self.explained_share(group, &levels.trace),
                ..PerLevel::default()
            },
            contexts: traces.iter().filter(is_listed).map(trace).collect(),
            further: (further.contexts > 0).then_some(further),
            ..self.build_context(ContextLevel::Stack, group, levels)
        }
    }

    /// A context without its subcontexts. The id of the context is its number within its kind,
    /// until the tree of all operations is numbered.
    fn build_context(
        &self,
        level: ContextLevel,
        group: &PositionGroup,
        levels: &PerLevel<Vec<PositionGroup>>,
    ) -> ContextProfile {
        let begin = group.positions.start;
        let id = levels.get(level).partition_point(|other| other.positions.start < begin);
        let contexts = &self.collected.contexts;
        let position = self.positions.get(group.positions.start).copied().unwrap_or_default();
        let stack = contexts.stack_of(position);
        let name = |operation: OperationId| {
            self.collected.operations.get(operation.index()).map(OperationLabel::to_string)
        };
        let name = match level {
            ContextLevel::Operation => String::new(),
            ContextLevel::Caller => {
                let (caller, _) = contexts.stacks.caller_context(stack).unwrap_or_default();
                name(caller).unwrap_or_default()
            }
            ContextLevel::Stack => {
                let path: Vec<String> =
                    contexts.stacks.path_of_stack(stack).into_iter().filter_map(name).collect();
                path.join(" > ")
            }
            ContextLevel::Trace => {
                let (class, step) = self.classes.class_and_step(self.collected, position);
                format!("class {class}, step {step}")
            }
        };
        ContextProfile {
            id: id as u32,
            level,
            name,
            class: None,
            step: None,
            summary: self.group_summary(group),
            decrease: PerLevel::default(),
            contexts: Vec::new(),
            further: None,
        }
    }
}

/// The subgroups of `group` among all groups of a finer kind.
fn subgroups_of<'g>(all: &'g [PositionGroup], group: &PositionGroup) -> &'g [PositionGroup] {
    let place = |bound: usize| all.partition_point(|other| other.positions.start < bound);
    all.get(place(group.positions.start)..place(group.positions.end)).unwrap_or_default()
}
