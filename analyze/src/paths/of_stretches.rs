//! Paths over the border of two stretches. The instances of the roots of a stretch are built when
//! the links of the next one are known as well, from both together. What goes on beyond the next
//! one is not in a path.

use std::path::Path;

use message_trace::{DataDir, PathError, Progress};
use out_of_core::MemoryBudget;

use super::collector::{self, Collector, Counts};
use super::instances::children::Children;
use super::instances::messages::PathMessages;
use super::operation_labels::OperationLabels;
use crate::links::Links;
use crate::naming::Naming;
use crate::options::Options;
use crate::stretches::Stretch;

/// The paths of a trace, stretch by stretch, on their way into tables.
pub(crate) struct PathsOfStretches<'a> {
    options: &'a Options,
    collector: Collector<'a>,
    last: Option<Inferred>,
    /// Number of its messages that are of the stretch before.
    roots: usize,
    operations: OperationLabels,
}

/// The messages of a stretch, their names and who caused whom.
#[derive(Default)]
struct Inferred {
    messages: PathMessages,
    naming: Naming,
    children: Children,
    /// Number of messages of the whole trace before them.
    before: u64,
}

impl<'a> PathsOfStretches<'a> {
    /// Paths of no stretch yet; temporary files go to `directory` when `budget` is used up.
    pub(crate) fn new(
        options: &'a Options,
        budget: &'a MemoryBudget,
        directory: &Path,
    ) -> PathsOfStretches<'a> {
        let collector = Collector::new(options, budget, directory);
        let operations = OperationLabels::default();
        PathsOfStretches { options, collector, last: None, roots: 0, operations }
    }

    /// Takes the needed parts of a stretch, its names and its `links`.
    pub(crate) fn append(&mut self, stretch: &Stretch, naming: Naming, links: &Links) {
        let before = stretch.first + stretch.own.start as u64;
        let both = self.last.get_or_insert_with(|| Inferred { before, ..Inferred::default() });
        self.roots = both.messages.len();
        both.append(stretch, naming, links, &mut self.operations, self.options);
    }

    /// Builds the instances of the stretch before the last that was appended.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(crate) fn build_former(&mut self, progress: &dyn Progress) -> Result<(), PathError> {
        let Some(mut both) = self.last.take() else { return Ok(()) };
        if self.roots > 0 {
            self.build(&both, self.roots, progress)?;
            both.remove_first(self.roots);
        }
        self.last = Some(both);
        Ok(())
    }

    /// Writes all paths and patterns to `dir`. `operations` are the names of operations by number;
    /// `None` where it is not known what messages do.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn finish(
        mut self,
        operations: Option<&[String]>,
        dir: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Counts, PathError> {
        let naming = match self.last.take() {
            Some(last) => {
                self.build(&last, last.messages.len(), progress)?;
                last.naming
            }
            None => Naming::default(),
        };
        self.collector.finish(&naming, operations, dir, progress)
    }

    /// Builds the instances of the first `roots` messages of `of`.
    fn build(
        &mut self,
        of: &Inferred,
        roots: usize,
        progress: &dyn Progress,
    ) -> Result<(), PathError> {
        progress.step("building paths", roots as u64);
        let Inferred { messages, naming, children, before } = of;
        let stretch =
            collector::Stretch { messages, naming, children, roots: (0, roots), before: *before };
        self.collector.add(&stretch, progress)
    }
}

impl Inferred {
    /// Appends a stretch's own messages, their names and their links.
    fn append(
        &mut self,
        stretch: &Stretch,
        naming: Naming,
        links: &Links,
        operations: &mut OperationLabels,
        options: &Options,
    ) {
        let operation = |row: usize, name: u32| operations.label(naming.hop(row), name);
        self.messages.append(&stretch.trace, stretch.own.clone(), operation);
        self.naming.append_rows(naming, stretch.own.clone());
        // A cause may be among the messages behind, which are the next stretch's.
        let messages = self.messages.len() + stretch.trace.len() - stretch.own.end;
        let shift = self.before as i64 - stretch.first as i64;
        self.children.append(links, stretch.own.clone(), shift, messages, options);
    }

    /// Takes its first messages away.
    fn remove_first(&mut self, messages: usize) {
        self.messages.remove_first(messages);
        self.naming.remove_first(messages);
        self.children.remove_first(messages);
        self.before += messages as u64;
    }
}
