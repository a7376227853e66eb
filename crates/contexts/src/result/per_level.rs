//! A value for each kind of context.

use serde::{Deserialize, Serialize};

use crate::equivalence::ContextLevel;

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
    pub fn from_fn(mut of: impl FnMut(ContextLevel) -> T) -> PerLevel<T> {
        PerLevel {
            caller: of(ContextLevel::Caller),
            stack: of(ContextLevel::Stack),
            trace: of(ContextLevel::Trace),
        }
    }

    /// The value of a kind; that of trace-contexts for operations, which are no contexts.
    pub fn get(&self, level: ContextLevel) -> &T {
        match level {
            ContextLevel::Caller => &self.caller,
            ContextLevel::Stack => &self.stack,
            ContextLevel::Operation | ContextLevel::Trace => &self.trace,
        }
    }
}
