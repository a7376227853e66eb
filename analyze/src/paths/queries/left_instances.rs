//! The path instances that a filter leaves, with the times of their messages, piece by piece: what
//! the figures of a report and its page are made from where not all instances are looked at.

use message_trace::{DataDir, PathError};

use super::filter::{PathFilter, WantedPatterns};
use super::timed_instance::TimedInstance;
use super::timed_instances::TimedInstances;

/// The tables of paths and messages, open for reading what a filter leaves.
pub struct LeftInstances<'filter> {
    filter: &'filter PathFilter,
    patterns: WantedPatterns,
    timed: TimedInstances,
}

impl LeftInstances<'_> {
    /// Opens the tables of `dir`, which an analysis has written.
    ///
    /// # Errors
    /// When a table cannot be opened, or the table of patterns is something else.
    pub fn open<'filter>(
        dir: &DataDir,
        filter: &'filter PathFilter,
    ) -> Result<LeftInstances<'filter>, PathError> {
        Ok(LeftInstances {
            filter,
            patterns: filter.patterns(dir)?,
            timed: TimedInstances::open(dir)?,
        })
    }

    /// Number of pieces.
    pub fn pieces(&self) -> usize {
        self.timed.pieces()
    }

    /// Hands the instances of a piece that are left to `each`, by number, as
    /// [`TimedInstances::read`] does with all.
    ///
    /// # Errors
    /// As there.
    pub fn read(
        &self,
        piece: usize,
        mut each: impl FnMut(&TimedInstance<'_>) -> Result<(), PathError>,
    ) -> Result<(), PathError> {
        self.timed.read(
            piece,
            |which| self.patterns.has(which.pattern) && self.filter.is_likely(which),
            |instance| match self.filter.is_in_time(instance) && self.filter.has_ended_so(instance)
            {
                true => each(instance),
                false => Ok(()),
            },
        )
    }
}
