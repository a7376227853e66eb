//! Collecting: one pass over both periods, which assigns each request to its category and keeps its
//! response time and the share of each place in it.
//!
//! ```text
//! requests of a group --encode--> category, places --critical path--> shares by place
//!                                    |                                     |
//!                                    v                                     v
//!                              structures, once each         observations, partitioned by category
//! ```
//!
//! Observations are kept in memory within a budget and in a temporary file beyond it. Groups of
//! requests are read on all processors; neither the number of processors nor the budget changes the
//! result.

use std::path::Path;
use std::sync::Mutex;

use message_trace::{PathError, Progress};
use out_of_core::workers::{self, lock_mutex};
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};
use request_flow::{NameId, NameInterner, Request};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::category::{
    CategoryEncoder, CategoryKey, CategoryStructure, EncodedRequest, NameHashes,
};
use crate::critical_path::{CriticalPath, StepTimes};
use crate::observations::RequestObservation;
use crate::options::Options;
use crate::period::{Period, PeriodSide};
use crate::period_windows::PeriodWindows;
use crate::sites::{CallSites, SiteCollector, SiteHistogram};
use crate::tuning::CATEGORY_PARTITIONS;

/// Totals of a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeriodTotals {
    /// Number of requests.
    pub requests: u64,
    /// Sum of the requests' probabilities.
    pub expected: f64,
    /// Sum of the probabilities of the requests with a response time.
    pub timed: f64,
    /// Sum of these response times, each weighted by its probability, in nanoseconds.
    pub response: f64,
    /// Number of torn requests: their roots were lost.
    pub torn: u64,
    /// Begin of the first request, in nanoseconds since the Unix epoch.
    pub first: Option<i64>,
    /// Begin of the last request, in nanoseconds since the Unix epoch.
    pub last: Option<i64>,
}

impl PeriodTotals {
    fn add_request(&mut self, request: &Request, response: Option<i64>) {
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

    /// Mean response time in nanoseconds; 0 if there is none.
    pub fn mean_response(&self) -> f64 {
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

/// Categories, call sites and observations of both periods: the result of the pass.
pub struct CollectedPeriods<'b> {
    /// Names to which the numbers in structures and call sites refer.
    pub names: NameInterner,
    /// The structure of each category.
    pub structures: FxHashMap<CategoryKey, CategoryStructure>,
    /// All call sites.
    pub sites: CallSites,
    /// Response times of all requests.
    pub response: SiteHistogram,
    /// Totals of each period.
    pub totals: [PeriodTotals; 2],
    /// The windows of each period.
    pub windows: [PeriodWindows; 2],
    /// Encoded observations, partitioned by category.
    observations: PartitionStore<'b, u8>,
}

/// Structures that were found so far, shared by all threads.
#[derive(Default)]
struct StructureTable {
    names: NameInterner,
    structures: FxHashMap<CategoryKey, CategoryStructure>,
}

impl<'b> CollectedPeriods<'b> {
    /// Reads both periods. Data beyond `budget` goes to a temporary file in `directory`.
    ///
    /// # Errors
    /// If the tables cannot be read, or the temporary file cannot be written.
    pub fn read_periods(
        periods: [&Period<'_>; 2],
        options: &Options,
        budget: &'b MemoryBudget,
        directory: &Path,
        progress: &dyn Progress,
    ) -> Result<CollectedPeriods<'b>, PathError> {
        let steps = periods.iter().map(|period| period.tables.counts().1).sum();
        progress.begin_step("comparing requests", steps);
        let observations = PartitionStore::new(budget, directory, CATEGORY_PARTITIONS);
        let found = Mutex::new(StructureTable::default());
        let mut totals = [PeriodTotals::default(); 2];
        let (mut sites, mut response) = (SiteCollector::default(), SiteHistogram::default());
        let mut windows = [PeriodWindows::default(); 2];
        let mut groups_before = 0;
        for (side, period) in PeriodSide::BOTH.into_iter().zip(periods) {
            let of = PeriodWindows::from_period(period)?;
            windows[side as usize] = of;
            let pass = PeriodPass { period, side, options, found: &found, windows: of };
            let work = |group: usize| {
                let mut writer = PartitionWriter::new(&observations, groups_before + group);
                let of_group = pass.read_group(group, &mut writer, progress)?;
                writer.finish()?;
                Ok(of_group)
            };
            let groups = period.tables.group_count();
            workers::run_in_order(
                workers::thread_count(),
                groups,
                work,
                |_, of_group: GroupResult| {
                    totals[side as usize].merge(&of_group.totals);
                    response.merge(&of_group.response);
                    let mut all = lock_mutex(&found);
                    let numbers: Vec<NameId> =
                        of_group.names.iter().map(|name| all.names.intern(name)).collect();
                    let number =
                        |name: NameId| numbers.get(name.index()).copied().unwrap_or_default();
                    sites.merge_sites(of_group.sites, number);
                    Ok::<(), PathError>(())
                },
            )?;
            groups_before += groups;
        }
        let StructureTable { names, structures } =
            found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (names, structures, sites) = sort_by_names(names, structures, sites.sites);
        Ok(CollectedPeriods { names, structures, sites, response, totals, windows, observations })
    }

    /// Number of partitions of the observations.
    pub fn partition_count(&self) -> usize {
        self.observations.partition_count()
    }

    /// Takes the observations of a partition, by category, each in order of time in its period.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn take_observations(
        &self,
        partition: usize,
    ) -> Result<FxHashMap<CategoryKey, [Vec<RequestObservation>; 2]>, PathError> {
        let mut all: FxHashMap<CategoryKey, [Vec<RequestObservation>; 2]> = FxHashMap::default();
        for block in self.observations.take_each_block(partition) {
            let block = block?;
            let mut rest = block.as_slice();
            while let Some((key, side, observation)) = RequestObservation::read_next(&mut rest) {
                all.entry(key).or_default()[side as usize].push(observation);
            }
        }
        Ok(all)
    }
}

/// The collected periods with names numbered in alphabetical order, since the order of arrival
/// depends on the processors.
fn sort_by_names(
    names: NameInterner,
    mut structures: FxHashMap<CategoryKey, CategoryStructure>,
    sites: CallSites,
) -> (NameInterner, FxHashMap<CategoryKey, CategoryStructure>, CallSites) {
    let mut texts: Vec<&str> = names.iter().collect();
    texts.sort_unstable();
    let mut sorted = NameInterner::default();
    texts.into_iter().for_each(|text| {
        sorted.intern(text);
    });
    let numbers: Vec<NameId> = names.iter().map(|text| sorted.intern(text)).collect();
    let number = |name: NameId| numbers.get(name.index()).copied().unwrap_or_default();
    structures.values_mut().for_each(|structure| structure.map_names(number));
    let mut collector = SiteCollector::default();
    collector.merge_sites(sites, number);
    (sorted, structures, collector.sites)
}

/// The pass over one period.
struct PeriodPass<'p> {
    period: &'p Period<'p>,
    side: PeriodSide,
    options: &'p Options,
    found: &'p Mutex<StructureTable>,
    windows: PeriodWindows,
}

/// Result of one group of requests, except for the observations.
struct GroupResult {
    names: NameInterner,
    totals: PeriodTotals,
    response: SiteHistogram,
    sites: CallSites,
}

impl PeriodPass<'_> {
    fn read_group(
        &self,
        group: usize,
        writer: &mut PartitionWriter<'_, '_, u8>,
        progress: &dyn Progress,
    ) -> Result<GroupResult, PathError> {
        let (names, requests) = self.period.tables.read_group(group)?;
        let hashes = NameHashes::from_names(&names);
        let mut encoder = CategoryEncoder::new(&self.options.zoom, &names, &hashes);
        let mut path = CriticalPath::default();
        let mut all_time = StepTimes::default();
        let (mut sites, mut response) = (SiteCollector::default(), SiteHistogram::default());
        let mut known: FxHashSet<CategoryKey> = FxHashSet::default();
        let mut totals = PeriodTotals::default();
        let (mut bytes, mut observation, mut steps) =
            (Vec::new(), RequestObservation::default(), 0);
        for request in &requests {
            steps += request.steps.len() as u64;
            let is_in_period = self.period.contains(request.begin());
            if request.steps.is_empty() || request.probability <= 0.0 || !is_in_period {
                continue;
            }
            let encoded = encoder.encode(request);
            if known.insert(encoded.key) {
                self.add_structure(&encoded, request, &names);
            }
            let timed = path.shares_of_request(request);
            totals.add_request(request, timed.map(|(total, _)| total));
            let window = self.windows.window_of_time(request.begin().unwrap_or(i64::MIN));
            if let Some((total, _)) = timed {
                response.add_time(self.side, window, total, request.probability);
            }
            let shares = match timed {
                Some(_) if self.options.without.critical_path => {
                    all_time.shares_of_request(request)
                }
                Some((_, shares)) => shares,
                None => &[],
            };
            sites.add_request(request, self.side, window, shares);
            observation.begin = request.begin().unwrap_or(i64::MIN);
            observation.weight = request.probability as f32;
            observation.response = timed.map_or(f32::NAN, |(total, _)| total as f32);
            observation.shares.clear();
            observation.shares.resize(2 * encoded.place_count(), 0.0);
            for (step, share) in shares.iter().enumerate() {
                let place = 2 * encoded.place_of_step(step) as usize;
                // The time of a hidden step is its node's own time.
                let network = if encoded.is_shown(step) { place + 1 } else { place };
                observation.shares[place] += share.own as f32;
                observation.shares[network] += share.network as f32;
            }
            bytes.clear();
            observation.append_to(encoded.key, self.side, &mut bytes);
            let partition = (encoded.key >> 64) as u64 % CATEGORY_PARTITIONS as u64;
            writer.partition_records(partition as usize, &bytes)?;
        }
        progress.advance_step(steps);
        Ok(GroupResult { names, totals, response, sites: sites.sites })
    }

    /// Adds the structure of a category that is new in this group, unless another thread has added
    /// it.
    fn add_structure(&self, encoded: &EncodedRequest<'_>, request: &Request, names: &NameInterner) {
        let mut found = lock_mutex(self.found);
        if !found.structures.contains_key(&encoded.key) {
            let StructureTable { names: all, structures } = &mut *found;
            let mut structure = encoded.build_structure(request);
            structure.map_names(|name| all.intern(names.name_of(name)));
            structures.insert(encoded.key, structure);
        }
    }
}
