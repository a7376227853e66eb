//! Collecting: one pass over both periods, which gives each request its category and keeps its
//! response time and the share of each place in that.
//!
//! ```text
//! requests of a group --encode--> category, places --critical path--> shares by place
//!                                    |                                     |
//!                                    v                                     v
//!                              structures, once each          observations, dealt by category
//! ```
//!
//! Observations are kept in memory while a budget lasts and in a temporary file beyond it. Groups
//! of requests are read on all processors; neither their number nor the budget changes the result.

use std::path::Path;
use std::sync::Mutex;

use message_trace::{PathError, Progress};
use out_of_core::workers::{self, lock};
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};
use request_flow::{NameId, Names, Request};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::category::{CategoryKey, Encoded, Encoder, NameHashes, Structure};
use crate::critical_path::{AllTime, CriticalPath};
use crate::observations::Observation;
use crate::options::Options;
use crate::period::{Period, Side};
use crate::sites::{Histogram, SiteCollector, Sites};
use crate::stretches::Stretches;
use crate::tuning::CATEGORY_PARTITIONS;

/// What is known of a period as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeriodTotals {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their probabilities.
    pub expected: f64,
    /// Sum of the probabilities of those with a response time.
    pub timed: f64,
    /// Sum of the response times of those, each by its probability, in nanoseconds.
    pub response: f64,
    /// Number of those that are torn.
    pub torn: u64,
    /// When the first one begins, in nanoseconds since the Unix epoch.
    pub first: Option<i64>,
    /// When the last one begins.
    pub last: Option<i64>,
}

impl PeriodTotals {
    fn add(&mut self, request: &Request, response: Option<i64>) {
        self.requests += 1;
        self.expected += request.probability;
        if let Some(response) = response {
            self.timed += request.probability;
            self.response += request.probability * response as f64;
        }
        self.torn += u64::from(request.torn);
        if let Some(begin) = request.begin() {
            self.first = Some(self.first.map_or(begin, |first| first.min(begin)));
            self.last = Some(self.last.map_or(begin, |last| last.max(begin)));
        }
    }

    /// Mean response time in nanoseconds; 0 where none is known.
    pub fn mean(&self) -> f64 {
        if self.timed > 0.0 { self.response / self.timed } else { 0.0 }
    }

    /// Time from the first request's begin to the last one's, in nanoseconds.
    pub fn length(&self) -> f64 {
        let both = self.first.zip(self.last);
        both.map_or(0.0, |(first, last)| last.saturating_sub(first) as f64)
    }

    fn merge(&mut self, other: &PeriodTotals) {
        self.requests += other.requests;
        self.expected += other.expected;
        self.timed += other.timed;
        self.response += other.response;
        self.torn += other.torn;
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = [self.last, other.last].into_iter().flatten().max();
    }
}

/// All that is known after the pass.
pub struct Collected<'b> {
    /// Names that the structures have numbers of.
    pub names: Names,
    /// The structure of each category.
    pub structures: FxHashMap<CategoryKey, Structure>,
    /// All call sites, with the names' numbers.
    pub sites: Sites,
    /// Response times of all requests.
    pub response: Histogram,
    /// Of each period.
    pub totals: [PeriodTotals; 2],
    /// The time of each period in equal parts.
    pub stretches: [Stretches; 2],
    observations: PartitionStore<'b, u8>,
}

/// Structures that were found so far.
#[derive(Default)]
struct Found {
    names: Names,
    structures: FxHashMap<CategoryKey, Structure>,
}

impl<'b> Collected<'b> {
    /// Reads both periods. What is more than `budget` goes to a temporary file in `directory`.
    ///
    /// # Errors
    /// When the tables cannot be read, or the temporary file not be written.
    pub fn read(
        periods: [&Period<'_>; 2],
        options: &Options,
        budget: &'b MemoryBudget,
        directory: &Path,
        progress: &dyn Progress,
    ) -> Result<Collected<'b>, PathError> {
        let steps = periods.iter().map(|period| period.tables.counts().1).sum();
        progress.step("comparing requests", steps);
        let observations = PartitionStore::new(budget, directory, CATEGORY_PARTITIONS);
        let found = Mutex::new(Found::default());
        let mut totals = [PeriodTotals::default(); 2];
        let (mut sites, mut response) = (SiteCollector::default(), Histogram::default());
        let mut stretches = [Stretches::default(); 2];
        let mut pieces = 0;
        for (side, period) in Side::BOTH.into_iter().zip(periods) {
            let of = Stretches::of(period)?;
            stretches[side as usize] = of;
            let pass = Pass { period, side, options, found: &found, stretches: of };
            let work = |group: usize| {
                let mut writer = PartitionWriter::new(&observations, pieces + group);
                let of_group = pass.read_group(group, &mut writer, progress)?;
                writer.finish()?;
                Ok(of_group)
            };
            let groups = period.tables.groups();
            workers::in_order(workers::threads(), groups, work, |_, of_group: OfGroup| {
                totals[side as usize].merge(&of_group.totals);
                response.merge(&of_group.response);
                let mut all = lock(&found);
                let numbers: Vec<NameId> =
                    of_group.names.iter().map(|name| all.names.number(name)).collect();
                let number = |name: NameId| numbers.get(name as usize).copied().unwrap_or_default();
                sites.merge(of_group.sites, number);
                Ok::<(), PathError>(())
            })?;
            pieces += groups;
        }
        let Found { names, structures } =
            found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (names, structures, sites) = in_order_of_names(names, structures, sites.sites);
        Ok(Collected { names, structures, sites, response, totals, stretches, observations })
    }

    /// Number of parts that the observations are dealt into.
    pub fn partitions(&self) -> usize {
        self.observations.partitions()
    }

    /// Takes the observations of a part, by category, each in order of time in its period.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn take(
        &self,
        partition: usize,
    ) -> Result<FxHashMap<CategoryKey, [Vec<Observation>; 2]>, PathError> {
        let mut all: FxHashMap<CategoryKey, [Vec<Observation>; 2]> = FxHashMap::default();
        for block in self.observations.blocks(partition) {
            let block = block?;
            let mut rest = block.as_slice();
            while let Some((key, side, observation)) = Observation::next(&mut rest) {
                all.entry(key).or_default()[side as usize].push(observation);
            }
        }
        Ok(all)
    }
}

/// The same with names numbered in their order, as which one came first depends on the processors.
fn in_order_of_names(
    names: Names,
    mut structures: FxHashMap<CategoryKey, Structure>,
    sites: Sites,
) -> (Names, FxHashMap<CategoryKey, Structure>, Sites) {
    let mut texts: Vec<&str> = names.iter().collect();
    texts.sort_unstable();
    let mut sorted = Names::default();
    texts.into_iter().for_each(|text| {
        sorted.number(text);
    });
    let numbers: Vec<NameId> = names.iter().map(|text| sorted.number(text)).collect();
    let number = |name: NameId| numbers.get(name as usize).copied().unwrap_or_default();
    structures.values_mut().for_each(|structure| structure.rename(number));
    let mut collector = SiteCollector::default();
    collector.merge(sites, number);
    (sorted, structures, collector.sites)
}

/// The pass over one period.
struct Pass<'p> {
    period: &'p Period<'p>,
    side: Side,
    options: &'p Options,
    found: &'p Mutex<Found>,
    stretches: Stretches,
}

/// What one group of requests comes to, beside the observations.
struct OfGroup {
    names: Names,
    totals: PeriodTotals,
    response: Histogram,
    sites: Sites,
}

impl Pass<'_> {
    fn read_group(
        &self,
        group: usize,
        writer: &mut PartitionWriter<'_, '_, u8>,
        progress: &dyn Progress,
    ) -> Result<OfGroup, PathError> {
        let (names, requests) = self.period.tables.group(group)?;
        let hashes = NameHashes::of(&names);
        let mut encoder = Encoder::new(&self.options.zoom, &names, &hashes);
        let mut path = CriticalPath::default();
        let mut all_time = AllTime::default();
        let (mut sites, mut response) = (SiteCollector::default(), Histogram::default());
        let mut known: FxHashSet<CategoryKey> = FxHashSet::default();
        let mut totals = PeriodTotals::default();
        let (mut bytes, mut observation, mut steps) = (Vec::new(), Observation::default(), 0);
        for request in &requests {
            steps += request.steps.len() as u64;
            let is_in = self.period.has(request.begin());
            if request.steps.is_empty() || request.probability <= 0.0 || !is_in {
                continue;
            }
            let encoded = encoder.encode(request);
            if known.insert(encoded.key) {
                self.keep_structure(&encoded, request, &names);
            }
            let timed = path.of(request);
            totals.add(request, timed.map(|(total, _)| total));
            let stretch = self.stretches.at(request.begin().unwrap_or(i64::MIN));
            if let Some((total, _)) = timed {
                response.add(self.side, stretch, total, request.probability);
            }
            let shares = match timed {
                Some(_) if self.options.without.critical_path => all_time.of(request),
                Some((_, shares)) => shares,
                None => &[],
            };
            sites.add(request, self.side, stretch, shares);
            observation.begin = request.begin().unwrap_or(i64::MIN);
            observation.weight = request.probability as f32;
            observation.response = timed.map_or(f32::NAN, |(total, _)| total as f32);
            observation.shares.clear();
            observation.shares.resize(2 * encoded.places(), 0.0);
            for (step, share) in shares.iter().enumerate() {
                let place = 2 * encoded.place(step) as usize;
                // What a hidden step takes is its node's own time.
                let network = if encoded.is_shown(step) { place + 1 } else { place };
                observation.shares[place] += share.own as f32;
                observation.shares[network] += share.network as f32;
            }
            bytes.clear();
            observation.put(encoded.key, self.side, &mut bytes);
            let partition = (encoded.key >> 64) as u64 % CATEGORY_PARTITIONS as u64;
            writer.deal_together(partition as usize, &bytes)?;
        }
        progress.advance(steps);
        Ok(OfGroup { names, totals, response, sites: sites.sites })
    }

    /// Keeps the structure of a category that this group has for the first time.
    fn keep_structure(&self, encoded: &Encoded<'_>, request: &Request, names: &Names) {
        let mut found = lock(self.found);
        if !found.structures.contains_key(&encoded.key) {
            let Found { names: all, structures } = &mut *found;
            let mut structure = encoded.structure(request);
            structure.rename(|name| all.number(names.text(name)));
            structures.insert(encoded.key, structure);
        }
    }
}
