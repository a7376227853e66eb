//! The profile of one operation: a function of its response times and contexts alone.

use std::ops::Range;

use super::classes::ClassNumbers;
use super::evidence::{evidence, share};
use crate::collect::{Collected, Counts, Observation};
use crate::equivalence::Level;
use crate::explain::{Evidence, reason};
use crate::identity::Operation;
use crate::result::{ContextProfile, Further, OperationProfile, PerLevel, Summary};
use crate::statistics::{Bins, Moments, tick};
use crate::summarise::{Scale, samples, summary};
use crate::traces::PositionId;
use crate::tuning::{MAX_TOLD, MIN_TOLD_STEPS};

/// What is made of an operation.
pub(super) struct Profiled {
    pub(super) operation: OperationProfile,
    /// Mean and deviation of each of its trace-contexts, in their order.
    pub(super) moments: Vec<Moments>,
    /// The trace-contexts of each context, as places among those of the operation, by kind and by
    /// the number that the context has as its id.
    pub(super) ranges: PerLevel<Vec<Range<usize>>>,
}

/// Some trace-contexts of an operation that are one context of a coarser kind.
struct Group {
    /// Their places among the trace-contexts of the operation.
    positions: Range<usize>,
    moments: Moments,
}

/// An operation at work.
struct Work<'a> {
    collected: &'a Collected<'a>,
    classes: &'a ClassNumbers,
    /// Its trace-contexts, in the order of the calling-context tree.
    positions: &'a [PositionId],
    /// Response times in the order of the trace-contexts, those of each by time.
    observations: &'a [Observation],
    /// Where those of each trace-context are.
    ranges: Vec<Range<usize>>,
    moments: Vec<Moments>,
    scale: Scale,
}

/// The profile of the operation with these trace-contexts, which are in the order of the
/// calling-context tree, and so are its response times; those of a trace-context are by time.
pub(super) fn profile(
    collected: &Collected<'_>,
    classes: &ClassNumbers,
    positions: &[PositionId],
    observations: &[Observation],
) -> Profiled {
    let mut work = Work {
        collected,
        classes,
        positions,
        observations,
        ranges: ranges(positions, observations),
        moments: Vec::new(),
        scale: Scale { bins: Bins::of(&[]), tick: 1 },
    };
    work.moments = work.ranges.iter().map(|range| moments(&observations[range.clone()])).collect();
    let (by_time, place) = work.by_time(0..positions.len());
    let sorted = samples(&by_time);
    work.scale = Scale { bins: Bins::of(&sorted), tick: tick(&sorted) };
    let whole = work.sum(0..positions.len());
    let levels = work.levels();
    // The number of the context that each trace-context is of, on each level.
    let of_position: PerLevel<Vec<usize>> = PerLevel::each(|level| {
        let groups = levels.of(level).iter().enumerate();
        groups.flat_map(|(number, group)| group.positions.clone().map(move |_| number)).collect()
    });
    let evidence = PerLevel::each(|level| {
        let moments: Vec<Moments> = levels.of(level).iter().map(|group| group.moments).collect();
        let context = |at: usize| of_position.of(level)[place[at] as usize];
        evidence(&whole, &moments, &sorted, context)
    });
    let contexts = work.callers(&levels);
    let operation = positions.first().map_or(0, |first| collected.contexts.operation_of(*first));
    let names = collected.operations.get(operation as usize).cloned().unwrap_or_default();
    let summary = summary(&work.counts(0..positions.len()), &whole, &by_time, &work.scale);
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
    profile.reason = reason(&Evidence {
        operation: &profile,
        contexts: PerLevel::each(|level| levels.of(level).len()),
        sorted: &sorted,
        context: &|level, at| of_position.of(level)[place[at] as usize],
    });
    let ranges = PerLevel::each(|level| {
        levels.of(level).iter().map(|group| group.positions.clone()).collect()
    });
    Profiled { operation: profile, moments: work.moments, ranges }
}

/// Where the response times of each trace-context are.
fn ranges(positions: &[PositionId], observations: &[Observation]) -> Vec<Range<usize>> {
    let mut begin = 0;
    let range = |position: &PositionId| {
        let of = observations.get(begin..).unwrap_or_default();
        let count = of.partition_point(|observation| observation.position == *position);
        begin += count;
        begin - count..begin
    };
    positions.iter().map(range).collect()
}

fn moments(observations: &[Observation]) -> Moments {
    let mut moments = Moments::default();
    for observation in observations {
        moments.add(observation.time as f64, f64::from(observation.weight));
    }
    moments
}

impl Work<'_> {
    /// Response times of some trace-contexts by time, with the place of each one's trace-context.
    fn by_time(&self, positions: Range<usize>) -> (Vec<Observation>, Vec<u32>) {
        let places = positions.clone().zip(self.ranges.get(positions).unwrap_or_default());
        let mut all: Vec<(Observation, u32)> = places
            .flat_map(|(place, range)| {
                self.observations[range.clone()].iter().map(move |one| (*one, place as u32))
            })
            .collect();
        // They are in a few runs already, which a stable sort merges.
        all.sort_by_key(|(observation, _)| (observation.time, observation.request));
        all.into_iter().unzip()
    }

    fn sum(&self, positions: Range<usize>) -> Moments {
        let mut sum = Moments::default();
        self.moments.get(positions).unwrap_or_default().iter().for_each(|of| sum.merge(of));
        sum
    }

    fn counts(&self, positions: Range<usize>) -> Counts {
        let mut sum = Counts::default();
        for position in self.positions.get(positions).unwrap_or_default() {
            if let Some(counts) = self.collected.counts.get(*position as usize) {
                sum.add(counts);
            }
        }
        sum
    }

    /// The contexts of each kind, in order.
    fn levels(&self) -> PerLevel<Vec<Group>> {
        let contexts = &self.collected.contexts;
        PerLevel::each(|level| {
            let key = |position: &PositionId| {
                let stack = contexts.stack_of(*position);
                match level {
                    Level::Operation => (0, 0),
                    Level::Caller => contexts.stacks.caller_context(stack).unwrap_or_default(),
                    Level::Stack => (stack, 0),
                    Level::Trace => (*position, 0),
                }
            };
            let mut begin = 0;
            let group = |of: &[PositionId]| {
                begin += of.len();
                let positions = begin - of.len()..begin;
                Group { moments: self.sum(positions.clone()), positions }
            };
            self.positions.chunk_by(|a, b| key(a) == key(b)).map(group).collect()
        })
    }

    fn summary(&self, group: &Group) -> Summary {
        let counts = self.counts(group.positions.clone());
        if let [only] = self.ranges.get(group.positions.clone()).unwrap_or_default() {
            let sorted = &self.observations[only.clone()];
            return summary(&counts, &group.moments, sorted, &self.scale);
        }
        let (by_time, _) = self.by_time(group.positions.clone());
        summary(&counts, &group.moments, &by_time, &self.scale)
    }

    /// The share of the deviation of a context that is gone within others.
    fn share(&self, group: &Group, within: &[Group]) -> Option<f64> {
        let within: Vec<Moments> = among(within, group).iter().map(|inner| inner.moments).collect();
        Some(share(&group.moments, &within))
    }

    fn callers(&self, levels: &PerLevel<Vec<Group>>) -> Vec<ContextProfile> {
        let profile = |group: &Group| ContextProfile {
            decrease: PerLevel {
                caller: None,
                stack: self.share(group, &levels.stack),
                trace: self.share(group, &levels.trace),
            },
            contexts: among(&levels.stack, group)
                .iter()
                .map(|stack| self.stack(stack, levels))
                .collect(),
            ..self.context(Level::Caller, group, levels)
        };
        levels.caller.iter().map(profile).collect()
    }

    fn stack(&self, group: &Group, levels: &PerLevel<Vec<Group>>) -> ContextProfile {
        let steps = |trace: &Group| self.counts(trace.positions.clone()).steps;
        let tells_all = self.collected.contexts.len() <= MAX_TOLD;
        let is_told = |trace: &&Group| tells_all || steps(trace) >= MIN_TOLD_STEPS;
        let traces = among(&levels.trace, group);
        let untold = traces.iter().filter(|trace| !is_told(trace));
        let further =
            Further { contexts: untold.clone().count() as u64, steps: untold.map(steps).sum() };
        let trace = |trace: &Group| {
            let position = self.positions.get(trace.positions.start).copied().unwrap_or(0);
            let (class, step) = self.classes.step(self.collected, position);
            ContextProfile {
                class: Some(class),
                step: Some(step),
                ..self.context(Level::Trace, trace, levels)
            }
        };
        ContextProfile {
            decrease: PerLevel { trace: self.share(group, &levels.trace), ..PerLevel::default() },
            contexts: traces.iter().filter(is_told).map(trace).collect(),
            further: (further.contexts > 0).then_some(further),
            ..self.context(Level::Stack, group, levels)
        }
    }

    /// A context without what it is made of. Its id is its number among those of its kind, until
    /// the tree of all operations is there.
    fn context(
        &self,
        level: Level,
        group: &Group,
        levels: &PerLevel<Vec<Group>>,
    ) -> ContextProfile {
        let begin = group.positions.start;
        let id = levels.of(level).partition_point(|other| other.positions.start < begin);
        let contexts = &self.collected.contexts;
        let position = self.positions.get(group.positions.start).copied().unwrap_or(0);
        let stack = contexts.stack_of(position);
        let name = |operation: u32| {
            self.collected.operations.get(operation as usize).map(Operation::to_string)
        };
        let name = match level {
            Level::Operation => String::new(),
            Level::Caller => {
                let (caller, _) = contexts.stacks.caller_context(stack).unwrap_or_default();
                name(caller).unwrap_or_default()
            }
            Level::Stack => {
                let path: Vec<String> =
                    contexts.stacks.path(stack).into_iter().filter_map(name).collect();
                path.join(" > ")
            }
            Level::Trace => {
                let (class, step) = self.classes.step(self.collected, position);
                format!("class {class}, step {step}")
            }
        };
        ContextProfile {
            id: id as u32,
            level,
            name,
            class: None,
            step: None,
            summary: self.summary(group),
            decrease: PerLevel::default(),
            contexts: Vec::new(),
            further: None,
        }
    }
}

/// The groups that are parts of `group`, of all groups of a finer kind.
fn among<'g>(all: &'g [Group], group: &Group) -> &'g [Group] {
    let place = |bound: usize| all.partition_point(|other| other.positions.start < bound);
    all.get(place(group.positions.start)..place(group.positions.end)).unwrap_or_default()
}
