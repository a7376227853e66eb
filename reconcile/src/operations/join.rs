//! The join: an operation and the message that begins at its recorded start share one place and one
//! time. Both are sorted by these, and several of one place and time are in the order of the
//! stream. Operations without ids that one call moves together are a pipeline, which is one
//! message.

use message_trace::PathError;
use out_of_core::{ExternalSorter, KeyedRecord, ReadFailure, SortedRuns};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::rows::operation_start::OperationStart;

/// An operation with its message, from one side's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct JoinedOperation {
    /// Number of the message.
    pub(crate) message: u64,
    /// 0 for the sender's log, 1 for the receiver's.
    pub(crate) side: u64,
    /// Index of the operation among all recorded ones.
    pub(crate) operation: u64,
}

impl KeyedRecord for JoinedOperation {
    type Key = (u64, u64, u64);

    fn key(&self) -> (u64, u64, u64) {
        (self.message, self.side, self.operation)
    }
}

/// Assigns each of `operations` to the next of `messages` that begins at the same place and time.
/// If there is no further message, the operation belongs to the last one there, provided that
/// `may_be_one_of_several` returns true for the operation's number. The pairs go to `joined`.
/// Returns the number of operations without a message.
///
/// # Errors
/// Fails if a temporary file cannot be read or written.
pub(crate) fn join_operations(
    messages: &SortedRuns<OperationStart>,
    operations: &SortedRuns<OperationStart>,
    may_be_one_of_several: impl Fn(u64) -> bool,
    joined: &mut ExternalSorter<JoinedOperation>,
) -> Result<u64, PathError> {
    let failed = ReadFailure::default();
    let mut messages = messages.iter(&failed).peekable();
    let mut alone = 0;
    let mut last: Option<OperationStart> = None;
    for operation in operations.iter(&failed) {
        while messages.next_if(|message| message.join_key() < operation.join_key()).is_some() {}
        let next = messages.next_if(|message| message.join_key() == operation.join_key());
        let is_more = |last: &OperationStart| {
            last.join_key() == operation.join_key() && may_be_one_of_several(operation.number)
        };
        let message = next.or(last.filter(is_more));
        last = message.or(last);
        match message {
            Some(message) => joined.push(JoinedOperation {
                message: message.number,
                side: message.reporting_side(),
                operation: operation.number,
            })?,
            None => alone += 1,
        }
    }
    failed.check_failure()?;
    Ok(alone)
}

#[cfg(test)]
mod tests {
    use out_of_core::MemoryBudget;

    use super::*;

    /// Joins messages and operations, each with its place, time and number: returns message and
    /// operation by number, and how many operations remain.
    fn joined(
        messages: &[(u64, i64, u64)],
        operations: &[(u64, i64, u64)],
    ) -> (Vec<(u64, u64)>, u64) {
        let (budget, directory) = (MemoryBudget::new(0), tempfile::tempdir().unwrap());
        let sorted = |all: &[(u64, i64, u64)]| {
            let mut sorter = ExternalSorter::new(&budget, directory.path(), 2);
            for (place, time, number) in all {
                sorter.push(OperationStart::new(*place, 0, *time, *number)).unwrap();
            }
            sorter.finish()
        };
        let mut pairs = ExternalSorter::new(&budget, directory.path(), 2);
        let (messages, operations) = (sorted(messages), sorted(operations));
        let may = |number| number % 2 == 1;
        let alone = join_operations(&messages, &operations, may, &mut pairs).unwrap();
        let failed = ReadFailure::default();
        let pairs = pairs.finish();
        let found = pairs.iter(&failed).map(|pair| (pair.message, pair.operation)).collect();
        (found, alone)
    }

    #[test]
    fn operations_of_one_place_and_time_are_in_order() {
        let messages = [(7, 10, 3), (7, 10, 1), (7, 20, 5), (8, 10, 2)];
        let operations = [(7, 10, 100), (7, 10, 101), (8, 10, 90), (7, 20, 102)];
        assert_eq!(
            joined(&messages, &operations),
            (vec![(1, 100), (2, 90), (3, 101), (5, 102)], 0)
        );
    }

    #[test]
    fn an_unmatched_operation_takes_no_other_message() {
        let messages = [(7, 10, 1), (7, 10, 2), (7, 30, 4)];
        let operations = [(6, 10, 90), (7, 10, 100), (7, 20, 102), (7, 30, 104), (7, 30, 106)];
        assert_eq!(joined(&messages, &operations), (vec![(1, 100), (4, 104)], 3));
    }

    #[test]
    fn a_pipeline_is_one_message() {
        let messages = [(7, 10, 1), (7, 30, 4)];
        let operations = [(7, 10, 101), (7, 10, 103), (7, 20, 105), (7, 30, 107), (7, 30, 109)];
        let expected = vec![(1, 101), (1, 103), (4, 107), (4, 109)];
        assert_eq!(joined(&messages, &operations), (expected, 1));
    }
}
