//! A value for each level of contexts.

use serde::{Deserialize, Serialize};

use crate::equivalence::ContextLevel;

/// A value for each level of contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerLevel<T> {
    /// Value of caller-contexts.
    pub caller: T,
    /// Value of stack-contexts.
    pub stack: T,
    /// Value of trace-contexts.
    pub trace: T,
}

impl<T> PerLevel<T> {
    /// The values that `of` returns for each level.
    pub fn from_fn(mut of: impl FnMut(ContextLevel) -> T) -> PerLevel<T> {
        PerLevel {
            caller: of(ContextLevel::Caller),
            stack: of(ContextLevel::Stack),
            trace: of(ContextLevel::Trace),
        }
    }

    /// The value of a level. Operations without context have no value of their own, and get the
    /// value of trace-contexts.
    pub fn get(&self, level: ContextLevel) -> &T {
        match level {
            ContextLevel::Caller => &self.caller,
            ContextLevel::Stack => &self.stack,
            ContextLevel::Operation | ContextLevel::Trace => &self.trace,
        }
    }
}
