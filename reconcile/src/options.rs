//! What the user may choose about reconciliation.

use std::time::Duration;

/// Choices of [`reconcile`](crate::reconcile()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Adjacent messages of one flow and direction are one fat message when at most this time lies between them.
    pub fat_gap: Duration,
    /// Whether to keep messages that a process sends to itself (an event loop's wake-up socket, mostly). They
    /// say nothing of the system's structure and would be taken for causes, so they are only counted by default.
    pub keep_internal: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { fat_gap: Duration::from_millis(100), keep_internal: false }
    }
}
