//! Reasons why a row or a record is not used.

use crate::error::Error;
use crate::tabular::WrongValue;

/// Why a record is not used: it is wrong, or nothing can be written any more.
#[derive(Debug)]
pub(super) enum UnusedRecord {
    Skipped(WrongValue),
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
