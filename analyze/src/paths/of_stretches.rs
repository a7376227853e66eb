//! Paths over the border of two stretches: the instances of the roots of a stretch are built when the links of the next one are
//! known as well, from both together. What goes on beyond the next one is not in a path.

use std::path::Path;

use message_trace::spill::Budget;
use message_trace::{DataDir, Error, MessageTrace, Progress};

use super::collector::{self, Collector, Counts};
use crate::infer::Links;
use crate::naming::Namer;
use crate::options::Options;
use crate::stretches::Stretch;

/// The paths of a trace, stretch by stretch, on their way into tables.
pub(crate) struct PathsOfStretches<'a> {
    collector: Collector<'a>,
    last: Option<Inferred>,
}

/// The messages of a stretch, and their links.
struct Inferred {
    trace: MessageTrace,
    links: Links,
    /// How many messages of the whole trace come before them.
    before: u64,
}

impl<'a> PathsOfStretches<'a> {
    /// Those of no stretch yet; temporary files go to `directory` when `budget` is used up.
    pub(crate) fn new(options: &'a Options, budget: &'a Budget, directory: &Path) -> PathsOfStretches<'a> {
        PathsOfStretches { collector: Collector::new(options, budget, directory), last: None }
    }

    /// Takes the `links` of a stretch, and builds the instances of the one before.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(crate) fn add(
        &mut self,
        stretch: &Stretch,
        links: &Links,
        namer: &mut Namer<'_>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        if let Some(mut both) = self.last.take() {
            let roots = both.trace.len();
            both.append(stretch, links);
            self.build(&both, roots, namer, progress)?;
        }
        let before = stretch.first + stretch.own.start as u64;
        let trace = MessageTrace::new(stretch.trace.nodes.clone());
        let mut last = Inferred { trace, links: Links::default(), before };
        last.append(stretch, links);
        self.last = Some(last);
        Ok(())
    }

    /// Writes all paths and patterns to `dir`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn finish(
        mut self,
        namer: &mut Namer<'_>,
        dir: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Counts, Error> {
        if let Some(last) = self.last.take() {
            self.build(&last, last.trace.len(), namer, progress)?;
        }
        self.collector.finish(&namer.name(&MessageTrace::default()), dir, progress)
    }

    /// Builds the instances of the first `roots` messages of `of`.
    fn build(
        &mut self,
        of: &Inferred,
        roots: usize,
        namer: &mut Namer<'_>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        progress.step("building paths", roots as u64);
        let naming = namer.name(&of.trace);
        let Inferred { trace, links, before } = of;
        let stretch =
            collector::Stretch { trace, naming: &naming, links, roots: (0, roots), before: *before };
        self.collector.add(&stretch, progress)
    }
}

impl Inferred {
    /// Appends a stretch's own messages and their links.
    fn append(&mut self, stretch: &Stretch, links: &Links) {
        self.trace.append_rows(&stretch.trace, stretch.own.clone());
        // A cause may be among the messages behind, which are the next stretch's.
        let messages = self.trace.len() + stretch.trace.len() - stretch.own.end;
        let shift = self.before as i64 - stretch.first as i64;
        self.links.append_rows(links, stretch.own.clone(), shift, messages);
    }
}
