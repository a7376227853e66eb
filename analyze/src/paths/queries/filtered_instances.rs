//! The path instances that match a filter, with the times of their messages, row group by row
//! group: the source of the figures of a filtered report and its page.

use message_trace::{DataDir, PathError};

use super::filter::{PathFilter, WantedPatterns};
use super::timed_instance::TimedInstance;
use super::timed_instances::TimedInstances;

/// The tables of paths and messages, open for filtered reading.
pub struct FilteredInstances<'filter> {
    filter: &'filter PathFilter,
    patterns: WantedPatterns,
    timed: TimedInstances,
}

impl FilteredInstances<'_> {
    /// Opens the tables of `dir`, written by an analysis.
    ///
    /// # Errors
    /// If a table cannot be opened, or `patterns.parquet` is not a table of patterns.
    pub fn open<'filter>(
        dir: &DataDir,
        filter: &'filter PathFilter,
    ) -> Result<FilteredInstances<'filter>, PathError> {
        Ok(FilteredInstances {
            filter,
            patterns: filter.wanted_patterns(dir)?,
            timed: TimedInstances::open(dir)?,
        })
    }

    /// Returns the number of row groups.
    pub fn group_count(&self) -> usize {
        self.timed.group_count()
    }

    /// Passes the matching instances of a row group to `each`, by number, as
    /// [`TimedInstances::read_group`] does with all.
    ///
    /// # Errors
    /// As for [`TimedInstances::read_group`].
    pub fn read_group(
        &self,
        group: usize,
        mut each: impl FnMut(&TimedInstance<'_>) -> Result<(), PathError>,
    ) -> Result<(), PathError> {
        self.timed.read_group(
            group,
            |which| self.patterns.contains(which.pattern) && self.filter.is_likely(which),
            |instance| match self.filter.is_in_time(instance)
                && self.filter.matches_outcome(instance)
            {
                true => each(instance),
                false => Ok(()),
            },
        )
    }
}
