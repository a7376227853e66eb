//! The patterns of the instances that match a filter: counted and summarised again from the
//! instances themselves, with the times of their messages, as the analysis did when it wrote the
//! table.
//!
//! Row groups of the tables are read on all processors, the matching instances are partitioned by
//! pattern, and each partition is described by itself. The delays of the matching instances are in
//! memory within the budget, and beyond it in a temporary file in the data directory; in addition,
//! each thread has a row group ([`timed_instances`](super::timed_instances)) or a partition in
//! memory.

use std::cmp::Ordering;

use message_trace::{DataDir, PathError, Progress};
use out_of_core::workers::run_in_order;
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};

use super::chosen_patterns::{ChosenPatterns, prune_patterns, read_with_hops};
use super::filter::PathFilter;
use super::filtered_instances::FilteredInstances;
use super::timed_instance::TimedInstance;
use crate::options::AnalysisResources;
use crate::paths::patterns::description::{PatternDescriber, PatternHop, PatternTotals};
use crate::paths::patterns::pattern::{Hop, PathPattern};
use crate::paths::patterns::record::{InstanceHop, RecordedInstance};
use crate::paths::storage::bytes::{PathByteReader, put_float, put_number, put_signed, put_slice};

impl ChosenPatterns {
    /// Reads the first `most` patterns in `dir` that match `filter`, by `order`, as for
    /// [`ChosenPatterns::read`]. If the filter selects instances, count, probability, duration,
    /// total time, delays and sizes are those of the matching instances, and a pattern without any
    /// is omitted. Whether an end was traced is decided by all instances in any case.
    ///
    /// # Errors
    /// If a table cannot be read or they do not match, or a temporary file cannot be written.
    pub fn read_filtered(
        dir: &DataDir,
        filter: &PathFilter,
        most: usize,
        order: impl Fn(&PathPattern, &PathPattern) -> Ordering + Sync,
        resources: &AnalysisResources,
        progress: &dyn Progress,
    ) -> Result<ChosenPatterns, PathError> {
        if filter.selects_instances() {
            let filtered = FilteredInstances::open(dir, filter)?;
            return summarise_instances(dir, &filtered, (most, &order), resources, progress);
        }
        let wanted = filter.wanted_patterns(dir)?;
        ChosenPatterns::read_wanted(&dir.patterns_path(), most, order, |pattern| {
            wanted.contains(pattern)
        })
    }
}

/// Summarises the patterns of the matching instances in `dir`.
fn summarise_instances(
    dir: &DataDir,
    filtered: &FilteredInstances<'_>,
    (most, order): (usize, &(impl Fn(&PathPattern, &PathPattern) -> Ordering + Sync)),
    resources: &AnalysisResources,
    progress: &dyn Progress,
) -> Result<ChosenPatterns, PathError> {
    let threads = resources.thread_count();
    let budget = MemoryBudget::new(resources.memory);
    let store: PartitionStore<'_, u8> =
        PartitionStore::new(&budget, dir.path(), resources.division.partitions.max(1));
    progress.begin_step("choosing paths", filtered.group_count() as u64);
    let work = |group| {
        let mut writer = PartitionWriter::new(&store, group);
        let mut record = InstanceRecord::default();
        filtered.read_group(group, |instance| {
            let partition =
                instance.which.pattern.unsigned_abs() as usize % store.partition_count();
            writer.partition_records(partition, record.encode_instance(instance))
        })?;
        writer.finish()
    };
    run_in_order(threads, filtered.group_count(), work, |_, ()| {
        progress.advance_step(1);
        Ok(())
    })?;
    progress.begin_step("aggregating paths", store.partition_count() as u64);
    let mut chosen = ChosenPatterns::default();
    let mut best: Vec<UnlabelledPattern> = Vec::new();
    let work = |partition| Ok(aggregate_partition(&store.take_blocks(partition)?, most, order));
    run_in_order(threads, store.partition_count(), work, |_, partition: FilteredPartition| {
        let FilteredPartition { all, patterns } = partition;
        chosen.all += all.all;
        chosen.instances = chosen.instances.saturating_add(all.instances);
        chosen.expected += all.expected;
        chosen.total_time += all.total_time;
        best.extend(patterns);
        best.sort_by_key(|one| one.pattern.id);
        best.sort_by(|one, other| order(&one.pattern, &other.pattern));
        best.truncate(most);
        progress.advance_step(1);
        Ok(())
    })?;
    best.sort_by_key(|one| one.pattern.id);
    let ids: Vec<i64> = best.iter().map(|one| one.pattern.id).collect();
    let table = read_with_hops(&dir.patterns_path(), &ids)?;
    let unfit = || {
        PathError::malformed(
            dir.paths_path(),
            "its patterns do not match the table of patterns; run 'sockcap analyze' again",
        )
    };
    if table.len() != best.len() {
        return Err(unfit());
    }
    let patterns =
        best.into_iter().zip(table).map(|(of, table)| of.with_labels(table).ok_or_else(unfit));
    chosen.patterns = patterns.collect::<Result<_, _>>()?;
    Ok(chosen)
}

/// An instance as bytes: varint number of its pattern, then varint length and bytes of the input of
/// [`RecordedInstance::from_bytes`].
#[derive(Default)]
struct InstanceRecord {
    /// The bytes after the number of the pattern and the length.
    body: Vec<u8>,
    record: Vec<u8>,
}

impl InstanceRecord {
    fn encode_instance(&mut self, instance: &TimedInstance<'_>) -> &[u8] {
        self.body.clear();
        put_float(&mut self.body, instance.which.probability);
        put_signed(&mut self.body, instance.duration());
        for (place, hop) in instance.hops.iter().enumerate() {
            // The pattern has the flags of traced ends.
            let seen = InstanceHop {
                src_traced: false,
                dst_traced: false,
                network: instance.network_latency(place),
                node: instance.node_latency(place),
                untraced: instance.untraced_latency(place),
                connect: instance.connect_time(place),
                bytes: hop.bytes,
                outcome: hop.is_error,
            };
            seen.write_to(&mut self.body);
        }
        self.record.clear();
        put_number(&mut self.record, instance.which.pattern.unsigned_abs());
        put_slice(&mut self.record, &self.body);
        &self.record
    }
}

/// The patterns of one partition.
struct FilteredPartition {
    /// Totals of all patterns, without the patterns themselves.
    all: ChosenPatterns,
    /// The first patterns by the requested order.
    patterns: Vec<UnlabelledPattern>,
}

/// A pattern without labels, with its hops summarised.
struct UnlabelledPattern {
    pattern: PathPattern,
    hops: Vec<PatternHop>,
}

/// Describes the patterns of the instances in `blocks`.
fn aggregate_partition(
    blocks: &[Vec<u8>],
    most: usize,
    order: impl Fn(&PathPattern, &PathPattern) -> Ordering,
) -> FilteredPartition {
    let mut instances: Vec<(i64, RecordedInstance<'_>)> = Vec::new();
    for block in blocks {
        let mut reader = PathByteReader(block);
        while !reader.is_empty() {
            let pattern = reader.read_number() as i64;
            instances.push((pattern, RecordedInstance::from_bytes(reader.read_slice())));
        }
    }
    // Sorting is stable: the instances of a pattern stay in the order of their numbers.
    instances.sort_by_key(|(pattern, _)| *pattern);
    let of_pattern = |id: i64| {
        let first = instances.partition_point(|(pattern, _)| *pattern < id);
        let of = instances[first..].iter().take_while(move |(pattern, _)| *pattern == id);
        of.map(|(_, instance)| *instance).collect::<Vec<_>>()
    };
    let mut describer = PatternDescriber::default();
    let mut all = ChosenPatterns::default();
    let mut best = Vec::new();
    for of in instances.chunk_by(|one, other| one.0 == other.0) {
        let recorded: Vec<RecordedInstance<'_>> =
            of.iter().map(|(_, instance)| *instance).collect();
        let PatternTotals { count, expected, max_probability, duration, total_time } =
            describer.pattern_totals(&recorded);
        let id = of.first().map_or(0, |(pattern, _)| *pattern);
        let pattern = PathPattern {
            id,
            hops: Vec::new(),
            count,
            expected,
            max_probability,
            duration,
            total_time,
        };
        all.count_pattern(&pattern);
        best.push(pattern);
    }
    prune_patterns(&mut best, most, order);
    let summarised = best.into_iter().map(|pattern| {
        let mut of = of_pattern(pattern.id);
        let mut hops = Vec::new();
        while of.first().is_some_and(|first| !first.messages.is_empty()) {
            hops.push(describer.next_hop(&mut of));
        }
        UnlabelledPattern { pattern, hops }
    });
    FilteredPartition { all, patterns: summarised.collect() }
}

impl UnlabelledPattern {
    /// Returns the pattern with the labels of `table`, the same pattern as it was read from the
    /// table; `None` if `table` is another pattern.
    fn with_labels(self, table: PathPattern) -> Option<PathPattern> {
        let UnlabelledPattern { pattern, hops } = self;
        if table.id != pattern.id || table.hops.len() != hops.len() {
            return None;
        }
        let hops = table.hops.into_iter().zip(hops).map(|(hop, seen)| Hop {
            bytes: seen.bytes,
            node: seen.node,
            network: seen.network,
            untraced: seen.untraced,
            connect: seen.connect,
            outcomes: seen.outcome,
            ..hop
        });
        Some(PathPattern { hops: hops.collect(), ..pattern })
    }
}

#[cfg(test)]
#[path = "filtered_tests.rs"]
mod tests;
