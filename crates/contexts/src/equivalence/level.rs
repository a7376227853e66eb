//! Level: how much of the calling context distinguishes executions. These are the levels of the
//! calling-context tree (trace-context profiling, section 4.2).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The part of the calling context that distinguishes executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextLevel {
    /// The operation only, whatever the context.
    Operation,
    /// The calling operation.
    Caller,
    /// The path from the operation to the root.
    Stack,
    /// The whole trace, and the position in it.
    Trace,
}

impl ContextLevel {
    /// The three levels of contexts.
    pub const CONTEXTS: [ContextLevel; 3] =
        [ContextLevel::Caller, ContextLevel::Stack, ContextLevel::Trace];
}

impl fmt::Display for ContextLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ContextLevel::Operation => "operation",
            ContextLevel::Caller => "caller",
            ContextLevel::Stack => "stack",
            ContextLevel::Trace => "trace",
        })
    }
}
