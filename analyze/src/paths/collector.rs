//! Path building as a stream. The instances of one stretch of the trace after the other are built
//! on all processors. What is needed of each is collected as bytes, in memory while a budget lasts
//! and in temporary files beyond it: its rows in the table of paths
//! ([`path_log`](super::storage::path_log)), and the record that its pattern is described by
//! ([`record`](super::patterns::record)). Records are dealt into partitions by shape, so that all
//! instances of a pattern meet in one (docs/decisions/0404).

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use message_trace::{DataDir, PathError, Progress};
use out_of_core::workers::{in_order, lock};
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};

use super::instances::children::Children;
use super::instances::messages::PathMessages;
use super::instances::tree::{Builder, Built};
use super::patterns::aggregate::Aggregated;
use super::patterns::record::Recorder;
use super::storage::path_log::{PathBlock, PathLog, PathLogger};
use crate::naming::Naming;
use crate::options::Options;

/// A stretch of the trace, and the roots whose instances are built.
#[derive(Clone, Copy)]
pub(crate) struct Stretch<'a> {
    /// The messages of the stretch, and all that messages of the stretch may have caused.
    pub(crate) messages: &'a PathMessages,
    /// The labels of these messages. The numbers of labels are the same in all stretches.
    pub(crate) naming: &'a Naming,
    /// The links among these messages.
    pub(crate) children: &'a Children,
    /// The messages that may be roots now.
    pub(crate) roots: (usize, usize),
    /// Number of messages of the whole trace before these.
    pub(crate) before: u64,
}

impl Stretch<'_> {
    fn roots(&self) -> Range<usize> {
        let (first, end) = self.roots;
        first..end.min(self.children.messages())
    }
}

/// The path instances of a trace on their way into tables.
pub(crate) struct Collector<'a> {
    options: &'a Options,
    budget: &'a MemoryBudget,
    /// Directory of temporary files.
    directory: PathBuf,
    by_shape: PartitionStore<'a, u8>,
    collected: CollectedPaths<'a>,
    builders: Mutex<Vec<Builder>>,
}

/// Parts of the instances beside the records dealt by shape, in the order in which instances are
/// numbered.
struct CollectedPaths<'a> {
    paths: PathLog<'a>,
    /// Number of instances before those of each piece of the work.
    before: Vec<u64>,
    counts: Counts,
}

/// Counts of what was collected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// How building went.
    pub(crate) built: Built,
    /// Path instances.
    pub(crate) instances: u64,
    /// Expected number of real ones: the sum of their probabilities.
    pub(crate) expected: f64,
    /// Path patterns, once all is finished.
    pub(crate) patterns: u64,
}

/// Results of a piece of the work beside the instances that were dealt.
struct Piece {
    paths: Vec<PathBlock>,
    probabilities: Vec<f64>,
    built: Built,
}

impl<'a> Collector<'a> {
    /// A collector whose temporary files go to `directory` when `budget` is used up.
    pub(crate) fn new(
        options: &'a Options,
        budget: &'a MemoryBudget,
        directory: &Path,
    ) -> Collector<'a> {
        Collector {
            options,
            budget,
            directory: directory.to_owned(),
            by_shape: PartitionStore::new(
                budget,
                directory,
                options.resources.pieces.partitions.max(1),
            ),
            collected: CollectedPaths {
                paths: PathLog::new(budget, directory),
                before: Vec::new(),
                counts: Counts::default(),
            },
            builders: Mutex::default(),
        }
    }

    /// Builds the instances of the roots of `stretch`. Stretches come in the order of time.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(crate) fn add(
        &mut self,
        stretch: &Stretch<'_>,
        progress: &dyn Progress,
    ) -> Result<(), PathError> {
        let size = self.options.resources.pieces.messages.max(1);
        let pieces = stretch.roots().len().div_ceil(size);
        let Collector { options, by_shape, collected, builders, .. } = self;
        let first = collected.before.len();
        let work = |piece: usize| {
            let begin = stretch.roots().start + piece * size;
            let end = (begin + size).min(stretch.roots().end);
            let builder = lock(builders).pop();
            let mut builder = builder.unwrap_or_else(|| Builder::new(options));
            let mut collector = PieceCollector::new(stretch, by_shape, first + piece);
            for (root, spontaneous) in stretch.children.roots(begin..end) {
                builder.build(stretch.children, root, spontaneous, |tree, p| {
                    collector.keep(tree, p)
                })?;
            }
            let piece = collector.finish(std::mem::take(&mut builder.built))?;
            lock(builders).push(builder);
            Ok(piece)
        };
        in_order(options.resources.threads(), pieces, work, |piece, done: Piece| {
            progress.advance(size.min(stretch.roots().len() - piece * size) as u64);
            collected.add(done)
        })
    }

    /// Numbers the patterns by descending total time, and writes `paths.parquet` and
    /// `patterns.parquet` to `dir`. `naming` has the labels of all stretches, and `operations` the
    /// names of operations by number; `None` where it is not known what messages do.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn finish(
        self,
        naming: &Naming,
        operations: Option<&[String]>,
        dir: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Counts, PathError> {
        let Collector { options, budget, directory, by_shape, collected, .. } = self;
        let CollectedPaths { paths, before, mut counts } = collected;
        let (threads, rows) = (options.resources.threads(), options.resources.pieces.rows);
        progress.step("aggregating paths", counts.instances);
        let described = PartitionStore::new(budget, &directory, by_shape.partitions());
        let aggregated =
            Aggregated::of(&by_shape, &described, &before, counts.instances, threads, progress)?;
        drop((by_shape, before));
        counts.patterns = aggregated.patterns();
        progress.step("writing patterns", counts.patterns);
        let (ranking, of_instance) =
            aggregated.ranked(budget, &directory, described, threads, rows)?;
        ranking.write(naming, operations, &dir.patterns(), threads, progress)?;
        progress.step("writing paths", counts.instances);
        let told = operations.is_some();
        paths.write(&of_instance, told, &dir.paths(), threads, rows, progress)?;
        Ok(counts)
    }
}

impl CollectedPaths<'_> {
    /// Adds what the next piece of the work made.
    fn add(&mut self, piece: Piece) -> Result<(), PathError> {
        let CollectedPaths { paths, before, counts } = self;
        before.push(counts.instances);
        counts.instances += piece.probabilities.len() as u64;
        counts.expected = piece.probabilities.iter().fold(counts.expected, |sum, one| sum + one);
        counts.built.add(piece.built);
        piece.paths.into_iter().try_for_each(|block| paths.push(block))
    }
}

/// Collector of the instances of one piece of the work.
struct PieceCollector<'s, 'a> {
    piece: u64,
    messages: &'s PathMessages,
    recorder: Recorder<'s>,
    dealer: PartitionWriter<'s, 'a, u8>,
    paths: PathLogger,
    probabilities: Vec<f64>,
}

impl<'s, 'a> PieceCollector<'s, 'a> {
    fn new(
        stretch: &Stretch<'s>,
        by_shape: &'s PartitionStore<'a, u8>,
        piece: usize,
    ) -> PieceCollector<'s, 'a> {
        PieceCollector {
            piece: piece as u64,
            messages: stretch.messages,
            recorder: Recorder::new(stretch.messages, stretch.naming),
            dealer: PartitionWriter::new(by_shape, piece),
            paths: PathLogger::new(stretch.before),
            probabilities: Vec::new(),
        }
    }

    /// Keeps a tree of messages with their depths.
    fn keep(&mut self, tree: &[(u32, u32)], probability: f64) -> Result<(), PathError> {
        let place = (self.piece, self.probabilities.len() as u64);
        let (record, shape) = self.recorder.record(place, tree, probability);
        let partition = (u128::from(shape) * self.dealer.partitions() as u128) >> u64::BITS;
        self.dealer.deal_together(partition as usize, record)?;
        let is_error = |message: u32| self.messages.told(message as usize).is_error;
        self.paths.push(tree, self.recorder.connecting(), is_error, probability);
        self.probabilities.push(probability);
        Ok(())
    }

    fn finish(self, built: Built) -> Result<Piece, PathError> {
        self.dealer.finish()?;
        Ok(Piece { paths: self.paths.finish(), probabilities: self.probabilities, built })
    }
}

#[cfg(test)]
impl Collector<'_> {
    /// Adds these trees, with their probabilities, as if they had been built.
    pub(crate) fn add_trees(
        &mut self,
        messages: &PathMessages,
        naming: &Naming,
        trees: &[(f64, &[(u32, u32)])],
    ) {
        let children = Children::default();
        let stretch = Stretch { messages, naming, children: &children, roots: (0, 0), before: 0 };
        let mut collector =
            PieceCollector::new(&stretch, &self.by_shape, self.collected.before.len());
        trees.iter().for_each(|(probability, tree)| collector.keep(tree, *probability).unwrap());
        let piece = collector.finish(Built::default()).unwrap();
        self.collected.add(piece).unwrap();
    }
}

#[cfg(test)]
#[path = "collector_tests.rs"]
mod tests;
