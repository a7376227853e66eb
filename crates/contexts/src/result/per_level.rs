//! A value for each kind of context.

use serde::{Deserialize, Serialize};

use crate::equivalence::Level;

/// A value for each kind of context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerLevel<T> {
    /// Of caller-contexts.
    pub caller: T,
    /// Of stack-contexts.
    pub stack: T,
    /// Of trace-contexts.
    pub trace: T,
}

impl<T> PerLevel<T> {
    /// The values that `of` gives.
    pub fn each(mut of: impl FnMut(Level) -> T) -> PerLevel<T> {
        PerLevel { caller: of(Level::Caller), stack: of(Level::Stack), trace: of(Level::Trace) }
    }

    /// The value of a kind; that of trace-contexts for operations, which are no contexts.
    pub fn of(&self, level: Level) -> &T {
        match level {
            Level::Caller => &self.caller,
            Level::Stack => &self.stack,
            Level::Operation | Level::Trace => &self.trace,
        }
    }
}
