//! Aggregates path instances to path patterns (WAP5 sections 5.1 and 5.2): instances with the same
//! tree of labels are one pattern, which is counted, and its delays are summarised with the
//! instances' probabilities as weights. All instances of a pattern are in one partition, so that
//! each partition is grouped and described by itself.

use std::path::Path;

use message_trace::{PathError, Progress};
use out_of_core::workers::run_in_order;
use out_of_core::{MemoryBudget, PartitionStore};
use rustc_hash::FxHashMap;

use super::description::{PatternDescriber, ShapeHops};
use super::ranking::{PatternRanking, RankedPattern};
use super::record::RecordedInstance;
use crate::paths::storage::bytes::{PathByteReader, put_slice};
use crate::tuning::paths::aggregate::BLOCK_BYTES;

/// All patterns after their description.
pub(crate) struct DescribedPatterns {
    /// The patterns, in the order of description, partition by partition.
    patterns: Vec<RankedPattern>,
    /// Number of patterns before each partition.
    before: Vec<u32>,
    /// The pattern of each instance, as an index into all patterns.
    of_instance: Vec<u32>,
}

/// The patterns of one partition.
struct PatternPartition {
    patterns: Vec<RankedPattern>,
    /// The number of each instance in the trace, and the index of its pattern in `patterns`.
    members: Vec<(u64, u32)>,
}

impl DescribedPatterns {
    /// Describes the patterns of the instances in the partitions `by_shape`, and puts them into the
    /// same partitions of `described`. `before` is the number of instances before each work item;
    /// `instances` is their total.
    pub(crate) fn describe_all(
        by_shape: &PartitionStore<'_, u8>,
        described: &PartitionStore<'_, u8>,
        before: &[u64],
        instances: u64,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<DescribedPatterns, PathError> {
        let mut all = DescribedPatterns {
            patterns: Vec::new(),
            before: Vec::new(),
            of_instance: vec![0; instances as usize],
        };
        let work = |partition: usize| {
            let blocks = by_shape.take_blocks(partition)?;
            describe_partition(&blocks, before, |block, bytes| {
                described.push_block(partition, block, bytes)
            })
        };
        run_in_order(
            threads,
            by_shape.partition_count(),
            work,
            |_, partition: PatternPartition| {
                let before = all.patterns.len() as u32;
                all.before.push(before);
                all.patterns.extend(
                    (before..).zip(partition.patterns).map(|(id, of)| RankedPattern { id, ..of }),
                );
                for (instance, pattern) in &partition.members {
                    if let Some(slot) = all.of_instance.get_mut(*instance as usize) {
                        *slot = before + pattern;
                    }
                }
                progress.advance_step(partition.members.len() as u64);
                Ok(())
            },
        )?;
        Ok(all)
    }

    /// Returns the number of patterns.
    pub(crate) fn pattern_count(&self) -> u64 {
        self.patterns.len() as u64
    }

    /// Returns the patterns by their numbers, in row groups of this many `rows`, and the number of
    /// the pattern of each instance.
    pub(crate) fn into_ranking<'a>(
        self,
        budget: &'a MemoryBudget,
        directory: &Path,
        described: PartitionStore<'a, u8>,
        threads: usize,
        rows: usize,
    ) -> Result<(PatternRanking<'a>, Vec<u32>), PathError> {
        let DescribedPatterns { patterns, before, mut of_instance } = self;
        let (ranking, numbers) = PatternRanking::rank_patterns(
            patterns,
            &before,
            PartitionStore::new(budget, directory, 0),
            described,
            threads,
            rows,
        )?;
        of_instance.iter_mut().for_each(|pattern| *pattern = numbers[*pattern as usize]);
        Ok((ranking, of_instance))
    }
}

/// Describes the patterns of the instances in `blocks`, and passes them to `write` in blocks with a
/// number, in the order of their first instances. `before` is the number of instances before each
/// work item.
fn describe_partition(
    blocks: &[Vec<u8>],
    before: &[u64],
    write: impl Fn(u64, Vec<u8>) -> Result<(), PathError>,
) -> Result<PatternPartition, PathError> {
    let mut numbers: FxHashMap<&[u8], u32> = FxHashMap::default();
    let mut shapes: Vec<(&[u8], u32)> = Vec::new();
    let mut members: Vec<(u64, u32)> = Vec::new();
    let mut instances: Vec<RecordedInstance<'_>> = Vec::new();
    for block in blocks {
        let mut reader = PathByteReader(block);
        while !reader.is_empty() {
            let (shape, instance) = RecordedInstance::read_with_shape(&mut reader);
            let number = *numbers.entry(shape).or_insert_with(|| {
                shapes.push((shape, 0));
                shapes.len() as u32 - 1
            });
            shapes[number as usize].1 += 1;
            let (item, place) = instance.place;
            members.push((before.get(item as usize).map_or(0, |before| before + place), number));
            instances.push(instance);
        }
    }
    drop(numbers);
    let mut next = Vec::with_capacity(shapes.len());
    let mut end = 0;
    for (_, count) in &shapes {
        next.push(end);
        end += *count as usize;
    }
    let begins = next.clone();
    // Positions of the instances of each shape, in the order of their numbers.
    let mut order = vec![0u32; instances.len()];
    for (place, (_, shape)) in members.iter().enumerate() {
        let next = &mut next[*shape as usize];
        order[*next] = place as u32;
        *next += 1;
    }
    let mut describer = PatternDescriber::default();
    let (mut of_shape, mut pattern, mut block) = (Vec::new(), Vec::new(), Vec::new());
    let mut written = 0;
    let mut patterns = Vec::with_capacity(shapes.len());
    for ((shape, _), range) in shapes.iter().zip(begins.iter().zip(&next)) {
        let places = &order[*range.0..*range.1];
        of_shape.clear();
        of_shape.extend(places.iter().map(|place| instances[*place as usize]));
        pattern.clear();
        let total_time = describer.describe_pattern(shape, &mut of_shape, &mut pattern);
        put_slice(&mut block, &pattern);
        let first = places.first().map_or(0, |place| members[*place as usize].0);
        patterns.push(RankedPattern {
            total_time,
            first,
            rows: ShapeHops::from_bytes(shape).count() as u32,
            id: 0,
        });
        if block.len() >= BLOCK_BYTES {
            written += 1;
            write(written, block.as_slice().to_vec())?;
            block.clear();
        }
    }
    write(written + 1, block)?;
    Ok(PatternPartition { patterns, members })
}

#[cfg(test)]
#[path = "aggregate_tests.rs"]
mod tests;
