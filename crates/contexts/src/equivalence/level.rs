//! Level: how much of the calling context tells executions apart. These are the levels of the
//! calling-context tree (section 4.2).

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much of the calling context tells executions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing but the operation.
    Operation,
    /// The operation that calls it.
    Caller,
    /// The path from it to the root.
    Stack,
    /// The whole trace, and the position in it.
    Trace,
}

impl Level {
    /// The three levels of contexts.
    pub const CONTEXTS: [Level; 3] = [Level::Caller, Level::Stack, Level::Trace];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Operation => "operation",
            Level::Caller => "caller",
            Level::Stack => "stack",
            Level::Trace => "trace",
        })
    }
}
