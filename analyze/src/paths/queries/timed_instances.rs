//! The path instances of `paths.parquet` with the times of their messages from `messages.parquet`,
//! group by group: the source of reports that show more than the patterns' summaries, or only some
//! of the instances.
//!
//! A group is a row group of `paths.parquet`, so groups can be read by several threads and in any
//! order. For each group that is being read, the messages of the wanted instances are in memory,
//! some 100 bytes each (of 131,072 rows, as analyze writes groups, about 13 MB), and a batch of
//! rows of either table. Times are kept for these messages only: the rows of `messages.parquet`
//! between the first and the last of them are skipped, and only the columns of times and sizes are
//! read.

use std::ops::Range;

use message_trace::table::RowGroups;
use message_trace::table::columns::BatchColumns;
use message_trace::{DataDir, DataPath, PathError};

use super::message_times::{LookupFailure, MessageTimes};
use super::timed_instance::{InstanceRow, TimedHop, TimedInstance};

/// The tables of paths and messages, open for joint reading.
pub(crate) struct TimedInstances {
    paths: DataPath,
    groups: RowGroups,
    messages: MessageTimes,
}

impl TimedInstances {
    /// Opens the tables of `dir`, written by an analysis.
    ///
    /// # Errors
    /// If a table cannot be opened.
    pub(crate) fn open(dir: &DataDir) -> Result<TimedInstances, PathError> {
        const COLUMNS: [&str; 7] =
            ["path", "pattern", "probability", "depth", "message", "connecting", "is_error"];
        let groups = RowGroups::open(dir.paths_path(), &COLUMNS)?;
        Ok(TimedInstances {
            paths: dir.paths_path(),
            groups,
            messages: MessageTimes::open(&dir.messages_path())?,
        })
    }

    /// Returns the number of row groups.
    pub(crate) fn group_count(&self) -> usize {
        self.groups.group_count()
    }

    /// Passes each of the `wanted` instances of a row group to `each`, by number. The groups in
    /// sequence contain all instances by number.
    ///
    /// # Errors
    /// If a table cannot be read, or the two do not match; and errors of `each`, which end the
    /// reading.
    pub(crate) fn read_group(
        &self,
        group: usize,
        wanted: impl Fn(&InstanceRow) -> bool,
        mut each: impl FnMut(&TimedInstance<'_>) -> Result<(), PathError>,
    ) -> Result<(), PathError> {
        let UntimedInstances { instances, mut hops } = self.read_untimed(group, wanted)?;
        let mut receipts =
            self.messages.fill_times(&mut hops).map_err(|why| self.lookup_error(why))?;
        for (which, range) in instances {
            let (hops, receipts) = (&mut hops[range.clone()], &mut receipts[range]);
            for hop in hops.iter() {
                if let Some(cause) = hop.parent {
                    receipts[cause as usize].note_effect(hop.sent);
                }
            }
            hops.iter_mut().zip(receipts).for_each(|(hop, receipt)| hop.received = receipt.at);
            each(&TimedInstance { which, hops })?;
        }
        Ok(())
    }

    /// Returns the messages of all instances of a row group, instance by instance.
    pub(super) fn messages_of_group(&self, group: usize) -> Result<Vec<i64>, PathError> {
        let mut messages = Vec::new();
        for batch in self.groups.read_group(group)? {
            let batch = batch?;
            let table = BatchColumns::new(&self.paths, &batch);
            for message in table.int64_column("message")? {
                messages.push(table.required_value("message", message)?);
            }
        }
        Ok(messages)
    }

    /// Returns the error that messages of the table of paths could not be looked up.
    pub(super) fn lookup_error(&self, why: LookupFailure) -> PathError {
        match why {
            LookupFailure::Table(error) => error,
            LookupFailure::NoMessage(message) => PathError::malformed(
                &self.paths,
                format!("there is no message {message}; run 'sockcap analyze' again"),
            ),
        }
    }

    /// Reads the wanted instances of a row group, without times.
    fn read_untimed(
        &self,
        group: usize,
        wanted: impl Fn(&InstanceRow) -> bool,
    ) -> Result<UntimedInstances, PathError> {
        let mut read = UntimedInstances::default();
        let mut last: Option<(i64, bool)> = None;
        // The messages above the next one.
        let mut above: Vec<u32> = Vec::new();
        for batch in self.groups.read_group(group)? {
            let batch = batch?;
            let table = BatchColumns::new(&self.paths, &batch);
            let (paths, patterns) = (table.int64_column("path")?, table.int64_column("pattern")?);
            let (probabilities, depths) =
                (table.float64_column("probability")?, table.int32_column("depth")?);
            let (messages, connecting) =
                (table.int64_column("message")?, table.int64_if_any("connecting")?);
            let errors = table.nullable_booleans_if_any("is_error")?;
            for row in 0..batch.num_rows() {
                let path = table.required_value("path", paths[row])?;
                let depth = table.required_value("depth", depths[row])?;
                let is_wanted = match last.filter(|(last, _)| *last == path) {
                    Some((_, is_wanted)) => is_wanted,
                    None if depth != 0 => {
                        return Err(table.malformed_error(format!(
                            "path {path} does not begin with its root; run 'sockcap analyze' again"
                        )));
                    }
                    None => {
                        let which = InstanceRow {
                            path,
                            pattern: table.required_value("pattern", patterns[row])?,
                            probability: table.required_value("probability", probabilities[row])?,
                        };
                        let is_wanted = wanted(&which);
                        if is_wanted {
                            read.instances.push((which, read.hops.len()..read.hops.len()));
                        }
                        above.clear();
                        last = Some((path, is_wanted));
                        is_wanted
                    }
                };
                let Some((_, range)) = read.instances.last_mut().filter(|_| is_wanted) else {
                    continue;
                };
                let depth = u32::try_from(depth)
                    .map_err(|why| table.malformed_error(format!("its column 'depth': {why}")))?;
                above.truncate(depth as usize);
                let parent = above.last().copied();
                above.push(range.len() as u32);
                let message = table.required_value("message", messages[row])?;
                let connecting = connecting.as_ref().and_then(|all| all[row]).unwrap_or(0);
                let hop = TimedHop {
                    parent,
                    depth,
                    message,
                    sent: None,
                    received: None,
                    bytes: 0,
                    connecting,
                    is_error: errors.as_ref().and_then(|all| all[row]),
                };
                read.hops.push(hop);
                range.end = read.hops.len();
            }
        }
        Ok(read)
    }
}

/// Instances without times yet, each with the range of its messages.
#[derive(Default)]
struct UntimedInstances {
    instances: Vec<(InstanceRow, Range<usize>)>,
    hops: Vec<TimedHop>,
}

#[cfg(test)]
#[path = "timed_instances_tests.rs"]
mod tests;
