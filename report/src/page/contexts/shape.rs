//! Shape: the contexts as JSON has them. `report/web/src/data/contexts.ts` has the same.

use contexts::equivalence::Level;
use contexts::explain::without_reason;
use contexts::identity::By;
use contexts::result::{ContextProfile, OperationProfile, PerLevel, Profile};
use message_trace::units::printable;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::chosen::{Chosen, Room};
use super::classes::{self, Class, shown};
use super::commands::MoreByCommand;
use super::summary::{PageSummary, PathOfExample};
use crate::page::names::Names;
use crate::page::number::Number;
use crate::tuning::MAX_OPERATIONS;

/// The contexts of a page.
#[derive(Debug, Serialize)]
pub(super) struct Shape {
    requests: u64,
    torn: u64,
    steps: u64,
    timed: u64,
    operation_count: u64,
    class_count: u64,
    context_counts: PerLevel<u64>,
    deviation: Number,
    decrease: PerLevel<Number>,
    by_host: bool,
    operations: Vec<PageOperation>,
    classes: Vec<Class>,
    /// The names of the operations of classes.
    names: Vec<String>,
    commands: MoreByCommand,
}

#[derive(Debug, Serialize)]
struct PageOperation {
    id: u32,
    name: String,
    #[serde(flatten)]
    summary: PageSummary,
    bins: Option<PageBins>,
    explained: PerLevel<Explained>,
    sentence: String,
    reason: Option<Level>,
    contexts: PerLevel<OfLevel>,
}

/// Bin `b` begins at `first` times `ratio` to the power of `b`. Rounded, they would not meet.
#[derive(Debug, Serialize)]
struct PageBins {
    first: f64,
    ratio: f64,
    count: usize,
}

#[derive(Debug, Serialize)]
struct Explained {
    deviation: Number,
    share: Number,
    beyond_chance: Number,
}

#[derive(Debug, Serialize)]
struct OfLevel {
    all: u64,
    left_calls: u64,
    shown: Vec<PageContext>,
}

#[derive(Debug, Serialize)]
struct PageContext {
    id: u32,
    name: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    slow: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    #[serde(flatten)]
    summary: PageSummary,
}

impl Shape {
    /// The contexts of `profile`, whose examples have no path yet.
    pub(super) fn of(profile: &Profile, more: MoreByCommand) -> Shape {
        let mut room = Room::for_a_page();
        let first = profile.operations.iter().take(MAX_OPERATIONS);
        let operations: Vec<PageOperation> =
            first.map(|operation| PageOperation::of(operation, &mut room)).collect();
        let of_trace = operations.iter().flat_map(|operation| &operation.contexts.trace.shown);
        let wanted: Vec<u32> = of_trace.filter_map(|context| context.class).collect();
        let mut names = Names::default();
        let classes = classes::of(profile, &wanted, &mut names);
        let totals = &profile.totals;
        Shape {
            requests: totals.requests,
            torn: totals.torn,
            steps: totals.steps,
            timed: totals.timed,
            operation_count: totals.operations,
            class_count: totals.classes,
            context_counts: totals.contexts,
            deviation: Number::whole(profile.deviation),
            decrease: PerLevel::each(|level| Number::of(*profile.decrease.of(level))),
            by_host: profile.by == By::Host,
            operations,
            classes,
            names: names.shown().iter().map(|name| shown(name)).collect(),
            commands: more,
        }
    }

    fn summaries(&self) -> impl Iterator<Item = &PageSummary> {
        self.operations.iter().flat_map(|operation| {
            let contexts = Level::CONTEXTS.into_iter().flat_map(|level| {
                operation.contexts.of(level).shown.iter().map(|context| &context.summary)
            });
            std::iter::once(&operation.summary).chain(contexts)
        })
    }

    /// The numbers of the requests that are examples.
    pub(super) fn requests(&self) -> impl Iterator<Item = i64> {
        self.summaries().flat_map(PageSummary::requests)
    }

    /// Tells examples which paths they are.
    pub(super) fn name_paths(&mut self, paths: &FxHashMap<i64, Option<PathOfExample>>) {
        let path = |request: i64| paths.get(&request).copied().flatten();
        for operation in &mut self.operations {
            operation.summary.name_paths(&path);
            let PerLevel { caller, stack, trace } = &mut operation.contexts;
            for context in [caller, stack, trace].into_iter().flat_map(|of| &mut of.shown) {
                context.summary.name_paths(&path);
            }
        }
    }
}

impl PageOperation {
    fn of(operation: &OperationProfile, room: &mut Room) -> PageOperation {
        let said = operation.reason.as_ref().map(|reason| reason.sentence.clone());
        let (every, bins) = operation.bins.as_ref().map_or((1, None), |bins| {
            let every = PageSummary::bins_together(bins.count as usize);
            let count = (bins.count as usize).div_ceil(every);
            let ratio = bins.ratio.powi(every as i32);
            (every, Some(PageBins { first: bins.first, ratio, count }))
        });
        PageOperation {
            id: operation.id,
            name: shown(&operation.name),
            summary: PageSummary::of(&operation.summary, every),
            bins,
            explained: PerLevel::each(|level| {
                let decrease = operation.decrease.of(level);
                Explained {
                    deviation: Number::whole(decrease.deviation),
                    share: Number::of(decrease.share),
                    beyond_chance: Number::of(decrease.beyond_chance),
                }
            }),
            sentence: printable(&said.unwrap_or_else(|| without_reason(operation))),
            reason: operation.reason.as_ref().map(|reason| reason.level),
            contexts: PerLevel::each(|level| {
                let chosen = Chosen::of(operation, level, room);
                let of = |(context, slow): &(&ContextProfile, bool)| PageContext {
                    id: context.id,
                    name: shown(&context.name),
                    slow: *slow,
                    class: context.class,
                    step: context.step,
                    summary: PageSummary::of(&context.summary, every),
                };
                OfLevel {
                    all: chosen.all,
                    left_calls: chosen.left_calls,
                    shown: chosen.shown.iter().map(of).collect(),
                }
            }),
        }
    }
}
