//! Path building as a stream. The instances of one batch of the trace after the other are built on
//! all processors. The needed parts of each are collected as bytes, in memory within a budget and
//! in temporary files beyond it: its rows in the table of paths
//! ([`path_log`](super::storage::path_log)), and the record for its pattern
//! ([`record`](super::patterns::record)). Records are partitioned by shape (the depths and labels
//! of an instance's messages), so that all instances of a pattern are in one partition
//! (docs/decisions/0404).

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use message_trace::{DataDir, MessageId, PathError, Progress};
use out_of_core::workers::{lock_mutex, run_in_order};
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};

use super::instances::messages::PathMessages;
use super::instances::possible_children::PossibleChildren;
use super::instances::tree::{BuildCounts, InstanceBuilder};
use super::patterns::aggregate::DescribedPatterns;
use super::patterns::record::InstanceRecorder;
use super::storage::path_log::{PathBlock, PathLog, PathLogger};
use crate::naming::Naming;
use crate::options::Options;

/// A batch of the trace, and the roots of the instances to be built.
#[derive(Clone, Copy)]
pub(crate) struct PathBatch<'a> {
    /// The messages of the batch, and all that messages of the batch may have caused.
    pub(crate) messages: &'a PathMessages,
    /// The labels of these messages. The numbers of labels are the same in all batches.
    pub(crate) naming: &'a Naming,
    /// The links among these messages.
    pub(crate) children: &'a PossibleChildren,
    /// First row and end of the messages whose instances are built now if they are roots.
    pub(crate) roots: (usize, usize),
    /// Number of messages of the whole trace before these.
    pub(crate) before: u64,
}

impl PathBatch<'_> {
    fn root_range(&self) -> Range<usize> {
        let (first, end) = self.roots;
        first..end.min(self.children.message_count())
    }
}

/// Collects the path instances of a trace for the tables.
pub(crate) struct PathCollector<'a> {
    options: &'a Options,
    budget: &'a MemoryBudget,
    /// Directory of temporary files.
    directory: PathBuf,
    /// The records of the instances.
    by_shape: PartitionStore<'a, u8>,
    collected: CollectedPaths<'a>,
    /// Builders that no thread uses at the moment.
    builders: Mutex<Vec<InstanceBuilder>>,
}

/// Parts of the instances other than the records by shape, in the order in which instances are
/// numbered.
struct CollectedPaths<'a> {
    paths: PathLog<'a>,
    /// Number of instances before each work item.
    before: Vec<u64>,
    counts: PathCounts,
}

/// Counts of collected items.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathCounts {
    /// Counts of the builders.
    pub(crate) built: BuildCounts,
    /// Path instances.
    pub(crate) instances: u64,
    /// Expected number of real instances: the sum of the instances' probabilities.
    pub(crate) expected: f64,
    /// Path patterns, once all is finished.
    pub(crate) patterns: u64,
}

/// Results of a work item other than the partitioned records.
struct CollectedItem {
    paths: Vec<PathBlock>,
    probabilities: Vec<f64>,
    built: BuildCounts,
}

impl<'a> PathCollector<'a> {
    /// Creates a collector that writes temporary files to `directory` when `budget` is used up.
    pub(crate) fn new(
        options: &'a Options,
        budget: &'a MemoryBudget,
        directory: &Path,
    ) -> PathCollector<'a> {
        PathCollector {
            options,
            budget,
            directory: directory.to_owned(),
            by_shape: PartitionStore::new(
                budget,
                directory,
                options.resources.division.partitions.max(1),
            ),
            collected: CollectedPaths {
                paths: PathLog::new(budget, directory),
                before: Vec::new(),
                counts: PathCounts::default(),
            },
            builders: Mutex::default(),
        }
    }

    /// Builds the instances of the roots of `batch`. Batches come in the order of time.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub(crate) fn add_batch(
        &mut self,
        batch: &PathBatch<'_>,
        progress: &dyn Progress,
    ) -> Result<(), PathError> {
        let size = self.options.resources.division.messages.max(1);
        let items = batch.root_range().len().div_ceil(size);
        let PathCollector { options, by_shape, collected, builders, .. } = self;
        let first = collected.before.len();
        let work = |item: usize| {
            let begin = batch.root_range().start + item * size;
            let end = (begin + size).min(batch.root_range().end);
            let builder = lock_mutex(builders).pop();
            let mut builder = builder.unwrap_or_else(|| InstanceBuilder::new(options));
            let mut collector = ItemCollector::new(batch, by_shape, first + item);
            for (root, spontaneous) in batch.children.roots(begin..end) {
                builder.build_instances(batch.children, root, spontaneous, |tree, p| {
                    collector.add_tree(tree, p)
                })?;
            }
            let item = collector.finish(std::mem::take(&mut builder.built))?;
            lock_mutex(builders).push(builder);
            Ok(item)
        };
        run_in_order(options.resources.thread_count(), items, work, |item, done: CollectedItem| {
            progress.advance_step(size.min(batch.root_range().len() - item * size) as u64);
            collected.add_item(done)
        })
    }

    /// Numbers the patterns by descending total time, and writes `paths.parquet` and
    /// `patterns.parquet` to `dir`. `naming` has the labels of all batches, and `operations` the
    /// names of operations by number; `None` if no operations are known.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn finish(
        self,
        naming: &Naming,
        operations: Option<&[String]>,
        dir: &DataDir,
        progress: &dyn Progress,
    ) -> Result<PathCounts, PathError> {
        let PathCollector { options, budget, directory, by_shape, collected, .. } = self;
        let CollectedPaths { paths, before, mut counts } = collected;
        let (threads, rows) = (options.resources.thread_count(), options.resources.division.rows);
        progress.begin_step("aggregating paths", counts.instances);
        let described = PartitionStore::new(budget, &directory, by_shape.partition_count());
        let aggregated = DescribedPatterns::describe_all(
            &by_shape,
            &described,
            &before,
            counts.instances,
            threads,
            progress,
        )?;
        drop((by_shape, before));
        counts.patterns = aggregated.pattern_count();
        progress.begin_step("writing patterns", counts.patterns);
        let (ranking, of_instance) =
            aggregated.into_ranking(budget, &directory, described, threads, rows)?;
        ranking.write_table(naming, operations, &dir.patterns_path(), threads, progress)?;
        progress.begin_step("writing paths", counts.instances);
        let has_operations = operations.is_some();
        paths.write_table(
            &of_instance,
            has_operations,
            &dir.paths_path(),
            threads,
            rows,
            progress,
        )?;
        Ok(counts)
    }
}

impl CollectedPaths<'_> {
    /// Adds the results of the next work item.
    fn add_item(&mut self, item: CollectedItem) -> Result<(), PathError> {
        let CollectedPaths { paths, before, counts } = self;
        before.push(counts.instances);
        counts.instances += item.probabilities.len() as u64;
        counts.expected = item.probabilities.iter().fold(counts.expected, |sum, one| sum + one);
        counts.built.add_counts(item.built);
        item.paths.into_iter().try_for_each(|block| paths.push_block(block))
    }
}

/// Collector of the instances of one work item.
struct ItemCollector<'s, 'a> {
    item: u64,
    messages: &'s PathMessages,
    recorder: InstanceRecorder<'s>,
    writer: PartitionWriter<'s, 'a, u8>,
    paths: PathLogger,
    probabilities: Vec<f64>,
}

impl<'s, 'a> ItemCollector<'s, 'a> {
    fn new(
        batch: &PathBatch<'s>,
        by_shape: &'s PartitionStore<'a, u8>,
        item: usize,
    ) -> ItemCollector<'s, 'a> {
        ItemCollector {
            item: item as u64,
            messages: batch.messages,
            recorder: InstanceRecorder::new(batch.messages, batch.naming),
            writer: PartitionWriter::new(by_shape, item),
            paths: PathLogger::new(batch.before),
            probabilities: Vec::new(),
        }
    }

    /// Adds an instance, given as a tree of messages with their depths.
    fn add_tree(&mut self, tree: &[(MessageId, u32)], probability: f64) -> Result<(), PathError> {
        let place = (self.item, self.probabilities.len() as u64);
        let (record, shape) = self.recorder.record_tree(place, tree, probability);
        let partition = (u128::from(shape) * self.writer.partition_count() as u128) >> u64::BITS;
        self.writer.partition_records(partition as usize, record)?;
        let is_error = |message: MessageId| self.messages.operations(message).is_error;
        self.paths.push_tree(tree, self.recorder.connect_times(), is_error, probability);
        self.probabilities.push(probability);
        Ok(())
    }

    fn finish(self, built: BuildCounts) -> Result<CollectedItem, PathError> {
        self.writer.finish()?;
        Ok(CollectedItem { paths: self.paths.finish(), probabilities: self.probabilities, built })
    }
}

#[cfg(test)]
impl PathCollector<'_> {
    /// Adds these trees of rows and depths, with their probabilities, as if they had been built.
    pub(crate) fn add_trees(
        &mut self,
        messages: &PathMessages,
        naming: &Naming,
        trees: &[(f64, &[(u32, u32)])],
    ) {
        let children = PossibleChildren::default();
        let batch = PathBatch { messages, naming, children: &children, roots: (0, 0), before: 0 };
        let mut collector = ItemCollector::new(&batch, &self.by_shape, self.collected.before.len());
        for (probability, tree) in trees {
            let id = |row: u32| MessageId::from_index(row as usize);
            let tree: Vec<_> = tree.iter().map(|(row, depth)| (id(*row), *depth)).collect();
            collector.add_tree(&tree, *probability).unwrap();
        }
        let item = collector.finish(BuildCounts::default()).unwrap();
        self.collected.add_item(item).unwrap();
    }
}

#[cfg(test)]
#[path = "collector_tests.rs"]
mod tests;
