//! The data of the HTML page, made from patterns and, one by one, their instances: an overview,
//! which is loaded immediately, the details of the patterns in batches, and instances to step
//! through. All parts are JSON; `report/web/src/data` has the same shapes.
//!
//! A page on disk contains all of its data, with a few instances of each pattern. `sockcap view`
//! serves batch by batch and has every instance ([`InstanceStore`]).

mod comparison;
mod contexts;
mod details;
mod histogram;
mod instances;
mod map;
mod names;
mod number;
mod observed_instances;
mod one_sided;
mod operations;
mod overview;
mod sample;
mod series;
#[cfg(test)]
mod tests;
mod workload;

use std::sync::Arc;

use analyze::OneSided;
use analyze::paths::{PathPattern, TimedInstance};
use rustc_hash::FxHashMap;

pub use comparison::ComparisonPage;
pub use contexts::{MoreByCommand, PageContexts, RequestsBy};
pub use instances::{InstanceOrder, InstanceStore};
pub use workload::{ExampleRequest, PageWorkload};

use crate::options::Options;
use crate::summary::Report;
use crate::tuning::{
    FEW_INSTANCES, MAX_HOPS, MAX_INSTANCES, MAX_MESSAGES, PATTERN_SLICES, PATTERNS_PER_BATCH,
};
use details::PatternDetails;
use names::PageNames;
use observed_instances::ObservedInstances;
use one_sided::OneSidedMessages;
use operations::PageOperations;
use overview::PageOverview;
use series::{PathSeries, TimeSlices};

/// The data of a page, as JSON.
#[derive(Clone, Debug, Default)]
pub struct PageData {
    /// The trace and its patterns in rows.
    pub overview: Vec<u8>,
    /// The details of [`PATTERNS_PER_BATCH`] patterns each, in
    /// the order of the overview.
    pub details: Vec<Arc<[u8]>>,
    /// The contexts of operations, if there were requests.
    pub contexts: Option<Arc<[u8]>>,
    /// The costs of requests, if their resources were recorded.
    pub workload: Option<Arc<[u8]>>,
}

/// The data of a page, to which instances are added.
pub struct PageBuilder<'a> {
    report: &'a Report<'a>,
    options: Options,
    ranked: Vec<&'a PathPattern>,
    /// The rank of each pattern, by its number.
    rank: FxHashMap<i64, usize>,
    observed: Vec<ObservedInstances>,
    /// The maximum number of instances to keep, by rank.
    limits: Vec<usize>,
    series: PathSeries,
    slices: TimeSlices,
    operations: PageOperations<'a>,
    begin: i64,
    one_sided: OneSidedMessages,
    contexts: Option<PageContexts>,
    workload: Option<PageWorkload>,
}

impl<'a> PageBuilder<'a> {
    /// The page of `report` with all of its patterns, in the order of `options`.
    pub fn new(report: &'a Report<'a>, options: &Options) -> PageBuilder<'a> {
        let options = Options { limit: None, ..*options };
        let ranked = report.ranked_patterns(&options);
        let rank = ranked.iter().enumerate().map(|(rank, pattern)| (pattern.id, rank)).collect();
        let begin = report.meta.begin.unwrap_or_default();
        let span = report.meta.span;
        let observed = ranked.iter().map(|_| ObservedInstances::default()).collect();
        let limits = instance_limits(&ranked);
        let series = PathSeries::new(begin, span);
        let slices = TimeSlices::new(begin, span, PATTERN_SLICES);
        let operations = PageOperations::from_operations(&report.operations, &ranked, slices);
        let one_sided = OneSidedMessages::default();
        PageBuilder {
            report,
            options,
            ranked,
            rank,
            observed,
            limits,
            series,
            slices,
            operations,
            begin,
            one_sided,
            contexts: None,
            workload: None,
        }
    }

    /// Sets the pairs of nodes with messages that were seen at one end only; the pair with the most
    /// messages comes first.
    pub fn set_one_sided(&mut self, found: &[OneSided]) {
        self.one_sided = OneSidedMessages::from_pairs(found);
    }

    /// Sets the contexts of operations. Instances added from now on are matched with their
    /// examples.
    pub fn set_contexts(&mut self, contexts: PageContexts) {
        self.contexts = Some(contexts);
    }

    /// Sets the costs of requests.
    pub fn set_workload(&mut self, workload: PageWorkload) {
        self.workload = Some(workload);
    }

    /// Adds an instance. If its pattern is not in the page, it only counts in the series of the
    /// trace.
    pub fn add_instance(&mut self, instance: &TimedInstance<'_>) {
        self.series.add_path(
            instance.begin_time().unwrap_or(self.begin),
            instance.duration(),
            instance.which.probability,
        );
        if let Some(rank) = self.rank_of_pattern(instance.which.pattern) {
            let hops = &self.ranked[rank].hops;
            self.observed[rank].add_instance(
                instance,
                hops,
                self.begin,
                self.slices,
                self.limits[rank],
            );
            self.operations.add_instance(rank, instance, self.begin);
            let (path, pattern) = (instance.which.path, instance.which.pattern);
            let root = instance.hops.first().map_or(-1, |hop| hop.message);
            let messages = hops.len().min(MAX_HOPS);
            if self
                .contexts
                .as_mut()
                .is_some_and(|of| of.record_path(path, root, pattern, messages))
            {
                self.observed[rank].keep_instance(instance, hops, self.begin);
            }
        }
    }

    /// The rank of the pattern with the number `pattern`; `None` if it is not in the page.
    pub fn rank_of_pattern(&self, pattern: i64) -> Option<usize> {
        self.rank.get(&pattern).copied()
    }

    /// Returns the data of the page.
    ///
    /// # Errors
    /// When a value has no form in JSON. No value here is of that kind.
    pub fn finish(self) -> serde_json::Result<PageData> {
        let mut names = PageNames::default();
        let map = map::build_map(&self.ranked, &mut names);
        let mut observed = self.observed.into_iter();
        let mut details = Vec::with_capacity(self.ranked.len().div_ceil(PATTERNS_PER_BATCH));
        for group in self.ranked.chunks(PATTERNS_PER_BATCH) {
            let group: Vec<PatternDetails> = group
                .iter()
                .map(|pattern| {
                    PatternDetails::from_pattern(
                        pattern,
                        observed.next().unwrap_or_default(),
                        &mut names,
                    )
                })
                .collect();
            details.push(serde_json::to_vec(&group)?.into());
        }
        // The overview comes last, as it contains the names of all parts.
        let over_time = (self.series.to_columns(), self.operations.into_columns(&mut names));
        let mut overview = PageOverview::from_report(
            self.report,
            &self.ranked,
            &self.options,
            &map,
            over_time,
            &mut names,
        );
        overview.one_sided = self.one_sided;
        overview.contexts = self.contexts.is_some();
        overview.workload = self.workload.is_some();
        let contexts = self.contexts.map(PageContexts::into_json).transpose()?;
        let workload = self.workload.as_ref().map(serde_json::to_vec).transpose()?;
        Ok(PageData {
            overview: serde_json::to_vec(&overview)?,
            details,
            contexts: contexts.map(Arc::from),
            workload: workload.map(Arc::from),
        })
    }
}

/// The maximum number of instances of each pattern to keep, by rank.
fn instance_limits(ranked: &[&PathPattern]) -> Vec<usize> {
    let mut left = MAX_MESSAGES;
    let mut of_pattern = |pattern: &&PathPattern| {
        let hops = pattern.hops.len().clamp(1, MAX_HOPS);
        let of_it = usize::try_from(pattern.count).unwrap_or_default().min(MAX_INSTANCES);
        let limit =
            if of_it * hops <= left { of_it } else { of_it.min(FEW_INSTANCES).min(left / hops) };
        left -= limit * hops;
        limit
    };
    ranked.iter().map(&mut of_pattern).collect()
}
