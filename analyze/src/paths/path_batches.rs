//! Paths across the boundary of two batches. The instances of the roots of a batch are built when
//! the links of the next batch are known as well, from both together. Messages after the next batch
//! are not in a path.

use std::path::Path;

use message_trace::{DataDir, MessageId, PathError, Progress};
use out_of_core::MemoryBudget;

use super::collector::{self, PathCollector, PathCounts};
use super::instances::messages::PathMessages;
use super::instances::possible_children::PossibleChildren;
use super::operation_labels::OperationLabels;
use crate::batches::TraceBatch;
use crate::links::Links;
use crate::naming::Naming;
use crate::options::Options;

/// Builds the paths of a trace, batch by batch, for the tables.
pub(crate) struct PathBuilder<'a> {
    options: &'a Options,
    collector: PathCollector<'a>,
    /// The last batch that was appended and, before it, the previous one until its instances are
    /// built.
    pending: Option<InferredBatch>,
    /// Number of messages of `pending` that belong to the previous batch.
    roots: usize,
    operations: OperationLabels,
}

/// The messages of one or two batches, their names and their links.
#[derive(Default)]
struct InferredBatch {
    messages: PathMessages,
    naming: Naming,
    children: PossibleChildren,
    /// Number of messages of the whole trace before these.
    before: u64,
}

impl<'a> PathBuilder<'a> {
    /// Creates a builder without batches; temporary files go to `directory` when `budget` is used
    /// up.
    pub(crate) fn new(
        options: &'a Options,
        budget: &'a MemoryBudget,
        directory: &Path,
    ) -> PathBuilder<'a> {
        let collector = PathCollector::new(options, budget, directory);
        let operations = OperationLabels::default();
        PathBuilder { options, collector, pending: None, roots: 0, operations }
    }

    /// Appends the needed parts of a batch, its names and its `links`.
    pub(crate) fn append_batch(&mut self, batch: &TraceBatch, naming: Naming, links: &Links) {
        let before = batch.first + batch.own.start as u64;
        let pending = self
            .pending
            .get_or_insert_with(|| InferredBatch { before, ..InferredBatch::default() });
        self.roots = pending.messages.len();
        pending.append_batch(batch, naming, links, &mut self.operations, self.options);
    }

    /// Builds the instances of the batch before the last one appended.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub(crate) fn build_previous(&mut self, progress: &dyn Progress) -> Result<(), PathError> {
        let Some(mut pending) = self.pending.take() else { return Ok(()) };
        if self.roots > 0 {
            self.build_batch(&pending, self.roots, progress)?;
            pending.remove_first(self.roots);
        }
        self.pending = Some(pending);
        Ok(())
    }

    /// Writes all paths and patterns to `dir`. `operations` are the names of operations by number;
    /// `None` if no operations are known.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn finish(
        mut self,
        operations: Option<&[String]>,
        dir: &DataDir,
        progress: &dyn Progress,
    ) -> Result<PathCounts, PathError> {
        let naming = match self.pending.take() {
            Some(last) => {
                self.build_batch(&last, last.messages.len(), progress)?;
                last.naming
            }
            None => Naming::default(),
        };
        self.collector.finish(&naming, operations, dir, progress)
    }

    /// Builds the instances of the first `roots` messages of `pending`.
    fn build_batch(
        &mut self,
        pending: &InferredBatch,
        roots: usize,
        progress: &dyn Progress,
    ) -> Result<(), PathError> {
        progress.begin_step("building paths", roots as u64);
        let InferredBatch { messages, naming, children, before } = pending;
        let batch =
            collector::PathBatch { messages, naming, children, roots: (0, roots), before: *before };
        self.collector.add_batch(&batch, progress)
    }
}

impl InferredBatch {
    /// Appends a batch's own messages, their names and their links.
    fn append_batch(
        &mut self,
        batch: &TraceBatch,
        naming: Naming,
        links: &Links,
        operations: &mut OperationLabels,
        options: &Options,
    ) {
        let operation = |id: MessageId, name: u32| operations.label_operation(naming.hop(id), name);
        self.messages.append_rows(&batch.trace, batch.own.clone(), operation);
        self.naming.append_rows(naming, batch.own.clone());
        // A cause may be among the messages after the batch, which belong to the next one.
        let messages = self.messages.len() + batch.trace.len() - batch.own.end;
        let shift = self.before as i64 - batch.first as i64;
        self.children.append_links(links, batch.own.clone(), shift, messages, options);
    }

    /// Removes the first messages.
    fn remove_first(&mut self, messages: usize) {
        self.messages.remove_first(messages);
        self.naming.remove_first(messages);
        self.children.remove_first(messages);
        self.before += messages as u64;
    }
}
