//! Shape: the contexts in their JSON form. `report/web/src/data/contexts.ts` has the same.

use contexts::equivalence::ContextLevel;
use contexts::explain::sentence_without_reason;
use contexts::identity::OperationIdentity;
use contexts::result::{ContextProfile, OperationProfile, PerLevel, Profile};
use message_trace::units::to_printable;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::choice::{ChosenContexts, ContextQuota};
use super::classes::{self, PageClass, shown_name};
use super::commands::MoreByCommand;
use super::summary::{PageSummary, PathOfExample};
use crate::page::names::PageNames;
use crate::page::number::ShortNumber;
use crate::tuning::MAX_OPERATIONS;

/// The contexts of a page.
#[derive(Debug, Serialize)]
pub(super) struct ContextsShape {
    requests: u64,
    torn: u64,
    steps: u64,
    timed: u64,
    operation_count: u64,
    class_count: u64,
    context_counts: PerLevel<u64>,
    deviation: ShortNumber,
    decrease: PerLevel<ShortNumber>,
    by_host: bool,
    operations: Vec<PageOperation>,
    classes: Vec<PageClass>,
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
    explained: PerLevel<PageDecrease>,
    sentence: String,
    reason: Option<ContextLevel>,
    contexts: PerLevel<PageLevel>,
}

/// Bin `b` begins at `first` times `ratio` to the power of `b`. Rounded bounds would leave gaps.
#[derive(Debug, Serialize)]
struct PageBins {
    first: f64,
    ratio: f64,
    count: usize,
}

#[derive(Debug, Serialize)]
struct PageDecrease {
    deviation: ShortNumber,
    share: ShortNumber,
    beyond_chance: ShortNumber,
}

#[derive(Debug, Serialize)]
struct PageLevel {
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

impl ContextsShape {
    /// The contexts of `profile`, with examples that have no path yet.
    pub(super) fn from_profile(profile: &Profile, more: MoreByCommand) -> ContextsShape {
        let mut room = ContextQuota::for_a_page();
        let first = profile.operations.iter().take(MAX_OPERATIONS);
        let operations: Vec<PageOperation> =
            first.map(|operation| PageOperation::from_operation(operation, &mut room)).collect();
        let of_trace = operations.iter().flat_map(|operation| &operation.contexts.trace.shown);
        let wanted: Vec<u32> = of_trace.filter_map(|context| context.class).collect();
        let mut names = PageNames::default();
        let classes = classes::page_classes(profile, &wanted, &mut names);
        let totals = &profile.totals;
        ContextsShape {
            requests: totals.requests,
            torn: totals.torn,
            steps: totals.steps,
            timed: totals.timed,
            operation_count: totals.operations,
            class_count: totals.classes,
            context_counts: totals.contexts,
            deviation: ShortNumber::from_whole(profile.deviation),
            decrease: PerLevel::from_fn(|level| {
                ShortNumber::from_value(*profile.decrease.get(level))
            }),
            by_host: profile.by == OperationIdentity::Host,
            operations,
            classes,
            names: names.shown_names().iter().map(|name| shown_name(name)).collect(),
            commands: more,
        }
    }

    fn context_summaries(&self) -> impl Iterator<Item = &PageSummary> {
        self.operations.iter().flat_map(|operation| {
            let contexts = ContextLevel::CONTEXTS.into_iter().flat_map(|level| {
                operation.contexts.get(level).shown.iter().map(|context| &context.summary)
            });
            std::iter::once(&operation.summary).chain(contexts)
        })
    }

    /// The numbers of the example requests.
    pub(super) fn example_requests(&self) -> impl Iterator<Item = i64> {
        self.context_summaries().flat_map(PageSummary::example_requests)
    }

    /// Sets the paths of examples.
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
    fn from_operation(operation: &OperationProfile, room: &mut ContextQuota) -> PageOperation {
        let said = operation.reason.as_ref().map(|reason| reason.sentence.clone());
        let (every, bins) = operation.bins.as_ref().map_or((1, None), |bins| {
            let every = PageSummary::bins_per_group(bins.count as usize);
            let count = (bins.count as usize).div_ceil(every);
            let ratio = bins.ratio.powi(every as i32);
            (every, Some(PageBins { first: bins.first, ratio, count }))
        });
        PageOperation {
            id: operation.id,
            name: shown_name(&operation.name),
            summary: PageSummary::from_summary(&operation.summary, every),
            bins,
            explained: PerLevel::from_fn(|level| {
                let decrease = operation.decrease.get(level);
                PageDecrease {
                    deviation: ShortNumber::from_whole(decrease.deviation),
                    share: ShortNumber::from_value(decrease.share),
                    beyond_chance: ShortNumber::from_value(decrease.beyond_chance),
                }
            }),
            sentence: to_printable(&said.unwrap_or_else(|| sentence_without_reason(operation))),
            reason: operation.reason.as_ref().map(|reason| reason.level),
            contexts: PerLevel::from_fn(|level| {
                let chosen = ChosenContexts::from_operation(operation, level, room);
                let of = |(context, slow): &(&ContextProfile, bool)| PageContext {
                    id: context.id,
                    name: shown_name(&context.name),
                    slow: *slow,
                    class: context.class,
                    step: context.step,
                    summary: PageSummary::from_summary(&context.summary, every),
                };
                PageLevel {
                    all: chosen.all,
                    left_calls: chosen.left_calls,
                    shown: chosen.shown.iter().map(of).collect(),
                }
            }),
        }
    }
}
