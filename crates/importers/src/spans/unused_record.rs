//! Reasons why a row or a record is not used.

use crate::error::Error;
use crate::tabular::WrongValue;

/// Why a record is not used.
#[derive(Debug)]
pub(super) enum UnusedRecord {
    /// The record is faulty, and the next record is read.
    Skipped(WrongValue),
    /// Spans cannot be written any more.
    Failed(Error),
}

impl From<WrongValue> for UnusedRecord {
    fn from(wrong: WrongValue) -> UnusedRecord {
        UnusedRecord::Skipped(wrong)
    }
}

impl From<Error> for UnusedRecord {
    fn from(error: Error) -> UnusedRecord {
        UnusedRecord::Failed(error)
    }
}
