//! The data of the HTML page, made from patterns and, one by one, their instances: an overview that
//! is loaded at once, details of the patterns in pieces, and instances to step
//! through. All pieces are JSON; `web/src/data` has the same shapes.
//!
//! A page that lies on disk carries all of it, with a few instances of each pattern. `sockcap view`
//! hands out piece after piece and has every instance ([`Instances`]).

mod details;
mod histogram;
mod instances;
mod map;
mod names;
mod number;
mod observed;
mod one_sided;
mod overview;
mod sample;
mod series;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use analyze::OneSided;
use analyze::paths::{PathPattern, TimedInstance};
use rustc_hash::FxHashMap;

pub use instances::{Instances, Order};
pub use sample::PageInstance;

use crate::options::Options;
use crate::summary::Report;
use crate::tuning::{
    FEW_INSTANCES, MAX_HOPS, MAX_INSTANCES, MAX_MESSAGES, PATTERN_SLICES, PATTERNS_PER_PIECE,
};
use details::Details;
use names::Names;
use observed::Observed;
use one_sided::OneSidedMessages;
use overview::Overview;
use series::{Series, Slices};

/// The data of a page, as JSON.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The trace and its patterns in rows.
    pub overview: Vec<u8>,
    /// The details of [`PATTERNS_PER_PIECE`] patterns each, in the order of the overview.
    pub details: Vec<Arc<[u8]>>,
}

/// A page's data in the making.
pub struct PageBuilder<'a> {
    report: &'a Report<'a>,
    options: Options,
    ranked: Vec<&'a PathPattern>,
    /// By the number of a pattern: its rank.
    rank: FxHashMap<i64, usize>,
    observed: Vec<Observed>,
    /// By rank: how many instances are kept.
    most: Vec<usize>,
    series: Series,
    slices: Slices,
    begin: i64,
    one_sided: OneSidedMessages,
}

impl<'a> PageBuilder<'a> {
    /// The page of `report`, all patterns of which are in the page, in the order that `options`
    /// say.
    pub fn new(report: &'a Report<'a>, options: &Options) -> PageBuilder<'a> {
        let options = Options { limit: None, ..*options };
        let ranked = report.ranked(&options);
        let rank = ranked.iter().enumerate().map(|(rank, pattern)| (pattern.id, rank)).collect();
        let begin = report.meta.begin.unwrap_or_default();
        let span = report.meta.span;
        let observed = ranked.iter().map(|_| Observed::default()).collect();
        let most = instances_of_each(&ranked);
        let series = Series::of(begin, span);
        let slices = Slices::of(begin, span, PATTERN_SLICES);
        let one_sided = OneSidedMessages::default();
        PageBuilder {
            report,
            options,
            ranked,
            rank,
            observed,
            most,
            series,
            slices,
            begin,
            one_sided,
        }
    }

    /// Says whose messages were seen at one end only, those with the most first.
    pub fn one_sided(&mut self, found: &[OneSided]) {
        self.one_sided = OneSidedMessages::of(found);
    }

    /// Adds an instance; also of a pattern that is not in the page, which counts in the series.
    pub fn add(&mut self, seen: &TimedInstance<'_>) {
        self.series.add(
            seen.begin().unwrap_or(self.begin),
            seen.duration(),
            seen.which.probability,
        );
        if let Some(rank) = self.rank(seen.which.pattern) {
            let hops = &self.ranked[rank].hops;
            self.observed[rank].add(seen, hops, self.begin, self.slices, self.most[rank]);
        }
    }

    /// The rank of the pattern of that number, if it is in the page.
    pub fn rank(&self, pattern: i64) -> Option<usize> {
        self.rank.get(&pattern).copied()
    }

    /// The data.
    ///
    /// # Errors
    /// When something is none of JSON's, which nothing here is.
    pub fn finish(self) -> serde_json::Result<Page> {
        let mut names = Names::default();
        let map = map::of(&self.ranked, &mut names);
        let mut observed = self.observed.into_iter();
        let mut details = Vec::with_capacity(self.ranked.len().div_ceil(PATTERNS_PER_PIECE));
        for group in self.ranked.chunks(PATTERNS_PER_PIECE) {
            let group: Vec<Details> = group
                .iter()
                .map(|pattern| {
                    Details::of(pattern, observed.next().unwrap_or_default(), &mut names)
                })
                .collect();
            details.push(serde_json::to_vec(&group)?.into());
        }
        // Last, as it has all names.
        let series = self.series.columns();
        let mut overview =
            Overview::of(self.report, &self.ranked, &self.options, &map, series, &mut names);
        overview.one_sided = self.one_sided;
        Ok(Page { overview: serde_json::to_vec(&overview)?, details })
    }
}

/// How many instances of each pattern are kept, by rank.
fn instances_of_each(ranked: &[&PathPattern]) -> Vec<usize> {
    let mut left = MAX_MESSAGES;
    let mut most = |pattern: &&PathPattern| {
        let hops = pattern.hops.len().clamp(1, MAX_HOPS);
        let of_it = usize::try_from(pattern.count).unwrap_or_default().min(MAX_INSTANCES);
        let kept =
            if of_it * hops <= left { of_it } else { of_it.min(FEW_INSTANCES).min(left / hops) };
        left -= kept * hops;
        kept
    };
    ranked.iter().map(&mut most).collect()
}
