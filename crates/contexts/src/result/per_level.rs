//! A value for each kind of context.

use serde::{Deserialize, Serialize};

use crate::equivalence::ContextLevel;

/// A value for each kind of context.
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
    /// The values that `of` returns.
    pub fn from_fn(mut of: impl FnMut(ContextLevel) -> T) -> PerLevel<T> {
        PerLevel {
            caller: of(ContextLevel::Caller),
            stack: of(ContextLevel::Stack),
            trace: of(ContextLevel::Trace),
        }
    }

    /// The value of a kind; for operations, which are not contexts, the value of trace-contexts.
    pub fn get(&self, level: ContextLevel) -> &T {
        match level {
            ContextLevel::Caller => &self.caller,
            ContextLevel::Stack => &self.stack,
            ContextLevel::Operation | ContextLevel::Trace => &self.trace,
        }
    }
}
