//! Why a row or a record is not used.

use crate::error::Error;
use crate::tabular::Wrong;

/// It is wrong, or nothing can be kept any more.
#[derive(Debug)]
pub(super) enum Unused {
    Skipped(Wrong),
    Failed(Error),
}

impl From<Wrong> for Unused {
    fn from(wrong: Wrong) -> Unused {
        Unused::Skipped(wrong)
    }
}

impl From<Error> for Unused {
    fn from(error: Error) -> Unused {
        Unused::Failed(error)
    }
}
